/*
 * unit/select-providers: which modules get second bodies, from the command line to the scan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "select/select.h"
#include "site/scan.h"

static struct fl_body_rules rules;

/* -P a, -P b, ..., -U c: "+a", "-c". */
static int rule(uint32_t providers, const char *const *words)
{
	struct fl_selection *s = fl_selection_new();
	int err;

	for (; *words; words++)
		assert_int_equal(fl_selection_add(s, **words == '+', *words + 1), 0);
	assert_int_equal(fl_selection_ready(s), 0);
	err = fl_providers_rule(&rules, s, providers);
	fl_selection_free(s);
	fl_site_rules(&rules);
	return err;
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

static bool wants(const char *path, int n_sites)
{
	static const unsigned char bytes[1];
	struct fl_module m = { .path = path, .file.bytes = bytes };

	return fl_site_wants_bodies(&m, n_sites);
}

static void programs_and_their_libraries_have_bodies_the_runtime_has_none(void **state)
{
	static const char *const none[] = {
		"libc.so.6", "libm.so.6", "libstdc++.so.6.0.30", "libgcc_s.so.1",
		"libpthread.so.0", "libasan.so.8", "ld-linux-x86-64.so.2", "libflick.so.0",
		"libnss_systemd.so.2", "libc-2.31.so",
	};
	static const char *const some[] = {
		"bzip2", "libbz2.so.1.0", "libcrypto.so.3", "libmpdec.so.3", "libcap.so.2",
		"_struct.cpython-311-x86_64-linux-gnu.so", "libcalc.so", "",
	};
	char path[128];

	(void)state;
	assert_int_equal(rule(0, WORDS(NULL)), 0);
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		snprintf(path, sizeof(path), "/lib/x86_64-linux-gnu/%s", none[i]);
		assert_false(wants(path, 0));
	}
	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		snprintf(path, sizeof(path), "/usr/bin/%s", some[i]);
		assert_true(wants(path, 0));
	}
}

static void a_module_with_compilers_sites_keeps_to_them_unless_asked(void **state)
{
	(void)state;
	rule(0, WORDS("+main"));
	assert_true(wants("/bin/app", 0));
	assert_false(wants("/bin/app", 1));
	rule(1u << FL_PROVIDER_BODY, WORDS("+main"));
	assert_true(wants("/bin/app", 1));
	assert_false(wants("/lib/libc.so.6", 0));
}

static void a_pattern_that_names_a_module_takes_it(void **state)
{
	(void)state;
	rule(0, WORDS("+libc.so*!mem*", "-libm.so*!sin"));
	assert_true(wants("/lib/libc.so.6", 0));
	assert_false(wants("/lib/libm.so.6", 0));
	rule(0, WORDS("+mem*"));
	assert_false(wants("/lib/libc.so.6", 0));
	rule(0, WORDS("+*!mem*"));
	assert_true(wants("/lib/libc.so.6", 0));
}

static void who_asks_for_others_gets_none(void **state)
{
	(void)state;
	assert_int_equal(rule(1u << FL_PROVIDER_CYG | 1u << FL_PROVIDER_XRAY, WORDS(NULL)), 0);
	assert_false(wants("/bin/app", 0));
	assert_true(fl_providers_has(1u << FL_PROVIDER_CYG, FL_PROVIDER_CYG));
	assert_false(fl_providers_has(1u << FL_PROVIDER_CYG, FL_PROVIDER_XRAY));
	assert_true(fl_providers_has(0, FL_PROVIDER_XRAY));
}

static void modules_that_there_is_no_room_for_are_said(void **state)
{
	char one[3000];

	(void)state;
	memset(one, 'x', sizeof(one));
	memcpy(one, "+a", 2);
	memcpy(one + sizeof(one) - 3, "!f", 3);
	assert_int_equal(rule(0, WORDS(one, one)), 0);
	assert_int_equal(rule(0, WORDS(one, one, one)), -1);
	assert_int_equal(rules.text[FL_RULES_BYTES - 1], 0);
	assert_int_equal(rules.text[FL_RULES_BYTES - 2], 0);
}

/* What has no file cannot be copied: the kernel's own module, say. */
static void without_a_file_or_rules_there_is_none(void **state)
{
	struct fl_module m = { .path = "linux-vdso.so.1" };
	static const unsigned char bytes[1];

	(void)state;
	rule(0, WORDS(NULL));
	assert_false(fl_site_wants_bodies(&m, 0));
	fl_site_rules(NULL);
	m.file.bytes = bytes;
	assert_false(fl_site_wants_bodies(&m, 0));
	m.laid_out = true;
	assert_true(fl_site_wants_bodies(&m, 0));
}

static void the_loader_and_go_never_have_any(void **state)
{
	struct fl_module m = { .path = "/lib64/ld-linux-x86-64.so.2", .laid_out = true };
	static const char names[] = "\0.gopclntab";
	Elf64_Ehdr eh = { .e_shstrndx = 1 };
	Elf64_Shdr sh[3] = { [1] = { .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
			     [2] = { .sh_name = 1, .sh_type = SHT_NOBITS } };

	(void)state;
	assert_int_equal(fl_site_never_bodies(&m), FLE_LOADER);
	m.path = "/usr/bin/gofmt";
	assert_int_equal(fl_site_never_bodies(&m), 0);
	m.file = (struct fl_obj){ .bytes = (const void *)names, .n_bytes = sizeof(names),
				  .eh = &eh, .sh = sh, .n_sh = 3 };
	assert_int_equal(fl_site_never_bodies(&m), FLE_GO);
	assert_non_null(fl_err_text(FLE_GO));
}

static int why_never(const char *section)
{
	char names[32] = "";
	Elf64_Ehdr eh = { .e_shstrndx = 1 };
	Elf64_Shdr sh[3] = { [1] = { .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
			     [2] = { .sh_name = 1, .sh_type = SHT_NOBITS } };
	struct fl_module m = { .path = "/usr/bin/app", .laid_out = true };

	snprintf(names + 1, sizeof(names) - 1, "%s", section);
	m.file = (struct fl_obj){ .bytes = (const void *)names, .n_bytes = sizeof(names),
				  .eh = &eh, .sh = sh, .n_sh = 3 };
	return fl_site_never_bodies(&m);
}

/* OCaml's programs are known by a symbol. */
static int why_never_with(const char *symbol, uint16_t section)
{
	char names[32] = "";
	Elf64_Ehdr eh = { .e_shstrndx = 0 };
	Elf64_Sym symbols[2] = { [1] = { .st_name = 1, .st_shndx = section } };
	Elf64_Shdr sh[3] = {
		[1] = { .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
		[2] = { .sh_type = SHT_DYNSYM, .sh_link = 1, .sh_size = sizeof(symbols),
			.sh_entsize = sizeof(symbols[0]) },
	};
	char file[sizeof(names) + sizeof(symbols)];
	struct fl_module m = { .path = "/usr/bin/app", .laid_out = true };

	snprintf(names + 1, sizeof(names) - 1, "%s", symbol);
	memcpy(file, names, sizeof(names));
	memcpy(file + sizeof(names), symbols, sizeof(symbols));
	sh[2].sh_offset = sizeof(names);
	m.file = (struct fl_obj){ .bytes = (const void *)file, .n_bytes = sizeof(file),
				  .eh = &eh, .sh = sh, .n_sh = 3 };
	return fl_site_never_bodies(&m);
}

static void collectors_that_know_their_own_code_alone_have_none(void **state)
{
	(void)state;
	assert_int_equal(why_never("__managedcode"), FLE_FRAMES);
	assert_int_equal(why_never(".svm_heap"), FLE_FRAMES);
	assert_int_equal(why_never(".gopclntab"), FLE_GO);
	assert_int_equal(why_never(".text"), 0);
	assert_int_equal(why_never_with("caml_frametable", 1), FLE_FRAMES);
	assert_int_equal(why_never_with("caml_frametable", SHN_UNDEF), 0);
	assert_int_equal(why_never_with("caml_frametables", 1), 0);
	assert_int_equal(why_never_with("mono_aot_file_info", 1), FLE_FRAMES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_and_their_libraries_have_bodies_the_runtime_has_none),
		cmocka_unit_test(a_module_with_compilers_sites_keeps_to_them_unless_asked),
		cmocka_unit_test(a_pattern_that_names_a_module_takes_it),
		cmocka_unit_test(who_asks_for_others_gets_none),
		cmocka_unit_test(modules_that_there_is_no_room_for_are_said),
		cmocka_unit_test(without_a_file_or_rules_there_is_none),
		cmocka_unit_test(the_loader_and_go_never_have_any),
		cmocka_unit_test(collectors_that_know_their_own_code_alone_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
