/*
 * unit/calibration: a kept calibration is taken as it was written or not at
 * all, on the machine it was made on and on no other.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "patch/calibration.h"
#include "patch/sync.h"

#define KEY "AuthenticAMD 25 17 1 0x1000065 KVMKVMKVM"
static const char good[] = "flick-calibration 1\n"
			   "cpu " KEY "\n"
			   "t_max 3600\n"
			   "measured 1800\n"
			   "line yes\n"
			   "end\n";

static int parse(const char *text, struct fl_calibration *c)
{
	return fl_calibration_parse(c, text, strlen(text), KEY);
}

/* ---- the text ------------------------------------------------------------------- */

static void what_was_written_is_read(void **state)
{
	struct fl_calibration c;

	(void)state;
	assert_int_equal(parse(good, &c), 0);
	assert_int_equal(c.t_max, 3600);
	assert_true(c.line);
}

static void another_processor_is_told_apart(void **state)
{
	struct fl_calibration c = { .t_max = 7 };

	(void)state;
	assert_int_equal(fl_calibration_parse(&c, good, strlen(good), KEY "x"),
			 FLE_OTHERCPU);
	assert_int_equal(c.t_max, 7);		/* untouched */
}

static void damage_is_no_calibration(void **state)
{
	static const char head[] = "flick-calibration 1\ncpu " KEY "\n";
	static const char *const bad[] = {
		"t_max 3000\nend\n", "line yes\nend\n", "t_max 3000\nline yes\n",
		"t_max 2999\nline yes\nend\n", "t_max 0\nline yes\nend\n",
		"t_max 99999999999\nline yes\nend\n", "t_max -3000\nline yes\nend\n",
		"t_max 3000x\nline yes\nend\n", "t_max  3000\nline yes\nend\n",
		"t_max \nline yes\nend\n", "t_max\nline yes\nend\n",
		"t_max none\nline yes\nend\n", "t_max 3000\nline maybe\nend\n",
		"t_max 3000\nline yes\nend\nmore\n", "t_max 3000\nline yes\nend",
		"t_max 3000\nt_max 3000\nline yes\nend\n",
		"t_max 3000\nline yes\nline yes\nend\n", "t_max 3000\nline yes\n\nend\n",
	};
	struct fl_calibration c;
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof text, "%s%s", head, bad[i]);
		assert_int_equal(parse(text, &c), FLE_UNCALIBRATED);
	}
	assert_int_equal(parse("", &c), FLE_UNCALIBRATED);
	assert_int_equal(parse("flick-calibration 2\nend\n", &c), FLE_UNCALIBRATED);
}

static void a_file_cut_short_is_refused_at_every_length(void **state)
{
	struct fl_calibration c;

	(void)state;
	for (size_t n = 0; n < strlen(good); n++)
		assert_int_equal(fl_calibration_parse(&c, good, n, KEY),
				 FLE_UNCALIBRATED);
}

/* One byte of it may become anything: it is refused, or says what it says. */
static void no_byte_changes_more_than_itself(void **state)
{
	char text[sizeof good];

	(void)state;
	for (size_t at = 0; at < strlen(good); at++)
		for (int byte = 0; byte < 256; byte++) {
			struct fl_calibration c = { 0 };
			int err;

			memcpy(text, good, sizeof good);
			text[at] = (char)byte;
			err = fl_calibration_parse(&c, text, strlen(good), KEY);
			assert_true(err == 0 || err == FLE_UNCALIBRATED ||
				    err == FLE_OTHERCPU);
			if (!err)
				assert_in_range(c.t_max, FL_WAIT_FLOOR, 9999);
		}
}

/* ---- the machine ------------------------------------------------------------------ */

static void the_key_names_the_microcode(void **state)
{
	char key[FL_CALIBRATION_KEY], again[FL_CALIBRATION_KEY], line[4096];
	char microcode[64] = "-", within[80];
	FILE *f = fopen("/proc/cpuinfo", "r");

	(void)state;
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "microcode : %63s", microcode) == 1)
			break;
	if (f)
		fclose(f);
	fl_calibration_key(key);
	fl_calibration_key(again);
	assert_string_equal(key, again);
	snprintf(within, sizeof within, " %s ", microcode);
	assert_non_null(strstr(key, within));
}

/* ---- the place ---------------------------------------------------------------------- */

static char dir[PATH_MAX];

static const char *in_dir(const char *name)
{
	static char path[PATH_MAX * 2];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void put(const char *name, const char *key, const char *rest)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fprintf(f, "flick-calibration 1\ncpu %s\n%s", key, rest);
	assert_int_equal(fclose(f), 0);
}

/* What a process with just this environment is told: it is this program again. */
static int ask_with(char *what, const char *name, const char *value)
{
	char setting[PATH_MAX * 2], *argv[] = { "calibration", what, NULL };
	char *env[] = { setting, NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		snprintf(setting, sizeof setting, "%s=%s", name, value);
		execve("/proc/self/exe", argv, env);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int load_with(const char *name, const char *value)
{
	return ask_with("load", name, value);
}

enum { LOADED, UNCALIBRATED, OTHERCPU };

static int load(void)
{
	struct fl_calibration c;
	int err = fl_calibration_load(&c);

	return !err ? LOADED : err == FLE_OTHERCPU ? OTHERCPU :
	       err == FLE_UNCALIBRATED ? UNCALIBRATED : 98;
}

static void it_is_found_where_the_environment_says(void **state)
{
	char key[FL_CALIBRATION_KEY], big[4000];

	(void)state;
	fl_calibration_key(key);
	put("mine", key, "t_max 3000\nline no\nend\n");
	put("other", "GenuineIntel 6 1 1 0x1 bare", "t_max 3000\nline no\nend\n");
	mkdir(in_dir("flick"), 0755);
	mkdir(in_dir(".config"), 0755);
	mkdir(in_dir(".config/flick"), 0755);
	put("flick/calibration", key, "t_max 3000\nline no\nend\n");
	put(".config/flick/calibration", "GenuineIntel 6 1 1 0x1 bare",
	    "t_max 3000\nline no\nend\n");
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	put("big", key, big);
	assert_int_equal(load_with("FLICK_CALIBRATION", in_dir("mine")), LOADED);
	assert_int_equal(load_with("FLICK_CALIBRATION", in_dir("other")), OTHERCPU);
	assert_int_equal(load_with("FLICK_CALIBRATION", in_dir("big")), UNCALIBRATED);
	assert_int_equal(load_with("FLICK_CALIBRATION", in_dir("none")), UNCALIBRATED);
	assert_int_equal(load_with("FLICK_CALIBRATION", dir), UNCALIBRATED);
	assert_int_equal(load_with("FLICK_CALIBRATION", big), UNCALIBRATED);
	assert_int_equal(load_with("XDG_CONFIG_HOME", dir), LOADED);
	assert_int_equal(load_with("HOME", dir), OTHERCPU);
	assert_int_equal(load_with("FLICK_CALIBRATION", ""), UNCALIBRATED);
	assert_int_equal(load_with("XFLICK_CALIBRATION", in_dir("mine")), UNCALIBRATED);
}

/* ---- what it is used for --------------------------------------------------------------- */

enum { TICKS = 30000000 };			/* some 10 ms */

/* Each line of a complaint has its own status. */
static int pass_tickets(void)
{
	uint64_t before;
	struct fl_ticket t;

	if (fl_patch_open("wait") || !fl_patch_sync_waits())
		return 1;
	before = fl_arch_ticks();
	fl_patch_sync();
	if (fl_arch_ticks() - before < TICKS)
		return 2;
	before = fl_arch_ticks();
	t = fl_sync_ticket();
	if (fl_sync_passed(t) && fl_arch_ticks() - before < TICKS)
		return 3;
	while (!fl_sync_passed(t))
		fl_arch_pause();
	return fl_arch_ticks() - before < TICKS ? 4 : 0;
}

static void a_sync_waits_for_as_long_as_was_measured(void **state)
{
	char key[FL_CALIBRATION_KEY], rest[64];

	(void)state;
	fl_calibration_key(key);
	snprintf(rest, sizeof rest, "t_max %d\nline no\nend\n", TICKS);
	put("long", key, rest);
	assert_int_equal(ask_with("wait", "FLICK_CALIBRATION", in_dir("long")), 0);
	assert_int_equal(ask_with("wait", "FLICK_CALIBRATION", in_dir("none")), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(another_processor_is_told_apart),
		cmocka_unit_test(damage_is_no_calibration),
		cmocka_unit_test(a_file_cut_short_is_refused_at_every_length),
		cmocka_unit_test(no_byte_changes_more_than_itself),
		cmocka_unit_test(the_key_names_the_microcode),
		cmocka_unit_test(it_is_found_where_the_environment_says),
		cmocka_unit_test(a_sync_waits_for_as_long_as_was_measured),
	};

	if (argc > 1 && !strcmp(argv[1], "load"))
		return load();
	if (argc > 1)
		return pass_tickets();
	snprintf(dir, sizeof dir, "%s/flick-calibration.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
