/*
 * site-truth.c - a name is what the call says: the scan's names, against what the
 * calls of programs say when they run, of each compiler, at each level.
 *
 *	27733 calls named, 39 not; that ran: 12592 right | wrong 0
 *
 * timeout: 600
 */
#include "site-rig.h"

struct program {
	const char *source, *compiler;
};
static const struct program programs[] = {
	{ "deep.c", "gcc" }, { "deep.c", "clang" },
	{ "deep.cc", "g++" }, { "deep.cc", "clang++" },
};
static const char *const levels[] = {
	"-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer",
};
static const char *const shapes[] = {
	"-fPIE -pie", "-fno-pie -no-pie", "-fPIE -pie -fno-plt -Wl,-z,noseparate-code",
};

struct tally {
	size_t right, wrong, named, unnamed;
};

static void take_program(struct tally *t, const struct program *p, const char *level,
			 const char *shape)
{
	static struct found f;
	size_t right = 0, wrong, unnamed;

	assert_true(run("%s %s %s -finstrument-functions %s/%s -o %s/x", p->compiler,
			level, shape, golden, p->source, dir));
	assert_true(run("TRUTH=%s/truth LD_PRELOAD=%s/truth.so %s/x >%s/out 2>&1", dir, dir,
			dir, dir));
	scan(&f, "x");
	wrong = compare_with_truth(&f, &right);
	unnamed = count_unnamed("x");
	if (wrong || unnamed * 20 > f.n + unnamed)
		printf("%s %s %s %s: %zu named, %zu not; ran: %zu right, %zu wrong\n",
		       p->compiler, level, shape, p->source, f.n, unnamed, right, wrong);
	t->right += right;
	t->wrong += wrong;
	t->named += f.n;
	t->unnamed += unnamed;
}

static void a_name_is_what_the_call_says(void **state)
{
	struct tally t = { 0 };

	(void)state;
	assert_true(run("gcc -O2 -shared -fPIC %s/truth.c -o %s/truth.so", golden, dir));
	for (size_t p = 0; p < ARRAY_LEN(programs); p++)
		for (size_t l = p % stride(2);
		     has(programs[p].compiler) && l < ARRAY_LEN(levels); l += stride(2))
			take_program(&t, &programs[p], levels[l],
				     shapes[(p + l) % ARRAY_LEN(shapes)]);
	printf("%zu calls named, %zu not; that ran: %zu right | wrong %zu\n", t.named,
	       t.unnamed, t.right, t.wrong);
	assert_int_equal(t.wrong, 0);
	assert_true(t.right > 10000 / stride(2));
	assert_true(t.unnamed * 100 <= t.named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_what_the_call_says),
	};

	return cmocka_run_group_tests_name("site-truth", tests, make_dir, remove_dir);
}
