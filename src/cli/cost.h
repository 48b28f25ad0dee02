/*
 * cost.h - private to cli/: paper 2's model of what an analysis costs (section
 * 4), and its measurement on a program.
 */
#ifndef FL_COST_H
#define FL_COST_H

#include "cli/cli.h"

/* ---- the model (cost-model.c): pure -------------------------------------- */

/*
 * Seconds, as paper 2 names them. Its application has one thread. Of one with
 * more, `threads` are at work at once, and inline they share the analysis.
 */
struct fl_cost {
	double a;			/* A: the application alone */
	double a_i;			/* A_i: to make events */
	double a_q;			/* A_q: to enqueue them */
	double p;			/* P: the analysis alone */
	double p_c;			/* P_c: to fetch events from the other core */
	double threads;			/* at work at once, 1 or more */
	unsigned cpus;
};

enum fl_dominant { FL_APPLICATION, FL_ANALYSIS, FL_CPUS };
extern const char *const fl_dominant_names[];

struct fl_model {
	double share;			/* of P in each thread, inline: P / threads */
	double e_s;			/* (1) without I_ap: inline takes at least this */
	double e_c_a, e_c_p;		/* (2), (3) */
	double all;			/* the work of both, on all CPUs */
	double e_c;			/* (4), and not below `all` */
	enum fl_dominant dominant;	/* (5) */
	double gain;			/* (6) or (9): e_s - e_c */
	double most;			/* (8): no gain is larger; A + A_i - P_c */
	bool pays;			/* (7) or (10) */
};
struct fl_model fl_cost_model(const struct fl_cost *);

enum fl_cheaper { FL_CONCURRENT, FL_INLINE, FL_NEITHER };
extern const char *const fl_cheaper_names[];
/* Of two times, of which `noise` is not known; one CPU runs nothing concurrently. */
enum fl_cheaper fl_cost_judge(double e_s, double e_c, double noise, unsigned cpus);

/* ---- the measurement (cost.c) -------------------------------------------- */

#define FL_COST_RUNS 100

/* Seconds of a number of runs. */
struct fl_spread {
	double median, min, max;
};

enum fl_cost_row {	/* what is measured; figure 8's bars, then reader's CPU time */
	FL_COST_ALONE, FL_COST_WORD, FL_COST_ENQUEUE, FL_COST_READ, FL_COST_CONCURRENT,
	FL_COST_CPU_READ, FL_COST_CPU_CONCURRENT, FL_COST_P,
	FL_COST_COUNTED,		/* inline: of the analysis `counts` alone */
	FL_COST_ROWS
};

struct fl_cost_options {
	struct fl_session_options session;
	unsigned runs;
	bool verbose;			/* the model is printed, too */
};

struct fl_cost_result {
	const struct fl_cost_options *o;
	bool stdin_is_file;
	uint64_t events;		/* of a run, the median */
	uint64_t least_events, most_events;
	double ns_per_tick;
	int status;			/* the program's exit status, the same each time */
	struct fl_spread rows[FL_COST_ROWS];
	struct fl_cost cost;
	struct fl_model model;
	double e_s;			/* as measured, else the model's lower bound */
	double noise;			/* seconds, of E_s and E_c */
	enum fl_cheaper cheaper;
};
/* The one analysis that flick has inline, too, is `counts`. */
static inline bool fl_cost_has_inline(const struct fl_cost_result *r)
{
	return r->o->session.entries_only;
}
/* Run the program again and again. An exit status; a line is printed when it is
 * not FL_EXIT_WELL. */
int fl_cost_measure(const struct fl_cost_options *, struct fl_cost_result *,
		    struct fl_account *);

/* ---- the answer (cost-print.c) ------------------------------------------- */

void fl_cost_print(const struct fl_cost_result *);
void fl_cost_print_json(const struct fl_cost_result *);

#endif
