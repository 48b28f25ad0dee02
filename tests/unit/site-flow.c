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

/* Kinds of file: what is a constant, a pointer or a table is another in each. */
static const char *const links[] = {
	"-shared", "-shared -Wl,-z,ibtplt", "-shared -Wl,-z,pack-relative-relocs",
	"-no-pie -nostartfiles -Wl,-e,0", "-shared -Wa,--defsym,OWN=1",
};

struct tally {
	size_t is, no, wrong;
};

static void take_file(struct tally *t, const char *file, const char *link)
{
	static struct symbols y;
	static struct found f;
	size_t unnamed = 0;

	assert_true(run("gcc %s %s/%s -o %s/x", link, golden, file, dir));
	read_symbols(&y, "x");
	scan(&f, "x");
	for (size_t i = 0; i < y.n; i++) {
		bool is = !strncmp(y.s[i].name, "is.", 3);

		if (!is && strncmp(y.s[i].name, "no.", 3))
			continue;
		*(is ? &t->is : &t->no) += 1;
		unnamed += !site_at(&f, y.s[i].value);
		if (is_right(&f, &y, i))
			continue;
		printf("  in %s of %s, %s\n", around(&y, y.s[i].value), file, link);
		t->wrong++;
	}
	assert_int_equal(count_unnamed("x"), unnamed);
}

static void a_call_is_named_when_all_paths_agree(void **state)
{
	struct tally t = { 0 };

	(void)state;
	for (size_t l = 0; l < ARRAY_LEN(links); l++) {
		take_file(&t, "flow.S", links[l]);
		take_file(&t, "flow-ways.S", links[l]);
	}
	take_file(&t, "flow-frames.S", "-shared -Wl,--no-eh-frame-hdr");
	printf("by hand: %zu to be named, %zu not | wrong %zu\n", t.is, t.no, t.wrong);
	assert_int_equal(t.wrong, 0);
	assert_true(t.is > 500 && t.no > 250);
}

static void what_there_is_no_room_for_is_not_named(void **state)
{
	static struct found f;

	(void)state;
	assert_true(run("gcc -shared %s/crowd.S -o %s/x", golden, dir));
	scan(&f, "x");
	assert_int_equal(f.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_named_when_all_paths_agree),
		cmocka_unit_test(what_there_is_no_room_for_is_not_named),
	};

	return cmocka_run_group_tests_name("site-flow", tests, make_dir, remove_dir);
}
