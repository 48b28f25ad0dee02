/*
 * spots.c - before which step of its block a path's end is told.
 *
 * A block is run to its end once it is begun, so what its one edge does may stand anywhere in
 * it. Before a function gives back its callers' registers it needs none of them, and where it
 * returns it needs all: so the step is looked for at which least is to be kept.
 *
 * INVARIANT  A path is counted if, and only if, its last step is come to.
 * WHY	No call is passed, which may not return, and nothing that is not known. Nor is what
 *	counts moved across an instruction that may raise a signal, as a handler may go on
 *	elsewhere: a division, a vector's, one in memory. Of memory what is read of the stack
 *	is there. What adds passes those, as a sum that is not told counts for nothing.
 *	Functions with indirect jumps, which may lead into a block, have nothing moved.
 */
#include "copy/plan.h"

/* May what is told behind the step be told before it? */
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

/* About so many instructions keep what is needed: each push, pop and step past the red zone is
 * a depth; the frame is looked up again where no register has it to the end. */
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
