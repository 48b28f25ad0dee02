/*
 * agent.c - the recorder's agent: asks it which sites it wants and arms them.
 *
 * Hides the negotiation with the reader, see enum fl_phase in channel.h. The reader may die at
 * any point; then the target goes on without probes. In a process tree one process asks at a
 * time, with the tree's lock held (channel/processes.c). The answer is for all of them, and a
 * process whose sites others have brought need not ask.
 *
 *	target					reader
 *	write modules, sites, n_sites		wait for ASK
 *	phase = ASK	(A)			load phase	(B)
 *	wait while phase == ASK			set sites[].wanted
 *	load phase	(D)			phase = GO	(C)
 *
 * (A) pairs with (B) in session/negotiation.c: who sees ASK sees the sites.
 * (D) pairs with (C) in session/negotiation.c: who sees GO sees what is wanted.
 */
#include "agent.h"
#include "copy/copy.h"
#include "os/os.h"
#include "patch/patch.h"

const struct fl_owner *fl_owner;

static struct fl_region *shm;
static struct fl_shm_session *session;	/* the recorder's */

static const struct fl_owner *second;	/* beside it; W with the negotiation's lock */

static struct fl_lock negotiation = { .rank = FL_LOCK_NEGOTIATION };

static uint32_t is_forking;		/* 1: a fork has it; W the thread that has it */
static uint32_t n_waits;		/* for that fork; atomic */

void fl_agent_lock(uint64_t *signals)
{
	fl_os_lock(&negotiation, signals);
}

bool fl_agent_lock_to_fork(uint64_t us, uint64_t *signals)
{
	if (!fl_os_lock_within(&negotiation, us, signals))
		return false;
	store_relaxed(&n_waits, 0);
	store_relaxed(&is_forking, 1);
	return true;
}

/* A thread that forks may wait, in the C library, for a thread that meets a place: a few waits
 * a fork, of a tenth of a second at most, are enough for all threads together. */
static bool fork_takes_long(void)
{
	enum { MOST = 4 };

	return load_relaxed(&is_forking) &&
	       __atomic_fetch_add(&n_waits, 1, __ATOMIC_RELAXED) >= MOST;
}

bool fl_agent_lock_at_probe(uint64_t *signals)
{
	return !fl_os_holds_locks() &&
	       fl_os_lock_unless(&negotiation, fork_takes_long, signals);
}

void fl_agent_unlock(const uint64_t *signals)
{
	store_relaxed(&is_forking, 0);
	fl_os_unlock(&negotiation, signals);
}

/* A child of a bare clone has its parent's owner, and must not act as it. */
const struct fl_owner *fl_agent_director(void)
{
	const struct fl_owner *o = load_relaxed(&fl_owner);

	return o && !fl_channel_is_closed() ? o : NULL;
}

void fl_agent_decide(const struct fl_owner *owner, uint32_t from, enum fl_moment moment)
{
	owner->found(from, moment);
	if (second && second != owner)
		second->found(from, moment);
}

void fl_agent_tell(const struct fl_owner *owner)
{
	const struct fl_owner *to = load_relaxed(&second);

	to = to ? to : owner;
	if (to && to->tell)
		to->tell();
}

/* With the negotiation's lock. */
static int find_new(const struct fl_owner *owner, struct fl_modules *now,
		    enum fl_moment moment)
{
	uint32_t from;
	int n = fl_probes_discover(now, moment, &from);

	if (n != -EAGAIN && fl_probes_count() > from)
		fl_agent_decide(owner, from, moment);
	return n;
}

/* The loader is asked before any lock is taken. */
static int find_once(enum fl_moment moment)
{
	const struct fl_owner *owner;
	struct fl_modules now;
	uint64_t signals;
	int n = fl_probes_list(&now);

	if (n)
		return n;
	fl_agent_lock(&signals);
	owner = fl_agent_director();
	n = owner ? find_new(owner, &now, moment) : 0;
	fl_agent_unlock(&signals);
	fl_obj_unlist(&now);
	fl_agent_tell(owner);
	return n;
}

static bool has_missed;			/* some module may not have been met; W any */

/* Other threads may unload modules meanwhile, except with LOADING. */
int fl_agent_found(enum fl_moment moment)
{
	int n;

	do
		n = find_once(moment);
	while (moment == FL_RUNNING && fl_agent_director() &&
	       (n == -EAGAIN || fl_probes_await_arming()));
	if (moment == FL_LOADING)
		fl_text_told(NULL);
	store_relaxed(&has_missed, n < 0);
	return n < 0 ? n : 0;
}

/* What is gone has been forgotten at the thaw, and the rest was met when it came. */
void fl_agent_unloaded(void)
{
	if (load_relaxed(&has_missed) || fl_probes_await_arming())
		fl_agent_found(FL_LOADING);
}

static bool is_attached;		/* the recorder comes late, and goes without a trace */
static int start_error;			/* why this process's agent cannot work */
static int watch_error;			/* why nobody can watch the reader */

/* The reader's answer, or GO when it died before it gave one. */
static uint32_t wait_for_answer(struct fl_region *m)
{
	uint32_t phase, *of = &m->session[0].phase;

	/* (D) pairs with (C) in session/negotiation.c */
	while ((phase = load_acquire(of)) == FL_PHASE_ASK) {
		if (!fl_shm_reader_lives(m))
			return FL_PHASE_GO;
		fl_os_futex_wait(of, FL_PHASE_ASK, 20000);
	}
	return phase;
}

uint32_t fl_agent_ask(struct fl_region *m, int error)
{
	m->session[0].agent_error = error;
	/* (A) pairs with (B) in session/negotiation.c */
	store_release(&m->session[0].phase, FL_PHASE_ASK);
	FL_POINT("agent.asked");
	fl_os_futex_wake(&m->session[0].phase, 1);
	fl_shm_doorbell(m);		/* it may be waiting for events instead */
	return wait_for_answer(m);
}

/* Is there something that the reader has not decided? What was loaded before brings nothing
 * new. A process that was to end is told so again; one of a tree that another was told so goes
 * on with what is decided. */
static bool must_ask(void)
{
	const uint32_t phase = load_relaxed(&session->phase);

	return start_error || watch_error || phase == FL_PHASE_START ||
	       (phase == FL_PHASE_QUIT && !shm->follow) ||
	       load_relaxed(&session->n_decided) < shm->n_sites;
}

/* Returns the reader's answer. The first wait is for the answer to a process that was killed
 * while it asked. */
static uint32_t ask(void)
{
	uint32_t answer;

	fl_processes_lock(shm);
	wait_for_answer(shm);
	answer = must_ask() ? fl_agent_ask(shm, start_error ? start_error : watch_error) :
			      FL_PHASE_GO;
	fl_processes_unlock(shm);
	return answer;
}

static void recorder_found(uint32_t from, enum fl_moment moment)
{
	watch_error = fl_life_watch(shm);
	if (ask() == FL_PHASE_QUIT) {
		if (!is_attached)
			fl_os_exit(0);
		store_relaxed(&shm->detach, 1);	/* a program that runs runs on */
		return;
	}
	if (!fl_channel_reader_lives() || watch_error)
		return;
	/* Before the program may forbid what a claim asks of the kernel (seccomp). */
	if (moment == FL_RUNNING && from < fl_probes_count())
		fl_channel_slot();
	fl_probes_commit(from, moment);
}

static const struct fl_owner recorder = { .found = recorder_found };

static bool is_recorded, is_orphan;
static bool had_second;
static uint32_t has_retired;		/* 1: all is off, and another recorder may come. W the
					 * thread that made it so, and the one that comes */

static void tell_recorders(void)
{
	fl_attach_tell(!is_recorded || load_relaxed(&has_retired) ? FL_RECORDERS_NONE :
		       load_relaxed(&second) || load_relaxed(&is_orphan) ? FL_RECORDERS_FULL :
									  FL_RECORDERS_ONE);
}

/* Every byte is as it was, and another recorder may come. */
static void detach(void)
{
	fl_probes_close();
	fl_life_close();
	fl_protect_close();
	fl_channel_close();
	fl_patch_close();
	start_error = watch_error = 0;
	store_relaxed(&is_orphan, false);
	store_relaxed(&is_attached, false);
	store_release(&is_recorded, false);	/* (E) pairs with (F) */
	tell_recorders();
}

static void end_probes(void)
{
	if (is_attached) {
		detach();
		return;
	}
	fl_channel_close();
	fl_probes_retire();
	FL_POINT("agent.retired");
	store_release(&has_retired, 1);			/* (G) pairs with (H) */
	tell_recorders();
}

int fl_agent_may_own(void)
{
	if (is_recorded && !load_relaxed(&second) && fl_agent_director() == &recorder)
		return FL_BESIDE;
	if (is_recorded && !load_relaxed(&second))
		store_relaxed(&shm->has_self, 1);
	return load_relaxed(&second) ? FLE_OPEN : is_recorded ? FLE_RECORDED :
	       fl_owner ? FLE_OPEN : FL_ALONE;
}

struct fl_region *fl_agent_region(void)
{
	return shm;
}

static int join_once(const struct fl_owner *who)
{
	uint64_t signals;
	int err;

	fl_agent_lock(&signals);
	err = second ? FLE_OPEN : load_relaxed(&is_orphan) ? FLE_RECORDED : who->join();
	if (!err) {
		store_relaxed(&second, who);
		who->found(0, FL_RUNNING);
	}
	tell_recorders();
	fl_agent_unlock(&signals);
	return err;
}

/* The recorder's end is either seen here, or finds the second one. While modules are unloaded
 * this tries again without the lock, because the thread that unloads may wait for it. */
int fl_agent_join_second(const struct fl_owner *who)
{
	enum { PAUSE_US = 200 };
	int err;

	store_relaxed(&had_second, true);
	/* ordering: none other, of this and the look at is_orphan; and in fl_agent_end() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while ((err = join_once(who)) == -EAGAIN)
		fl_os_sleep_us(PAUSE_US);
	return err;
}

/* If the recorder has gone before, all ends here. */
void fl_agent_leave_second(void)
{
	const struct fl_owner *who;
	uint64_t signals;
	bool is_last;

	fl_agent_lock(&signals);
	who = second;
	is_last = second && fl_owner == second;
	store_relaxed(&second, NULL);
	if (is_last)
		store_relaxed(&fl_owner, NULL);
	fl_agent_unlock(&signals);
	if (who)
		who->leave();
	if (is_last)
		end_probes();
	tell_recorders();
}

bool fl_agent_is_orphan(void)
{
	return is_orphan;
}

/* From flick's own thread, when the reader has gone: profiling functions return at once, a
 * probe that is met enqueues nothing and waits for no room, and then all is off. A thread that
 * waits for an answer sees that no reader lives. A program that has a session of its own goes
 * on with it. */
void fl_agent_end(void)
{
	uint64_t signals;
	bool goes_on = false;

	store_relaxed(&is_orphan, true);
	tell_recorders();
	/* ordering: none other, as in fl_agent_join_second() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (load_relaxed(&had_second) || is_attached) {	/* else nobody waits for who asks */
		fl_agent_lock(&signals);
		goes_on = second != NULL;
		store_relaxed(&fl_owner, second);
		fl_agent_unlock(&signals);
	} else {
		store_relaxed(&fl_owner, NULL);
	}
	if (goes_on)
		fl_probes_end_first();
	else
		end_probes();
}

/* After an exec in the target: what the old image had is not there any more. Rows of a process
 * tree may be another process's as well. */
static void retire_old_image(void)
{
	for (uint32_t i = 0; !shm->follow && i < shm->n_sites; i++)
		fl_shm_sites(shm)[i].state = FL_SITE_GONE;
}

static int fault_error;

int fl_agent_patch_open(void)
{
	int err = fault_error ? fault_error : fl_patch_open(NULL);

	return err ? err : fl_text_choose(NULL);
}

static int open_all(void)
{
	int err = fl_channel_open(shm);

	if (!err)
		err = fl_agent_patch_open();
	if (!err)
		err = fl_probes_open(shm);
	fl_probe_builder = &fl_copy_builder;
	if (!err && shm->is_attached)
		fl_protect_open_late();
	if (!err)
		err = fl_life_open();
	if (!err)
		err = fl_watch_open(shm);
	if (!err)
		err = fl_life_watch(shm);
	return err;
}

/* ask() tells what cannot be found; the reader sees what there is no room for. In the first
 * constructor all modules are those that the program began with, and these stay. The loader is
 * not told to keep them, because it would call their constructors, the C library's with no
 * environment. */
static int discover_first(uint32_t *from)
{
	struct fl_modules now;
	int err = fl_obj_list(&now);

	*from = fl_probes_count();
	if (!err)
		err = fl_probes_discover(&now, FL_RUNNING, from);
	return err < 0 && err != FLE_FULL ? err : 0;
}

/* Give back room that the program may want: all of the region except its first bytes. */
static void give_back(uint64_t keep, uint64_t mapped)
{
	keep = fl_round_up(keep, FL_PAGE);
	fl_os_unmap((char *)shm + keep, mapped - keep);
}

/* Bodies stay for ever, and each recorder that comes late has its own: all take so much at
 * most. */
#define BODIES_MOST (680ul << 20)

/* The process is this region's. */
static int begin_process(void)
{
	if (!shm->tsc0) {		/* one moment on both clocks, of the first process */
		fl_clocks_read(&shm->tsc0, &shm->mono0_ns);
		shm->loader_ns = fl_os_cpu_ns(0);
	}
	fl_cyg_open();
	fl_site_found(shm);
	if (fl_copy_bytes() > BODIES_MOST)
		shm->body_rules.text[0] = '\0';
	fl_site_rules(&shm->body_rules);
	return open_all();
}

/* Other threads run, and load modules. A thread that loads finds no owner until the first sites
 * are decided, because those must not count as being loaded. What came meanwhile is found after
 * that. */
static void direct_late(void)
{
	struct fl_modules now;
	uint64_t signals;
	uint32_t from;
	int err;

	is_recorded = true;
	do {
		err = fl_probes_list(&now);
		fl_agent_lock(&signals);
		from = fl_probes_count();
		if (!err)
			err = fl_probes_discover(&now, FL_RUNNING, &from);
		if (err != -EAGAIN) {
			store_relaxed(&fl_owner, &recorder);
			start_error = err < 0 && err != FLE_FULL ? err : 0;
			recorder_found(from, FL_RUNNING);
			if (session->windows.rate)
				fl_windows_begin();
		}
		fl_agent_unlock(&signals);
		fl_obj_unlist(&now);
	} while (err == -EAGAIN);
	fl_agent_found(FL_RUNNING);
	tell_recorders();
}

/* CPUs that threads of ours may have before the program runs: its own or, where the program may
 * run on one alone, the reader's. Where system calls are filtered there are none: a filter may
 * end a process that begins a thread, or answer in the kernel's place. */
static struct fl_os_spare spare_cpus(void)
{
	const uint64_t none[FL_CPU_WORDS] = { 0 };
	uint32_t own = fl_os_shared_cpus(none);
	struct fl_thread_status s;

	if (!own || fl_os_thread_status(fl_os_pid(), fl_os_pid(), &s) || s.is_filtered)
		return (struct fl_os_spare){ 0 };
	if (own == 1 && !fl_os_shared_cpus(shm->reader_cpus))
		return (struct fl_os_spare){ .n = 1, .others = shm->reader_cpus };
	return (struct fl_os_spare){ .n = own - 1 };
}

/* The program's first thread may have had a slot for what the agent did in it. */
static void note_own_work(void)
{
	struct fl_slot *own = fl_channel_own_slot();

	if (own)
		store_relaxed(&own->begun_tsc, fl_arch_ticks());
}

static void direct(void)
{
	const uint64_t before = fl_os_cpu_ns(0);
	uint32_t from;

	is_recorded = true;
	fl_owner = &recorder;
	tell_recorders();
	fl_os_spare = spare_cpus();
	start_error = discover_first(&from);
	recorder_found(from, FL_RUNNING);
	fl_os_spare = (struct fl_os_spare){ 0 };
	fl_channel_armed(fl_os_cpu_ns(0) - before);
	note_own_work();
	if (session->windows.rate)
		fl_windows_begin();
}

/* The recorder that the program was started with is dead, and its probes are off: old bytes
 * come back, as they do at once where a recorder came late. Pages of a parent's are not stored
 * to. */
static int take_over(void)
{
	int err = fl_text_is_shared() ? FLE_RECORDED : fl_probes_give_back();

	FL_POINT("agent.given");
	if (err)
		store_release(&has_retired, 1);		/* (G) pairs with (H): who comes next */
	else
		detach();
	return err;
}

/* A recorder whose reader has just died, or wants to leave, may not have been ended yet. */
static bool is_being_left(void)
{
	return !load_relaxed(&second) &&
	       (!fl_shm_reader_lives(shm) || load_relaxed(&shm->detach)) &&
	       (load_relaxed(&is_orphan) || fl_agent_director() == &recorder);
}

/* What watches an earlier recorder ends what that one has left, and ends itself. Otherwise it
 * is done here, and the earlier reader is told, which may have sent us for that. 0, also when
 * an earlier recorder lives. */
static int follow_earlier(void)
{
	enum { PAUSE_US = 1000, PATIENCE_US = 3000000 };
	struct fl_region *m = shm;
	uint32_t was = 1;

	for (uint32_t us = 0; us < PATIENCE_US && fl_watch_is_there(); us += PAUSE_US) {
		/* (F) pairs with (E) */
		if (load_acquire(&is_recorded) && !is_being_left())
			return 0;
		fl_os_sleep_us(PAUSE_US);
	}
	/* (F) pairs with (E) */
	if (!load_acquire(&is_recorded) || !is_being_left() || fl_watch_is_there())
		return 0;
	if (!load_relaxed(&has_retired)) {
		fl_agent_end();
		store_relaxed(&m->has_left, 1);
	}
	/* (H) pairs with (G): whoever takes it finds all off */
	return __atomic_compare_exchange_n(&has_retired, &was, 0, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED) ? take_over() : 0;
}

static int enter_alone(const char *given)
{
	uint64_t mapped;
	int err = fl_shm_attach(given, &shm, &mapped);

	if (err)
		return err;
	session = &shm->session[0];
	is_attached = true;
	err = fl_channel_join(shm);
	if (!err)
		err = start_error = begin_process();
	if (!err) {
		direct_late();
		return 0;
	}
	fl_life_close();
	is_recorded = false;
	is_attached = false;
	return err;
}

/* FLE_RECORDED: also where the reader of the recorder that is there has died meanwhile. */
static int enter_once(const char *given)
{
	int err = follow_earlier();

	if (err)
		return err;
	/* (F) pairs with (E) */
	if (load_acquire(&is_recorded) && fl_agent_director() == &recorder)
		return load_relaxed(&second) ? FLE_TWO : fl_joint_attach(given, shm);
	if (is_recorded || fl_owner)
		return is_recorded ? FLE_RECORDED : FLE_OPEN;
	return enter_alone(given);
}

static int enter(const char *given)
{
	int err = enter_once(given);

	return err == FLE_RECORDED && load_relaxed(&is_orphan) && !load_relaxed(&second) ?
	       enter_once(given) : err;
}

/* Recorders take turns, but a recorder that is killed gives its turn away while the thread that
 * it has sent is still in here. A fork meanwhile makes a child in which nobody is. */
int fl_agent_attach(const char *given)
{
	enum { PAUSE_US = 1000, PATIENCE_US = 5000000 };
	static uint32_t entered;		/* the process in which somebody is */
	const uint32_t own = (uint32_t)fl_os_pid();
	int err;

	for (uint32_t us = 0;; us += PAUSE_US) {
		uint32_t was = load_relaxed(&entered);

		/* (I) pairs with (J): what the one before has left is there */
		if (was != own && __atomic_compare_exchange_n(&entered, &was, own, false,
							      __ATOMIC_ACQUIRE,
							      __ATOMIC_RELAXED))
			break;
		if (us >= PATIENCE_US)
			return FLE_RECORDED;
		fl_os_sleep_us(PAUSE_US);
	}
	err = enter(given);
	store_release(&entered, 0);		/* (J) pairs with (I) */
	return err;
}

/* Start as the agent of a recorder. */
static void start(const char *given)
{
	uint64_t mapped;
	int err = fl_shm_attach(given, &shm, &mapped);

	if (!shm)
		return;
	session = &shm->session[0];
	start_error = err;
	if (start_error) {
		fl_channel_open(shm);	/* only to be heard */
		fl_channel_close();
	} else if ((err = fl_channel_join(shm)) != 0) {
		is_recorded = err == -EALREADY;
		give_back(is_recorded ? sizeof *shm : 0, mapped);
		return;
	} else {
		retire_old_image();
		start_error = begin_process();
	}
	if (start_error) {
		if (ask() == FL_PHASE_QUIT)
			fl_os_exit(0);
		fl_life_close();	/* a later recorder finds the loader as it was */
		return;
	}
	direct();
}

/* The first constructor of all (-z initfirst): the C library has not set up
 * `environ` yet, but glibc hands every constructor the environment. */
static const char *find_variable(char **env, const char *name)
{
	size_t n = __builtin_strlen(name);

	for (; env && *env; env++)
		if (!__builtin_strncmp(*env, name, n) && (*env)[n] == '=')
			return *env + n + 1;
	return NULL;
}

/* Is the program run by valgrind, which preloads a part of its own? Stores to code do not reach
 * what valgrind executes, and it keeps shadows of all that is mapped. */
static bool is_translated(char **env)
{
	static const char part[] = "/vgpreload_";
	const char *preload = find_variable(env, "LD_PRELOAD");

	for (; preload && *preload; preload++)
		if (!__builtin_strncmp(preload, part, sizeof part - 1))
			return true;
	return false;
}

__attribute__((constructor)) static void on_load(int argc, char **argv, char **env)
{
	const char *given;

	(void)argc;
	(void)argv;
	if (!fl_os_has_glibc())
		return;
	fl_find_open();
	if (fl_os_is_secure())
		return;
	given = is_translated(env) ? NULL : find_variable(env, FL_SHM_ENV);
	fault_error = fl_os_fault_open(find_variable(env, FL_FAULT_ENV));
	if (given)
		start(given);
}
