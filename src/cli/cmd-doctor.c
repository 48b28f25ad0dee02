/*
 * cmd-doctor.c - flick doctor: what works on this machine, a line each; and with
 * --cost what an analysis costs a program.
 *
 * A check either passes, or says what to do; those that recording cannot do
 * without decide the exit status.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cost.h"
#include "os/os.h"
#include "patch/patch.h"

struct finding {
	bool ok;
	char text[FL_WHY];		/* what was found, or what to do */
};

__attribute__((format(printf, 3, 4)))
static void find(struct finding *f, bool ok, const char *format, ...)
{
	va_list ap;

	f->ok = ok;
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

/* The value of `key` in /proc/cpuinfo's first processor. */
static bool cpuinfo(const char *key, char out[FL_WHY * 16])
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	bool found = false;

	while (f && !found && fgets(out, FL_WHY * 16, f))
		found = !strncmp(out, key, strlen(key));
	if (f)
		fclose(f);
	if (found) {
		char *value = strchr(out, ':');

		out[strcspn(out, "\n")] = '\0';
		memmove(out, value ? value + 2 : out, strlen(value ? value + 2 : out) + 1);
	}
	return found;
}

static bool read_line(const char *path, char out[FL_WHY])
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(out, FL_WHY, f);

	if (f)
		fclose(f);
	if (got)
		out[strcspn(out, "\n")] = '\0';
	return got;
}

static void check_cpu(struct finding *f)
{
	char model[FL_WHY * 16];

	find(f, true, "%.200s, %ld online",
	     cpuinfo("model name", model) ? model : "unknown model",
	     sysconf(_SC_NPROCESSORS_ONLN));
}

static void check_kernel(struct finding *f)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major > 4 || (major == 4 && minor >= 16))
		find(f, true, "Linux %s", u.release);
	else
		find(f, false, "Linux %s; flick needs 4.16 or later", u.release);
}

static void check_clock(struct finding *f)
{
	char flags[FL_WHY * 16], source[FL_WHY] = "unknown";
	bool steady = cpuinfo("flags", flags) && strstr(flags, " constant_tsc") &&
		      strstr(flags, " nonstop_tsc");

	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  source);
	if (steady)
		find(f, true, "constant and nonstop; the kernel's clock is %s", source);
	else
		find(f, false, "the TSC may change its rate here: times are approximate; "
		     "pin the clock of the CPU");
}

static void check_rseq(struct finding *f)
{
	extern const unsigned int __rseq_size __attribute__((weak));
	bool ok = &__rseq_size && __rseq_size > 0;

	find(f, ok, "%s", ok ? "registered by the C library" :
	     "not registered (glibc before 2.35, or GLIBC_TUNABLES); events take "
	     "a slower path");
}

static void check_memfd(struct finding *f)
{
	int fd = memfd_create("flick-doctor", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0)
		find(f, false, "memfd_create: %s", strerror(errno));
	else if (access(path, R_OK | W_OK))
		find(f, false, "%s: %s; mount /proc", path, strerror(errno));
	else
		find(f, true, "can be made and opened through /proc");
	if (fd >= 0)
		close(fd);
}

/* How code can be written: the first that works is taken. */
static void check_text(struct finding *f)
{
	bool can_protect = !fl_text_probe("mprotect"), can_alias = !fl_text_probe("alias");

	if (can_protect || can_alias)
		find(f, true, "%s%s%s", can_protect ? "mprotect" :
		     "alias; code cannot be made writable (SELinux, MemoryDenyWriteExecute)",
		     can_protect && can_alias ? ", alias" : "",
		     can_alias ? "" : "; no alias, memory files cannot be executed");
	else
		find(f, false, "code cannot be made writable, nor a memory file executed; "
		     "lift MemoryDenyWriteExecute or SELinux's execmem");
}

static void check_seccomp(struct finding *f)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	find(f, true, "%s; programs that enter the strict mode, which takes the clock away, "
	     "can be counted, not timed", mode == 2 ? "a filter is active; the lines above "
	     "say what it leaves" : "no filter");
}

static int end_at_once(void *arg)
{
	(void)arg;
	return 0;
}

/* In a program, whose child the one outside is not. */
static bool can_wait_outside(void)
{
	int status = 1, pid = fork();

	if (pid == 0)
		_exit(fl_os_robust_open() || fl_os_outside_open() ||
		      fl_os_outside_start(end_at_once, NULL, getppid()));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void check_watch(struct finding *f)
{
	static const char thread[] = "a thread of the program's, with which unshare("
		"CLONE_NEWUSER) fails and which meets seccomp filters for all threads";
	bool outside = can_wait_outside();

	find(f, outside, "%s%s%s", outside ? "outside of the program; with --rate or "
	     "--sync=stop " : "not outside of the program (close_range(2), Linux 5.9, is "
	     "denied); ", thread, outside ? "" : ", waits for flick");
}

static void check_library(struct finding *f)
{
	char path[4096];

	if (fl_launch_find_library(path))
		find(f, true, "%.200s", path);
	else
		find(f, false, "not beside flick nor in " FLICK_LIBDIR "; set FLICK_LIB to "
		     "its path");
}

static void check_ptrace(struct finding *f)
{
	char scope[FL_WHY] = "0";

	read_line("/proc/sys/kernel/yama/ptrace_scope", scope);
	find(f, true, "%.20s; programs that flick starts need none", scope);
}

static const struct check {
	const char *name;
	bool needed;			/* recording cannot work without */
	void (*run)(struct finding *);
} checks[] = {
	{ "cpu", false, check_cpu },
	{ "kernel", true, check_kernel },
	{ "tsc", false, check_clock },
	{ "rseq", false, check_rseq },
	{ "memfd", true, check_memfd },
	{ "text", true, check_text },
	{ "watch", false, check_watch },
	{ "seccomp", false, check_seccomp },
	{ "libflick", true, check_library },
	{ "ptrace_scope", false, check_ptrace },
};

/* What will let a program of this system be patched, a line each. */
static bool print_syncs(void)
{
	int err = fl_patch_open(NULL);
	const char *about, *name;

	for (size_t i = 0; (name = fl_patch_sync_row(i, &about)); i++) {
		int why = fl_patch_sync_works(name);

		printf("sync %-8s %s: %s%s\n", name, why ? "no" : "ok",
		       why ? fl_reason(why) : about,
		       !err && !strcmp(name, fl_patch_sync_name()) ? " (chosen)" : "");
	}
	if (err)
		printf("%-13s no: %s\n", "sync", err == FLE_OPTION ?
		       FL_SYNC_ENV " names none of these" : fl_reason(err));
	return !err;
}

/* ---- FILE ------------------------------------------------------------------ */

static int count_refusal(void *arg, const struct fl_site *site)
{
	struct fl_patch p;
	int err = fl_survey_plan(site, &p);

	if (err)
		fl_refusals_add(arg, err);
	return 0;
}

static void print_finding(const char *name, const struct finding *f)
{
	printf("%-13s %s: %s\n", name, f->ok ? "ok" : "no", f->text);
}

static bool print_sites(const struct fl_survey *s, struct fl_refusals *r)
{
	unsigned long long usable = s->found - r->all, unnamed = s->unnamed;
	struct finding f;
	char line[FL_WHY];

	find(&f, usable + unnamed, usable + unnamed || r->all ? "%llu can have a probe" :
	     "none; compile it with -finstrument-functions, -fpatchable-function-entry=5 or "
	     "-fxray-instrument", usable);
	print_finding("sites", &f);
	if (unnamed) {
		find(&f, true, "%llu calls are recorded from their first on, which tells "
		     "whose they are", unnamed);
		print_finding("unnamed", &f);
	}
	if (r->all) {
		fl_refusals_line(r, line, sizeof(line));
		find(&f, false, "%s", line);
		print_finding("refused", &f);
	}
	return usable + unnamed;
}

/* Nothing is loaded into it. What has libflick.a in it needs nothing. */
static bool print_static(const char *path)
{
	struct finding f;

	if (!fl_launch_is_static(path))
		return false;
	find(&f, false, "libflick.so cannot be loaded into a program that is linked "
	     "statically; link it without -static, or link libflick.a and use flick.h");
	print_finding("linked", &f);
	return true;
}

static bool print_file(const char *path)
{
	struct fl_refusals refusals = { .n = 0 };
	struct fl_survey s = { .found = 0 };
	struct finding f;
	int err;

	if (print_static(path))
		return false;
	err = fl_survey(path, &s, count_refusal, &refusals);

	if (!err)
		return print_sites(&s, &refusals);
	find(&f, false, "%s: %s", path, fl_reason(err));
	print_finding("sites", &f);
	return false;
}

/* ---- the whole ---------------------------------------------------------------- */

static int examine(const char *file)
{
	int status = FL_EXIT_WELL;

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		struct finding f = { .ok = false };

		checks[i].run(&f);
		print_finding(checks[i].name, &f);
		if (!f.ok && checks[i].needed)
			status = FL_EXIT_FAILED;
	}
	if (!print_syncs())
		status = FL_EXIT_FAILED;
	if (file && !print_file(file))
		status = FL_EXIT_FAILED;
	puts(status == FL_EXIT_WELL ? "flick can record here" :
	     "flick cannot record here until what is marked `no` works");
	return status;
}

/* ---- --cost -------------------------------------------------------------- */

static const struct fl_option options[] = {
	{ 0, "cost", NULL, "measure what an analysis costs PROGRAM, concurrent and inline" },
	{ 'a', "analysis", "NAME,...", "which (latency), as for flick record" },
	{ 'P', "patch", "PATTERN", "switch matching functions on" },
	{ 'U', "unpatch", "PATTERN", "switch matching functions off" },
	{ 0, "runs", "N", "of each kind (3); PROGRAM is run about 5 N times" },
	{ 0, "json", NULL, "print all numbers for a program" },
	{ 0, "cpu", "LIST", "CPUs that flick itself runs on, as in 0,2-3" },
	{ 0, "target-cpu", "LIST", "CPUs that the program runs on" },
	{ 0 }
};
enum { COST, ANALYSIS, PATCH, UNPATCH, RUNS, JSON, CPU, TARGET_CPU };

struct wish {
	struct fl_cost_options o;
	bool cost, json;
	const struct fl_option *other;	/* one that only --cost has a use for */
};

static int take(struct wish *w, const struct fl_option *o, const char *value)
{
	struct fl_session_options *s = &w->o.session;
	uint64_t n;

	if (o - options != COST)
		w->other = o;
	switch (o - options) {
	case COST:	w->cost = true; return 0;
	case ANALYSIS:	return fl_session_use_all(s, value);
	case PATCH:	return fl_selection_add(s->selection, 1, value);
	case UNPATCH:	return fl_selection_add(s->selection, 0, value);
	case JSON:	w->json = true; return 0;
	case CPU:
	case TARGET_CPU: return fl_cpus_take(s, o, value);
	default:	break;
	}
	if (!fl_parse_number(o, value, 1, FL_COST_RUNS, &n))
		return -1;
	w->o.runs = (unsigned)n;
	return 0;
}

static int parse(const struct fl_cmd *cmd, int argc, char **argv, struct wish *w)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	const struct fl_option *o;
	bool failed = false;

	while ((o = fl_args_next(&a, &failed)))
		if (take(w, o, a.value))
			return -1;
	if (failed || fl_selection_ready(w->o.session.selection))
		return -1;
	w->o.session.argv = argv + a.at;
	if (w->cost && a.at == argc)
		fl_say("the cost of what? usage: flick doctor --cost [OPTION...] [--] "
		       "PROGRAM [ARG...]");
	else if (!w->cost && w->other)
		fl_say("--%s is for --cost; usage: flick doctor %s", w->other->name, cmd->args);
	else if (!w->cost && a.at + 1 < argc)
		fl_say("one file at a time; usage: flick doctor %s", cmd->args);
	else
		return 0;
	return -1;
}

static int measure(struct wish *w, struct fl_account *account)
{
	struct fl_session_options *s = &w->o.session;
	struct fl_cost_result r;
	int status;

	if (!s->n_analyses && fl_session_use(s, "latency"))
		return FL_EXIT_FAILED;
	s->entries_only = fl_use_action(s->analyses, s->n_analyses, FL_ACT_TIME) ==
			  FL_ACT_COUNT;
	s->raw = true;			/* no child but the target may end meanwhile */
	status = fl_cost_measure(&w->o, &r, account);
	if (status == FL_EXIT_FAILED)
		return status;
	if (w->json)
		fl_cost_print_json(&r);
	else
		fl_cost_print(&r);
	return status;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .o = { .runs = 3, .session.selection = fl_selection_new() } };
	int status = FL_EXIT_USAGE;

	if (w.o.session.selection && !parse(cmd, argc, argv, &w))
		status = w.cost ? measure(&w, account) : examine(*w.o.session.argv);
	fl_selection_free(w.o.session.selection);
	fl_session_drop_uses(&w.o.session);
	return status;
}

static const struct fl_values values[] = {
	{ "analysis", fl_analysis_each },
	{ NULL }
};

const struct fl_cmd fl_cmd_doctor = {
	.name = "doctor",
	.args = "[FILE | --cost [OPTION...] [--] PROGRAM [ARG...]]",
	.about = "Say what works on this machine, and what to do about the rest",
	.more = "Of FILE, a program or library, it says how many probes it can have, how many "
		"not and\nwhy, and how many calls show only when they run whose they are.\n\n"
		"With --cost PROGRAM is run again and again, and the time that probes, "
		"rings and\nanalysis take is told apart: is an analysis cheaper on "
		"another core, or inline? Its\ninput is flick's own if that is a file, "
		"read anew in each run, else /dev/null; its\noutput goes to "
		"/dev/null.\n\n"
		"Exit status: 0 when recording can work, 1 when it cannot, 2 usage. With "
		"--cost:\n0 measured, 1 failed, 2 usage, 3 events were lost.",
	.options = options,
	.values = values,
	.run = run,
};
