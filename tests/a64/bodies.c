/*
 * bodies.c - second bodies of AArch64's functions are made of what the functions are: of
 * whole libraries, by the same code that makes those of this CPU, read again word by word.
 *
 *	a64: 9480 functions of 5 files, 9460 bodies of 636723 steps | wrong 0
 *	a64: 9 refused: it jumps into the middle of another function
 *	...
 *
 * Functions with exclusives are made anew with these rewritten.
 */
#include "a64.h"

#include "arch/aarch64/decode.h"
#include "arch/aarch64/emit.h"
#include "copy/build.h"
#include "copy/copy.h"
#include "copy/plan.h"
#include "nothing-woven.h"
#include "site/shape.h"
#include "site/site.h"

enum { ROOM = 1 << 18, SHOWN = 20, REASONS = 256, REFUSED = 60, OWN_AT = 0x1050 };

static const char *const files[] = {
	"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgomp.so.1", "libitm.so.1",
};

/* Text that nobody runs here is never exchanged. */
int fl_a64_flip(uintptr_t at, fl_unit to)
{
	(void)at;
	(void)to;
	return 0;
}

static struct fl_shape_step steps[ROOM];
static uintptr_t body_at[ROOM];

static struct tally {
	size_t files, functions, bodies, steps, wrong, shown, switches, go_on;
	size_t reasons[REASONS];
	size_t exclusive, rewritten[FL_N_EXCLUSIVES];	/* functions */
} t;

static int reason(int err)
{
	return err <= -5000 && err > -5000 - REASONS ? -5000 - err : 0;
}

struct reading {
	const struct fl_shape *s;
	const struct fl_copy *copy;
	uintptr_t at;
	bool may_go_on;
	void *held;			/* pairs of exclusives, rewritten; NULL: none */
	bool is_rewritten;
	const char *wrong;
};

static void blame(struct reading *r, const char *what)
{
	if (!r->wrong)
		r->wrong = what;
}

static uint32_t next(struct reading *r)
{
	if (r->at >= r->copy->code + r->copy->n_code)
		blame(r, "no instruction");
	else
		r->at += 4;
	return a64_word((const void *)(r->at - 4));
}

static void expect_branch(struct reading *r, uint32_t word, uintptr_t to)
{
	if ((word & 0xfc000000) != A64_W_B || a64_target(word, A64_B, r->at - 4) != to)
		blame(r, "no jump there");
}

/* A jump past a call of glue, which nobody has asked for. */
static void expect_place(struct reading *r)
{
	if (next(r) != A64_W_PAST_CALL)
		blame(r, "no place");
	for (int k = 0; k < FL_ARCH_CALL_BYTES / 4; k++)
		if (next(r) != A64_W_BRK)
			blame(r, "a call that nobody asked for");
}

/* The original's jump: off it goes on there; or behind the look-up, if that finds nothing. */
static void expect_switch(struct reading *r, const struct fl_shape_step *s)
{
	uint32_t jump = a64_word(fl_shape_bytes(r->s, s));

	if (r->may_go_on && (next(r) != A64_W_NOP || next(r) != jump))
		blame(r, "no place of a switch");
	while (!r->wrong && next(r) != jump)
		;
}

/* What the port moves it to is there: reloc.c is seen by move.c and corpus.c. */
static void expect_moved(struct reading *r, const struct fl_shape_step *s)
{
	unsigned char moved[FL_ARCH_MOVED_MAX];
	const unsigned char *code = fl_shape_bytes(r->s, s);
	struct fl_insn i;
	size_t n;

	fl_arch_decode_flow(&i, code, 4, s->at);
	n = fl_arch_move(moved, r->at, code, &i, s->at, i.target);
	if (!n || memcmp(moved, (const void *)r->at, n))
		blame(r, "another instruction");
	r->at += n;
}

/* In the long form the opposite of the condition goes past a jump. */
static bool is_long(uint32_t was, uint32_t is, unsigned int kind)
{
	return kind != A64_B && (was ^ is) & (kind == A64_BCOND ? 1u : 1u << 24);
}

/* Where it leads is seen when all steps have their places. */
static void pass_inside(struct reading *r, const struct fl_shape_step *s)
{
	uint32_t was = a64_word(fl_shape_bytes(r->s, s)), is = next(r);
	struct a64 a, b;

	a64_read(&a, was);
	a64_read(&b, is);
	if (a.kind != b.kind)
		blame(r, "another branch");
	else if (is_long(was, is, a.kind) && a64_target(is, a.kind, r->at - 4) != r->at + 4)
		blame(r, "past something else");
	else if (is_long(was, is, a.kind))
		next(r);
}

/* What stands for a part of a pair, if it is one that is rewritten. */
static bool is_part_of_pair(struct reading *r, const struct fl_shape_step *s)
{
	struct fl_exclusive_code e = {
		.part = r->held ? fl_arch_exclusive_part(r->held, s->at) : 0,
		.code = fl_shape_bytes(r->s, s), .own_at = OWN_AT,
	};
	unsigned char out[FL_ARCH_PAIR_MAX];
	size_t n;

	if (!e.part)
		return false;
	n = fl_arch_put_exclusive(out, &e);
	if (!n || memcmp(out, (const void *)r->at, n))
		blame(r, "another part of a pair");
	r->at += n;
	return r->is_rewritten = true;
}

static void read_step(struct reading *r, const struct fl_shape_step *s)
{
	if (is_part_of_pair(r, s))
		return;
	switch ((enum fl_shape_kind)s->kind) {
	case FL_SHAPE_RUNS_ON:
		expect_place(r);
		expect_branch(r, next(r), s->target);
		break;
	case FL_SHAPE_END:
		expect_branch(r, next(r), s->target);
		break;
	case FL_SHAPE_JUMP: case FL_SHAPE_BRANCH:
		pass_inside(r, s);
		break;
	case FL_SHAPE_BRANCH_OUT:
		next(r);
		expect_place(r);
		expect_branch(r, next(r), s->target);
		break;
	case FL_SHAPE_SWITCH: case FL_SHAPE_TAIL_POINTER:
		expect_switch(r, s);
		break;
	case FL_SHAPE_TAIL: case FL_SHAPE_RET:
		expect_place(r);
		expect_moved(r, s);
		break;
	default:
		expect_moved(r, s);
	}
}

static uintptr_t body_of(const struct reading *r, uintptr_t original)
{
	for (uint32_t k = 0; k < r->s->n_steps; k++)
		if (r->s->steps[k].at == original && r->s->steps[k].len)
			return body_at[k];
	return 0;
}

/* Taken, it goes to the body of what the original goes to. */
static void expect_inside(struct reading *r, const struct fl_shape_step *s, uintptr_t at)
{
	uint32_t word = a64_word((const void *)at);
	struct a64 a;

	a64_read(&a, word);
	if (is_long(a64_word(fl_shape_bytes(r->s, s)), word, a.kind)) {
		at += 4;
		word = a64_word((const void *)at);
		a.kind = A64_B;
	}
	if (a64_target(word, a.kind, at) != body_of(r, s->target))
		blame(r, "a branch leads elsewhere");
}

/* A function's pairs, rewritten so. NULL: it has none. */
static void *hold(const struct fl_shape *s, enum fl_exclusive how)
{
	struct fl_held_part parts[FL_SHAPE_PARTS];
	void *held;
	size_t n;

	for (uint32_t k = 0; k < s->n_parts; k++) {
		size_t left;

		parts[k] = (struct fl_held_part){
			.start = s->parts[k].start,
			.bytes = s->parts[k].end - s->parts[k].start,
			.code = fl_file_text(s->m, s->parts[k].start, &left),
		};
	}
	n = fl_arch_held_bytes(parts, s->n_parts);
	held = n ? calloc(1, n) : NULL;
	if (held && fl_arch_held(parts, s->n_parts, held)) {
		fl_arch_rewrite_exclusives(held, how);
		return held;
	}
	free(held);
	return NULL;
}

static bool is_right(const struct fl_shape *s, const struct fl_copy *copy,
		     enum fl_exclusive how)
{
	struct reading r = { .s = s, .copy = copy, .at = copy->off,
			     .may_go_on = fl_plan_may_go_on(s), .held = hold(s, how) };
	uint32_t k = 0;

	for (; k < s->n_steps && !r.wrong; k++) {
		body_at[k] = r.at;
		if (s->steps[k].at >= s->entry || s->steps[k].part)
			read_step(&r, &s->steps[k]);
	}
	for (uint32_t i = 0; i < s->n_steps && !r.wrong; i++)
		if (s->steps[i].kind == FL_SHAPE_JUMP || s->steps[i].kind == FL_SHAPE_BRANCH)
			expect_inside(&r, &s->steps[k = i], body_at[i]);
	if (r.wrong && t.shown++ < SHOWN)
		printf("%lx of %s: step %u of %u at %lx, body at %lx: %s\n",
		       s->function - s->m->bias, s->m->path, k, s->n_steps,
		       s->steps[k ? k - 1 : 0].at - s->m->bias, r.at, r.wrong);
	t.rewritten[how] += r.is_rewritten;
	free(r.held);
	return !r.wrong;
}

static void rewrite_one(struct fl_copies *copies, const struct fl_shape *s)
{
	void *held = hold(s, FL_EXCLUSIVE_LEAVE);
	struct fl_copy copy;
	uint64_t datum;

	if (!held)
		return;
	free(held);
	t.exclusive++;
	for (copies->exclusive = 1; copies->exclusive < FL_N_EXCLUSIVES; copies->exclusive++)
		t.wrong += fl_copy_build(copies, s, &copy, &datum) ||
			   !is_right(s, &copy, copies->exclusive);
	copies->exclusive = FL_EXCLUSIVE_LEAVE;
}

static void build_one(struct fl_copies *copies, const struct fl_outline *o, uintptr_t at)
{
	struct fl_shape s = { .steps = steps, .room = ROOM };
	struct fl_copy copy;
	uint64_t datum;
	int err = fl_shape_of(&s, o, at, &datum);

	t.functions++;
	if (!err)
		err = fl_copy_build(copies, &s, &copy, &datum);
	if (err) {
		t.reasons[reason(err)]++;
		return;
	}
	t.bodies++;
	t.steps += s.n_steps;
	t.switches += s.has_switch;
	t.go_on += fl_plan_may_go_on(&s);
	t.wrong += !is_right(&s, &copy, FL_EXCLUSIVE_LEAVE);
	rewrite_one(copies, &s);
}

static void build_file(const char *name)
{
	struct fl_copies copies = { 0 };
	struct fl_outline outline;
	struct fl_module m;
	char path[128];
	struct fl_obj o;

	snprintf(path, sizeof path, "/usr/aarch64-linux-gnu/lib/%s", name);
	if (fl_obj_open(&o, path))
		return;
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	assert_int_equal(fl_outline_open(&outline, &m), 0);
	fl_copies_begin(&copies, m.lo, m.hi);
	copies.pairs_at = OWN_AT;
	for (size_t i = 0; i < outline.n; i++)
		if (outline.extents[i].kind == FL_EXTENT_FUNCTION)
			build_one(&copies, &outline, outline.extents[i].start);
	t.files++;
	assert_int_equal(fl_copies_end(&copies), 0);
	fl_outline_close(&outline);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
}

static void bodies_are_their_functions(void **state)
{
	(void)state;
	fl_unwind_serve();
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		build_file(files[k]);
	if (!t.files)
		skip();
	printf("a64: %zu functions of %zu files, %zu bodies of %zu steps | wrong %zu\n",
	       t.functions, t.files, t.bodies, t.steps, t.wrong);
	printf("a64: %zu of %zu with a jump through a register go on in the original\n",
	       t.go_on, t.switches);
	printf("a64: %zu have pairs of exclusives, in %zu all are compare-and-swap, in %zu "
	       "some become atomics\n", t.exclusive, t.rewritten[FL_EXCLUSIVE_CAS],
	       t.rewritten[FL_EXCLUSIVE_LSE]);
	for (int k = 0; k < REASONS; k++)
		if (t.reasons[k])
			printf("a64: %zu refused: %s\n", t.reasons[k], fl_err_text(-5000 - k));
	assert_true(t.bodies > t.functions - REFUSED);
	assert_true(t.go_on > 20 && t.go_on < t.switches);
	assert_int_equal(t.wrong, 0);
	assert_int_equal(t.reasons[reason(FLE_NOREACH)] + t.reasons[reason(FLE_UNKNOWN)], 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_are_their_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
