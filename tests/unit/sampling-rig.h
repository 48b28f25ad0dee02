/*
 * sampling-rig.h - two functions that are sampled, and calls of theirs.
 *
 * Each target is a child, and says what was wrong by its status.
 */
#ifndef SAMPLING_RIG_H
#define SAMPLING_RIG_H

#include "goal-rig.h"
#include "os/os.h"
#include "probe-rig.h"

static inline int runs(void (*target)(struct rig *))
{
	int status = rig_drain(g, rig_fork(g, target));

	assert_int_equal(status, 0);
	return (int)g->delivered;
}

/* Two functions, whose probes have no site: data alone says whether they are on. */
static inline void f(void)
{
}

static inline void h(void)
{
}

struct function {
	uint32_t entry, exit;
};
static struct function one, two;

static inline uint32_t add(void (*at)(void), enum fl_kind kind)
{
	bool is_new;
	int id = fl_probe_virtual((uintptr_t)at, kind, FL_FORM_NONE, &is_new);

	NEED(id >= 0 && is_new);
	fl_table.rows[id].wanted = 1;
	return (uint32_t)id;
}

static inline void open_probes(void)
{
	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	fl_sample_turn();			/* the first does nothing */
	one = (struct function){ add(f, FL_ENTRY), add(f, FL_EXIT) };
	two = (struct function){ add(h, FL_ENTRY), add(h, FL_EXIT) };
	fl_probes_commit(0, FL_RUNNING);
	NEED(fl_probe_is_on(one.entry) && fl_probe_is_on(two.exit));
}

static inline void begin(const struct function *of, uint32_t sp)
{
	fl_probe_hit(of->entry, sp);
}

static inline void end(const struct function *of, uint32_t sp)
{
	fl_probe_hit(of->exit, sp);
}

static inline void call(const struct function *of, uint32_t sp)
{
	begin(of, sp);
	end(of, sp);
}

static inline const struct fl_function *row_of(const struct function *of)
{
	return &fl_table.functions[fl_table.probes[of->entry].function];
}

static inline void want(const struct function *of, enum fl_wanted wanted)
{
	fl_table.rows[of->entry].wanted = wanted;
	g->m->session[0].seldom.wish++;
}

/* Its library is unloaded, and loaded again. */
static inline void go(const struct function *of)
{
	fl_goal_move(of->entry, FL_PROBE_GONE);
	fl_goal_move(of->exit, FL_PROBE_GONE);
}

static inline void come_back(const struct function *of)
{
	if (fl_table.probes[of->entry].state != FL_PROBE_GONE)
		go(of);
	fl_goal_move(of->entry, FL_PROBE_FOUND);
	fl_goal_move(of->exit, FL_PROBE_FOUND);
	fl_probes_commit(0, FL_RUNNING);
}

/* Its exit is on, as if it had been found and armed since. */
static inline void let_exit(const struct function *of)
{
	rig_let(of->exit, FL_HOLD_SAMPLED);
}

/* Of a function that is off the entries count. */
static inline bool is_off(const struct function *of)
{
	return row_of(of)->is_off && !fl_probe_is_on(of->exit);
}

static inline uint64_t counted(const struct function *of)
{
	const uint64_t *counters = (void *)((char *)fl_channel_own_slot() +
					    FL_SLOT_HEADER_BYTES);

	return fl_count_of(counters[of->entry]);
}

static inline uint64_t now(void)
{
	return fl_os_monotonic_ns();
}

static inline uint32_t frames_open(void)
{
	return fl_channel_own_slot()->ring[0].frames->n;
}

#endif
