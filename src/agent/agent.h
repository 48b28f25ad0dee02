/* agent.h - step 4 of the target's side: flick inside somebody's program. */
#ifndef FL_AGENT_H
#define FL_AGENT_H

#include "base/base.h"
#include "channel/channel.h"
#include "probe/probe.h"

struct fl_module;

/* The owner directs the probes of this process. NULL: nobody does, stay out of the way. */
struct fl_owner {
	/* Sites [from, n_sites) await their arming, the new ones among them a
	 * decision. One call at a time. */
	void (*found)(uint32_t from, enum fl_moment);
	/* After that, without a lock: tell the program. NULL: nothing. */
	void (*tell)(void);
	/* For a second owner. join: its probes can be wanted from now on; 0, or why not. leave:
	 * none of them is wanted any more. */
	int (*join)(void);
	void (*leave)(void);
};
/* decide: the owner decides about [from, n_sites), and then the second one hears of it; with
 * the negotiation's lock. tell: after that, without the lock, the program is told. */
void fl_agent_decide(const struct fl_owner *, uint32_t from, enum fl_moment);
void fl_agent_tell(const struct fl_owner *);
extern const struct fl_owner *fl_owner;

/* The owner, if this process is still the owner's; it may go at any time. */
const struct fl_owner *fl_agent_director(void);
/* May the program switch its probes: alone, or beside a recorder? FLE_OPEN; FLE_RECORDED: a
 * recorder has been here, or has the probes by another libflick, and is told. */
enum { FL_ALONE, FL_BESIDE };
int fl_agent_may_own(void);
/* join: `second` goes beside the recorder. It hears of what is found after the recorder does,
 * and is the owner when the recorder has gone. 0, FLE_RECORDED, -ENOMEM. leave: it goes. */
int fl_agent_join_second(const struct fl_owner *second);
struct fl_region *fl_agent_region(void);	/* the recorder's */
void fl_agent_leave_second(void);
/* The recorder has gone: nothing of flick's runs any more, except where modules are
 * unloaded. */
void fl_agent_end(void);
bool fl_agent_is_orphan(void);
/* Ask the reader of region `m` about what is new, until it has answered or is dead: enum
 * fl_phase. */
uint32_t fl_agent_ask(struct fl_region *m, int error);

/* Take in what is new and let the owner decide. 0 or FLE_FULL. */
int fl_agent_found(enum fl_moment);
/* Modules have gone, in this thread, and fl_probes_thaw() has heard of it. With the loader's
 * lock. */
void fl_agent_unloaded(void);

/* Around all that may end in found(): threads that meet the same new site wait for the
 * decision. Signals are blocked meanwhile, the loader is not asked, and the program does not
 * run. to_fork: a fork, which has the lock over the fork, waits so long for it. at_probe: a
 * probe does not wait for such a fork for good, nor where its thread has a lock of ours. */
void fl_agent_lock(uint64_t *signals);
bool fl_agent_lock_to_fork(uint64_t us, uint64_t *signals);
bool fl_agent_lock_at_probe(uint64_t *signals);
void fl_agent_unlock(const uint64_t *signals);

/* Begin in a program that runs already (attach.c), in a thread that the C library knows: 0,
 * when the reader has been heard and probes are as it wants; or why that cannot be. */
int fl_agent_attach(const char *given);

/* Whoever looks from outside is told whether another recorder may come (attach.c). */
void fl_attach_tell(enum fl_recorders);

/* Unwinders find bodies from now on, if they ask in the way we know. In the first
 * constructor, or with the loader's lock. */
void fl_find_open(void);
void fl_find_open_late(void);		/* in a program that ran before */
extern uintptr_t fl_find_listed;	/* our dl_iterate_phdr() (listed.c); 0: there is none */
/* Where a word is to lead that the module fills by that name, and that leads to `now`; 0: it
 * stays (asked.c). NULL in a static program. */
extern uintptr_t (*fl_find_asked)(const struct fl_module *, const char *name, uintptr_t now);
/* The unwinder whose code or data is at `at` is loaded; 0: none is. It may not be relocated
 * yet: with the loader's lock, before any of its code runs. */
void fl_find_loaded(uintptr_t at);

/* Tell the scan where the profiling functions of this process are. */
void fl_cyg_open(void);

/* A place that is the agent's own, not a probe's. change: from one state to another. restore:
 * its old bytes come back, which may take more than one try. 0, -errno or why not. */
int fl_agent_change(struct fl_patch *, int from, int to);
int fl_agent_restore(struct fl_patch *);

/* Follow the process through dlopen and fork. 0 or -errno. */
int fl_life_open(void);
void fl_life_close(void);
/* open_late: in a program that flick comes into late, the C library's mprotect() and mlockall()
 * lead to flick's. close: no more. Where that cannot be they stay as they are (protect.c). */
void fl_protect_open_late(void);
void fl_protect_close(void);
/* For this recorder, which is watched once there are probes. */
int fl_life_watch(struct fl_region *);
/* What watches the recorder, and re-arms what it samples. open: in the first thread of the
 * process, at its start and in fork's child. start: 0, also when it was started, or -errno. */
int fl_watch_open(const struct fl_region *);
int fl_watch_start(struct fl_region *);
/* Was one started in this process that has not come to its end? */
bool fl_watch_is_there(void);

/* A second recorder (joint.c). attach: in the thread that comes in by attach.c, as
 * fl_agent_attach(). turn: in what watches the first one, do what the second one wishes for,
 * and see whether it has gone. is_there: it has not. */
int fl_joint_attach(const char *given, struct fl_region *first);
void fl_joint_turn(void);
bool fl_joint_is_there(void);

/* In what watches the recorder: do what the recorder has wished for since. True: that cannot be
 * just now, and can be soon. */
bool fl_control_turn(struct fl_region *);

/* Open patch/ as the environment wishes. 0, FLE_OPTION, FLE_NOSYNC, ... */
int fl_agent_patch_open(void);

#endif
