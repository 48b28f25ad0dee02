/*
 * life.c - the process goes on living around the agent: dlopen, dlclose, fork,
 * and a recorder that dies.
 *
 * Hides how flick hears of a dlopen: the loader calls an empty function
 * whenever its list of modules changes, so that debuggers can stop there
 * (r_debug.r_brk). That function is a `ret` with padding behind it, a site like
 * any other, and flick patches a jump into it. What it finds there is better
 * than what a wrapper around dlopen() could see: the module is mapped, no
 * constructor has run, so no thread can stand in the code to be armed; and the
 * caller of dlopen() is still its caller, which its search path depends on.
 */
#include <link.h>
#include <pthread.h>

#include "agent.h"
#include "os/os.h"
#include "patch/patch.h"

static const struct r_debug *loader;	/* NULL: not found */
static struct fl_patch loader_patch;
static bool hears_loader;
static bool is_armed;			/* its function leads to the glue, heard or not */
static struct fl_near loader_near;
static struct fl_region *watched;		/* the recorder's region; NULL: none */

/* ---- the loader ------------------------------------------------------------- */

static void each_loaded(void (*see)(uintptr_t bias))
{
	for (const struct link_map *m = loader->r_map; m; m = m->l_next)
		see(m->l_addr);
}

/* dlmopen() makes other lists, each with its own C library and none of us. The loader (glibc
 * 2.35) says so by its version, and links the next list behind what <link.h> of an older glibc
 * declares. */
static bool has_other_spaces(void)
{
	const struct {
		struct r_debug first;
		const void *next;
	} *lists = (const void *)loader;

	return loader->r_version >= 2 && lists->next;
}

/* libgcc_s, wherever it is from. */
static uintptr_t unwinder_at(void)
{
	static const char name[] = "/libgcc_s.so";

	for (const struct link_map *m = loader->r_map; m; m = m->l_next)
		for (const char *p = m->l_name; p && *p; p++)
			if (*p == '/' && !__builtin_strncmp(p, name, sizeof name - 1))
				return (uintptr_t)m->l_ld;
	return 0;
}

static void tell_spaces(void)
{
	if (watched && has_other_spaces())
		store_relaxed(&watched->has_spaces, 1);
}

/* False in a child that is not recorded: what it knows is its parent's, too. While flick is
 * being closed nobody directs, but places are still armed. */
static bool has_probes(void)
{
	return !fl_channel_is_closed() || fl_agent_is_orphan();
}

/* In the thread that loads or unloads, with the loader's lock held: the loader's list stands.
 * The thread may hold any lock of the program's, too. */
static void on_loader(void)
{
	bool is_told, has_unloaded;
	uint64_t before;

	if (fl_agent_director())
		tell_spaces();
	if (loader->r_state == RT_DELETE && has_probes())
		fl_probes_freeze();
	if (loader->r_state != RT_CONSISTENT)
		return;
	has_unloaded = fl_probes_thaw(each_loaded);
	fl_find_loaded(unwinder_at());
	if (!fl_agent_director())
		return;
	if (has_unloaded) {
		fl_agent_unloaded();
		return;
	}
	/* Only then is a clock read: a filter of system calls would be asked for it. */
	is_told = watched && watched->follow;
	before = is_told ? fl_os_cpu_ns(fl_os_tid()) : 0;
	fl_agent_found(FL_LOADING);
	if (is_told)
		fl_channel_armed(fl_os_cpu_ns(fl_os_tid()) - before);
}

/* The room of the `ret` at `at`, with NOPs behind it that nobody runs, up to a boundary. */
static uint8_t room_at(uintptr_t at)
{
	uintptr_t end = fl_round_up(at + 1, 16);
	struct fl_insn i;
	uintptr_t p = at + FL_ARCH_RET_BYTES;

	fl_arch_decode(&i, (const void *)at, end - at, at);
	if (i.cls != FL_INSN_RET || i.len != FL_ARCH_RET_BYTES)
		return 0;
	while (p < end) {
		fl_arch_decode(&i, (const void *)p, end - p, p);
		if (!i.len || i.cls != FL_INSN_NOP)
			break;
		p += i.len;
	}
	return (uint8_t)(p - at);
}

/* The glue stays for a recording that comes later: a thread may still be in it. */
static int make_loader_glue(uintptr_t at)
{
	uintptr_t *go;
	int err;

	if (loader_near.code)
		return 0;
	err = fl_near_alloc(&loader_near, FL_NEAR_TO(at, at + 16), FL_ARCH_GLUE_BYTES,
			    sizeof *go);
	if (err)
		return err;
	go = (uintptr_t *)loader_near.data;
	*go = (uintptr_t)on_loader;
	fl_arch_glue(loader_near.write, (uintptr_t)loader_near.code, 0, (uintptr_t)go, 0);
	return fl_near_seal(&loader_near);
}

static int plan_loader(void)
{
	uintptr_t brk;
	struct fl_plan_in in = { .form = FL_FORM_SLED_RET };
	uint64_t datum;
	int err;

	loader = fl_obj_loader();
	brk = loader ? loader->r_brk : 0;
	if (!brk)
		return FLE_UNKNOWN;
	in.at = brk + fl_arch_landing((const void *)brk, 8);
	in.room = room_at(in.at);
	err = make_loader_glue(in.at);
	if (err)
		return err;
	fl_channel_tell_glue((struct fl_glue_range){
			.lo = (uintptr_t)loader_near.code,
			.hi = (uintptr_t)loader_near.code + loader_near.code_bytes });
	in.glue = (uintptr_t)loader_near.code;
	return fl_arch_plan(&loader_patch, &in, &datum);
}

int fl_agent_change(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	uintptr_t lo = p->at, hi = lo + p->len;
	size_t bad;
	int err;

	fl_fork_enter();
	err = fl_text_open(lo, hi, FL_TEXT_LOADER);
	if (!err) {
		p->view = fl_text_shift(lo);
		fl_set_stage(&set, p, from, to);
		err = fl_set_commit(&set, &bad);
		fl_text_close(lo, hi, FL_TEXT_LOADER);
	}
	fl_fork_leave();
	return err;
}

int fl_agent_restore(struct fl_patch *p)
{
	enum { TRIES = 3 };
	int err = -EAGAIN;

	for (int i = 0; err && i < TRIES; i++)
		err = fl_agent_change(p, FL_ON, FL_OLD);
	return err;
}

static int arm_loader(void)
{
	int err = plan_loader();

	if (!err)
		err = fl_claim_alone(&loader_patch);
	if (err)
		return err;
	err = fl_agent_change(&loader_patch, FL_OLD, FL_ON);
	if (err)
		fl_unclaim_alone(&loader_patch);
	return err;
}

/* Where the loader has no such function, modules that are loaded later are found by their first
 * profiling call. If the system refuses for now, that is no reason to miss the unloading of a
 * module: -errno. A jump that an earlier close could not take back, because threads ran, is
 * heard again. Glue that was there before may have a thread in it. */
static int hear_loader(void)
{
	bool had_glue = loader_near.code;
	int err = is_armed ? 0 : arm_loader();

	is_armed = hears_loader = !err;
	if (err && !had_glue)
		fl_near_free(&loader_near);
	if (err && !(err < 0 && err > -4096))
		fl_probes_unheard();
	return err < 0 && err > -4096 ? err : 0;
}

/* Wait until a thread that was unloading before we heard of it has ended that. Nobody waits
 * long for a thread that is in the loader itself. */
static void let_loader_end(void)
{
	enum { PAUSE_US = 200, PATIENCE_US = 1000000 };

	for (int us = 0; us < PATIENCE_US && hears_loader &&
	     load_relaxed((const int *)&loader->r_state) != RT_CONSISTENT; us += PAUSE_US)
		fl_os_sleep_us(PAUSE_US);
}

/* ---- fork --------------------------------------------------------------------- */

/* The fork that this thread makes. Other threads fork meanwhile, and the owner comes and goes:
 * what is noted here alone says what is to be undone after the fork. */
static __thread struct {
	uint32_t depth;			/* a handler of the program's may fork */
	bool follows, holds;		/* the child is to be recorded; so the locks are had */
	bool checked;			/* fl_arch_uncheck() */
	uint64_t signals, negotiation;
} own_fork;

/* Only so that the child finds whole all that it goes on with. The program's fork handlers have
 * run, because the agent was there first: nobody who has what we want waits for us. */
static bool hold_all(void)
{
	enum { MODULES_US = 1000000, NEGOTIATION_US = 10000000 };

	if (!fl_probes_keep_modules(MODULES_US))
		return false;
	if (fl_agent_lock_to_fork(NEGOTIATION_US, &own_fork.negotiation)) {
		if (fl_probes_hold(&own_fork.signals))
			return true;
		fl_agent_unlock(&own_fork.negotiation);
	}
	fl_probes_let_modules();
	return false;
}

static void before_fork(void)
{
	FL_POINT("life.forking");
	if (own_fork.depth++)
		return;
	own_fork.checked = fl_arch_uncheck();
	own_fork.follows = fl_agent_director() && watched && watched->follow;
	if (own_fork.follows && fl_os_takes_orphans())
		store_relaxed(&watched->has_reaper, 1);
	own_fork.holds = own_fork.follows && hold_all();
	if (!own_fork.holds && load_relaxed(&fl_owner))
		fl_probes_settle();
}

/* Is this the end of a fork that before_fork() saw, and not of one within? */
static bool ends(void)
{
	return own_fork.depth && !--own_fork.depth;
}

static void in_parent(void)
{
	if (!ends())
		return;
	if (own_fork.holds) {
		own_fork.holds = false;
		fl_probes_release(&own_fork.signals);
		fl_agent_unlock(&own_fork.negotiation);
		fl_probes_let_modules();
	}
	fl_arch_check(own_fork.checked);
}

/* Behind chroot() there may be no /proc, and a sandbox may deny it. What begins to wait before
 * the fork returns needs none. */
static int watch_fork(void)
{
	int err = fl_watch_open(watched);

	return watched->is_attached || !fl_probes_count() ? err : 0;
}

/* Get a row, text and a watch of its own: 0, or why that cannot be. */
static int become_process(void)
{
	int err = fl_channel_reader_lives() ? fl_channel_fork() : -ESRCH;

	if (err)
		return err;
	err = fl_probes_take_over();
	if (!err)
		err = watch_fork();
	if (!err)
		err = fl_life_watch(watched);
	if (err)
		fl_channel_count_outside(FL_OUT_ERROR);
	return err;
}

/* The child is another process: it shares the rings and must not use them. */
static void stay_out(void)
{
	if (own_fork.follows && !own_fork.holds)
		fl_channel_count_outside(FL_OUT_ERROR);
	fl_owner = NULL;
	fl_channel_close();
	fl_probes_leave();
}

/* The child is alone, and signals are blocked until the negotiation is unlocked. */
static void in_child(void)
{
	if (!ends())
		own_fork.follows = false;	/* the fork around has a child of this one */
	if (own_fork.holds)
		fl_probes_release(&own_fork.signals);
	if (fl_owner && !(own_fork.holds && become_process() == 0))
		stay_out();
	if (own_fork.holds)
		fl_agent_unlock(&own_fork.negotiation);
	own_fork.holds = false;
	if (!own_fork.depth)
		fl_arch_check(own_fork.checked);
}

/* Watch where there are probes; where there are windows, which open and close from the start;
 * and where the program ran before, and is to be left. */
int fl_life_watch(struct fl_region *m)
{
	watched = m;
	if (loader)			/* spaces that were there before a recorder came */
		tell_spaces();
	return fl_probes_count() > 0 || m->session[0].windows.rate ||
	       (m->is_attached && fl_owner) ?
	       fl_watch_start(m) : 0;
}

int fl_life_open(void)
{
	static bool forks;
	int err = hear_loader();

	if (err)
		return err;
	let_loader_end();
	if (!forks && !fl_os_at_fork(before_fork, in_parent, in_child))
		return -ENOMEM;
	forks = true;
	return 0;
}

void fl_life_close(void)
{
	if (hears_loader && !fl_agent_restore(&loader_patch)) {
		fl_unclaim_alone(&loader_patch);
		is_armed = false;
	}
	hears_loader = false;
}
