/*
 * session.c - one target from its start to its end.
 *
 * Hides the order in which region, store, target, reader and analyses come
 * and go. The loop answers the target, drains its rings and watches for its
 * end; whatever ends the target, what it enqueued is delivered.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "cli/budget.h"
#include "cli/cli.h"
#include "cli/preempt.h"
#include "cli/sampler.h"
#include "os/os.h"
#include "site/site.h"

#define WAIT_US 2000			/* a dlopen waits at most this long */
#define PROGRESS_NS 500000000ull
#define GRACE_NS 1000000000ull		/* for a process tree to end after its first */
#define CLOCKS_APART_NS 5000000ull	/* each is read to some 100 ns: 20 ppm */

/* ---- signals: the target gets them, the reader goes on ------------------------- */

static volatile sig_atomic_t target_pid, is_to_end;

/* A terminal sends Ctrl-C to the target as well; another process does not. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	is_to_end = 1;
	if (info->si_code <= 0 && target_pid > 0)
		kill(target_pid, sig);
	errno = saved;
}

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* Who waits for events looks whether the target has ended. */
static void on_child(int sig)
{
	(void)sig;
}

static void catch_signals(void)
{
	struct sigaction act = { .sa_sigaction = on_signal,
				 .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	struct sigaction old;

	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++) {
		sigaction(forwarded[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)	/* nohup */
			sigaction(forwarded[i], &act, NULL);
	}
	sigaction(SIGCHLD, NULL, &old);
	if (old.sa_handler != SIG_IGN)
		sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void release_signals(void)
{
	target_pid = 0;
	for (size_t i = 0; i < ARRAY_LEN(forwarded); i++) {
		struct sigaction old;

		sigaction(forwarded[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)
			signal(forwarded[i], SIG_DFL);
	}
}

/* ---- batches to analyses ----------------------------------------------------------- */

const char *fl_analysis_each(size_t i)
{
	return fl_analyses[i] ? fl_analyses[i]->name : NULL;
}

int fl_session_use(struct fl_session_options *o, const char *spec)
{
	char why[FL_USE_WHY];
	struct fl_use use;

	if (o->n_analyses == FL_MAX_ANALYSES) {
		fl_say("too many analyses: %d at most", FL_MAX_ANALYSES);
		return -1;
	}
	if (fl_use_open(&use, spec, why)) {
		fl_say("%s", why);
		return -1;
	}
	o->analyses[o->n_analyses++] = use;
	if (!fl_store_takes(use.name)) {
		fl_say("%s: `%s` is the name of another table in results.db", spec, use.name);
		return -1;
	}
	for (size_t i = 0; i + 1 < o->n_analyses; i++) {
		if (strcasecmp(o->analyses[i].name, use.name))
			continue;
		fl_say("there are two analyses called `%s`; name it once", use.name);
		return -1;
	}
	return 0;
}

/* A path may not hold a comma. */
int fl_session_take_uses(void *options, const struct fl_option *o, const char *list)
{
	char *names = strdup(list), *rest = names;
	const char *name;
	int err = names ? 0 : -1;

	(void)o;
	while (!err && (name = strsep(&rest, ",")))
		err = fl_session_use(options, name);
	free(names);
	return err;
}

void fl_session_drop_uses(struct fl_session_options *o)
{
	while (o->n_analyses)
		fl_use_close(&o->analyses[--o->n_analyses]);
}

static void note_error(struct fl_session *s, int err)
{
	if (err && !s->feed_error)
		s->feed_error = err;
}

/* A trace does not hold how long threads waited for their rings; what is made of it
 * later is to be what is made now. */
static void feed(void *arg, const struct fl_batch *b)
{
	struct fl_session *s = arg;
	struct fl_batch told = *b;

	if (s->trace) {
		fl_trace_put(s->trace, b);
		told.paused = 0;
	}
	fl_preempt_poll(s->preempt);	/* now that `b` has been taken */
	note_error(s, fl_run_feed(s->run, &told));
}

static void count(void *arg, uint32_t thread, uint32_t probe, uint64_t n)
{
	struct fl_session *s = arg;

	if (s->budget)
		fl_budget_count(s->budget, probe, n, fl_reader_heeded(s->reader));
	else
		note_error(s, fl_run_count(s->run, thread, probe, n));
}

static void thread_end(void *arg, uint32_t thread)
{
	struct fl_session *s = arg;

	if (s->trace)
		fl_trace_thread_end(s->trace, thread);
	note_error(s, fl_run_thread_end(s->run, thread));
}

static const char *name_of(const void *owner, uint32_t function)
{
	const struct fl_session *s = owner;

	return function < s->functions.n ? fl_functions_name(&s->functions, function) : NULL;
}

const struct fl_shm_module *fl_session_module_at(const struct fl_session *s, uint64_t at)
{
	const struct fl_shm_module *m = s->functions.modules;

	for (uint32_t i = s->functions.n_modules; i-- > 0;)
		if (at >= m[i].lo && at < m[i].hi)
			return &m[i];
	return NULL;
}

static bool symbol_at(const void *owner, uint64_t at, uint64_t *lo, uint64_t *hi)
{
	const struct fl_session *s = owner;
	const struct fl_shm_module *m = fl_session_module_at(s, at);

	if (!m || !fl_symbols_range(s->functions.symbols, m->path, at - m->base, lo, hi))
		return false;
	*lo += m->base;
	*hi += m->base;
	return true;
}

static void drop_code(struct fl_session *s)
{
	if (s->has_code)
		fl_obj_unlay(&s->code);
	fl_obj_close(&s->code_file);
	s->code_file = (struct fl_obj){ 0 };
	s->has_code = false;
}

/* The file of one module at a time is kept open. */
static const unsigned char *code_at(const void *owner, uint64_t at, size_t n)
{
	struct fl_session *s = (struct fl_session *)owner;
	const struct fl_shm_module *m = fl_session_module_at(s, at);

	if (!m)
		return NULL;
	if (s->code_of != m) {
		drop_code(s);
		s->code_of = m;
		s->has_code = !fl_obj_read(&s->code_file, m->path, FL_OBJ_ALL) &&
			      !fl_obj_lay_out(&s->code, &s->code_file, m->path);
	}
	return s->has_code ? fl_obj_bytes(&s->code, s->code.bias + (at - m->base), n) : NULL;
}

/* ---- opening ------------------------------------------------------------------------ */

static int open_region(struct fl_session *s)
{
	struct fl_shm_options o = {
		.ring_kib = s->o->buffer_kib,
		.max_sites = s->o->max_sites, .n_slots = s->o->max_threads,
		.n_readers = s->o->readers,
		.action = s->o->action,
		.samples = s->o->samples,
		.epoch_us = s->o->epoch_ms * 1000,
		.rate = s->o->rate, .adapts = s->o->rate_adapts,
		.follow = s->o->follow,
	};
	int err;

	fl_limits_fit(&o);
	err = fl_shm_create(&o, &s->shm, &s->fd);
	s->shared = err ? NULL : &s->shm->session[0];
	if (err)
		fl_say("cannot make the shared memory: %s", fl_reason(err));
	return err;
}

static uint64_t preempted(const void *owner, uint32_t thread, uint64_t begin, uint64_t end)
{
	const struct fl_session *s = owner;
	size_t n;
	const struct fl_thread *t = fl_reader_threads(s->reader, &n);

	return thread < n ? fl_preempt_between(s->preempt, t[thread].tid, begin, end) : 0;
}

/* By the one thread that reads. What is made of a trace later does not know. */
static void open_preempt(struct fl_session *s)
{
	if (s->o->action != FL_ACT_SAMPLE || s->o->raw || s->o->trace || s->o->readers > 1)
		return;
	if (!fl_preempt_open(&s->preempt))
		s->view.preempted = preempted;
	else
		s->preempt = NULL;
}

static int open_analyses(struct fl_session *s)
{
	int err;

	s->view.live = s->sites = fl_shm_sites(s->shm);
	s->glue = fl_shm_glue(s->shm);
	s->max_glue = s->shm->max_glue;
	s->view.sampled = s->o->action == FL_ACT_SAMPLE;
	s->view.is_now = true;
	s->view.windows = s->o->rate != 0;
	s->view.symbol = symbol_at;
	s->view.code = code_at;
	s->view.ns_per_tick = 1.0;
	s->view.framed = 1u << FL_PROVIDER_XRAY | 1u << FL_PROVIDER_PATCHABLE;
	s->view.name = name_of;
	s->view.owner = s;
	err = fl_run_open(&s->run, s->o->analyses, s->o->n_analyses, &s->view);
	return err ? err : fl_functions_open(&s->functions, s->shm);
}

static int open_reader(struct fl_session *s)
{
	struct fl_sink sink = { s, feed, count, thread_end };

	return fl_reader_open(&s->reader, s->shm, &sink, 0);
}

static int open_all(struct fl_session *s)
{
	int err;

	if (open_region(s))
		return -1;
	err = open_analyses(s);
	if (!err)
		err = open_reader(s);
	if (!err)
		err = fl_readers_open(s);
	if (err)
		fl_say("cannot start: %s", fl_reason(err));
	if (!err && fl_sampler_open(&s->sampler))
		s->sampler = NULL;
	if (!err)
		open_preempt(s);
	fl_found_open(s);
	return err ? err : fl_budget_open(s);
}

/* How well a trace can be compressed is not known before. */
static void say_room(const char *dir)
{
	enum { AMPLE = 1 << 30, CALL_BYTES = 2 * sizeof(struct flick_record) };
	struct statvfs fs;
	uint64_t bytes;

	if (statvfs(dir, &fs) < 0)
		return;
	bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (bytes < CALL_BYTES)
		fl_say("%s is on a disk that is full: there is no room for a trace", dir);
	else if (bytes < AMPLE)
		fl_say("%s has %.1f MB free: a trace may fill it after %llu calls, and ends "
		       "there", dir, (double)bytes / 1e6,
		       (unsigned long long)(bytes / CALL_BYTES));
}

static int open_store(struct fl_session *s)
{
	char why[FL_WHY] = "";

	if (!s->o->dir || (!fl_store_create(&s->store, s->o->dir, why) &&
			   (!s->o->trace || !fl_trace_create(&s->trace, s->o->dir, why)))) {
		if (s->trace)
			say_room(s->o->dir);
		return 0;
	}
	fl_say("cannot write results: %s", why);
	return -1;
}

/* ---- the account ------------------------------------------------------------------ */

static void add_up_events(struct fl_session *s, struct fl_account *a)
{
	size_t n;
	const struct fl_thread *t = fl_readers_threads(s, &n);

	for (size_t i = 0; i < n; i++) {
		a->produced += t[i].produced;
		a->delivered += t[i].delivered;
		a->filtered += t[i].filtered;
	}
	for (int c = 0; c < FL_N_LOST; c++)
		a->lost += fl_threads_lost(t, n, c);
}

static void add_up(struct fl_session *s)
{
	uint32_t processes = load_relaxed(&s->shm->n_processes);
	struct fl_account a = { .due = s->begun && !s->chose_nothing };

	a.processes = processes < FL_MAX_PROCESSES ? processes : FL_MAX_PROCESSES;
	add_up_events(s, &a);
	for (uint32_t i = 0; i < s->n_selected; i++) {
		if (s->selected[i])
			load_relaxed(&s->sites[i].refusal) ? a.refused++ : a.active++;
	}
	s->account = a;
}

/* ---- the loop ------------------------------------------------------------------------- */

static void note_gone(struct fl_session *s, int status)
{
	s->status = status;
	s->gone_ns = fl_os_monotonic_ns();
	target_pid = 0;
}

static uint64_t cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

/* Somebody wants an end, and what the target left behind does not come to one. */
static bool is_overdue(const struct fl_session *s)
{
	return s->gone_ns && is_to_end && fl_os_monotonic_ns() - s->gone_ns > GRACE_NS;
}

/* Is it what waits for flick beside a process? */
static bool is_watch(int pid)
{
	char name[16] = "";

	fl_os_thread_name_of(pid, pid, name);
	return !strcmp(name, FL_OS_OUTSIDE_NAME);
}

static void note_watch(struct fl_session *s, int status, const struct rusage *used)
{
	s->watch_ns += cpu_ns(used);
	if (WIFSIGNALED(status))
		s->watch_signal = WTERMSIG(status);
}

/* The next child that has ended; 0: none has; -1: there is none. */
static int reap_one(struct fl_session *s, int *status)
{
	siginfo_t end = { .si_pid = 0 };
	struct rusage used = { 0 };
	bool watch;
	int pid;

	if (waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT))
		return -1;
	if (!end.si_pid)
		return 0;
	watch = is_watch(end.si_pid);
	if (s->o->follow || end.si_pid == s->pid)
		s->target_ns += watch || end.si_pid == s->calibrator.pid ? 0 :
				fl_os_process_ns(end.si_pid);
	pid = wait4(end.si_pid, status, 0, &used);
	if (watch && pid > 0)
		note_watch(s, *status, &used);
	return pid;
}

/* Also what waits for flick beside the target's images (os/outside.c). True: there is
 * no child left. */
static bool reap(struct fl_session *s)
{
	int pid, status;

	while ((pid = reap_one(s, &status)) > 0)
		if (pid == s->pid)
			note_gone(s, status);
	return pid < 0 && errno == ECHILD;
}

/* A process tree has ended when there is no child left: orphans become ours. Only the
 * kernel knows of one that is between two of its programs. */
static bool is_gone(struct fl_session *s)
{
	bool none_left = reap(s);

	if (s->o->follow)
		return none_left || is_overdue(s);
	return none_left || s->gone_ns || (kill(s->pid, 0) < 0 && errno == ESRCH);
}

/* Who has waited for the target's end shall find nobody in its memory or its file. */
static void await_watcher(struct fl_session *s)
{
	enum { PAUSE_US = 50 };
	uint64_t until = fl_os_monotonic_ns() + GRACE_NS;
	int pid = load_relaxed(&s->shm->watcher_pid), status = 0, got = 0;
	struct rusage used = { 0 };

	while (pid > 0 && !(got = wait4(pid, &status, WNOHANG, &used)) &&
	       fl_os_monotonic_ns() < until)
		fl_os_sleep_us(PAUSE_US);
	if (got > 0)
		note_watch(s, status, &used);
}

/* Once: why nothing seems to happen. */
static void tell_waiting(struct fl_session *s, bool *told)
{
	if (*told || !s->gone_ns || fl_os_monotonic_ns() - s->gone_ns < GRACE_NS)
		return;
	*told = true;
	fl_say("%s has ended; recording what it has started until that ends, too, or Ctrl-C",
	       s->o->argv[0]);
}

static void show_progress(struct fl_session *s, uint64_t *next)
{
	uint64_t now = fl_os_monotonic_ns();
	size_t threads;

	if (*next == 0 || now < *next)
		return;
	*next = now + PROGRESS_NS;
	add_up(s);
	fl_readers_threads(s, &threads);
	fprintf(stderr, "\rflick: %.1f s, %llu events, %zu thread%s\033[K",
		(double)(now - s->start_ns) / 1e9,
		(unsigned long long)(s->account.delivered +
				     fl_readers_delivered(s->readers)), threads,
		threads == 1 ? "" : "s");
}

static void stop_when_due(struct fl_session *s, bool *stopped)
{
	double seconds = (double)(fl_os_monotonic_ns() - s->start_ns) / 1e9;

	if (s->o->seconds <= 0 || seconds < s->o->seconds || *stopped)
		return;
	*stopped = true;
	is_to_end = 1;
	if (!s->gone_ns)
		kill(s->pid, SIGTERM);
}

/* A program may tell of more than there is memory for. It runs on as after our death. */
static void look_at_memory(struct fl_session *s)
{
	enum { LOOK_NS = 20000000 };
	uint64_t now = fl_os_monotonic_ns(), most;

	if (s->is_spent || now < s->look_ns)
		return;
	s->look_ns = now + LOOK_NS;
	most = fl_limits_memory(s->o->memory_mib);
	if (!fl_limits_is_spent(most))
		return;
	s->is_spent = true;
	fl_shm_leave(s->shm);
	fl_readers_stop(s->readers);
	fl_say("recording %s takes more than %llu MiB of memory: it ends here, the program "
	       "goes on; --memory=MIB allows more", s->o->argv[0],
	       (unsigned long long)(most >> 20));
}

/* What there is to take now. False: nothing. */
static bool take_more(struct fl_session *s, bool gone)
{
	bool asked;

	if (s->is_spent)
		return false;
	fl_sampler_poll(s->sampler);
	fl_preempt_poll(s->preempt);
	asked = !gone && fl_negotiation_answer(s);
	return fl_reader_poll(s->reader, gone) || asked;
}

static void wait_for_more(struct fl_session *s)
{
	if (s->is_spent)
		fl_os_sleep_us(WAIT_US);
	else if (fl_negotiation_started(s))
		fl_reader_wait(s->reader, WAIT_US);
	else
		fl_os_futex_wait(&s->shared->phase, FL_PHASE_START, WAIT_US);
}

/* When that was says who stood beside the target; of a process tree each is another's. */
static void note_end(struct fl_session *s)
{
	if (s->o->follow)
		return;
	await_watcher(s);
	s->view.ended = load_relaxed(&s->shared->ended_tsc);
	if (!s->view.ended)
		s->view.ended = fl_arch_ticks();
}

/* What processes said as they ended. */
static void take_open_calls(struct fl_session *s)
{
	uint32_t n = load_relaxed(&s->shared->n_open);

	for (uint32_t i = 0; i < n && i < FL_MAX_OPEN; i++) {
		const struct fl_open_call c = s->shared->open[i];

		note_error(s, fl_run_open_call(s->run, c.probe, c.begun, c.ended, c.thread));
	}
}

static void drain(struct fl_session *s)
{
	/* Not on the terminal that the program writes to. */
	bool is_shown = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	uint64_t progress = is_shown ? 1 : 0;
	bool gone = false, stopped = false, told = false;

	while (!gone) {
		gone = is_gone(s);
		if (gone)
			note_end(s);
		if (!take_more(s, gone) && !gone)
			wait_for_more(s);
		fl_budget_turn(s);
		look_at_memory(s);
		stop_when_due(s, &stopped);
		show_progress(s, &progress);
		tell_waiting(s, &told);
	}
	s->end_tsc = fl_arch_ticks();
	fl_shm_leave(s->shm);		/* to what goes on */
	while (fl_reader_poll(s->reader, true))
		;
	await_watcher(s);
	take_open_calls(s);
	if (progress > 1)
		fputs("\r\033[K", stderr);
}

/* ---- results ---------------------------------------------------------------------------- */

/* Both clocks were read before the target started and are read again here. */
static void measure_tick(struct fl_session *s)
{
	uint64_t since = fl_os_monotonic_ns() - s->start_ns, tsc, mono_ns;

	if (since < CLOCKS_APART_NS)
		fl_os_sleep_us((CLOCKS_APART_NS - since) / 1000 + 1);
	fl_clocks_read(&tsc, &mono_ns);
	s->view.ns_per_tick = (double)(mono_ns - s->start_ns) /
			      (double)(tsc - s->start_tsc);
}

/* A result that cannot be had is told; the others are kept. */
static void make_results(struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++) {
		int err = fl_run_rows(s->run, i, &s->results[i]);

		s->has_result[i] = !err;
		s->result_failed |= err != 0;
		if (err)
			fl_say("analysis `%s` failed: %s", s->o->analyses[i].name,
			       err == -EBADMSG ? "its rows are not as flick/analysis.h says" :
			       fl_reason(err));
	}
}

struct fl_names *fl_session_names(const struct fl_session *s)
{
	const struct fl_functions *r = &s->functions;
	const char **full = calloc(2 * (r->n + 1), sizeof(*full)), **linkage = full + r->n;
	struct fl_names *names = NULL;

	for (uint32_t i = 0; full && i < r->n; i++) {
		full[i] = fl_functions_name(r, i);
		linkage[i] = r->all[i].linkage;
	}
	if (full)
		names = fl_names_make(full, linkage, r->n, s->o->demangle);
	free(full);
	return names;
}

/* Where functions look alike, what tells them apart; NULL: none do, or no memory. */
static struct fl_modules *modules_of(const struct fl_session *s, const struct fl_sheet *sheet)
{
	const struct fl_functions *r = &s->functions;
	struct fl_home *homes = fl_sheet_has_twins(sheet) ? calloc(r->n, sizeof(*homes)) : NULL;
	struct fl_modules *modules = NULL;

	for (uint32_t i = 0; homes && i < r->n; i++)
		homes[i] = (struct fl_home){
			fl_functions_module(r, r->all[i].module)->path, r->all[i].at };
	if (homes)
		modules = fl_modules_make(sheet, homes, false);
	free(homes);
	return modules;
}

struct fl_sheet fl_session_sheet(struct fl_session *s, const char *name,
				 const struct fl_names *names)
{
	struct fl_sheet sheet = { .functions = fl_names_shown(names),
				  .n_functions = s->functions.n, .width = fl_terminal_width(),
				  .sampled = s->view.sampled };

	for (size_t i = 0; i < s->o->n_analyses; i++)
		if (!strcmp(s->o->analyses[i].name, name))
			sheet.result = &s->results[i];
	sheet.modules = modules_of(s, &sheet);
	return sheet;
}

/* It has ended: did it ever run with probes? */
static bool has_begun(const struct fl_session *s)
{
	if (!s->asked)
		fl_say("%s ended without loading libflick.so: does it ignore LD_PRELOAD?",
		       s->o->argv[0]);
	else if (!s->begun && !s->o->follow)
		fl_say("%s ended, and never became a program with probe sites; --follow "
		       "records its children", s->o->argv[0]);
	return s->begun;
}

int fl_session_run(struct fl_session *s, const struct fl_session_options *o)
{
	*s = (struct fl_session){ .o = o, .fd = -1, .launch.text = o->text,
				  .launch.sync = o->sync,
				  .launch.cpus = o->cpus_are_set ? &o->target_cpus :
						 NULL };
	if (fl_launch_check(&s->launch, o->argv[0]) || open_store(s) || open_all(s))
		return FL_EXIT_FAILED;
	catch_signals();
	if (o->follow)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	fl_clocks_read(&s->start_tsc, &s->start_ns);
	s->pid = fl_launch_start(&s->launch, o->argv, s->shm, s->fd);
	if (s->pid < 0) {
		release_signals();
		return FL_EXIT_FAILED;
	}
	target_pid = s->pid;
	/* The target waits for its first answer meanwhile; and who follows flick's
	 * forks with a debugger meets the target's first. */
	if ((o->action == FL_ACT_TIME || o->action == FL_ACT_WINDOW ||
	     o->action == FL_ACT_SAMPLE) && !o->raw)
		fl_overhead_begin(&s->calibrator, o->action);
	fl_symbols_load(s->functions.symbols, s->launch.file);
	drain(s);
	fl_overhead_end(&s->calibrator, s->view.overhead);
	note_error(s, fl_readers_finish(s->readers, s->run));
	note_error(s, fl_budget_end(s));
	s->drained = fl_instant_now();
	release_signals();
	fl_negotiation_close(s);
	measure_tick(s);
	fl_rate_measure(s, s->end_tsc);
	add_up(s);
	if (s->refused_to_go || s->chose_nothing || !has_begun(s))
		return FL_EXIT_FAILED;
	if (!s->feed_error) {
		make_results(s);
		note_error(s, fl_profile_fill(s));
	}
	if (s->feed_error)
		fl_say("the analysis failed: %s", fl_reason(s->feed_error));
	return s->feed_error ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

struct fl_instant fl_instant_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (struct fl_instant){ fl_os_monotonic_ns(),
				   (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec };
}

void fl_session_close(struct fl_session *s)
{
	fl_ahead_close(s);
	for (size_t i = 0; i < s->o->n_analyses; i++)
		free(s->results[i].cells);
	fl_readers_close(s->readers);
	fl_run_close(s->run);
	fl_sampler_close(s->sampler);
	fl_preempt_close(s->preempt);
	fl_budget_close(s->budget);
	fl_found_close(s);
	drop_code(s);
	free(s->selected);
	free(s->answers);
	fl_functions_close(&s->functions);
	if (s->reader)
		fl_reader_close(s->reader);
	if (s->shm)
		fl_shm_destroy(s->shm, s->fd);
	fl_trace_close(s->trace);
	fl_store_close(s->store);
}
