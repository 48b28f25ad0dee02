/*
 * site-flow.c - what the scan makes of a call's argument on all paths to it: of
 * code by hand that says what must come out, of programs whose calls say it when
 * they run, and of bytes that nobody meant to be code.
 *
 *	calls that ran: 61234 right | wrong 0
 *
 * timeout: 600
 */
#include <sys/resource.h>

#include "site-rig.h"

/* ---- by hand ------------------------------------------------------------- */

/* "is.FUNCTION.n": the function; "no.n": none. */
static const char *wanted(const char *symbol, char function[96])
{
	if (strncmp(symbol, "is.", 3))
		return NULL;
	snprintf(function, 96, "%s", symbol + 3);
	function[strcspn(function, ".")] = '\0';
	return function;
}

/* False, and a line, when a call is taken for what it is not. */
static bool is_right(const struct found *f, const struct symbols *y, size_t i)
{
	const struct fl_site *s = site_at(f, y->s[i].value);
	char function[96];
	const char *want = wanted(y->s[i].name, function);

	if (want ? s && !s->asks && s->function == value_of(y, want) : !s || s->asks)
		return true;
	for (size_t k = 0; s && k < y->n; k++)
		if (y->s[k].value == s->function)
			printf("%s: named %s\n", y->s[i].name, y->s[k].name);
	if (!s)
		printf("%s: not named\n", y->s[i].name);
	return false;
}

static const char *around(const struct symbols *y, uint64_t at)
{
	size_t best = 0;

	for (size_t i = 0; i < y->n; i++)
		if (y->s[i].value <= at && strchr(y->s[i].name, '.') == NULL &&
		    y->s[i].value >= y->s[best].value)
			best = i;
	return y->s[best].name;
}

static void a_call_is_named_when_all_paths_agree(void **state)
{
	static struct symbols y;
	static struct found f;
	size_t n[2] = { 0 }, wrong = 0;

	(void)state;
	assert_true(run("gcc -shared %s/flow.S -o %s/x", golden, dir));
	read_symbols(&y, "x");
	scan(&f, "x");
	for (size_t i = 0; i < y.n; i++) {
		bool is = !strncmp(y.s[i].name, "is.", 3);

		if (!is && strncmp(y.s[i].name, "no.", 3))
			continue;
		n[is]++;
		if (is_right(&f, &y, i))
			continue;
		printf("  in %s\n", around(&y, y.s[i].value));
		wrong++;
	}
	printf("by hand: %zu to be named, %zu not | wrong %zu\n", n[1], n[0], wrong);
	assert_int_equal(wrong, 0);
	assert_true(n[1] > 80 && n[0] > 40);
}

/* ---- the truth ----------------------------------------------------------- */

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

static int count(void *arg, const struct fl_site *s)
{
	(void)s;
	++*(size_t *)arg;
	return 0;
}

/* How many calls of the program the scan does not know. */
static size_t count_unnamed(const char *name)
{
	struct fl_module m;
	struct fl_obj o;
	char path[128];
	size_t n = 0;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(fl_obj_open(&o, path), 0);
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	assert_int_equal(fl_site_unnamed(&m, count, &n), 0);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
	return n;
}

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
		for (size_t l = 0; has(programs[p].compiler) && l < ARRAY_LEN(levels); l++)
			take_program(&t, &programs[p], levels[l],
				     shapes[(p + l) % ARRAY_LEN(shapes)]);
	printf("%zu calls named, %zu not; that ran: %zu right | wrong %zu\n", t.named,
	       t.unnamed, t.right, t.wrong);
	assert_int_equal(t.wrong, 0);
	assert_true(t.right > 5000);
	assert_true(t.unnamed * 100 <= t.named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_named_when_all_paths_agree),
		cmocka_unit_test(a_name_is_what_the_call_says),
	};

	return cmocka_run_group_tests_name("site-flow", tests, make_dir, remove_dir);
}
