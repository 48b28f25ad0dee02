/*
 * corpus.c - every function of the libraries of a cross compiler: each of its words is an
 * instruction, each branch leads to one, each is moved, and what it was moved to says the
 * same when it is decoded.
 *
 *	a64: 10309 functions of 8 files, 680669 instructions, 629 indirect jumps
 *	a64: 10309 moved whole; refused: 0 hold data, 0 sign where they stand, 0 others
 *	a64: branches that lead to no instruction 0, moved otherwise 0
 */
#include "a64.h"

#include "arch/aarch64/decode.h"
#include "arch/aarch64/excl.h"
#include "site/scan.h"

enum { WANTED = 5000, SHOWN = 20 };

static const char *const files[] = {
	"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libatomic.so.1",
	"libgomp.so.1", "libitm.so.1", "ld-linux-aarch64.so.1",
};

static struct corpus {
	size_t files, functions, insns, indirect, moved;
	size_t data, bound, others, nowhere, wrong, shown;
} c;

static uintptr_t away;			/* from the original to where it is moved */

static void show(const char *what, uintptr_t at, uint32_t w)
{
	if (c.shown++ < SHOWN)
		printf("%s at %#lx: %08x\n", what, (unsigned long)at, w);
}

/* A branch leads to the start of what is understood. */
static bool leads_somewhere(const struct fl_module *m, uintptr_t to)
{
	struct fl_insn i;

	if (!fl_text_bytes(m, to))
		return false;
	fl_arch_decode(&i, (const void *)to, fl_text_bytes(m, to), to);
	return i.len;
}

/* What was made of it has its class, and names what it named. */
static bool says_the_same(const unsigned char *moved, size_t n, uintptr_t to,
			  const struct fl_insn *was, uint32_t w)
{
	size_t last = n - 4;
	struct fl_insn is;
	struct a64 a;

	fl_arch_decode(&is, moved + last, 4, to + last);
	a64_read(&a, w);
	switch (a.kind) {
	case A64_BCOND: case A64_CBZ: case A64_TBZ:
		return n == 8 && is.cls == FL_INSN_JUMP && is.target == was->target;
	case A64_B: case A64_BL: case A64_ADRP:
		return n == 4 && is.cls == was->cls && is.target == was->target;
	case A64_ADR:
		fl_arch_decode(&is, moved, 4, to);
		return n == 8 && is.target + (a64_word(moved + 4) >> 10 & 4095) == was->target;
	case A64_LITERAL:
		return n >= 4;
	}
	return n == 4 && a64_word(moved) == w;
}

/* 0, or which count it is refused by. */
static size_t *judge(const struct fl_module *m, uintptr_t at)
{
	const unsigned char *code = (const void *)at;
	unsigned char moved[FL_ARCH_MOVED_MAX];
	uint32_t w = a64_word(code);
	struct fl_insn i;
	struct a64 a;
	size_t n;

	fl_arch_decode(&i, code, 4, at);
	a64_read(&a, w);
	if (!i.len || a.kind == A64_STOP)
		return i.len ? NULL : &c.data;
	c.insns++;
	c.indirect += a.kind == A64_BR;
	if ((i.cls == FL_INSN_JUMP || i.cls == FL_INSN_CALL || i.cls == FL_INSN_BRANCH) &&
	    i.target && !leads_somewhere(m, i.target)) {
		c.nowhere++;
		show("leads to no instruction", at, w);
	}
	n = fl_arch_move(moved, at + away, code, &i, at, i.target);
	if (!n)
		return a.kind == A64_SIGNED ? &c.bound : &c.others;
	if (!says_the_same(moved, n, at + away, &i, w)) {
		c.wrong++;
		show("moved otherwise", at, w);
	}
	return NULL;
}

static void judge_function(const struct fl_module *m, const struct fl_range *r)
{
	size_t *why = NULL;

	c.functions++;
	for (uintptr_t at = r->start; at < r->end && !why; at += 4) {
		why = judge(m, at);
		if (why)
			show(why == &c.data ? "no instruction" : "not moved", at - m->bias,
			     a64_word((const void *)at));
	}
	if (why)
		++*why;
	else
		c.moved++;
}

static void judge_file(const char *name)
{
	struct fl_ranges ranges;
	struct fl_module m;
	char path[128];
	struct fl_obj o;

	snprintf(path, sizeof path, "/usr/aarch64-linux-gnu/lib/%s", name);
	if (fl_obj_open(&o, path))
		return;
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	assert_int_equal(fl_ranges_open(&ranges, &m), 0);
	away = (m.hi - m.lo + 0xffff) / 0x10000 * 0x10000 + 0x12340;
	for (size_t i = 0; i < ranges.n; i++)
		if (ranges.r[i].is_frame)
			judge_function(&m, &ranges.r[i]);
	c.files++;
	fl_ranges_close(&ranges);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
}

static void every_function_is_understood_and_moved(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		judge_file(files[k]);
	if (!c.files)
		skip();
	printf("a64: %zu functions of %zu files, %zu instructions, %zu indirect jumps\n",
	       c.functions, c.files, c.insns, c.indirect);
	printf("a64: %zu moved whole; refused: %zu hold data, %zu sign where they stand, "
	       "%zu others\n", c.moved, c.data, c.bound, c.others);
	printf("a64: branches that lead to no instruction %zu, moved otherwise %zu\n",
	       c.nowhere, c.wrong);
	assert_true(c.functions > WANTED);
	assert_true(c.moved * 1000 > c.functions * 995);
	assert_int_equal(c.nowhere + c.wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_function_is_understood_and_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
