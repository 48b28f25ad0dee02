/*
 * cmd-calibrate.c - flick calibrate: find out what this machine's cores do with
 * changed code, print it, and keep it for the patch layer.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "trial/trial.h"

enum { DEFAULT_S = 60, QUICK_S = 4, MAX_S = 86400 };

/* ---- progress --------------------------------------------------------------------- */

struct progress {
	bool shown;
	unsigned seconds, last;
};

static void show_progress(void *arg, unsigned done)
{
	struct progress *p = arg;

	if (!p->shown || done == p->last)
		return;
	p->last = done;
	fprintf(stderr, "\rflick: %u.%u %% of about %u s\033[K", done / 10, done % 10,
		p->seconds);
}

/* ---- the tables --------------------------------------------------------------------- */

static bool is_like(const struct fl_trial *t, const struct fl_trial *row)
{
	return t->way == row->way && t->subject == row->subject && t->cold == row->cold;
}

/* The trials like `row` with this crossing: failing runs of runs. */
static void print_crossing(const struct fl_findings *f, const struct fl_trial *row,
			   unsigned crossing)
{
	uint32_t runs = 0, failed = 0;
	char text[32];

	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (!is_like(t, row) || fl_trial_crossing(t) != crossing)
			continue;
		runs += t->runs;
		failed += fl_trial_failures(t);
	}
	snprintf(text, sizeof text, "%u/%u", failed, runs);
	printf("  %9s", runs ? text : "-");
}

static void print_store(const struct fl_findings *f, const struct fl_trial *row)
{
	uint64_t toggles = 0;

	for (size_t i = 0; i < f->n; i++)
		if (is_like(&f->trials[i], row))
			toggles += f->trials[i].toggles;
	printf("%-10s  %-12s  %-4s", fl_way_names[row->way], fl_subject_names[row->subject],
	       row->cold ? "cold" : "hot");
	for (unsigned c = 0; c < FL_N_CROSSINGS; c++)
		print_crossing(f, row, c);
	printf("  %11" PRIu64 "\n", toggles);
}

static bool has_like(const struct fl_findings *f, const struct fl_trial *row)
{
	for (size_t i = 0; i < f->n; i++)
		if (is_like(&f->trials[i], row))
			return true;
	return false;
}

static void print_stores(const struct fl_findings *f)
{
	printf("One store, failing runs by the coarsest boundary among the changed "
	       "bytes:\n%-10s  %-12s  %-4s", "store", "changes", "code");
	for (unsigned c = 0; c < FL_N_CROSSINGS; c++)
		printf("  %9s", fl_crossing_names[c]);
	printf("  %11s\n", "stores");
	for (uint8_t way = FL_WAY_LOCK8; way < FL_N_WAYS; way++)
		for (uint8_t i = 0; i < 2 * FL_N_SUBJECTS; i++) {
			struct fl_trial row = { .way = way, .subject = i / 2, .cold = i % 2 };

			if (has_like(f, &row))
				print_store(f, &row);
		}
	puts("`two halves` is the control: each of its runs must fail.\n");
}

/* The columns that stand side by side. */
static const struct column {
	uint8_t way;
	const char *head;
} columns[] = {
	{ FL_WAY_WAIT, "parked on a trap" },
	{ FL_WAY_WAIT_JUMP, "parked on a jump" },
	{ FL_WAY_WAIT_UNFENCED, "trap, without fences" },
};

static void print_split(const struct fl_findings *f, const struct column *c,
			uint32_t wait, unsigned split)
{
	uint32_t runs = 0, failed = 0;
	char text[32];

	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (t->way != c->way || t->wait != wait || t->offset != FL_ARCH_LINE - split)
			continue;
		runs += t->runs;
		failed += fl_trial_failures(t);
	}
	snprintf(text, sizeof text, "%u/%u", failed, runs);
	printf(" %6s", runs ? text : "-");
}

static void print_wait(const struct fl_findings *f, uint32_t wait)
{
	printf("%6u", wait);
	for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
		fputs(c ? " |" : "", stdout);
		for (unsigned split = 1; split <= 4; split++)
			print_split(f, &columns[c], wait, split);
	}
	putchar('\n');
}

static void print_waits_head(const struct fl_findings *f)
{
	printf("Park, wait, tail, wait, head; failing runs by wait (ticks) and split, "
	       "1 to %u executors:\n%6s", f->executors, "");
	for (size_t c = 0; c < ARRAY_LEN(columns); c++)
		printf("%s   %-25s", c ? " |" : "", columns[c].head);
	printf("\n%6s", "wait");
	for (size_t c = 0; c < ARRAY_LEN(columns); c++)
		printf("%s %6s %6s %6s %6s", c ? " |" : "", "1|4", "2|3", "3|2", "4|1");
	putchar('\n');
}

static void print_waits(const struct fl_findings *f)
{
	uint32_t last = UINT32_MAX;

	print_waits_head(f);
	for (size_t i = 0; i < f->n; i++) {
		const struct fl_trial *t = &f->trials[i];

		if (t->way != FL_WAY_WAIT || t->wait == last)
			continue;
		last = t->wait;
		print_wait(f, last);
	}
	putchar('\n');
}

static void print_fates(const struct fl_findings *f)
{
	uint64_t all[FL_N_FATES] = { 0 };

	for (size_t i = 0; i < f->n; i++)
		for (int fate = 0; fate < FL_N_FATES; fate++)
			all[fate] += f->trials[i].fates[fate];
	fputs("Runs:", stdout);
	for (int fate = 0; fate < FL_N_FATES; fate++)
		printf("%s %" PRIu64 " %s", fate ? "," : "", all[fate], fl_fate_names[fate]);
	putchar('\n');
}

static void print_verdict(const struct fl_findings *f)
{
	if (f->wait_safe)
		printf("t_max: %" PRIu64 " ticks; no failure from a wait of %" PRIu64
		       " on (%" PRIu64 " toggles)\n", f->t_max, f->measured, f->toggles);
	else
		puts("t_max: none; even the longest wait failed");
	printf("line: %s\n", f->line ? "yes; a locked store of 8 bytes within a line was "
	       "always fetched whole" : "no; a store within a line was fetched in parts");
}

/* ---- the run ------------------------------------------------------------------------- */

static const char *place(char path[FL_CALIBRATION_PATH])
{
	long n = fl_calibration_path(path, FL_CALIBRATION_PATH);
	int err;

	if (n <= 0) {
		fl_say("no place for the calibration (%s); set FLICK_CALIBRATION to a "
		       "file's name", n == -ENOENT ? "HOME is not set" :
		       fl_reason((int)n));
		return NULL;
	}
	err = fl_findings_place(path);
	if (err)
		fl_say("%s: %s; set FLICK_CALIBRATION to a file that can be written", path,
		       fl_reason(err));
	return err ? NULL : path;
}

static void say_failure(int err)
{
	if (err == -ENODEV)
		fl_say("calibration needs two processors, this process may use one");
	else if (err == -EINTR)
		fl_say("an experiment was killed from outside; nothing was saved");
	else
		fl_say("cannot run an experiment: %s; nothing was saved",
		       fl_reason(err));
}

static int conclude(const struct fl_findings *f, const char *path)
{
	int err;

	print_stores(f);
	print_waits(f);
	print_fates(f);
	if (!f->sees) {
		fl_say("the control experiment did not fail, which proves nothing; nothing was "
		       "saved (is the machine busy? try more --seconds)");
		return FL_EXIT_FAILED;
	}
	print_verdict(f);
	err = fl_findings_keep(f, path);
	if (err) {
		fl_say("%s: %s", path, fl_reason(err));
		return FL_EXIT_FAILED;
	}
	printf("kept in %s, chart in %s.svg\n", path, path);
	return FL_EXIT_WELL;
}

static void print_machine(void)
{
	char key[FL_CALIBRATION_KEY], *hypervisor;

	fl_calibration_key(key);
	hypervisor = strrchr(key, ' ');
	*hypervisor++ = '\0';
	printf("processor: %s (vendor, family, model, stepping, microcode)\n", key);
	if (!strcmp(hypervisor, "bare"))
		puts("hypervisor: none says it is there");
	else
		printf("hypervisor: %s; what it does to the processors is part of the "
		       "result\n", hypervisor);
}

static int calibrate(unsigned seconds)
{
	struct progress p = { .shown = isatty(STDERR_FILENO), .seconds = seconds };
	struct fl_findings f = { 0 };
	char path[FL_CALIBRATION_PATH];
	int err, status = FL_EXIT_FAILED;

	if (!place(path))
		return FL_EXIT_FAILED;
	print_machine();
	putchar('\n');
	if (fl_flush_output())
		return FL_EXIT_FAILED;
	err = fl_calibrate(&f, seconds, show_progress, &p);
	if (p.shown)
		fputs("\r\033[K", stderr);
	if (err)
		say_failure(err);
	else
		status = conclude(&f, path);
	fl_findings_free(&f);
	return status;
}

/* ---- what is kept --------------------------------------------------------------------- */

static void print_kept_line(char *line)
{
	char *value = line + strcspn(line, " \n"), day[32];
	time_t when;

	line[strcspn(line, "\n")] = '\0';
	if (*value)
		*value++ = '\0';
	if (!strcmp(line, "end") || !strcmp(line, "flick-calibration"))
		return;
	if (!strcmp(line, "time")) {
		when = (time_t)strtoll(value, NULL, 10);
		if (gmtime(&when) &&
		    strftime(day, sizeof day, "%Y-%m-%d %H:%M UTC", gmtime(&when)))
			value = day;
	}
	printf("%-10s %s\n", line, value);
}

/* The file is text of ours, or what somebody made of it: nothing that a
 * terminal would obey is printed. */
static void print_kept(FILE *f)
{
	char line[256];

	while (fgets(line, sizeof line, f)) {
		for (char *p = line; *p && *p != '\n'; p++)
			if (*p < ' ' || *p > '~')
				*p = '?';
		print_kept_line(line);
	}
}

static int show(void)
{
	char path[FL_CALIBRATION_PATH];
	struct fl_calibration c;
	FILE *f = NULL;
	int err;

	if (fl_calibration_path(path, sizeof path) > 0)
		f = fopen(path, "re");
	if (!f) {
		fl_say("this machine is not calibrated; `flick calibrate` does it");
		return FL_EXIT_FAILED;
	}
	printf("%-10s %s\n", "file", path);
	print_kept(f);
	fclose(f);
	err = fl_calibration_load(&c);
	if (err) {
		fl_say("%s", fl_reason(err));
		return FL_EXIT_FAILED;
	}
	puts("it fits this machine");
	return FL_EXIT_WELL;
}

/* ---- options --------------------------------------------------------------------------- */

struct wish {
	uint32_t seconds;		/* 0: none are given */
	bool quick, show;
};

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	{ 0, "seconds", "N", "take about N seconds (60); more find rarer failures",
	  fl_take_number, AT(seconds), 1, MAX_S },
	{ 0, "quick", NULL, "take a few seconds only, for a first impression",
	  fl_take_flag, AT(quick) },
	{ 0, "show", NULL, "print the calibration, and whether it fits this machine",
	  fl_take_flag, AT(show) },
	{ 0 }
};

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	struct wish w = { 0 };

	(void)account;
	if (fl_args_take(&a, &w))
		return FL_EXIT_USAGE;
	if (a.at < a.argc) {
		fl_say("usage: flick %s %s", cmd->name, cmd->args);
		return FL_EXIT_USAGE;
	}
	if ((w.seconds != 0) + w.quick + w.show > 1) {
		fl_say("only one of --seconds, --quick and --show can be used");
		return FL_EXIT_USAGE;
	}
	if (!w.show && fl_trial_none()) {
		fl_say("nothing was saved: %s", fl_trial_none());
		return FL_EXIT_FAILED;
	}
	return w.show ? show() : calibrate(w.quick ? QUICK_S :
					   w.seconds ? w.seconds : DEFAULT_S);
}

const struct fl_cmd fl_cmd_calibrate = {
	.name = "calibrate",
	.args = "[OPTION...]",
	.about = "Measure how long cores may run old code after it was changed",
	.more = "It looks for crashes: each experiment is a process of its own, and\n"
		"the kernel's log may name some. The result is kept in $FLICK_CALIBRATION, or\n"
		"in flick/calibration below $XDG_CONFIG_HOME or ~/.config; it holds for this\n"
		"processor, microcode and hypervisor. Let nothing else run meanwhile.",
	.options = options,
	.run = run,
};
