/* probe.h - step 3 of 7: what runs at a site, and when. next: channel.h */
#ifndef FL_PROBE_H
#define FL_PROBE_H

#include "base/base.h"
#include "channel/channel.h"
#include "site/site.h"

/* Set up the table for a region; probes index its site table. 0 or error. */
int fl_probes_open(struct fl_shm *);
/* Every original byte back; glue stays mapped, a thread may stand in it. */
void fl_probes_close(void);

/* Take in the sites of all modules that were not seen before and forget
 * modules that are gone. Returns how many sites are new, or an error. */
int fl_probes_discover(void);
/* Take in one site found at its first call; its id or an error. */
int fl_probe_add(const struct fl_site *);

/* Arm and switch on every probe in [from, n) that is wanted, as one set. A
 * probe that cannot be armed keeps its refusal. Returns how many are on. */
int fl_probes_commit(uint32_t from);

/* What probe `id` does when on. CALL: `call(id, arg)`. 0 or FLE_NOPROBE. */
int fl_probe_action(uint32_t id, enum fl_action, void (*call)(uint32_t, void *),
		    void *arg);
/* Switch one armed probe; from any thread, not from a signal handler that
 * interrupted flick. 0, FLE_NOPROBE, FLE_REFUSED or FLE_GONE. */
int fl_probe_switch(uint32_t id, int state);
bool fl_probe_is_on(uint32_t id);

/* Sampling: an agent thread calls this once an epoch. */
void fl_sample_rearm(void);

/* Everything off by one store each: fork's child, a reader that died. */
void fl_probes_off(void);

#endif
