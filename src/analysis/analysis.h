/* analysis.h - step 6 of 7: batches of events to a result. next: report.h */
#ifndef FL_ANALYSIS_H
#define FL_ANALYSIS_H

#include "base/base.h"
#include "channel/channel.h"

/* What an analysis may know of the target, resolved by the reader before the
 * first batch that mentions it; grows while it runs. */
struct fl_view {
	const struct fl_shm_site *sites;	/* index: probe id */
	const uint32_t *function_of;		/* probe id -> function index */
	uint32_t n_sites;
	uint32_t n_functions;
	double ns_per_tick;
	bool sampled;		/* entry and exit arrive as finished pairs */
};

enum fl_column_type { FL_COL_FUNCTION, FL_COL_COUNT, FL_COL_NS };

struct fl_column {
	const char *name;	/* the SQL column, e.g. "total_ns" */
	enum fl_column_type type;
};

/* Rows of typed cells; a cell is a function index, a count or nanoseconds;
 * FL_NONE where a value is not known. */
#define FL_NONE UINT64_MAX
struct fl_result {
	const struct fl_column *columns;
	size_t n_columns;
	uint64_t *cells;	/* n_rows * n_columns */
	size_t n_rows;
};

struct fl_analysis {
	const char *name, *about;
	enum fl_action action;	/* what its probes must do when exhaustive */
	int (*open)(void **state, const struct fl_view *);
	int (*feed)(void *state, const struct fl_batch *);
	void (*count)(void *state, uint32_t thread, uint32_t probe, uint64_t n);
	void (*thread_end)(void *state, uint32_t thread);
	int (*result)(void *state, struct fl_result *);	/* caller frees cells */
	void (*close)(void *state);
};

extern const struct fl_analysis *const fl_analyses[];	/* NULL-terminated */
const struct fl_analysis *fl_analysis_find(const char *name);

#endif
