/*
 * session.c - one target from its start to its end.
 *
 * Hides the order in which region, store, target, reader and analyses come
 * and go. The loop answers the target, drains its rings and watches for its
 * end; whatever ends the target, what it enqueued is delivered.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/os.h"
#include "session/attach.h"
#include "session/samples/bare.h"
#include "session/budget/budget.h"
#include "session/change/change.h"
#include "session/cost.h"
#include "session/change/ctl.h"
#include "session/functions.h"
#include "session/limits.h"
#include "session/lines.h"
#include "session/negotiation.h"
#include "session/opening.h"
#include "session/samples/profile.h"
#include "session/readers.h"
#include "session/results.h"
#include "session/target.h"
#include "session/trigger.h"
#include "session/view.h"

#define WAIT_US 2000			/* a dlopen waits at most this long */
#define PROGRESS_NS 500000000ull
#define CLOCKS_APART_NS 5000000ull	/* each is read to some 100 ns: 20 ppm */

/* ---- opening ------------------------------------------------------------------------ */

static int open_region(struct fl_session *s)
{
	struct fl_shm_options o = {
		.ring_kib = s->o->buffer_kib,
		.max_sites = s->o->max_sites, .n_slots = s->o->max_threads,
		.n_readers = s->o->readers,
		.action = s->o->action, .precise = s->o->precise,
		.samples = s->o->samples,
		.epoch_us = s->o->epoch_ms * 1000,
		.rate = s->o->rate, .adapts = s->o->rate_adapts,
		.follow = s->o->follow,
		.weaves = fl_use_weaves(s->o->analyses, s->o->n_analyses),
		.exclusive = s->o->exclusive,
	};
	int err;

	if (o.weaves & (FL_WEAVE_ACCESSES | FL_WEAVE_PATHS) && !FL_ARCH_TELLS) {
		fl_say("%s are told on x86-64 alone, not on " FL_ARCH_NAME,
		       o.weaves & FL_WEAVE_PATHS ? "paths" : "accesses to memory");
		return -ENOTSUP;
	}
	fl_limits_fit(&o);
	err = fl_shm_create(&o, &s->shm, &s->fd);
	s->shared = err ? NULL : &s->shm->session[0];
	if (err)
		fl_say("cannot make the shared memory: %s", fl_reason(err));
	return err ? err : fl_providers_rule(&s->shm->body_rules, s->o->selection,
					     s->o->providers);
}

static int open_all(struct fl_session *s)
{
	/* By default totals rest on calls that samples stood in. */
	enum fl_sampled what = s->o->action != FL_ACT_SAMPLE ? FL_SAMPLED_PLACES :
			       s->o->follow ? FL_SAMPLED_TREE : FL_SAMPLED_CALLS;
	int err = open_region(s);

	if (err)
		return err;
	s->sites = fl_shm_sites(s->shm);
	s->glue = fl_shm_glue(s->shm);
	s->max_glue = s->shm->max_glue;
	fl_view_open(s);
	if (fl_trigger_open(s))
		return -1;
	err = fl_functions_open(&s->functions, s->shm);
	if (!err)
		err = fl_originals_open(&s->originals, s->shm);
	if (!err)
		err = fl_readers_open(s);
	if (err) {
		fl_say("cannot start: %s", fl_reason(err));
		return err;
	}
	if (s->attached ? fl_sampler_open_of(&s->sampler, (int)s->o->pid, what) :
			  fl_sampler_open(&s->sampler, what))
		s->sampler = NULL;
	else
		fl_sampler_originals(s->sampler, s->originals);
	fl_found_open(s);
	fl_lines_open(s);
	if (fl_change_open(s))
		return -ENOMEM;
	return fl_budget_open(s);
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

bool fl_session_is_left(const struct fl_session *s)
{
	return s->is_left || (s->trigger && fl_trigger_has_fired(s->trigger));
}

/* A function as it is that is refused counts once, however many exits it has. */
static void add_up_probes(const struct fl_session *s, struct fl_account *a)
{
	uint32_t entry = FL_NO_ROW;

	for (uint32_t i = 0; i < s->chosen.n; i++) {
		bool is_refused = load_relaxed(&s->sites[i].refusal) != 0;
		bool is_active = fl_session_refusal(s, i, &entry) == 0;

		if (!s->chosen.marks[i])
			continue;
		a->refused += is_refused;
		a->active += is_active;
		if (fl_is_function(&s->functions.sites[i]))
			*(is_refused ? &a->without : &a->bodies) += 1;
	}
}

static void add_up(struct fl_session *s)
{
	uint32_t processes = load_relaxed(&s->shm->n_processes);
	struct fl_account a = { .due = s->start.begun && !s->chosen.is_empty };
	size_t n;
	const struct fl_thread *t = fl_readers_threads(s, &n);

	a.processes = processes < FL_MAX_PROCESSES ? processes : FL_MAX_PROCESSES;
	for (size_t i = 0; i < n; i++) {
		a.produced += t[i].produced;
		a.delivered += t[i].delivered;
		a.filtered += t[i].filtered;
	}
	for (int c = 0; c < FL_N_LOST; c++)
		*(c == FL_LOST_READER && fl_session_is_left(s) ? &a.filtered : &a.lost) +=
			fl_threads_lost(t, n, c);
	add_up_probes(s, &a);
	s->account = a;
}

/* ---- the loop ------------------------------------------------------------------------- */

static void tell_progress(struct fl_session *s, uint64_t *next)
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

/* A program may tell of more than there is memory for: then it runs on as if flick had died. */
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

static void wait_for_more(struct fl_session *s)
{
	if (s->is_spent)
		fl_os_sleep_us(WAIT_US);
	else if (fl_negotiation_started(s))
		fl_reader_wait(s->reader, WAIT_US);
	else
		fl_os_futex_wait(&s->shared->phase, FL_PHASE_START, WAIT_US);
}

/* The target is gone. What waited beside it says when it ended. In a process tree each process
 * has another one beside it. */
static void note_end(struct fl_session *s)
{
	if (s->o->follow)
		return;
	fl_target_await_watcher(s);
	s->view.ended = load_relaxed(&s->shared->ended_tsc);
	if (!s->view.ended)
		s->view.ended = fl_arch_ticks();
}

static void note_error(struct fl_session *s, int err)
{
	if (err && !s->feed_error)
		s->feed_error = err;
}

static void drain(struct fl_session *s)
{
	/* Not on the terminal that the program writes to. */
	bool is_shown = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
	uint64_t progress = is_shown ? 1 : 0, due = UINT64_MAX;
	bool gone = false, told = false, is_due = false;

	if (s->o->seconds > 0 && !s->attached)
		due = s->start_ns + (uint64_t)(s->o->seconds * 1e9);
	look_at_memory(s);
	while (!gone && !s->is_left) {
		bool some = false;		/* there was something to take */

		gone = fl_target_is_gone(s);
		if (gone)
			note_end(s);
		if (!s->is_spent) {
			fl_sampler_poll(s->sampler);
			fl_preempt_poll(s->preempt);
			some = !gone && fl_negotiation_answer(s);
			some |= fl_change_turn(s);
			some |= fl_reader_poll(s->reader, gone) != 0;
			s->is_spent = fl_trigger_turn(s);
		}
		if (!some && !gone)
			wait_for_more(s);
		fl_ctl_turn(s);
		fl_budget_turn(s);
		fl_bare_turn(s);
		look_at_memory(s);
		if (s->o->seconds > 0 && s->attached && !is_due && fl_attach_has_begun(s)) {
			is_due = true;	/* its time begins with its probes */
			due = fl_os_monotonic_ns() + (uint64_t)(s->o->seconds * 1e9);
		}
		if (fl_os_monotonic_ns() >= due) {
			fl_target_end(s);
			due = UINT64_MAX;
		}
		tell_progress(s, &progress);
		s->is_left = s->o->watch && !s->o->watch->turn(s->o->watcher, s);
		if (!told && fl_target_is_outlived(s)) {
			told = true;		/* why nothing seems to happen */
			fl_say("%s has ended; recording what it has started until that "
			       "ends, too, or Ctrl-C", s->o->argv[0]);
		}
	}
	s->end_tsc = fl_arch_ticks();
	fl_shm_leave(s->shm);		/* processes may go on */
	while (fl_reader_poll(s->reader, true))
		;
	fl_target_await_watcher(s);
	if (progress > 1)
		fputs("\r\033[K", stderr);
	if (s->o->watch)
		s->o->watch->over(s->o->watcher, s);
}

/* Calls that had not ended when processes did, as these said. For a process that was killed,
 * what waits beside it says so, and may do so late: no call was open longer than the program
 * was there. Time in which its thread was preempted is no time of an open call either. */
static void take_open_calls(struct fl_session *s)
{
	uint64_t last = s->o->follow || !s->target.gone_tsc ? UINT64_MAX : s->target.gone_tsc;
	uint32_t n = load_relaxed(&s->shared->n_open);

	for (uint32_t i = 0; i < n && i < FL_MAX_OPEN; i++) {
		const struct fl_open_call c = s->shared->open[i];

		uint64_t ended = c.ended < last ? c.ended : last;

		ended -= fl_preempt_between(s->preempt, c.tid, c.begun, ended);
		note_error(s, fl_run_open_call(s->run, c.probe, c.begun, ended,
					       (uint32_t)c.tid));
	}
}

/* ---- results ---------------------------------------------------------------------------- */

/* Both clocks were read before the target started and are read again here. */
void fl_session_measure_tick(struct fl_session *s)
{
	uint64_t since = fl_os_monotonic_ns() - s->start_ns, tsc, mono_ns;

	if (since < CLOCKS_APART_NS)
		fl_os_sleep_us((CLOCKS_APART_NS - since) / 1000 + 1);
	fl_clocks_read(&tsc, &mono_ns);
	s->view.ns_per_tick = (double)(mono_ns - s->start_ns) /
			      (double)(tsc - s->start_tsc);
}

enum { LOADER_FAILED = 127 };		/* the status of a program whose library is missing */

/* The target has ended: did it ever run with probes? */
static bool has_begun(const struct fl_session *s)
{
	if (s->attached && fl_attach_has_failed(s))
		return false;
	if (s->is_spent)			/* that is said */
		return s->start.begun;
	if (!s->start.asked && s->attached)
		fl_say("process %d ended before it could be recorded", s->pid);
	else if (!s->start.asked && WIFSIGNALED(s->target.status))
		fl_say("%s was ended by signal %d (%s) before it could be recorded",
		       s->o->argv[0], WTERMSIG(s->target.status),
		       strsignal(WTERMSIG(s->target.status)));
	else if (!s->start.asked && WEXITSTATUS(s->target.status) == LOADER_FAILED)
		fl_say("%s could not be loaded, so nothing is recorded", s->o->argv[0]);
	else if (!s->start.asked)
		fl_say("%s ended without loading libflick.so: does it ignore LD_PRELOAD?",
		       s->o->argv[0]);
	else if (!s->start.begun && !s->o->follow)
		fl_say("%s ended, and never became a program with probe sites; --follow "
		       "records its children", s->o->argv[0]);
	return s->start.begun;
}

int fl_session_run(struct fl_session *s, const struct fl_session_options *o)
{
	*s = (struct fl_session){ .o = o, .fd = -1, .launch.text = o->text,
				  .launch.sync = o->sync, .launch.output = o->output,
				  .launch.cpus = o->cpus_are_set ? &o->target_cpus :
						 NULL,
				  .launch.may_be_closed = fl_negotiation_samples_do(o),
				  .launch.follows = o->follow };
	if ((o->pid ? fl_attach_check(s) : fl_launch_check(&s->launch, o->argv[0])) ||
	    open_store(s) || open_all(s) || fl_target_start(s))
		return FL_EXIT_FAILED;
	/* The target waits for its first answer meanwhile. A debugger that follows flick's
	 * forks meets the target's first; both forks come before there is a thread. */
	fl_overhead_begin(s);
	fl_opening_begin(s);
	if (s->launch.is_closed)
		fl_negotiation_skip(s);
	fl_symbols_load(s->functions.symbols, s->launch.file);
	if (!s->attached || !fl_attach_is_second(s->attached))
		fl_ctl_open(s);			/* else the first recorder has it */
	fl_session_measure_tick(s);		/* `spread` tells calls apart as they end */
	drain(s);
	fl_overhead_end(s);
	take_open_calls(s);
	note_error(s, fl_readers_finish(s->readers));
	note_error(s, fl_budget_end(s));
	fl_ctl_close(s);
	s->drained = fl_instant_now();
	fl_target_release();
	fl_negotiation_close(s);
	fl_perf_map_write(s);
	fl_session_measure_tick(s);
	fl_rate_measure(s, s->end_tsc);
	add_up(s);
	if (s->attached)
		fl_attach_tell_refused(s);
	if (s->start.refused_to_go || s->chosen.is_empty || !has_begun(s))
		return FL_EXIT_FAILED;
	if (!s->feed_error) {
		fl_session_make_results(s);
		fl_trigger_end(s);
		note_error(s, fl_profile_fill(s));
		fl_cost_tell(s);
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
				   fl_ns(t.tv_sec, t.tv_nsec) };
}

void fl_session_close(struct fl_session *s)
{
	for (size_t i = 0; i < s->o->n_analyses; i++)
		free(s->results[i].cells);
	for (size_t i = 0; i < FL_N_SAMPLED; i++)
		free(s->sampled[i].cells);
	fl_ctl_close(s);
	fl_change_close(s);		/* its sessions listen to readers */
	fl_readers_close(s->readers);
	fl_trigger_close(s);
	fl_opening_end(s);
	fl_sampler_close(s->sampler);
	fl_originals_close(s->originals);
	fl_preempt_close(s->preempt);
	fl_budget_close(s->budget);
	fl_found_close(s);
	fl_lines_close(s);
	fl_view_close(s);
	free(s->chosen.marks);
	free(s->chosen.answers);
	fl_functions_close(&s->functions);
	fl_attach_close(s->attached);
	if (s->shm)
		fl_shm_destroy(s->shm, s->fd);
	fl_trace_close(s->trace);
	fl_store_close(s->store);
}
