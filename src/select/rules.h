/*
 * rules.h - private to select/: what rules for modules take from patterns.
 */
#ifndef FL_RULES_H
#define FL_RULES_H

#include "select/select.h"

/* The next pattern from *at on that switches a place on by its offset; NULL: no more. */
const struct fl_pattern *fl_selection_point(const struct fl_selection *, size_t *at);
/* Does a pattern that switches on name stubs of the linkage table? */
bool fl_selection_has_stubs(const struct fl_selection *);

#endif
