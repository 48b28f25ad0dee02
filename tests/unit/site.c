/*
 * site.c - the sites of programs built here and now, against three witnesses:
 * objdump's listing, the symbols, and what the calls really said when they ran.
 *
 *	gcc -O2 -fPIC -shared: 29 calls, 28 sites, 1 left to its first call | wrong 0
 *
 * timeout: 300
 */
#include <dlfcn.h>

#include "site-rig.h"

/* ---- what objdump shows -------------------------------------------------- */

struct call {
	uint64_t at;
	bool is_exit, is_call, is_jump, by_pointer;
	char symbol[96];		/* that contains it */
};

struct listing {
	struct call c[MAX];
	size_t n;
};

/* "  1234:\tcall   1030 <__cyg_profile_func_enter@plt>", or through a pointer:
 * "  1234:\tcall   *0x2fd4(%rip)        # 3fd0 <__cyg_profile_func_enter@Base>" */
static void read_line(struct listing *l, const char *line, const char *symbol)
{
	const char *hook = strstr(line, "<__cyg_profile_func_");
	struct call c = { 0 };
	char word[16];

	if (!hook || strstr(hook, "+0x") || strstr(symbol, "__cyg_") || strstr(symbol, "plt"))
		return;
	if (sscanf(line, " %lx: %15s", &c.at, word) == 2 && !strcmp(word, "bnd"))
		return;
	c.is_exit = !strncmp(hook + 20, "exit", 4);
	c.is_call = !strncmp(word, "call", 4);
	c.is_jump = !strcmp(word, "jmp");
	c.by_pointer = strchr(line, '*');
	if (!c.is_call && word[0] != 'j')
		return;
	snprintf(c.symbol, sizeof c.symbol, "%s", symbol);
	assert_true(l->n < MAX);
	l->c[l->n++] = c;
}

static void read_listing(struct listing *l, const char *name)
{
	char line[1024], symbol[96] = "";
	FILE *f;

	snprintf(line, sizeof line, "objdump -d --no-show-raw-insn %s/%s", dir, name);
	f = popen(line, "r");
	assert_non_null(f);
	l->n = 0;
	while (fgets(line, sizeof line, f))
		if (line[0] != ' ')
			sscanf(line, "%*x <%95[^>]", symbol);
		else
			read_line(l, line, symbol);
	assert_int_equal(pclose(f), 0);
}

static uint8_t expected_form(const struct call *c)
{
	if (c->is_call)
		return c->by_pointer ? FL_FORM_CALL_POINTER : FL_FORM_CALL;
	if (c->is_jump)
		return c->by_pointer ? FL_FORM_JUMP_POINTER : FL_FORM_JUMP;
	return FL_FORM_NONE;
}

/* Every site is a call that objdump shows; how many calls are none? */
static size_t compare_with_listing(const struct found *f, const struct listing *l)
{
	size_t met = 0, left = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct call *c = &l->c[i];
		const struct fl_site *s = site_at(f, c->at);

		left += !s;
		met += s != NULL;
		if (!s)
			continue;
		assert_int_equal(s->kind, c->is_exit ? FL_EXIT : FL_ENTRY);
		assert_int_equal(s->form, expected_form(c));
		assert_int_equal(s->refusal, s->form == FL_FORM_NONE ? FLE_UNKNOWN : 0);
		assert_int_equal(s->bare, 0);
	}
	assert_int_equal(met, f->n);
	return left;
}

/* ---- -finstrument-functions ---------------------------------------------- */

static const char *const shapes[] = {
	"-fPIE -pie", "-fno-pie -no-pie", "-fPIC -shared -DLIBRARY",
	"-fno-plt -fPIC -shared -DLIBRARY", "-fno-plt -fno-pie -no-pie",
	"-fcf-protection -fPIE -pie", "-fPIE -pie -fuse-ld=lld -fcf-protection",
	"-fPIE -pie -fuse-ld=gold", "-fPIE -pie -Wl,-z,lazy",
	"-fPIE -pie -fno-asynchronous-unwind-tables", "-fPIE -pie -s",
};

static bool can_link(const char *shape)
{
	if (strstr(shape, "lld"))
		return has("ld.lld");
	return !strstr(shape, "gold") || has("ld.gold");
}

struct tally {
	size_t calls, left;
};

static void check_calls(struct tally *t, const char *cc, int o, const char *shape)
{
	static struct listing l;
	static struct found f;
	size_t n;

	if (!has(cc) || !can_link(shape))
		return;
	assert_true(run("%s -O%d %s -finstrument-functions %s/corpus.c -o %s/x", cc, o,
			shape, golden, dir));
	read_listing(&l, "x");
	scan(&f, "x");
	n = compare_with_listing(&f, &l);
	printf("%s -O%d %s: %zu calls, %zu sites, %zu left\n", cc, o, shape, l.n, f.n, n);
	assert_true(l.n >= 20);
	assert_true(o > 1 || n <= 1);
	t->calls += l.n;
	t->left += n;
}

static void each_call_is_a_site(void **state)
{
	struct tally t = { 0 };

	(void)state;
	for (size_t k = 0; k < 2 * 4 * ARRAY_LEN(shapes); k += stride(5))
		check_calls(&t, compilers[k % 2], k / 2 % 4, shapes[k / 8]);
	printf("%zu calls, %zu left to their first call\n", t.calls, t.left);
	assert_true(t.calls && t.left * 20 <= t.calls);
}

/* Without inlining a call belongs to the symbol that contains it. */
static void compare_names(const struct found *f, struct listing *l,
			  const struct symbols *y)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct fl_site *s = site_at(f, l->c[i].at);
		char *dot = strchr(l->c[i].symbol, '.');

		if (dot)
			*dot = '\0';			/* .cold, .part */
		if (s)
			assert_int_equal(s->function, value_of(y, l->c[i].symbol));
	}
}

static void a_site_names_the_function_that_contains_it(void **state)
{
	static const char *const whole[] = { "-fno-ipa-icf -fno-ipa-cp -fno-ipa-sra", "" };
	static struct symbols y;
	static struct listing l;
	static struct found f;

	(void)state;
	for (int k = 0; k < 2 * 4; k++) {
		if (!has(compilers[k % 2]))
			continue;
		assert_true(run("%s -O%d -fno-inline %s -finstrument-functions "
				"%s/corpus.c -o %s/x", compilers[k % 2], k / 2,
				whole[k % 2], golden, dir));
		read_listing(&l, "x");
		read_symbols(&y, "x");
		scan(&f, "x");
		compare_names(&f, &l, &y);
	}
}

/* ---- the truth: what calls say when they run ----------------------------- */

static void a_site_names_what_its_call_says(void **state)
{
	static const char *const sources[] = { "corpus.c", "corpus.cc" };
	static const char *const drivers[][2] = { { "gcc", "g++" },
						  { "clang", "clang++" } };
	static struct found f;
	size_t right = 0, wrong = 0;

	(void)state;
	assert_true(run("gcc -O2 -shared -fPIC %s/truth.c -o %s/truth.so", golden, dir));
	for (size_t k = 0; k < 2 * 2 * 4 * 3; k += stride(5)) {
		static const char *const pies[] = { "-fPIE -pie", "-fno-pie -no-pie",
						    "-fPIE -pie -fno-plt" };
		const char *cc = drivers[k / 2 % 2][k % 2];

		if (!has(cc))
			continue;
		assert_true(run("%s -O%d %s -finstrument-functions %s/%s -o %s/x", cc,
				k / 4 % 4, pies[k / 16], golden, sources[k % 2], dir));
		assert_true(run("TRUTH=%s/truth LD_PRELOAD=%s/truth.so %s/x >%s/out 2>&1",
				dir, dir, dir, dir));
		scan(&f, "x");
		wrong += compare_with_truth(&f, &right);
	}
	printf("sites that ran: %zu right | wrong %zu\n", right, wrong);
	assert_int_equal(wrong, 0);
	assert_true(right > 1000);
}

/* ---- in memory ----------------------------------------------------------- */

struct in_memory {
	const char *path;
	struct found *f;
};

static int scan_if_ours(void *arg, struct fl_module *m)
{
	struct in_memory *i = arg;

	if (strcmp(m->path, i->path))
		return 0;
	i->f->bias = m->bias;
	assert_int_equal(fl_obj_open_module(m), 0);
	return fl_site_scan(m, keep, i->f);
}

static void a_loaded_module_has_the_sites_of_its_file(void **state)
{
	static struct found file, memory;
	char path[128];

	(void)state;
	for (size_t c = 0; c < ARRAY_LEN(compilers); c++)
		for (int o = 0; has(compilers[c]) && o <= 3; o++) {
			struct in_memory i = { path, &memory };
			struct fl_modules now;
			void *h;

			snprintf(path, sizeof path, "%s/lib%zu%d.so", dir, c, o);
			assert_true(run("%s -O%d -fPIC -shared -DLIBRARY %s %s/corpus.c "
					"-finstrument-functions "
					"-fpatchable-function-entry=8 -o %s",
					compilers[c], o, o & 1 ? "-fno-plt" : "",
					golden, path));
			scan(&file, strrchr(path, '/') + 1);
			h = dlopen(path, RTLD_NOW);
			assert_non_null(h);
			memory.n = 0;
			assert_int_equal(fl_obj_list(&now), 0);
			assert_int_equal(fl_obj_each(&now, NULL, scan_if_ours, &i), file.n);
			fl_obj_unlist(&now);
			assert_true(file.n > 20);
			for (size_t k = 0; k < file.n; k++)
				assert_memory_equal(&file.s[k], &memory.s[k],
						    sizeof file.s[k]);
			dlclose(h);
		}
}

/* ---- -fpatchable-function-entry ------------------------------------------ */

static void compare_pad(const struct fl_site *s, unsigned int n, unsigned int m,
			bool cet)
{
	unsigned int room = n - m;

	assert_int_equal(s->kind, FL_ENTRY);
	assert_int_equal(s->bare, 1);
	assert_int_equal(s->at - s->function, cet ? 4 : 0);
	assert_true(s->room >= (room < 16 ? room : 15));
	if (s->room >= 5) {
		assert_int_equal(s->form, FL_FORM_PAD);
		assert_int_equal(s->refusal, 0);
	} else if (s->room >= 2 && m >= 5 && !cet) {
		assert_int_equal(s->form, FL_FORM_PAD_BEFORE);
		assert_int_equal(s->before, m);
		assert_int_equal(s->refusal, 0);
	} else {
		assert_int_equal(s->refusal, FLE_NOSPACE);
		assert_int_equal(s->datum, s->room);
	}
}

static void a_pad_is_found_behind_its_label(void **state)
{
	static const char *const names[] = {
		"leaf", "early", "loop", "choose", "tail", "recurse", "nothing", "run",
	};
	static const uint8_t nm[][2] = {
		{ 5, 0 }, { 6, 0 }, { 8, 0 }, { 10, 0 }, { 16, 0 }, { 10, 5 }, { 5, 5 },
		{ 7, 5 }, { 9, 7 }, { 3, 1 }, { 1, 0 },
	};
	static const char *const shape[] = {
		"-fPIE -pie", "-fno-pie -no-pie", "-fPIC -shared -DLIBRARY",
		"-fPIE -pie -fno-asynchronous-unwind-tables",
		"-fPIE -pie -Wl,--gc-sections -ffunction-sections",
	};
	static struct symbols y;
	static struct found f;

	(void)state;
	for (size_t k = 0; k < 2 * 2 * ARRAY_LEN(nm) * ARRAY_LEN(shape); k += stride(7)) {
		const char *cc = compilers[k % 2];
		bool cet = k / 2 % 2;
		size_t i = k / 4 % ARRAY_LEN(nm), j = k / 4 / ARRAY_LEN(nm);

		/* gcc ties the whole table to one function: that may be dropped. */
		if (!has(cc) || (j == 4 && k % 2 == 0))
			continue;
		assert_true(run("%s -O2 -fcf-protection=%s -fpatchable-function-entry=%d,%d "
				"%s %s/corpus.c -o %s/x", cc, cet ? "full" : "none",
				nm[i][0], nm[i][1], shape[j], golden, dir));
		read_symbols(&y, "x");
		scan(&f, "x");
		for (size_t t = 0; t < ARRAY_LEN(names); t++) {
			uint64_t v = value_of(&y, names[t]);
			const struct fl_site *s = v ? site_of(&f, v) : NULL;

			if (!v && j == 4)
				continue;		/* dropped */
			assert_non_null(s);
			compare_pad(s, nm[i][0], nm[i][1], cet);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_is_a_site),
		cmocka_unit_test(a_site_names_the_function_that_contains_it),
		cmocka_unit_test(a_site_names_what_its_call_says),
		cmocka_unit_test(a_loaded_module_has_the_sites_of_its_file),
		cmocka_unit_test(a_pad_is_found_behind_its_label),
	};

	return cmocka_run_group_tests_name("site", tests, make_dir, remove_dir);
}
