/*
 * flow.c - what a register holds at a call, where that can be known for sure.
 *
 * A call is asked for backwards: from its argument to the register or the location
 * in the frame that it was copied from, and so on, on every path, until each ends
 * at a constant. One constant on all of them is the answer; two, or anything that
 * is not known, is none. What was passed on the way to an answer has the same
 * answer, so a function is walked once for each location it keeps a constant in.
 *
 * INVARIANT  An answer is the value of the argument each time the call runs.
 * WHY	Paths: body.c. On a path: a register changes where a step says so, or is
 *	among the `kills` of one; calls change scratch registers only, and an exception
 *	brings back the others. A location in the frame that a constant is copied to is
 *	the compiler's own: nobody has its address, so it changes by what is
 *	written relative to the stack or the frame pointer, or to a location that is not
 *	known. What a cycle brings back to itself is nothing new.
 */
#include "cyg.h"

enum { LINE_STEPS = 16 };		/* of a straight line, at most */

/* A register, or a location in the frame (FL_FRAME...: beyond what offsets can be). */
enum { REGISTERS = INT32_MAX - 255 };

struct fl_spot {
	uint32_t block;
	int32_t loc;
};

/* A state met on the way to an answer. */
struct fl_visit {
	struct fl_spot spot;
	uint32_t answer;
};

/* What a location holds: a constant; MOVED: what another location held before; SAME: what it
 * held itself; ADDED: what another one held, and a constant more; or UNKNOWN. */
enum { UNKNOWN = 0, MOVED = 1, SAME = 2, ADDED = 3 };	/* others are constants */

static uint64_t constant(const struct fl_step *s)
{
	return (uint64_t)s->op << 32 | s->v | 1ull << 63;
}

static bool is_constant(uint64_t v)
{
	return v >> 63;
}

/* `plus` is what was added to the constant; -1: nothing was. A page by itself names nothing. */
static bool name(const struct fl_code *c, struct fl_note *n, uint64_t v, int plus)
{
	if ((uint8_t)(v >> 32) == FL_STEP_PAGE && plus >= 0) {
		n->source = FL_STEP_CODE;
		n->v = (uint32_t)v + (uint32_t)plus;
		return n->v < c->hi - c->lo;
	}
	if ((uint8_t)(v >> 32) == FL_STEP_PAGE || plus >= 0)
		return false;
	n->source = (uint8_t)(v >> 32);
	n->v = (uint32_t)v;
	return true;
}

/* ---- one step, backwards ------------------------------------------------- */

/* What register `loc` holds behind the step. */
static uint64_t register_at(const struct fl_step *s, int32_t *loc)
{
	unsigned int reg = *loc - REGISTERS;

	if ((s->reg & FL_STEP_REG) != reg)
		return SAME;
	switch (s->op) {
	case FL_STEP_CODE: case FL_STEP_POINTER: case FL_STEP_PAGE:
		return constant(s);
	case FL_STEP_SUM:
		*loc = REGISTERS + (int32_t)(s->v >> FL_SUM_BITS);
		return ADDED;
	case FL_STEP_DATA: case FL_STEP_FRAME:
		return UNKNOWN;
	case FL_STEP_MOVE:
		*loc = REGISTERS + (int32_t)s->v;
		return MOVED;
	case FL_STEP_LOAD: case FL_STEP_POP:
		*loc = s->where;
		return *loc <= FL_FRAME_OTHER ? UNKNOWN : MOVED;
	}
	return SAME;
}

static bool overlaps(int32_t where, int64_t n, int32_t loc)
{
	return where == FL_FRAME_UNKNOWN ||
	       ((int64_t)where < (int64_t)loc + 8 && (int64_t)loc < where + n);
}

/* What location `loc` of the frame holds behind the step. */
static uint64_t word_at(const struct fl_step *s, int32_t *loc)
{
	unsigned int reg = s->reg & FL_STEP_REG;

	switch (s->op) {
	case FL_STEP_STORE: case FL_STEP_PUSH:
		if (s->where == *loc && reg < FL_NO_REG) {
			*loc = REGISTERS + (int32_t)reg;
			return MOVED;
		}
		return overlaps(s->where, 8, *loc) ? UNKNOWN : SAME;
	case FL_STEP_SMASH:
		return overlaps(s->where, 1ll << reg, *loc) ? UNKNOWN : SAME;
	case FL_STEP_LOST:
		return UNKNOWN;
	}
	return SAME;
}

static bool is_register(int32_t loc)
{
	return loc >= REGISTERS;
}

static bool is_killed(const struct fl_step *s, int32_t loc)
{
	return is_register(loc) && s->kills >> (loc - REGISTERS) & 1;
}

/* What `loc` holds behind step `s`, by what it, or another location, held before. */
static uint64_t before(const struct fl_step *s, int32_t *loc)
{
	uint64_t v = is_register(*loc) ? register_at(s, loc) : word_at(s, loc);

	return (v == SAME || v == MOVED || v == ADDED) && is_killed(s, *loc) ? UNKNOWN : v;
}

/* ---- a straight line ----------------------------------------------------- */

static bool is_kept(int32_t loc)
{
	return is_register(loc) && FL_ARCH_KEPT >> (loc - REGISTERS) & 1;
}

/* May something land between the step and the call? */
static bool is_cut(const struct fl_code *c, const struct fl_step *s, const struct fl_note *n)
{
	return !fl_no_bit(c->labels, s->at + 1, n->at + 1);
}

/* Going back, the first sum that is met is the last one of the program's: it is put aside. */
static uint64_t add_up(const struct fl_step *s, uint64_t v, int *plus)
{
	if (v != ADDED)
		return v;
	if (*plus >= 0)
		return UNKNOWN;
	*plus = (int)(s->v & FL_SUM_PLUS);
	return MOVED;
}

/* Only registers are followed: where locations of the frame are only the body knows. */
bool fl_flow_line(struct fl_code *c, const struct fl_part *p, struct fl_note *n)
{
	const struct fl_step *s = &c->steps[n->step], *first = &c->steps[p->first];
	int32_t loc = REGISTERS + FL_ARCH_ARG0;
	uint64_t v = is_killed(s, loc) ? UNKNOWN : SAME;
	int plus = -1;

	if (s - first > LINE_STEPS)
		first = s - LINE_STEPS;
	while (v == SAME && s > first) {
		s--;
		v = add_up(s, before(s, &loc), &plus);
		if (v != MOVED || !is_register(loc))
			continue;
		v = SAME;
		if (is_kept(loc) && !is_cut(c, s, n)) {
			n->via = (uint8_t)(loc - REGISTERS);
			n->plus = (int16_t)plus;
		}
	}
	return is_constant(v) && !is_cut(c, s, n) && name(c, n, v, plus);
}

/* ---- all along ----------------------------------------------------------- */

static void keep(struct fl_kept *k, unsigned int reg, uint64_t v)
{
	if (!(FL_ARCH_KEPT >> reg & 1))
		return;
	if (!k->value[reg])
		k->value[reg] = v;
	if (k->value[reg] != v)
		k->other |= 1u << reg;
}

/* A pop gives the caller its register back, except right behind a push, where it is a move. */
static void keep_step(struct fl_kept *k, const struct fl_step *s, bool is_pushed)
{
	unsigned int reg = s->reg & FL_STEP_REG;

	if (s->op == FL_STEP_CODE || s->op == FL_STEP_POINTER || s->op == FL_STEP_PAGE)
		keep(k, reg, constant(s));
	else if (s->op != FL_STEP_POP || is_pushed)
		k->other |= 1u << reg;
}

void fl_flow_keep(struct fl_kept *k, const struct fl_code *c, const struct fl_part *p)
{
	const struct fl_range *r = &c->ranges.r[p - c->parts];
	uint32_t start = (uint32_t)(r->start - c->lo);

	for (uint32_t i = p->first; i < p->first + p->n; i++) {
		const struct fl_step *s = &c->steps[i];

		k->other |= s->kills;
		if (s->op <= FL_STEP_LAST_LOAD)
			keep_step(k, s, i > p->first && s[-1].op == FL_STEP_PUSH);
	}
	if (r->is_gap || fl_code_is_torn(c, p) || !fl_no_bit(c->entries, start + 1, p->end))
		k->other = ~0u;
}

bool fl_flow_kept(const struct fl_code *c, const struct fl_kept *k, struct fl_note *n)
{
	return n->via && !(k->other >> n->via & 1) && k->value[n->via] &&
	       name(c, n, k->value[n->via], n->plus);
}

/* ---- all paths ----------------------------------------------------------- */

static bool is_from_frame(const struct fl_step *s, int32_t loc)
{
	return (s->op == FL_STEP_LOAD || s->op == FL_STEP_POP) &&
	       (s->reg & FL_STEP_REG) == loc - REGISTERS;
}

/* Go back through a block from step `at`: a constant, UNKNOWN, or SAME: it is what
 * `loc` was when the block began. */
static uint64_t pass(struct fl_body *b, const struct fl_block *k, uint32_t at,
		     int32_t *loc, int *plus)
{
	const struct fl_step *s = &b->c->steps[at];
	uint64_t v = SAME;

	while (s > &b->c->steps[k->first] && (v == SAME || v == MOVED)) {
		if (is_from_frame(--s, *loc) && !b->has_frame)
			fl_body_frame(b);
		v = add_up(s, before(s, loc), plus);
		if (!b->budget)
			return UNKNOWN;
		b->budget--;
	}
	return v == MOVED ? SAME : v;
}

static bool may_change(const struct fl_block *k, int32_t loc)
{
	if (is_register(loc))
		return k->kills >> (loc - REGISTERS) & 1;
	return k->stores & (1ull << ((uint32_t)loc / 8 % 64) |
			    1ull << (((uint32_t)loc + 7) / 8 % 64));
}

static bool is_scratch(int32_t loc)
{
	return is_register(loc) && FL_ARCH_SCRATCH >> (loc - REGISTERS) & 1;
}

/* Do the blocks before say what `loc` holds at the head of this one? They do not at a root,
 * unless a function begins there: what the caller left in a kept register, or nobody in the
 * frame, is no function of this body's, so the path that brings it to a call is never taken. */
static bool may_ask(const struct fl_block *k, int32_t loc)
{
	if (is_scratch(loc) && (k->flags & (FL_BLOCK_PAD | FL_BLOCK_ROOT)))
		return false;
	if (!(k->flags & FL_BLOCK_ROOT))
		return true;
	return (k->flags & FL_BLOCK_FUNCTION) && (is_register(loc) || loc < 0);
}

/* The visit of this state, or the place for it, which has no answer of this body's yet. */
static struct fl_visit *find_visit(struct fl_body *b, struct fl_spot s)
{
	size_t mask = b->room_visits - 1;
	size_t i = (s.block * 0x9e3779b1u ^ (uint32_t)s.loc * 0x85ebca6bu) & mask;

	for (;; i = (i + 1) & mask) {
		struct fl_visit *v = &b->visits[i];

		if (v->answer < b->first_answer ||
		    (v->spot.block == s.block && v->spot.loc == s.loc))
			return v;
	}
}

/* Where the answer to a state stands: with the block for registers that calls keep.
 * NULL: there is no room. */
static uint32_t *find_answer(struct fl_body *b, struct fl_spot s)
{
	static const uint8_t index[FL_ARCH_REGS] = FL_ARCH_KEPT_INDEX;
	struct fl_visit *v;

	if (is_kept(s.loc))
		return &b->blocks[s.block].answers[index[s.loc - REGISTERS]];
	v = find_visit(b, s);
	if (v->answer < b->first_answer && b->n_visits++ > b->room_visits / 2)
		return NULL;
	v->spot = s;
	return &v->answer;
}

/* The state's answer, when another question has found it; MOVED: it adds nothing; SAME: the
 * blocks before it are to be asked. */
static uint64_t visit(struct fl_body *b, struct fl_spot s, uint32_t question)
{
	uint32_t *answer = find_answer(b, s);

	if (!answer)
		return UNKNOWN;
	if (*answer == question)
		return MOVED;
	if (*answer >= b->first_answer && is_constant(b->answers[*answer]))
		return b->answers[*answer];
	*answer = question;
	return may_ask(&b->blocks[s.block], s.loc) ? SAME : UNKNOWN;
}

/* Ask all blocks before this one; false: there is no room. */
static bool ask(struct fl_body *b, struct fl_spot s, size_t *n)
{
	for (uint32_t e = b->blocks[s.block].preds; e != FL_NOWHERE; e = b->edges[e].next) {
		if (*n == b->room_visits || !b->budget)
			return false;
		b->budget--;
		b->todo[(*n)++] = (struct fl_spot){ b->edges[e].from, s.loc };
	}
	return true;
}

/* What the states in `todo` agree on. A sum that is met on the way is of a page of the same
 * block, or not known. */
static uint64_t agree(struct fl_body *b, size_t n, uint32_t question)
{
	uint64_t answer = SAME;

	while (n && b->budget) {
		struct fl_spot s = b->todo[--n];
		const struct fl_block *k = &b->blocks[s.block];
		uint64_t v = SAME;
		struct fl_note sum;
		int plus = -1;

		b->budget--;
		if (may_change(k, s.loc))
			v = pass(b, k, k->end, &s.loc, &plus);
		if (plus >= 0 && is_constant(v))
			v = name(b->c, &sum, v, plus) ?
			    1ull << 63 | (uint64_t)FL_STEP_CODE << 32 | sum.v : UNKNOWN;
		else if (plus >= 0)
			v = UNKNOWN;
		if (v == SAME)
			v = visit(b, s, question);
		if (v == UNKNOWN || (v == SAME && !ask(b, s, &n)))
			return UNKNOWN;
		if (is_constant(v) && answer != SAME && answer != v)
			return UNKNOWN;
		if (is_constant(v))
			answer = v;
	}
	return n ? UNKNOWN : answer;
}

bool fl_flow_paths(struct fl_body *b, struct fl_note *n)
{
	struct fl_spot spot = { fl_body_block(b, n->at), REGISTERS + FL_ARCH_ARG0 };
	uint32_t question = b->n_answers++;
	size_t n_todo = 0;
	uint64_t v;
	int plus = -1;

	b->answers[question] = UNKNOWN;
	v = is_killed(&b->c->steps[n->step], spot.loc) ? UNKNOWN :
		pass(b, &b->blocks[spot.block], n->step, &spot.loc, &plus);
	if (v == SAME)
		v = visit(b, spot, question);
	if (v == SAME)
		v = ask(b, spot, &n_todo) ? agree(b, n_todo, question) : UNKNOWN;
	if (!is_constant(v))
		return false;
	b->answers[question] = v;
	return name(b->c, n, v, plus);
}

/* ---- set-up -------------------------------------------------------------- */

static void unmap(struct fl_body *b)
{
	fl_scratch_close(b->visits, b->room_visits * sizeof *b->visits);
	fl_scratch_close(b->todo, b->room_visits * sizeof *b->todo);
	b->visits = NULL;
	b->todo = NULL;
}

/* A call is asked for once when its range is read, once when all are. */
static size_t bytes_of_answers(const struct fl_body *b)
{
	return (2 * b->c->room_notes + 1) * sizeof *b->answers;
}

int fl_flow_open(struct fl_body *b)
{
	size_t room = 4096;

	while (room / 32 < b->n_blocks)
		room *= 2;
	b->budget = 4096;
	for (const struct fl_part *p = &b->c->parts[b->first];; p = &b->c->parts[p->next]) {
		b->budget += 64ull * p->n;
		if (p->next == FL_NOWHERE)
			break;
	}
	b->n_visits = 0;
	b->n_answers += !b->n_answers;		/* 0 is no answer */
	b->first_answer = b->n_answers;
	if (!b->answers)
		b->answers = fl_scratch_open(bytes_of_answers(b));
	if (room > b->room_visits) {
		unmap(b);
		b->room_visits = room;
		b->visits = fl_scratch_open(room * sizeof *b->visits);
		b->todo = fl_scratch_open(room * sizeof *b->todo);
	}
	return b->answers && b->visits && b->todo ? 0 : -ENOMEM;
}

void fl_flow_close(struct fl_body *b)
{
	unmap(b);
	fl_scratch_close(b->answers, bytes_of_answers(b));
}
