/*
 * cmd-selftest.c - flick selftest: try to break switching on this machine.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "trial/trial.h"

enum { DEFAULT_S = 20, MAX_S = 86400 };

struct request {
	uint32_t seconds;
	const char *test, *sync;	/* NULL: all; the best */
	unsigned format;		/* 1: JSON */
};

/* ---- progress --------------------------------------------------------------------- */

struct progress {
	const struct fl_torture *test;
	size_t done, of;
	bool shown;
};

static void show_progress(void *arg)
{
	const struct progress *p = arg;

	if (p->shown)
		fprintf(stderr, "\rflick: %zu of %zu, %s: %s\033[K", p->done + 1, p->of,
			p->test->name, p->test->about);
}

/* ---- results ---------------------------------------------------------------------- */

static bool is_right(const struct fl_tally *t)
{
	return !t->torn && !t->lost && !t->stray;
}

static void print_line(const struct fl_torture *t, const struct fl_verdict *v)
{
	const struct fl_tally *c = &v->tally;

	if (v->skipped)
		printf("%-8s skipped: no place is switched so here; `flick calibrate` may "
		       "allow it\n", t->name);
	else
		printf("%-8s old %" PRIu64 " new %" PRIu64 " | torn %" PRIu64 " lost %"
		       PRIu64 " stray %" PRIu64 "\n", t->name, c->old, c->new, c->torn,
		       c->lost, c->stray);
	if (!is_right(c))
		printf("%-8s first fault: %s\n", "", v->note);
}

static void add(struct fl_tally *sum, const struct fl_tally *t)
{
	sum->old += t->old;
	sum->new += t->new;
	sum->torn += t->torn;
	sum->lost += t->lost;
	sum->stray += t->stray;
	for (size_t i = 0; i < FL_N_TACTICS; i++)
		sum->switched[i] += t->switched[i];
}

static void print_switched(const struct fl_tally *t)
{
	fputs("switched", stdout);
	for (size_t i = 0; i < FL_N_TACTICS; i++)
		printf("%s %s %" PRIu64, i ? "," : ":", fl_tactic_names[i], t->switched[i]);
	putchar('\n');
}

static void print_verdict(const struct fl_tally *sum, int status)
{
	print_switched(sum);
	if (!is_right(sum))
		printf("switching does NOT work on this machine: %" PRIu64 " torn, %" PRIu64
		       " lost, %" PRIu64 " stray; do not use flick here, and report this\n",
		       sum->torn, sum->lost, sum->stray);
	else if (status != FL_EXIT_WELL)
		puts("nothing is shown: a test never met both instructions; "
		     "try more --seconds");
	else
		printf("switching works on this machine: %" PRIu64 " executions, each of the "
		       "old or the new instruction, whole\n", sum->old + sum->new);
}

static void print_tally_json(const struct fl_tally *t)
{
	printf("\"old\": %" PRIu64 ", \"new\": %" PRIu64 ", \"torn\": %" PRIu64
	       ", \"lost\": %" PRIu64 ", \"stray\": %" PRIu64 ", \"switched\": {", t->old,
	       t->new, t->torn, t->lost, t->stray);
	for (size_t i = 0; i < FL_N_TACTICS; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", fl_tactic_names[i],
		       t->switched[i]);
	putchar('}');
}

/* Notes are ours: they hold no quotation mark. */
static void print_json(const struct fl_torture *t, const struct fl_verdict *v,
		       const char *before)
{
	printf("%s  {\"test\": \"%s\", \"skipped\": %s, ", before, t->name,
	       v->skipped ? "true" : "false");
	print_tally_json(&v->tally);
	printf(", \"note\": \"%s\"}", v->note);
}

/* ---- the run ---------------------------------------------------------------------- */

static int run_one(const struct request *r, struct fl_verdict *v, struct progress *p)
{
	unsigned ms = (unsigned)(r->seconds * 1000 / p->of);
	int err;

	fflush(stdout);
	err = fl_torture_run(p->test, v, r->sync, ms, show_progress, p);
	if (p->shown)
		fputs("\r\033[K", stderr);	/* the line of how far it was is wiped */
	if (err == FLE_OPTION)
		fl_say("there is no way to synchronise cores called `%s`; see `flick doctor`",
		       r->sync ? r->sync : getenv("FLICK_SYNC"));
	else if (err)
		fl_say("cannot run test %s: %s", p->test->name, fl_reason(err));
	return err;
}

static int run_all(const struct request *r, struct fl_tally *sum, bool *shown)
{
	struct progress p = {
		.shown = isatty(STDERR_FILENO), .of = r->test ? 1 : fl_n_tortures,
	};

	for (p.test = fl_tortures; p.test < fl_tortures + fl_n_tortures; p.test++) {
		struct fl_verdict v;
		int err;

		if (r->test && strcmp(r->test, p.test->name))
			continue;
		err = run_one(r, &v, &p);
		if (err)
			return err;
		if (r->format)
			print_json(p.test, &v, p.done ? ",\n" : "{\"tests\": [\n");
		else
			print_line(p.test, &v);
		p.done++;
		add(sum, &v.tally);
		/* Where old or new code was never met, nothing has been shown. */
		*shown &= v.skipped || (v.tally.old && v.tally.new);
	}
	return 0;
}

static int selftest(const struct request *r)
{
	struct fl_tally sum = { 0 };
	bool shown = true;
	int err = run_all(r, &sum, &shown), status;

	if (err)
		return err == FLE_OPTION ? FL_EXIT_USAGE : FL_EXIT_FAILED;
	status = is_right(&sum) && shown ? FL_EXIT_WELL : FL_EXIT_FAILED;
	if (r->format) {
		fputs("\n], \"all\": {", stdout);
		print_tally_json(&sum);
		printf("}, \"works\": %s}\n", status == FL_EXIT_WELL ? "true" : "false");
	} else {
		print_verdict(&sum, status);
	}
	return status;
}

/* ---- options ---------------------------------------------------------------------- */

static const char *each_test(size_t i)
{
	return i < fl_n_tortures ? fl_tortures[i].name : NULL;
}

static const char *each_format(size_t i)
{
	static const char *const names[] = { "text", "json" };

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

#define AT(field) .at = offsetof(struct request, field)

static const struct fl_option options[] = {
	{ 0, "seconds", "N", "take about N seconds in all (20)",
	  fl_take_number, AT(seconds), 1, MAX_S },
	{ 0, "test", "NAME", "run only this test", fl_take_name, AT(test), .each = each_test },
	{ 0, "sync", "NAME", "way to synchronise cores (the best)",
	  fl_take_name, AT(sync), .each = fl_sync_each },
	{ 0, "format", "FORMAT", "text (default) or json",
	  fl_take_choice, AT(format), .each = each_format },
	{ 0 }
};

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	struct request r = { .seconds = DEFAULT_S };

	if (fl_args_take(&a, &r))
		return FL_EXIT_USAGE;
	if (a.at < a.argc) {
		fl_say("usage: flick %s %s", cmd->name, cmd->args);
		return FL_EXIT_USAGE;
	}
	(void)account;
	if (fl_trial_none()) {
		fl_say("nothing was tested: %s", fl_trial_none());
		return FL_EXIT_FAILED;
	}
	return selftest(&r);
}

const struct fl_cmd fl_cmd_selftest = {
	.name = "selftest",
	.args = "[OPTION...]",
	.about = "Try to break switching on this machine, and count what breaks",
	.more = "Tests: sync, flip, word, line, wide, set, async, contest, signals, threads,\n"
		"fork. Each prints the executions that met the old and the new instruction;\n"
		"what is right of the bar must be 0. Each is a process of its own, which may\n"
		"crash. The kernel's log may name it then.\n"
		"Exit status: 0 when all is right, 1 when not, 2 usage.",
	.options = options,
	.run = run,
};
