/*
 * analysis.c - the list of analyses; one line adds one.
 */
#include "analysis/analysis.h"

#include <string.h>

extern const struct flick_analysis fl_analysis_counts;
extern const struct flick_analysis fl_analysis_latency;
extern const struct flick_analysis fl_analysis_spread;
extern const struct flick_analysis fl_analysis_graph;
extern const struct flick_analysis fl_analysis_tree;
extern const struct flick_analysis fl_analysis_subtrees;
extern const struct flick_analysis fl_analysis_paths;
extern const struct flick_analysis fl_analysis_cache;
extern const struct flick_analysis fl_analysis_miss_tree;

const struct flick_analysis *const fl_analyses[] = {
	&fl_analysis_latency,
	&fl_analysis_counts,
	&fl_analysis_spread,
	&fl_analysis_graph,
	&fl_analysis_tree,
	&fl_analysis_subtrees,
	&fl_analysis_paths,
	&fl_analysis_cache,
	&fl_analysis_miss_tree,
	NULL
};

const struct flick_analysis *fl_analysis_find(const char *name)
{
	for (size_t i = 0; fl_analyses[i]; i++)
		if (!strcmp(fl_analyses[i]->name, name))
			return fl_analyses[i];
	return NULL;
}
