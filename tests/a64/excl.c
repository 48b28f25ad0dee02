/*
 * excl.c - between which instructions a monitor is held: functions written for each shape,
 * and every function of the C library that has an exclusive, against a judge that walks all
 * paths.
 *
 *	a64: 108 functions of 7511 have exclusives, 239 moments inside | wrong 0
 */
#include "libgcc.h"

#include "arch/aarch64/excl.h"
#include "site/scan.h"

enum { MOST = 4096 };

/* Each instruction of a text, and what is said of the moment before it: `.` outside, `i`
 * inside, `h` inside and as good before the load, and the pair. */
static const struct shape {
	const char *name, *text, *says;
	uint32_t load, store;
} shapes[] = {
	{ "the C library's subtraction",
	  "1: ldaxr w1, [x0]\nsub w2, w1, #1\nstxr w3, w2, [x0]\ncbnz w3, 1b\nret",
	  ".hh..", 0, 2 },
	{ "compare and exchange: the way out holds the monitor, and nobody asks",
	  "1: ldaxr w2, [x0]\ncmp w2, #0\nb.ne 2f\nstxr w3, w1, [x0]\ncbnz w3, 1b\n"
	  "2: mov w0, w2\nldr x4, [x5]\nret", ".hhi....", 0, 3 },
	{ "the same with clrex", "1: ldaxr w2, [x0]\ncbnz w2, 2f\nstxr w3, w1, [x0]\n"
	  "cbnz w3, 1b\nret\n2: clrex\nret", ".hi....", 0, 2 },
	{ "of several blocks, with two stores",
	  "1: ldxr x2, [x0]\ntbz x2, #3, 2f\nadd x2, x2, #1\nstxr w3, x2, [x0]\ncbnz w3, 1b\n"
	  "ret\n2: sub x2, x2, #1\nnop\nstlxr w3, x2, [x0]\ncbnz w3, 1b\nret",
	  ".hii..iii..", 0, 3 },
	{ "two ways in", "cbz x5, 1f\nldxr x2, [x0]\nb 2f\n1: ldaxr x2, [x0]\n"
	  "2: add x2, x2, #1\nstxr w3, x2, [x0]\nret", "..h.ii.", 1, 5 },
	{ "retry elsewhere: the loop is out of line",
	  "b 2f\n1: nop\n2: ldxr x2, [x0]\nadd x2, x2, #1\nstxr w3, x2, [x0]\ncbnz w3, 1b\nret",
	  "...hh..", 2, 4 },
	{ "another load in a row takes the monitor",
	  "ldxr x2, [x0]\nnop\nldxr x4, [x1]\nnop\nstxr w3, x2, [x1]\nret", ".hhii.", 0,
	  A64_NOWHERE },
	{ "a loop within", "ldxr x2, [x0]\n1: subs x4, x4, #1\nb.ne 1b\nstxr w3, x2, [x0]\nret",
	  ".iii.", 0, 3 },
	{ "a call within", "ldxr x2, [x0]\nbl .+64\nnop\nstxr w3, x2, [x0]\nret",
	  ".hii.", 0, 3 },
	{ "a system call ends it", "ldxr x2, [x0]\nsvc #0\nnop\nstxr w3, x2, [x0]\nret",
	  ".h...", 0, A64_NOWHERE },
	{ "no store: up to the end", "ldxr x2, [x0]\ncbz x2, 1f\nnop\n1: nop\nret",
	  ".hiii", 0, A64_NOWHERE },
	{ "no store, cleared", "ldxr x2, [x0]\nnop\nclrex\nnop\nret", ".hh..", 0, A64_NOWHERE },
	{ "no load: from the start", "nop\nadd x1, x1, #1\nstxr w3, x1, [x0]\nnop\nret",
	  "iii..", A64_NOWHERE, 2 },
	{ "pairs, bytes, words", "ldaxp x2, x4, [x0]\nstlxp w3, x2, x4, [x0]\n"
	  "ldxrb w2, [x0]\nstxrb w3, w2, [x0]\nldaxrh w2, [x0]\nstlxrh w3, w2, [x0]\nret",
	  ".h.h.h.", 0, 1 },
	{ "atomics are no region", "ldadd x1, x2, [x0]\ncasal x1, x2, [x0]\nswp x1, x2, [x0]\n"
	  "casp x2, x3, x4, x5, [x6]\nret", ".....", 0, 0 },
	{ "a jump through a register while it is held",
	  "nop\nldxr x2, [x0]\nbr x2\nstxr w3, x2, [x0]\nret", "iiiii", A64_NOWHERE,
	  A64_NOWHERE },
	{ "a jump through a register beside it",
	  "cbz x1, 1f\nbr x2\n1: ldxr x2, [x0]\nstxr w3, x2, [x0]\nret", "...h.", 2, 3 },
	{ "an outlined helper", "adrp x16, .\nldrb w16, [x16, #5]\ncbz w16, 1f\n"
	  "ldaddal w0, w0, [x1]\nret\n1: mov w16, w0\n2: ldxr w0, [x1]\nadd w17, w0, w16\n"
	  "stlxr w15, w17, [x1]\ncbnz w15, 2b\ndmb ish\nret", ".......hh...", 6, 8 },
};

/* Which moments are inside is told, and the pair of the first of them. */
static void expect(const struct shape *s)
{
	uint32_t words[64];
	struct a64_point p[64];
	char says[65] = "";
	size_t n = assemble(s->text, words, 64), inside = 0;
	struct a64_part part = { 0x1000, (unsigned char *)words, (uint32_t)n };
	uint32_t told = a64_regions(&part, 1, p);

	for (size_t k = 0; k < n; k++) {
		inside += p[k].inside;
		says[k] = !p[k].inside ? '.' : p[k].hoist == A64_NOWHERE ? 'i' : 'h';
	}
	if (strcmp(says, s->says))
		printf("%s: %s, expected %s\n", s->name, says, s->says);
	assert_string_equal(says, s->says);
	assert_int_equal(told, inside);
	for (size_t k = 0; k < n; k++)
		if (p[k].inside) {
			assert_int_equal(p[k].load, s->load);
			assert_int_equal(p[k].store, s->store);
			break;
		}
}

static void each_shape_is_understood(void **state)
{
	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(shapes); k++)
		expect(&shapes[k]);
}

/* The cold half of a function stands elsewhere. */
static void a_region_may_span_parts(void **state)
{
	uint32_t hot[16], cold[16];
	struct a64_part parts[2] = { { 0x1000, (unsigned char *)hot, 0 },
				     { 0x2000, (unsigned char *)cold, 0 } };
	struct a64_point p[32];

	(void)state;
	if (!has_tools())
		skip();
	parts[0].n = (uint32_t)assemble("ldxr x2, [x0]\ncbz x2, .+0xffc\nstxr w3, x2, [x0]\n"
					"ret", hot, 16);
	parts[1].n = (uint32_t)assemble("mov x2, #1\nstxr w3, x2, [x0]\nb .-0xffc", cold, 16);
	assert_int_equal(a64_regions(parts, 2, p), 4);
	assert_true(p[1].inside && p[2].inside && p[4].inside && p[5].inside);
	assert_int_equal(p[4].load, 0);
	assert_int_equal(p[4].store, 5);
	assert_int_equal(a64_point_at(parts, p[4].store), 0x2004);
	assert_int_equal(a64_point_at(parts, p[4].load), 0x1000);
}

/* ---- every function of a library ------------------------------------------------ */

static struct a64_point points[MOST];

static bool leads_on(uint8_t kind)
{
	return kind != A64_B && kind != A64_RET && kind != A64_BR && kind != A64_STOP;
}

/* Can a store be met from the moment before `k`, on a path that is walked here? */
static bool meets_store(const struct a64_point *p, uint32_t n, uint32_t k, bool *seen)
{
	for (; k < n && !seen[k]; k++) {
		uint8_t kind = p[k].kind;

		seen[k] = true;
		if (kind == A64_STX)
			return true;
		if (kind == A64_LDX || kind == A64_CLREX || kind == A64_SVC)
			return false;
		if (p[k].to != A64_NOWHERE && meets_store(p, n, p[k].to, seen))
			return true;
		if (!leads_on(kind))
			return false;
	}
	return false;
}

/* All moments that are come to from behind a load, with the monitor held. */
static void hold(const struct a64_point *p, uint32_t n, uint32_t k, bool *held)
{
	for (; k < n && !held[k]; k++) {
		uint8_t kind = p[k].kind;

		held[k] = true;
		if (kind == A64_STX || kind == A64_LDX || kind == A64_CLREX || kind == A64_SVC)
			return;
		if (p[k].to != A64_NOWHERE)
			hold(p, n, p[k].to, held);
		if (!leads_on(kind))
			return;
	}
}

struct judged {
	size_t functions, with, inside, atomics, wrong;
};

static void judge(struct judged *j, uint32_t n)
{
	static bool held[MOST], seen[MOST], wanted[MOST];

	memset(wanted, 0, sizeof wanted);
	for (uint32_t k = 0; k < n; k++) {
		if (points[k].kind != A64_LDX)
			continue;
		memset(held, 0, sizeof held);
		memset(seen, 0, sizeof seen);
		hold(points, n, k + 1, held);
		for (uint32_t i = 0; i < n; i++) {
			memset(seen, 0, sizeof seen);
			wanted[i] |= held[i] && meets_store(points, n, i, seen);
		}
	}
	for (uint32_t k = 0; k < n; k++)
		j->wrong += points[k].inside != wanted[k];
}

static void judge_range(struct judged *j, const struct fl_range *r)
{
	uint32_t n = (uint32_t)((r->end - r->start) / 4), inside;
	struct a64_part part = { r->start, (const void *)r->start, n };
	bool has = false;

	if (!r->is_frame || n > MOST)
		return;
	inside = a64_regions(&part, 1, points);
	j->functions++;
	for (uint32_t k = 0; k < n; k++)
		has |= points[k].kind == A64_LDX || points[k].kind == A64_STX;
	j->with += has;
	j->inside += inside;
	if (has)
		judge(j, n);
}

static void agrees_with_a_walk_on_all_paths(void **state)
{
	static const char *const files[] = {
		"libc.so.6", "libatomic.so.1", "libgomp.so.1", "libitm.so.1", "libtsan.so.2",
	};
	struct judged j = { 0 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++) {
		struct fl_ranges ranges;
		struct fl_module m;
		char path[128];
		struct fl_obj o;

		snprintf(path, sizeof path, "/usr/aarch64-linux-gnu/lib/%s", files[k]);
		if (fl_obj_open(&o, path))
			continue;
		assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
		assert_int_equal(fl_ranges_open(&ranges, &m), 0);
		for (size_t i = 0; i < ranges.n; i++)
			judge_range(&j, &ranges.r[i]);
		fl_ranges_close(&ranges);
		fl_obj_unlay(&m);
		fl_obj_close(&o);
	}
	if (!j.functions)
		skip();
	printf("a64: %zu functions of %zu have exclusives, %zu moments inside | wrong %zu\n",
	       j.with, j.functions, j.inside, j.wrong);
	assert_true(j.with > 20 && j.inside > 100);
	assert_int_equal(j.wrong, 0);
}

/* ---- who weaves asks ---------------------------------------------------------------- */

/* Before each instruction, where a branch there leaves, and what it is moved to. */
static const struct asked {
	const char *text, *before, *leaving, *moved;
	uint32_t load, store;		/* of the first that is held */
} asked[] = {
	{ "1: ldaxr w1, [x0]\nldr d1, .+64\nldr w4, .+64\nb.ge .+4096\nstlxr w2, w1, [x0]\n"
	  "cbnz w2, 1b\nret", ".hhhh..", ".......", ".h.....", 0, 4 },
	{ "ldaxr w1, [x0]\nb.ge .+4096\nret", ".hh", ".hh", "...", 0, 0 },
	{ "nop\nstlxr w2, w1, [x0]\nret", "hh.", "...", "...", 1, 1 },
	{ "ldxr x2, [x0]\nbr x2\nnop", "hhh", "hhh", "...", 0, 0 },
	{ "ldadd w1, w2, [x0]\nret", "..", "..", "..", 0, 0 },
};

static void expect_asked(const void *memory, size_t n, const struct asked *a)
{
	const char *says[] = { a->before, a->leaving, a->moved };
	bool is_first = true;

	for (size_t k = 0; k < n; k++)
		for (enum fl_woven w = FL_WOVEN_BEFORE; w <= FL_WOVEN_MOVED; w++) {
			uint64_t pair = 0;
			bool is = memory && fl_arch_is_held(memory, 0x1000 + 4 * k, w, &pair);

			assert_int_equal(is, says[w][k] == 'h');
			if (is && is_first) {
				assert_int_equal(fl_pair_load(pair), 0x1000 + 4 * a->load);
				assert_int_equal(fl_pair_store(pair), 0x1000 + 4 * a->store);
			}
			is_first &= !is;
		}
}

static void who_weaves_is_told_which_pair(void **state)
{
	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(asked); k++) {
		uint32_t words[64];
		size_t n = assemble(asked[k].text, words, 64), bytes;
		struct fl_held_part part = { 0x1000, (unsigned char *)words, 4 * n };
		void *memory = NULL;

		bytes = fl_arch_held_bytes(&part, 1);
		if (bytes) {
			memory = malloc(bytes);
			assert_non_null(memory);
			fl_arch_held(&part, 1, memory);
		}
		expect_asked(memory, n, &asked[k]);
		free(memory);
	}
	/* a store before its load, as a loop has it */
	assert_int_equal(fl_pair_store(fl_pair(0x7f0000001000, 0x7f0000000800)),
			 0x7f0000000800);
}

/* ---- what gcc calls by default ---------------------------------------------------- */

/* Of libgcc's helpers, to which -moutline-atomics leads: from their starts on. */
static const struct helper { const char *name, *says; } helpers[] = {
	{ "__aarch64_cas8_relax", "........hhi.." },
	{ "__aarch64_cas16_acq_rel", ".........hhhi.." },
	{ "__aarch64_swp1_rel", "........h.." },
	{ "__aarch64_ldadd4_acq_rel", "........hh.." },
	{ "__aarch64_ldclr2_sync", "........hh..." },
	{ NULL, NULL },
};

struct helped {
	const struct fl_module *m;
	size_t n, known;
};

static int take_helper(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct helped *h = arg;
	uint32_t n = (uint32_t)size / 4;
	struct a64_part part = { h->m->bias + value, (const void *)(h->m->bias + value), n };
	char says[64] = "";

	if (strncmp(name, "__aarch64_", 10) || n > 60)
		return 0;
	h->n += a64_regions(&part, 1, points) > 0;
	for (uint32_t k = 0; k < n; k++)
		says[k] = !points[k].inside ? '.' : points[k].hoist == A64_NOWHERE ? 'i' : 'h';
	for (const struct helper *t = helpers; t->says; t++)
		if (!strcmp(t->name, name)) {
			assert_string_equal(says, t->says);
			h->known++;
		}
	return 0;
}

static void outlined_helpers_have_regions(void **state)
{
	struct helped h = { 0 };

	(void)state;
	each_of_libgcc(take_helper, &h, &h.m);
	printf("a64: %zu helpers of libgcc's have regions\n", h.n);
	assert_true(h.n > 100);
	assert_int_equal(h.known, ARRAY_LEN(helpers) - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_shape_is_understood),
		cmocka_unit_test(a_region_may_span_parts),
		cmocka_unit_test(outlined_helpers_have_regions),
		cmocka_unit_test(agrees_with_a_walk_on_all_paths),
		cmocka_unit_test(who_weaves_is_told_which_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
