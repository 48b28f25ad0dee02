/*
 * report-info.c - what a recording is of: `flick report --info`.
 *
 * A line for each thing that one asks of a directory found again: which program, when, how it
 * was recorded, how that ended, and what it cost. Texts may be anybody's, as names are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/cli.h"

static void print_label(const char *title)
{
	printf("%-10s ", title);
}

static void print_value(struct fl_store *s, const char *title, const char *key)
{
	char value[FL_VALUE];

	if (!fl_store_value(s, key, value, sizeof(value)) || !*value)
		return;
	print_label(title);
	fl_print_plain(stdout, value);
	putchar('\n');
}

static uint64_t ask_count(struct fl_store *s, const char *key)
{
	char why[FL_WHY];
	uint64_t n = 0;

	return fl_store_number(s, key, &n, why) ? 0 : n;
}

static void print_when(struct fl_store *s)
{
	char ended[256] = "?", version[256] = "?";

	fl_store_value(s, "ended", ended, sizeof(ended));
	fl_store_value(s, "version", version, sizeof(version));
	print_label("recorded");
	printf("until ");
	fl_print_plain(stdout, ended);
	printf(", in %.3f s, by flick ", (double)ask_count(s, "duration_ns") / 1e9);
	fl_print_plain(stdout, version);
	putchar('\n');
}

static void print_how(struct fl_store *s)
{
	static const struct {
		const char *mode, *about;
	} modes[] = {
		{ "sampled", "calls are counted, and some of them timed" },
		{ "counted", "every call is counted, none timed" },
		{ "exhaustive", "every call" },
		{ "windows", "every call in windows of time" },
	};
	char mode[256] = "";

	fl_store_value(s, "mode", mode, sizeof(mode));
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		if (strcmp(mode, modes[i].mode))
			continue;
		print_label("how");
		puts(modes[i].about);
	}
}

/* With -p there may be no end, which is status 0, too. */
static void print_outcome(struct fl_store *s)
{
	const int status = (int)ask_count(s, "status");
	const uint64_t n = ask_count(s, "processes");

	print_label("process");
	printf("%" PRIu64, ask_count(s, "pid"));
	if (n > 1)
		printf(" and %" PRIu64 " more", n - 1);
	if (WIFSIGNALED(status))
		printf(", ended by signal %d (%s)", WTERMSIG(status),
		       strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		printf(", exited with status %d", WEXITSTATUS(status));
	putchar('\n');
}

static void print_counts(struct fl_store *s)
{
	const uint64_t filtered = ask_count(s, "filtered");

	print_label("events");
	printf("%" PRIu64 " produced, %" PRIu64 " delivered, %" PRIu64 " lost",
	       ask_count(s, "produced"), ask_count(s, "delivered"), ask_count(s, "lost"));
	if (filtered)
		printf(", %" PRIu64 " filtered", filtered);
	putchar('\n');
	print_label("probes");
	printf("%" PRIu64 " active, %" PRIu64 " refused\n", ask_count(s, "active"),
	       ask_count(s, "refused"));
}

static void print_results(struct fl_store *s)
{
	const char *name;

	print_label("results");
	for (size_t i = 0; (name = fl_store_result(s, i)); i++) {
		printf("%s", i ? ", " : "");
		fl_print_plain(stdout, name);
	}
	putchar('\n');
}

int fl_report_info(const char *dir)
{
	struct fl_store *s = NULL;
	char why[FL_WHY] = "";

	if (fl_store_open(&s, dir, why)) {
		fl_say("%s", why);
		return FL_EXIT_FAILED;
	}
	print_value(s, "program", "command");
	print_when(s);
	print_how(s);
	print_outcome(s);
	print_counts(s);
	print_value(s, "cost", "cost");
	print_results(s);
	print_value(s, "kernel", "kernel");
	print_value(s, "machine", "machine");
	fl_store_close(s);
	return FL_EXIT_WELL;
}
