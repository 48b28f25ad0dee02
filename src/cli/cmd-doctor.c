/*
 * cmd-doctor.c - flick doctor: what works on this machine, a line each.
 *
 * A check passes, or says what works less well without it, or that nothing can be
 * recorded without it, which decides the exit status; and what to do.
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
#include "os/os.h"
#include "patch/patch.h"

enum severity { OK, LIMITED, NO, UNUSED };

struct finding {
	enum severity is;
	char text[2 * FL_WHY];		/* what was found, or what to do */
};

__attribute__((format(printf, 3, 4)))
static void find(struct finding *f, enum severity is, const char *format, ...)
{
	va_list ap;

	f->is = is;
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

	if (!cpuinfo(FL_ARCH_CPUINFO_KEY, model)) {
		find(f, LIMITED, "no " FL_ARCH_NAME " of /proc/cpuinfo: an emulator shows no "
		     "stale fetch, no reordering and no lost monitor, and takes its own time");
		return;
	}
	find(f, OK, "%.200s, %ld online",
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
		find(f, OK, "Linux %s", u.release);
	else
		find(f, NO, "Linux %s; flick needs 4.16 or later", u.release);
}

static void check_clock(struct finding *f)
{
	char flags[FL_WHY * 16], source[FL_WHY] = "unknown";
	bool steady = FL_ARCH_CLOCK_IS_STEADY ||
		      (cpuinfo("flags", flags) && strstr(flags, " constant_tsc") &&
		       strstr(flags, " nonstop_tsc"));

	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  source);
	if (steady)
		find(f, OK, "constant and nonstop; the kernel's clock is %s", source);
	else
		find(f, LIMITED, "its rate may change: times are approximate, calls exact; "
		     "`cpupower frequency-set -g performance` keeps it");
}

static void check_rseq(struct finding *f)
{
	extern const unsigned int __rseq_size __attribute__((weak));
	bool ok = &__rseq_size && __rseq_size > 0;

	find(f, ok ? OK : LIMITED, "%s", ok ? "registered by the C library" :
	     "not registered: each event of --all takes some ns more; glibc 2.35 and later "
	     "does it, unless GLIBC_TUNABLES has glibc.pthread.rseq=0");
}

static void check_memfd(struct finding *f)
{
	int fd = memfd_create("flick-doctor", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0)
		find(f, NO, "memfd_create(2): %s; flick shares memory with the program by it",
		     strerror(errno));
	else if (access(path, R_OK | W_OK))
		find(f, NO, "%s: %s; mount /proc", path, strerror(errno));
	else
		find(f, OK, "can be made and opened through /proc");
	if (fd >= 0)
		close(fd);
}

/* How code can be written: the first way that works is taken. */
static void check_text(struct finding *f)
{
	bool can_protect = !fl_text_probe("mprotect"), can_alias = !fl_text_probe("alias");

	if (can_protect || can_alias)
		find(f, OK, "%s%s%s", can_protect ? "mprotect" :
		     "alias; code cannot be made writable (SELinux, MemoryDenyWriteExecute)",
		     can_protect && can_alias ? ", alias" : "",
		     can_alias ? "" : "; no alias, memory files cannot be executed");
	else
		find(f, NO, "code cannot be made writable, nor a memory file executed; "
		     "lift MemoryDenyWriteExecute or SELinux's execmem");
}

static void check_own_seccomp(struct finding *f)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	find(f, OK, "%s; a program that enters strict mode loses the clock: its calls can be "
	     "counted, not timed", mode == 2 ? "a filter is active; other lines say what it "
	     "leaves" : "no filter");
}

static int end_at_once(void *arg)
{
	(void)arg;
	return 0;
}

/* A child stands for the program, whose child the process outside is not. */
static bool can_wait_outside(void)
{
	int status = 1, pid = fork();

	if (pid == 0)
		_exit(fl_os_robust_open() || fl_os_outside_open() ||
		      fl_os_outside_start(end_at_once, NULL, getppid(), NULL));
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void check_watch(struct finding *f)
{
	uint32_t word = 0;

	if (fl_os_futex_wait(&word, 1, 0) != -EAGAIN)
		find(f, NO, "%s", fl_reason(FLE_NOWAIT));
	else if (can_wait_outside())
		find(f, OK, "outside of the program; with --rate or --sync=stop in a thread "
		     "of it");
	else
		find(f, LIMITED, "in a thread of the program, as close_range(2) of Linux 5.9 "
		     "is denied: unshare(CLONE_NEWUSER) fails in it, and filters for all its "
		     "threads meet one more");
}

static void check_libflick(struct finding *f)
{
	char path[4096];

	if (fl_launch_find_library(path))
		find(f, OK, "%.200s", path);
	else
		find(f, NO, "not beside flick nor in " FLICK_LIBDIR "; set FLICK_LIB to "
		     "its path");
}

static void check_ptrace(struct finding *f)
{
	char scope[FL_WHY] = "0";

	read_line("/proc/sys/kernel/yama/ptrace_scope", scope);
	find(f, OK, "%.20s; programs that flick starts need none", scope);
}

static void check_samples(struct finding *f)
{
	struct fl_sampler *s = NULL;
	int err = fl_sampler_open(&s, FL_SAMPLED_PLACES);

	err = err ? err : fl_sampler_start(s, 0);
	fl_sampler_close(s);
	if (err)
		find(f, LIMITED, "perf_event_open(2): %s; without samples there are no self "
		     "times by default, nor costs; kernel.perf_event_paranoid=2 or less, or "
		     "CAP_PERFMON, allows them", strerror(-err));
	else
		find(f, OK, "perf_event_open(2) samples programs for self times and costs");
}

static const struct check {
	const char *name;
	void (*run)(struct finding *);
} checks[] = {
	{ "cpu", check_cpu },
	{ "kernel", check_kernel },
	{ "tsc", check_clock },
	{ "rseq", check_rseq },
	{ "memfd", check_memfd },
	{ "text", check_text },
	{ "watch", check_watch },
	{ "seccomp", check_own_seccomp },
	{ "samples", check_samples },
	{ "libflick", check_libflick },
	{ "ptrace_scope", check_ptrace },
};

static const char *const severities[] = {
	[OK] = "ok", [LIMITED] = "limited", [NO] = "no", [UNUSED] = "unused",
};

/* The worst of what was found: of these three. */
static enum severity print_finding(const char *name, const struct finding *f)
{
	printf("%-15s %s: ", name, severities[f->is]);
	fl_print_plain(stdout, f->text);
	putchar('\n');
	return f->is == UNUSED ? OK : f->is;
}

static enum severity worse(enum severity a, enum severity b)
{
	return a > b ? a : b;
}

/* What will let a program of this system be patched, a line each: those before the one
 * that is chosen would disturb less, those behind it more. */
static enum severity print_syncs(void)
{
	int err = fl_patch_open(NULL);
	const char *about, *name, *chosen = err ? NULL : fl_patch_sync_name();
	enum severity is = err ? NO : OK;
	bool is_before = true;
	struct finding f;

	for (size_t i = 0; (name = fl_patch_sync_row(i, &about)); i++) {
		const int why = fl_patch_sync_works(name);
		const bool is_chosen = chosen && !strcmp(name, chosen);
		char row[32];

		is_before = is_before && chosen && !is_chosen;
		if (!why)
			find(&f, OK, "%s%s", about, is_chosen ? " (chosen)" : "");
		else if (is_before)
			find(&f, LIMITED, "%s; %s takes its place", fl_reason(why), chosen);
		else
			find(&f, chosen ? UNUSED : NO, "%s", fl_reason(why));
		snprintf(row, sizeof(row), "sync %.20s", name);
		is = worse(is, print_finding(row, &f));
	}
	if (err) {
		find(&f, NO, "%s", err == FLE_OPTION ? FL_SYNC_ENV " names none of these" :
		     fl_reason(err));
		print_finding("sync", &f);
	}
	return is;
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

static enum severity print_sites(const struct fl_survey *s, struct fl_refusals *r)
{
	unsigned long long usable = s->found - r->all, unnamed = s->unnamed;
	struct finding f;
	char line[FL_WHY];

	find(&f, usable + unnamed ? OK : NO, usable + unnamed || r->all ?
	     "%llu can have a probe" : "none: there is no function in it that flick finds",
	     usable);
	print_finding("sites", &f);
	if (s->functions) {
		find(&f, OK, "%llu of %llu as they are, by second bodies: no compiler's option "
		     "is needed", (unsigned long long)(s->functions - s->without),
		     (unsigned long long)s->functions);
		print_finding("functions", &f);
	}
	if (unnamed) {
		find(&f, OK, "%llu calls are recorded from their first on, which tells "
		     "whose they are", unnamed);
		print_finding("unnamed", &f);
	}
	if (r->all) {
		r->are_functions = s->functions;
		fl_refusals_line(r, line, sizeof(line));
		find(&f, usable + unnamed ? LIMITED : NO, "%s", line);
		print_finding("refused", &f);
		return f.is;
	}
	return usable + unnamed ? OK : NO;
}

/* Nothing can be loaded into a static program. One that has libflick.a in it needs nothing. */
static bool print_static(const char *path)
{
	struct finding f;

	if (!fl_launch_is_static(path))
		return false;
	find(&f, NO, "libflick.so cannot be loaded into a program that is linked "
	     "statically, and samples alone tell of it; link it without -static, or link "
	     "libflick.a and use flick.h");
	print_finding("linked", &f);
	return true;
}

static bool print_privileged(const char *path)
{
	struct finding f;
	const char *how;

	if (!fl_launch_gains_rights(path, &how))
		return false;
	find(&f, NO, "it is %s, so the loader ignores LD_PRELOAD; record it as the user it "
	     "runs as, or a copy", how);
	print_finding("rights", &f);
	return true;
}

/* A script's interpreter is what runs. */
static enum severity print_file(const char *path)
{
	struct fl_refusals refusals = { .n = 0 };
	struct fl_survey s = { .found = 0 };
	struct finding f;
	char interpreter[4096];
	int err;

	if (print_privileged(path))
		return NO;
	fl_launch_interpreter(interpreter, path);
	if (*interpreter) {
		find(&f, OK, "a script of %.200s", interpreter);
		print_finding("file", &f);
		path = interpreter;
	}
	if (print_static(path))
		return NO;
	err = fl_survey(path, &s, count_refusal, &refusals);
	if (!err)
		return print_sites(&s, &refusals);
	find(&f, NO, "%s: %s", path, fl_reason(err));
	return print_finding("sites", &f);
}

/* ---- the whole ---------------------------------------------------------------- */

static int examine(const char *file)
{
	enum severity is = OK;

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		struct finding f = { .is = NO };

		checks[i].run(&f);
		is = worse(is, print_finding(checks[i].name, &f));
	}
	is = worse(is, print_syncs());
	if (file)
		is = worse(is, print_file(file));
	fputs(is == NO ? "flick cannot record " : "flick can record ", stdout);
	fl_print_plain(stdout, file ? file : "here");
	puts(is == NO ? " until what is marked `no` works" : is == LIMITED ?
	     ", less well where a line says `limited`" : "");
	return is == NO ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };

	(void)account;
	if (fl_args_take(&a, NULL))
		return FL_EXIT_USAGE;
	if (a.at + 1 < argc) {
		fl_say("more than one file; usage: flick doctor %s", cmd->args);
		return FL_EXIT_USAGE;
	}
	return examine(argv[a.at]);
}

const struct fl_cmd fl_cmd_doctor = {
	.name = "doctor",
	.args = "[FILE]",
	.about = "Check what works on this machine, and say what to do about the rest",
	.more = "Of FILE, a program or library, it says how many probes it can have, how many "
		"are\nrefused and why, and of how many calls only a run tells whose they "
		"are.\n\n"
		"Exit status: 0 when recording can work, 1 when it cannot, 2 usage.",
	.run = run,
};
