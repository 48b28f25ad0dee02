/*
 * unit/findings: what follows from the trials of a calibration, and that it is
 * kept as it was found. The trials' outcomes are made up.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "patch/calibration.h"
#include "trial/calibrate.h"

static char dir[PATH_MAX];

static const char *in_dir(const char *name)
{
	static char path[PATH_MAX * 2];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

/* ---- verdicts ------------------------------------------------------------------------- */

/* A calibration in which every trial has run once and gone well, but controls. */
static int plan(struct fl_findings *f)
{
	memset(f, 0, sizeof *f);
	f->executors = 2;
	f->n = fl_atoms_list(NULL) + fl_waits_list(NULL, f->executors, FL_WAITS_ALL);
	f->trials = calloc(f->n, sizeof *f->trials);
	if (!f->trials)
		return -ENOMEM;
	fl_waits_list(f->trials + fl_atoms_list(f->trials), f->executors, FL_WAITS_ALL);
	for (size_t i = 0; i < f->n; i++) {
		struct fl_trial *t = &f->trials[i];

		t->runs = 1;
		t->fates[t->way == FL_WAY_HALVES ? FL_FATE_WRONG : FL_FATE_WELL] = 1;
	}
	return 0;
}

static struct fl_trial *find(struct fl_findings *f, unsigned way, uint32_t wait,
			     unsigned offset)
{
	for (size_t i = 0; i < f->n; i++) {
		struct fl_trial *t = &f->trials[i];

		if (t->way == way && t->wait == wait && t->offset == offset)
			return t;
	}
	print_error("no such trial\n");
	abort();
}

static void let_fail(struct fl_trial *t)
{
	t->fates[FL_FATE_WELL]--;
	t->fates[FL_FATE_ILL]++;
}

static void t_max_is_beyond_the_last_wait_that_failed(void **state)
{
	struct fl_findings f;

	(void)state;
	assert_int_equal(plan(&f), 0);
	fl_findings_judge(&f);
	assert_true(f.sees && f.wait_safe && f.line);
	assert_int_equal(f.measured, 0);
	assert_int_equal(f.t_max, FL_WAIT_FLOOR);
	let_fail(find(&f, FL_WAY_WAIT, 400, 61));
	let_fail(find(&f, FL_WAY_WAIT, 2300, 62));
	let_fail(find(&f, FL_WAY_WAIT_UNFENCED, 6000, 62));	/* for information */
	fl_findings_judge(&f);
	assert_true(f.wait_safe && f.line);
	assert_int_equal(f.measured, 2400);
	assert_int_equal(f.t_max, 7200);
	for (size_t i = 0; i < f.n; i++)		/* not tried is not proved */
		if (f.trials[i].wait == 2400)
			f.trials[i].runs = 0;
	fl_findings_judge(&f);
	assert_int_equal(f.measured, 3000);
	let_fail(find(&f, FL_WAY_WAIT, 10000, 60));
	fl_findings_judge(&f);
	assert_false(f.wait_safe);
	fl_findings_free(&f);
}

static void line_is_blessed_only_without_a_failure(void **state)
{
	struct fl_findings f;

	(void)state;
	assert_int_equal(plan(&f), 0);
	let_fail(find(&f, FL_WAY_PLAIN8, 0, 62));	/* across the line */
	fl_findings_judge(&f);
	assert_true(f.line);
	let_fail(find(&f, FL_WAY_LOCK8, 0, 30));
	fl_findings_judge(&f);
	assert_false(f.line);
	assert_true(f.wait_safe);
	fl_findings_free(&f);
}

static void line_is_blessed_only_if_every_offset_was_tried(void **state)
{
	struct fl_findings f;

	(void)state;
	assert_int_equal(plan(&f), 0);
	find(&f, FL_WAY_LOCK8, 0, 52)->runs = 0;
	fl_findings_judge(&f);
	assert_false(f.line);
	fl_findings_free(&f);
}

static void who_sees_no_failure_of_a_control_proves_nothing(void **state)
{
	struct fl_findings f;
	struct fl_trial *control;

	(void)state;
	assert_int_equal(plan(&f), 0);
	control = find(&f, FL_WAY_HALVES, 0, 0);
	memset(control->fates, 0, sizeof control->fates);
	control->fates[FL_FATE_WELL] = control->runs;
	fl_findings_judge(&f);
	assert_false(f.sees || f.line || f.wait_safe);
	fl_findings_free(&f);
}

/* ---- keeping -------------------------------------------------------------------------- */

static int kept(const char *name, struct fl_calibration *c)
{
	char text[FL_CALIBRATION_BYTES], key[FL_CALIBRATION_KEY];
	FILE *f = fopen(in_dir(name), "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof text, f);
	fclose(f);
	fl_calibration_key(key);
	return fl_calibration_parse(c, text, n, key);
}

static void what_is_kept_is_what_was_found(void **state)
{
	struct fl_calibration c;
	struct fl_findings f;

	(void)state;
	assert_int_equal(plan(&f), 0);
	let_fail(find(&f, FL_WAY_WAIT, 1900, 61));
	fl_findings_judge(&f);
	assert_int_equal(fl_findings_keep(&f, in_dir("a/b/kept")), 0);
	assert_int_equal(kept("a/b/kept", &c), 0);
	assert_int_equal(c.t_max, 6000);
	assert_true(c.line);
	let_fail(find(&f, FL_WAY_WAIT, 10000, 61));
	fl_findings_judge(&f);
	assert_int_equal(fl_findings_keep(&f, in_dir("a/b/kept")), 0);
	assert_int_equal(kept("a/b/kept", &c), FLE_UNCALIBRATED);
	assert_int_equal(access(in_dir("a/b/kept.svg"), R_OK), 0);
	fl_findings_free(&f);
}

static void what_cannot_be_kept_is_refused(void **state)
{
	struct fl_findings f = { 0 };
	FILE *file = fopen(in_dir("file"), "w");

	(void)state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(fl_findings_place(in_dir("file/below")), -ENOTDIR);
	assert_int_equal(fl_findings_keep(&f, in_dir("file/below")), -ENOTDIR);
	mkdir(in_dir("taken"), 0755);
	assert_int_equal(fl_findings_place(in_dir("taken")), -EISDIR);
	assert_int_equal(fl_findings_place(in_dir("fresh/kept")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_max_is_beyond_the_last_wait_that_failed),
		cmocka_unit_test(line_is_blessed_only_without_a_failure),
		cmocka_unit_test(line_is_blessed_only_if_every_offset_was_tried),
		cmocka_unit_test(who_sees_no_failure_of_a_control_proves_nothing),
		cmocka_unit_test(what_is_kept_is_what_was_found),
		cmocka_unit_test(what_cannot_be_kept_is_refused),
	};

	snprintf(dir, sizeof dir, "%s/flick-findings.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
