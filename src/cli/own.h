/*
 * own.h - private to cli/: is a place flick's own code (own.c)?
 */
#ifndef FL_OWN_H
#define FL_OWN_H

#include "cli/cli.h"

/* Zeros: nobody has looked yet. */
struct fl_own {
	struct fl_glue_range *glue;	/* ascending, apart from one another */
	size_t n;
	uint32_t told;			/* rows that it was made of */
	bool has_looked;
	struct fl_glue_range work;	/* of the agent, in the library; {0}: not known */
};

/* Take all glue anew if there is more of it. 0 or -ENOMEM: what was taken last stays. */
int fl_own_look(struct fl_own *, const struct fl_session *);
/* Is it in the library, or in glue as it was when somebody looked last? */
bool fl_own_has(const struct fl_own *, const struct fl_session *, const struct fl_pc *);
bool fl_own_is_glue(const struct fl_own *, uint64_t address);
/* Is it of a process that is recorded? Without --follow children are not, and their time is
 * not the target's. */
bool fl_own_is_targets(const struct fl_session *, const struct fl_pc *);
/* Is a place that is own in glue, which counts calls? */
bool fl_own_counts(const struct fl_own *, const struct fl_pc *);
/* Is it in the agent's work, which is done when modules come? */
bool fl_own_works(const struct fl_own *, const struct fl_pc *);
/* Add samples of the target at that place to the sums. True: the place is own. */
bool fl_own_add(const struct fl_own *, const struct fl_session *, const struct fl_pc *,
		struct fl_pcs *);
void fl_own_close(struct fl_own *);

#endif
