/*
 * bare.h - private to cli/: processes of a tree without probes (bare.c).
 */
#ifndef FL_BARE_H
#define FL_BARE_H

#include "cli/cli.h"

struct fl_pc;
struct fl_profile;

/* A sample of the program's own time, about when it was taken; and often: which programs are
 * dear by now. */
void fl_bare_saw(struct fl_session *, const struct fl_pc *);
void fl_bare_turn(struct fl_session *);
/* Was there any such process? And was that sample taken of one without probes, whyever? */
bool fl_bare_is_any(const struct fl_session *);
bool fl_bare_is(const struct fl_session *, const struct fl_pc *);
/* By now samples are known: how many of each module's were bare. 0 or -ENOMEM. */
int fl_bare_open(struct fl_profile *);
/* Calls and totals of `latency` are of processes with probes: what the others add. */
void fl_bare_fill(struct flick_rows *, const struct fl_profile *);
/* Were most of the samples in that function's module? Then these tell its times. */
bool fl_bare_is_most(const struct fl_profile *, uint64_t function);
/* Which programs' processes these were, "29 of 31 of cc1, 20 of 31 of as"; "": none. */
void fl_bare_say(const struct fl_session *, char *to, size_t room);

#endif
