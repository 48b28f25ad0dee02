/*
 * select.h - private to session/: which functions patterns ask for (select.c).
 */
#ifndef FL_SELECT_H
#define FL_SELECT_H

#include "session/session.h"

/* Add a glob while the recording runs. 0 or an error, and no line is printed. */
int fl_selection_amend(struct fl_selection *, int on, const char *glob);
/* A selection of what a glob takes; NULL and an error, but no line. */
struct fl_selection *fl_selection_only(const char *glob, int *err);
/* May a function with this mangled name have another one that is wanted, or not? */
bool fl_selection_may_take(const struct fl_selection *, const char *linkage);
bool fl_selection_has_patterns(const struct fl_selection *);
/* Does a pattern name single sites? */
bool fl_selection_names_sites(const struct fl_selection *);
/* The module part of the next pattern from *at on that switches functions on and has one;
 * false: no more. */
bool fl_selection_module(const struct fl_selection *, size_t *at, const char **glob,
			 size_t *len);
/* The next pattern from *at on that switches a place on by its offset; NULL: no more. */
const struct fl_pattern *fl_selection_point(const struct fl_selection *, size_t *at);
/* Does a pattern that switches on name stubs of the linkage table? */
bool fl_selection_has_stubs(const struct fl_selection *);
/* The last pattern that switches functions off and has matched; NULL: none has. */
const char *fl_selection_emptied_by(const struct fl_selection *);
/* What a pattern whose module is not there could have meant, into `hint`: "; did you mean
 * ...?", or what modules there are. */
enum { FL_HINT = 640 };
void fl_selection_hint_module(const struct fl_scope *, const char *pattern, size_t module_len,
			      char *hint, size_t room);

#endif
