/*
 * site-flow.c - what the scan makes of a call's argument on all paths to it, of code
 * by hand that says what must come out.
 */
#include "site-rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_named_when_all_paths_agree),
	};

	return cmocka_run_group_tests_name("site-flow", tests, make_dir, remove_dir);
}
