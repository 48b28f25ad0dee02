/*
 * site-inner.c - which of the bodies in one another stands at an address, of code by hand
 * that says what must come out.
 */
#include "site-rig.h"

struct inner {
	struct found sites;		/* ELF addresses */
	struct symbols symbols;
	const struct fl_module *m;
};

/* 1 + the symbol of the function that the call at `at` names. */
static uint32_t name_call(void *arg, uintptr_t at)
{
	const struct inner *in = arg;
	const struct fl_site *s = site_at(&in->sites, at - in->m->bias);

	for (uint32_t i = 0; s && i < in->symbols.n; i++)
		if (in->symbols.s[i].value == s->function)
			return i + 1;
	return 0;
}

/* "in.FUNCTION.n" */
static bool is_right(const struct symbols *y, size_t i, uint32_t inner)
{
	const char *want = y->s[i].name + strlen("in.");
	const char *got = inner ? y->s[inner - 1].name : "none";
	size_t n = strcspn(want, ".");

	if (strlen(got) == n && !strncmp(got, want, n))
		return true;
	printf("%s: %s\n", y->s[i].name, got);
	return false;
}

static void lay_out(struct fl_module *m, struct fl_obj *o)
{
	char path[128];

	snprintf(path, sizeof path, "%s/x", dir);
	assert_int_equal(fl_obj_open(o, path), 0);
	assert_int_equal(fl_obj_lay_out(m, o, path), 0);
}

/* Each address is asked for, all at once, and then alone, when code around it is read alone. */
static void ask(const struct fl_module *m, struct inner *in, uint32_t *inner, bool alone)
{
	static uintptr_t at[MAX];
	struct fl_inner_in how = { .at = at, .function_at = name_call, .arg = in };

	how.n = alone ? 1 : in->symbols.n;
	for (size_t i = 0; i < in->symbols.n; i++)
		at[i] = m->bias + in->symbols.s[i].value;
	for (size_t i = 0; i < in->symbols.n; i += how.n, how.at += how.n)
		assert_int_equal(fl_site_inner(m, &how, &inner[i]), 0);
}

/* The number of symbols with a mark. */
static size_t check_file(const char *link, bool alone)
{
	static struct inner in;
	static uint32_t inner[MAX];
	struct fl_module m;
	struct fl_obj o;
	size_t n = 0;

	assert_true(run("gcc %s %s/inner.S -o %s/x", link, golden, dir));
	read_symbols(&in.symbols, "x");
	scan(&in.sites, "x");
	lay_out(&m, &o);
	in.m = &m;
	ask(&m, &in, inner, alone);
	for (size_t i = 0; i < in.symbols.n; i++) {
		if (strncmp(in.symbols.s[i].name, "in.", 3))
			continue;
		assert_true(is_right(&in.symbols, i, inner[i]));
		n++;
	}
	fl_obj_unlay(&m);
	fl_obj_close(&o);
	return n;
}

static void the_innermost_body_is_told(void **state)
{
	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		assert_int_equal(check_file("-shared", alone), 52);
		assert_int_equal(check_file("-no-pie -nostartfiles -Wl,-e,0", alone), 52);
	}
}

static void a_module_without_calls_has_none(void **state)
{
	struct fl_module m;
	struct fl_obj o;
	uint32_t inner = 7;

	(void)state;
	assert_true(run("echo 'int f(int x) { return x; }' | gcc -xc -shared - -o %s/x", dir));
	lay_out(&m, &o);
	assert_int_equal(fl_site_inner(&m, &(struct fl_inner_in){
		.at = &m.lo, .n = 1, .function_at = name_call }, &inner), 0);
	assert_int_equal(inner, 0);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_body_is_told),
		cmocka_unit_test(a_module_without_calls_has_none),
	};

	return cmocka_run_group_tests_name("site-inner", tests, make_dir, remove_dir);
}
