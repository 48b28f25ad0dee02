/*
 * bare.h - private to session/: processes of a tree without probes (bare.c).
 */
#ifndef FL_BARE_H
#define FL_BARE_H

#include "session/session.h"

struct fl_pc;
struct fl_profile;

/* saw: a sample of the program's own time, about when it was taken; turn, often: finds which
 * programs are dear by now. */
void fl_bare_saw(struct fl_session *, const struct fl_pc *);
void fl_bare_turn(struct fl_session *);
/* is_any: was there a bare process? is: was that sample taken of a process without probes, for
 * whatever reason? */
bool fl_bare_is_any(const struct fl_session *);
bool fl_bare_is(const struct fl_session *, const struct fl_pc *);
/* When samples are known: find how many of each module's were bare. 0 or -ENOMEM. */
int fl_bare_open(struct fl_profile *);
/* Calls and totals of `latency` are of processes with probes: add those of bare ones. */
void fl_bare_fill(struct flick_rows *, const struct fl_profile *);
/* Were most samples in that function's module bare? Then samples tell its times. */
bool fl_bare_is_most(const struct fl_profile *, uint64_t function);
/* Which programs' processes were bare, "29 of 31 of cc1, 20 of 31 of as"; "": none. */
void fl_bare_say(const struct fl_session *, char *to, size_t room);

#endif
