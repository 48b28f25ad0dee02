/*
 * trial.h - experiments on this machine: what do its cores do with changed code?
 *
 * READER code, for the command only. The trials make executable memory of their
 * own and store to it in ways that the product never would, each in a child
 * process that may die of it. They are the one exception to "only patch/ stores
 * to executable memory".
 */
#ifndef FL_TRIAL_H
#define FL_TRIAL_H

#include "patch/patch.h"

/* Why no trial is made on this CPU (CPU/); NULL: trials are made. */
const char *fl_trial_none(void);

/* ---- one trial (child.c) ---------------------------------------------------- */

/* How the bytes are changed. */
enum fl_way {
	FL_WAY_WAIT,		/* trap, wait, tail, wait, head; a fence before each wait */
	FL_WAY_WAIT_JUMP,	/* the same with a jump over the tail in place of a trap */
	FL_WAY_WAIT_UNFENCED,	/* with a trap and without the fences */
	FL_WAY_LOCK8,		/* one locked compare-and-exchange of 8 bytes */
	FL_WAY_PLAIN8,		/* one store of 8, 16, 32 bytes */
	FL_WAY_SSE16,
	FL_WAY_AVX32,
	FL_WAY_HALVES,		/* two stores with a pause between: must be seen */
	FL_N_WAYS
};
extern const char *const fl_way_names[FL_N_WAYS];

/* What is changed. */
enum fl_subject {
	FL_SUBJECT_CALL,	/* a call of 5 bytes <-> a NOP of 5 */
	FL_SUBJECT_OPERAND,	/* 8 bytes of operand of one instruction */
	FL_N_SUBJECTS
};
extern const char *const fl_subject_names[FL_N_SUBJECTS];

/* What became of a run. */
enum fl_fate {
	FL_FATE_WELL,
	FL_FATE_SEGV, FL_FATE_ILL, FL_FATE_TRAP,	/* it died of mixed bytes */
	FL_FATE_WRONG,		/* an instruction that never was has been executed */
	FL_FATE_HUNG,
	FL_N_FATES
};
extern const char *const fl_fate_names[FL_N_FATES];

enum { FL_TRIAL_EXECUTORS = 6 };	/* as many as paper 1, section 8.1 */

struct fl_trial {
	uint8_t way, subject;
	bool cold;		/* executors flush the line before each call */
	uint8_t offset;		/* of the first changed byte in its cache line */
	uint8_t executors;
	uint32_t wait;		/* ticks; of the ways up to WAIT_UNFENCED */
	/* W fl_trial_run(), which adds to them */
	uint32_t runs;
	uint64_t toggles, calls, torn;	/* torn: wrong values seen */
	uint32_t fates[FL_N_FATES];
};

/* The coarsest boundary between the first and the last changed byte. */
enum fl_crossing {
	FL_CROSS_NONE,		/* all in one aligned word */
	FL_CROSS_8, FL_CROSS_16, FL_CROSS_32, FL_CROSS_LINE, FL_N_CROSSINGS
};
extern const char *const fl_crossing_names[FL_N_CROSSINGS];
enum fl_crossing fl_trial_crossing(const struct fl_trial *);
uint32_t fl_trial_failures(const struct fl_trial *);
/* Does the trial change bytes as the sync `wait` will? Then it counts for T_max. */
static inline bool fl_trial_is_fenced(const struct fl_trial *t)
{
	return t->way == FL_WAY_WAIT || t->way == FL_WAY_WAIT_JUMP;
}

/* ---- all trials: calibration (waits.c, atoms.c, verdict.c, keep.c) ------------ */

struct fl_findings {
	struct fl_trial *trials;
	size_t n;
	uint32_t rounds;		/* runs of each trial */
	uint32_t executors;		/* the most at a time */
	/* W fl_findings_judge() */
	bool sees;			/* every control was seen to fail */
	bool line;			/* one locked store within a line is whole */
	bool wait_safe;			/* some wait, and every longer one, never failed */
	uint64_t measured, t_max;	/* ticks, where wait_safe */
	uint64_t toggles, stores;	/* by waiting; by one store */
};

/* Run and judge all trials in about `seconds`. `progress` is told how much of
 * 1,000 is done. 0, -ENOMEM, or as fl_trial_run(); -ENODEV with one processor. */
int fl_calibrate(struct fl_findings *, unsigned seconds,
		 void (*progress)(void *arg, unsigned done), void *arg);
void fl_findings_free(struct fl_findings *);

/* Can findings be kept at `path`? Makes its directories. 0 or -errno. */
int fl_findings_place(const char *path);
/* Keep the findings at `path` and their chart at `path`.svg, each file as a whole
 * or not at all. 0 or -errno. */
int fl_findings_keep(const struct fl_findings *, const char *path);

/* ---- torture: is switching right here? (torture*.c) ---------------------------- */

/* What the executors and patchers of a test have counted. */
struct fl_tally {
	uint64_t old, new;	/* executions that met the one or the other */
	uint64_t torn;		/* ... bytes that were never an instruction */
	uint64_t lost;		/* calls, switches, threads that did not come back */
	uint64_t stray;		/* traps that reached the program; stale instructions */
	uint64_t switched[FL_N_TACTICS];
};

enum { FL_TORTURE_NOTE = 160 };
extern const struct fl_torture {
	const char *name, *about;
} fl_tortures[];
extern const size_t fl_n_tortures;

struct fl_verdict {
	struct fl_tally tally;
	bool skipped;		/* this machine has no place of the test's tactic */
	char note[FL_TORTURE_NOTE];	/* the first fault */
};

/* Run a test for about `ms` in a child, where cores are synchronised by `sync`
 * (NULL: the best). `tick` is called some times a second. A crash of the test
 * counts as torn, a hang as lost. 0; or FLE_OPTION, FLE_NOSYNC and the like, or
 * -errno: the test could not be run. */
int fl_torture_run(const struct fl_torture *, struct fl_verdict *, const char *sync,
		   unsigned ms, void (*tick)(void *arg), void *arg);

#endif
