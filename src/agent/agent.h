/* agent.h - step 4 of the target's side: flick inside somebody's program. */
#ifndef FL_AGENT_H
#define FL_AGENT_H

#include "base/base.h"
#include "channel/channel.h"
#include "probe/probe.h"

/* Who directs the probes of this process; NULL: nobody, stay out of the way. */
struct fl_owner {
	/* Sites [from, n_sites) await their arming, the new ones among them a
	 * decision. One call at a time. */
	void (*found)(uint32_t from, enum fl_moment);
	/* After it, without a lock: the program is told; NULL. */
	void (*tell)(void);
	/* Of a second one: its probes can be wanted from now on, 0 or why not; and none of
	 * them is any more. */
	int (*join)(void);
	void (*leave)(void);
};
/* Who directs them decides about [from, n_sites), and then the second one hears of it; with
 * the negotiation's lock. Then, without it, the program is told. */
void fl_agent_decide(const struct fl_owner *, uint32_t from, enum fl_moment);
void fl_agent_tell(const struct fl_owner *);
extern const struct fl_owner *fl_owner;

/* The owner, if this process is still its; it may go at any time. */
const struct fl_owner *fl_agent_director(void);
/* The program would switch its probes: alone, or beside a recorder. FLE_OPEN; FLE_RECORDED: a
 * recorder has been, or has them by another libflick, and is told. */
enum { FL_ALONE, FL_BESIDE };
int fl_agent_may_own(void);
/* It does so beside the recorder, as `second`, who hears of what is found behind the
 * recorder; and is the owner when that has gone. 0, FLE_RECORDED, -ENOMEM. leave: no more. */
int fl_agent_join_second(const struct fl_owner *second);
struct fl_region *fl_agent_region(void);	/* the recorder's */
void fl_agent_leave_second(void);
/* The recorder has gone: nothing of flick's runs any more, but where modules are
 * unloaded. */
void fl_agent_end(void);
bool fl_agent_is_orphan(void);
/* The reader of region `m` is asked about what is new, and has answered, or is dead: enum
 * fl_phase. */
uint32_t fl_agent_ask(struct fl_region *m, int error);

/* Take in what is new and let the owner decide. 0 or FLE_FULL. */
int fl_agent_found(enum fl_moment);

/* Around what may end in found(): threads that meet the same new site wait for
 * the decision. Signals are blocked meanwhile. The loader is not asked there, nor does
 * the program run. Over a fork it may be had, which waits so long for it; a probe does
 * not wait for such a fork for good, nor where its thread has a lock of ours. */
void fl_agent_lock(uint64_t *signals);
bool fl_agent_lock_to_fork(uint64_t us, uint64_t *signals);
bool fl_agent_lock_at_probe(uint64_t *signals);
void fl_agent_unlock(const uint64_t *signals);

/* Begin in a program that runs already (attach.c), in a thread that the C library knows: 0,
 * when the reader has been heard and probes are as it wants; or why that cannot be. */
int fl_agent_attach(const char *given);

/* Who looks from outside is told what a recorder would be here (attach.c). */
void fl_attach_tell(enum fl_recorders);

/* Unwinders find bodies from now on, if they ask in the way we know. In the first
 * constructor, or with the loader's lock. */
void fl_find_open(void);
void fl_find_open_late(void);		/* in a program that ran before */
/* The unwinder whose code or data is at `at`, 0: none, is loaded. It may be not yet relocated:
 * with the loader's lock, before any of its code runs. */
void fl_find_loaded(uintptr_t at);

/* Tell the scan where the profiling functions of this process are. */
void fl_cyg_open(void);

/* A place that is the agent's own, not a probe's: from one state to another; and its old
 * bytes back, which may take more than one try. 0, -errno or why not. */
int fl_agent_change(struct fl_patch *, int from, int to);
int fl_agent_restore(struct fl_patch *);

/* Follow the process through dlopen and fork. 0 or -errno. */
int fl_life_open(void);
void fl_life_close(void);
/* The C library's mprotect() and mlockall() are flick's, in a program that it comes into late;
 * and no more. Where that cannot be they stay (protect.c). */
void fl_protect_open_late(void);
void fl_protect_close(void);
/* For this recorder, which is watched once there are probes. */
int fl_life_watch(struct fl_region *);
/* Who watches it, and re-arms what it samples. open: in the first thread of the
 * process, at its start and in fork's child. start: 0, also when it has been, or -errno. */
int fl_watch_open(const struct fl_region *);
int fl_watch_start(struct fl_region *);
/* One was started in this process, and has not come to its end. */
bool fl_watch_is_there(void);

/* A second recorder, in who comes in by attach.c: as fl_agent_attach(). turn: in who watches
 * the first one, what it wishes for, and whether it has gone. is_there: it has not
 * (joint.c). */
int fl_joint_attach(const char *given, struct fl_region *first);
void fl_joint_turn(void);
bool fl_joint_is_there(void);

/* What the recorder has wished for since, in who watches it. True: it cannot be just now, and
 * is soon. */
bool fl_control_turn(struct fl_region *);

/* Open patch/ as the environment wishes. 0, FLE_OPTION, FLE_NOSYNC, ... */
int fl_agent_patch_open(void);

#endif
