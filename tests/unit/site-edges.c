/*
 * site-edges.c - what a first call tells of its site, XRay's sleds, and what cannot be
 * a site and says why.
 */
#include "site-rig.h"

/* ---- first calls --------------------------------------------------------- */

int (*nothing)(void *, void *);		/* a pointer of our own; stub: behind a landing pad */
__asm__(".text\nstub:\tendbr64\n\tjmp *nothing(%rip)\n");
static uintptr_t seen_at;

__attribute__((noinline)) static int met(void *function, void *caller)
{
	struct fl_site s;
	uintptr_t ret = (uintptr_t)__builtin_return_address(0);

	(void)caller;
	if (!fl_site_at_return(&s, ret, (uintptr_t)function, FL_ENTRY))
		return seen_at = 0;
	assert_int_equal(s.at + s.room, ret);
	assert_int_equal(s.function, (uintptr_t)function);
	assert_int_equal(s.kind, FL_ENTRY);
	seen_at = s.at;
	return s.form + 1;
}

/* met(dir, ...), by this instruction. */
#define MET_BY(insn, ...) __extension__({ \
	int form_; \
	__asm__ volatile("mov %1, %%rdi\n\t" insn : "=a"(form_) \
			 : "r"(dir), ##__VA_ARGS__ : "rdi", "rsi", "rcx", "rdx", "r8", \
			 "r9", "r10", "r11", "memory", "cc"); \
	form_; })

static void a_first_call_finds_its_site(void **state)
{
	(void)state;
	nothing = met;
	fl_site_cyg_targets((uintptr_t)met, (uintptr_t)met);
	assert_int_equal(met(dir, NULL), FL_FORM_CALL + 1);
	assert_true(seen_at);
	assert_int_equal(MET_BY("call *%2", "m"(nothing)), FL_FORM_CALL_POINTER + 1);
	assert_int_equal(MET_BY("call stub"), FL_FORM_CALL + 1);
	assert_int_equal(MET_BY("call *%2", "r"(nothing)), 0);	/* nobody's */
	fl_site_cyg_targets((uintptr_t)dir, (uintptr_t)dir);	/* another's */
	assert_int_equal(met(dir, NULL), 0);
	assert_int_equal(MET_BY("call *%2", "m"(nothing)), 0);
	assert_int_equal(MET_BY("call stub"), 0);
	fl_site_cyg_targets(0, 0);
	assert_int_equal(met(dir, NULL), 0);
}

/* ---- XRay, and by hand --------------------------------------------------- */

static void xray_sleds_are_found(void **state)
{
	static struct symbols y;
	static struct found f;
	size_t n[FL_N_KINDS] = { 0 };

	(void)state;
	if (!has("clang"))
		skip();
	for (int o = 0; o <= 3; o++) {
		assert_true(run("clang -O%d -fxray-instrument -fxray-instruction-threshold=1 "
				"%s/corpus.c -o %s/x", o, golden, dir));
		read_symbols(&y, "x");
		scan(&f, "x");
		assert_true(f.n >= 20);
		assert_non_null(site_of(&f, value_of(&y, "leaf")));
		for (size_t i = 0; i < f.n; i++) {
			assert_int_equal(f.s[i].refusal, 0);
			assert_int_equal(f.s[i].room, 11);
			assert_int_equal(f.s[i].bare, 1);
			assert_int_equal(f.s[i].form, f.s[i].kind == FL_EXIT ?
					 FL_FORM_SLED_RET : FL_FORM_SLED);
			n[f.s[i].kind]++;
		}
	}
	printf("sleds: %zu entry, %zu exit, %zu tail\n", n[FL_ENTRY], n[FL_EXIT],
	       n[FL_TAIL]);
	assert_true(n[FL_ENTRY] >= 32 && n[FL_EXIT] >= 32 && n[FL_TAIL] >= 1);
}

static int count_asking(const struct found *f, uint64_t function)
{
	int n = 0;

	for (size_t i = 0; i < f->n; i++)
		n += f->s[i].function == function && f->s[i].asks;
	return n;
}

static void what_cannot_be_a_site_says_why(void **state)
{
	static struct symbols y;
	static struct found f;
	static const char *const torn[] = { "torn", "torn_tail", "torn_nop", "torn_ret" };
	const struct fl_site *s;

	(void)state;
	assert_true(run("gcc -shared %s/edge.S -o %s/x", golden, dir));
	read_symbols(&y, "x");
	scan(&f, "x");
	s = site_of(&f, value_of(&y, "branch"));
	assert_non_null(s);
	assert_int_equal(s->refusal, FLE_UNKNOWN);
	assert_int_equal(s->datum, 0x0f);	/* 0f 85: jne */
	assert_null(site_of(&f, value_of(&y, "joined")));
	assert_int_equal(site_of(&f, value_of(&y, "flags"))->refusal, FLE_FLAGS);
	assert_int_equal(count_asking(&f, value_of(&y, "ended")), 1);
	assert_int_equal(count_asking(&f, value_of(&y, "between")), 0);
	assert_int_equal(count_asking(&f, value_of(&y, "alone")), 1);
	assert_int_equal(count_asking(&f, value_of(&y, "under")), 1);
	assert_int_equal(count_asking(&f, value_of(&y, "branch")), 0);
	for (size_t i = 0; i < ARRAY_LEN(torn); i++)
		assert_int_equal(site_of(&f, value_of(&y, torn[i]))->refusal, FLE_CHANGED);
	for (size_t i = 0; i < f.n; i++)
		if (f.s[i].provider == FL_PROVIDER_PATCHABLE)
			assert_int_equal(f.s[i].refusal, FLE_NOTEXT);
	assert_int_equal(f.n, 14);
	assert_true(run("gcc -shared -Wl,-z,notext %s/textrel.S -o %s/x", golden, dir));
	scan(&f, "x");
	assert_int_equal(f.n, 1);
	assert_int_equal(f.s[0].refusal, FLE_TEXTREL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_first_call_finds_its_site),
		cmocka_unit_test(xray_sleds_are_found),
		cmocka_unit_test(what_cannot_be_a_site_says_why),
	};

	return cmocka_run_group_tests_name("site-edges", tests, make_dir, remove_dir);
}
