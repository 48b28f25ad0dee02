/*
 * budget.h - private to session/: what calls of a sampled program are counted (budget.c).
 */
#ifndef FL_BUDGET_H
#define FL_BUDGET_H

#include <stdlib.h>

#include "session/session.h"

/* What a budget allows in this time may be spent at once, on top of it, so that a short run
 * is counted whole. */
#define FL_BUDGET_STAKE_NS 1e9

/* What a budget's text says, as a part of the CPU time; false: it is no percentage from 0.1 to
 * 100. */
static inline bool fl_budget_parse(const char *text, double *part)
{
	char *end;
	double percent = strtod(text, &end);

	end += *end == '%';
	*part = percent / 100;
	return end != text && !*end && percent >= 0.1 && percent <= 100;
}

/* Opens s->budget where functions are sampled; else it stays NULL, which all of these take
 * except fl_budget_grant(). 0 or -ENOMEM. */
int fl_budget_open(struct fl_session *);
/* count: `n` more calls of a probe by the target's thread of that number, made when its
 * process had heeded that wish; feed: calls that were timed. Any reader's thread may say so;
 * where there is more than one reader, no thread's number is known (FL_NO_NUMBER). */
enum { FL_NO_NUMBER = UINT32_MAX - 1, FL_SEVERAL };
/* + a program's row + 1: several threads of a process tree, whose processes all execute that
 * program. */
#define FL_OF_PROGRAM (FL_NO_NUMBER - 1 - FL_MAX_PROGRAMS)
void fl_budget_count(struct fl_budget *, uint32_t thread, uint32_t probe, uint64_t n,
		     uint32_t heeded);
void fl_budget_feed(struct fl_budget *, uint32_t thread, const struct flick_record *, size_t n);
/* Who called each function: 0: nobody; 1 + the thread; FL_OF_PROGRAM and more; or FL_SEVERAL.
 * of: zeros. */
void fl_budget_threads(const struct fl_budget *, uint32_t *of);
/* A site is wanted that was not when it was found. Once. */
void fl_budget_want(struct fl_budget *, uint32_t site);
/* Is the probe's function counted in windows alone, or is it to be? */
bool fl_budget_is_seldom(const struct fl_budget *, uint32_t probe);
/* Often: look at what was counted, and say what is to be. */
void fl_budget_turn(struct fl_session *);
struct fl_sum;
/* As fl_budget_calls(), and how many of these were counted. */
void fl_budget_tell(const struct fl_budget *, uint32_t function, struct fl_sum *);
/* When the last look was; without a budget UINT64_MAX. */
uint64_t fl_budget_looked_ns(const struct fl_budget *);
/* Counts may take so much beside the budget, and take it first. */
void fl_budget_grant(struct fl_budget *, double ns);
/* The time by which all counts have held up the program; without a budget HUGE_VAL. */
double fl_budget_held_ns(const struct fl_budget *);
/* All is counted: tell the analyses. 0 or -ENOMEM. */
int fl_budget_end(struct fl_session *);
void fl_budget_close(struct fl_budget *);

#endif
