/*
 * spots.c - before which step of its block a path's end is told.
 *
 * A block that is begun is run to its end, so the code for its one edge may stand anywhere in
 * the block. Before a function restores its callers' registers these need not be kept; where it
 * returns all must be. So this file looks for the step at which the fewest are to be kept.
 *
 * INVARIANT  A path is counted if, and only if, a thread comes to its last step.
 * WHY	The code is not moved across a call, which may not return, nor across an instruction
 *	that is not known. Code that counts is not moved across an instruction that may raise a
 *	signal either, because a handler may go on elsewhere: a division, a vector instruction,
 *	one that accesses memory. Reads of the stack are the exception: that memory is there.
 *	Code that adds (ADD) may pass all of these, because a sum that is never told counts for
 *	nothing. In functions with indirect jumps, which may lead into a block, nothing is
 *	moved.
 */
#include "copy/plan.h"

/* May code that stands behind the step stand before it? */
static bool may_pass(const struct fl_plan *p, uint32_t step, enum fl_path_what what)
{
	const struct fl_shape_step *s = &p->shape->steps[step];
	const unsigned char *code = fl_plan_bytes(p, step);
	struct fl_operands memory;
	const struct fl_needs *needs = &p->uses[step].needs;
	struct fl_insn i;

	if (s->kind != FL_SHAPE_PLAIN && s->kind != FL_SHAPE_RELATIVE)
		return false;
	fl_arch_decode(&i, code, s->len, s->at);
	if (needs->calls || needs->reads == (fl_regs)-1 || i.len != s->len ||
	    !fl_arch_operands(&memory, code, &i, s->at))
		return false;
	if (what == FL_PATH_ADD)
		return true;
	for (uint32_t k = 0; k < memory.n; k++)
		if (memory.of[k].base != FL_ARCH_SP || memory.of[k].index != FL_NO_REG ||
		    memory.of[k].what & FL_OPERAND_STORE)
			return false;
	return needs->is_quiet;
}

/* About how many instructions it takes to keep what is needed. Each push, pop and step past the
 * red zone is a depth; the frame is looked up again where no register keeps it to the end. */
static unsigned int cost_at(const struct fl_plan *p, enum fl_path_what what, uint32_t live)
{
	unsigned char out[FL_ARCH_PATH_MAX];
	struct fl_path_code c = {
		.what = what, .probe = !p->n_cells, .dead = (fl_regs)~live,
		.flags_dead = !(live & FL_LIVE_FLAGS), .at_home = p->home,
	};

	fl_arch_put_path(out, &c);
	return c.n_depths + (c.flags_dead ? 0 : 4) + (!p->home && c.frame == c.reg[0]);
}

uint32_t fl_plan_spot(const struct fl_plan *p, const uint32_t *live, uint32_t first,
		      uint32_t last, enum fl_path_what what)
{
	unsigned int least = cost_at(p, what, live[last]);
	uint32_t spot = last;

	for (uint32_t i = last; i-- > first && may_pass(p, i, what);) {
		unsigned int cost = live[i] == live[i + 1] ? least : cost_at(p, what, live[i]);

		if (cost < least) {
			least = cost;
			spot = i;
		}
	}
	return spot;
}
