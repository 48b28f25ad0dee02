/*
 * nest.c - the body that an address lies in, told by the code around it.
 *
 * A compiler that puts one body into another keeps them nested: on every path
 * through a machine function an inlined body's exit comes before the exit of the
 * body around it. So from an address on, the first exit of a body that began
 * before is the exit of the body that the address lies in. All paths are followed.
 * Where paths disagree, or one cannot be followed, no body is told. Paths disagree
 * where a call never returns and unrelated code stands behind it.
 */
#include "analysis/callers.h"

#include <stdlib.h>

#define DEEPEST 7u			/* bodies that begin on the way */
#define NOBODY FLICK_NO_FUNCTION
#define LONGEST (16u << 20)		/* bytes of a function */

struct step {
	uint32_t at, depth;		/* at: offset in the function */
};

struct walk {
	const struct fl_nest *nest;
	uint8_t *been;			/* a bit a depth; index: offset */
	struct step *todo;
	size_t n_todo;
	uint32_t found;
	bool lost;			/* no body is told */
};

static void put_off(struct walk *w, uint64_t at, uint32_t depth)
{
	const struct fl_nest *n = w->nest;

	if (at < n->lo || at >= n->hi)
		return;				/* another function's: the path ends here */
	at -= n->lo;
	if (w->been[at] >> depth & 1)
		return;
	w->been[at] |= (uint8_t)(1u << depth);
	w->todo[w->n_todo++] = (struct step){ (uint32_t)at, depth };
}

/* Apply the site at `at`, if there is one, to the depth. False: the path is at its end. */
static bool pass_site(struct walk *w, uint64_t at, uint32_t *depth)
{
	uint32_t function;
	int kind = w->nest->site(w->nest->arg, at, &function);

	if (kind == FL_ENTRY)
		++*depth;
	w->lost |= *depth > DEEPEST;
	if (kind != FL_EXIT && kind != FL_TAIL)
		return !w->lost;
	if (*depth) {
		--*depth;
		return true;
	}
	w->lost |= w->found != NOBODY && w->found != function;
	w->found = function;
	return false;
}

static void take_step(struct walk *w, struct step s)
{
	const struct fl_nest *n = w->nest;
	uint64_t at = n->lo + s.at;
	struct fl_insn i;

	if (!pass_site(w, at, &s.depth))
		return;
	fl_arch_decode(&i, n->code + s.at, n->hi - at, at);
	if (!i.len)
		w->lost = true;
	if (i.cls == FL_INSN_BRANCH || i.cls == FL_INSN_JUMP)
		put_off(w, i.target, s.depth);
	if (i.cls != FL_INSN_JUMP && i.cls != FL_INSN_JUMP_POINTER && i.cls != FL_INSN_RET)
		put_off(w, at + i.len, s.depth);
}

uint32_t fl_nest_find(const struct fl_nest *n, uint64_t at)
{
	size_t bytes = n->hi - n->lo;
	struct walk w = { .nest = n, .found = NOBODY };

	if (bytes > LONGEST)
		return NOBODY;
	w.been = calloc(bytes + 1, 1);
	w.todo = malloc((bytes * (DEEPEST + 1) + 1) * sizeof(*w.todo));
	if (w.been && w.todo)
		put_off(&w, at, 0);
	while (w.n_todo && !w.lost)
		take_step(&w, w.todo[--w.n_todo]);
	free(w.todo);
	free(w.been);
	return w.lost ? NOBODY : w.found;
}
