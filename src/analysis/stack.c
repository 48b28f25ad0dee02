/*
 * stack.c - which open call an exit ends, whatever happened in between.
 *
 * A record says which function began or ended, and where the stack pointer stood. Flick
 * unwinds nothing. Records are enough to see calls that never end (longjmp, exceptions
 * without exit records, threads that stop), and stacks that take turns (coroutines,
 * alternate signal stacks).
 *
 * A *machine frame* is what one call instruction made. A compiler that inlines puts several
 * calls into one machine frame. The stack grows down:
 *
 *	 higher	+-----------------+
 *		| frame of a      |	a's entry and exit have stack pointers in here
 *		+-----------------+
 *		| frame of b      |	b's, and those of c, which is inlined into b, are in
 *		|   and of c      |	here: equal, except in the cases (a), (b), (c) below
 *	 lower	+-----------------+
 *
 * While b lasts, all stack pointers of b's frame are below all of a's. So a call at a higher
 * stack pointer *proves dead* the open calls that began lower: their frames are gone.
 *
 * PROTOCOL
 *	entry   The call is pushed. No call is dropped for its stack pointer. The caller
 *	        is the innermost open call that the new one does not prove dead.
 *	exit    An exit of function f at stack pointer x ends one of f's open calls that no
 *	        newer call proves dead.
 *	        By call: 1. the innermost that began at exactly x; else
 *	                 2. the one that began up to 16 bytes below x; else
 *	                 3. the innermost that began above x.
 *	        By jump: 4. the one that began below x. Where its caller is not known, the
 *	                    two must stand as far apart as they always do.
 *	        Calls that are open above the one that ends were unwound: they are dropped,
 *	        and their ends are unknown. Where two calls could be meant the answer is
 *	        UNSURE: the end of neither is known.
 *	full    Before an array grows, calls that a newer one proves dead are dropped.
 *	end     Before open calls are told with their time, those that a newer one proves
 *	        dead for sure are dropped.
 *
 * INVARIANT
 *	1. An exit ends the call that it ended in the program, or none.
 *	2. The self times of a call and of all calls in it add up to its total.
 *	3. A call whose caller ends was made by that caller.
 *	4. Memory grows with the depth of the program's stack, not with its age.
 *
 * WHY
 *	1. Within one machine frame stack pointers differ for three reasons.
 *	   (a) An exit by jump runs when its frame has been taken down: x is the top of
 *	       the frame, and the call began below. Outer calls of f began at x or above:
 *	       at x exactly if f was called by f, and rule 1 would end this outer call. So
 *	       rule 4 alone is for jumps. Of two calls of f below x one is dead, and nobody
 *	       knows which: UNSURE. But of two that passed one site at one stack pointer the
 *	       older one is over, as 3 has it. An exit above the frame that made the
 *	       only call of f below x is UNSURE, too.
 *	   (b) alloca() and arrays of variable length lower an exit by call: rule 3. No
 *	       call of f is open below x then, unless it was unwound.
 *	   (c) gcc lets up to 16 bytes of pushed arguments stand until a later call
 *	       (-fdefer-pop). A call that is inlined there begins 16 bytes lower than it
 *	       ends: rule 2. Or the call around it ends 16 bytes lower than it began.
 *	       An exit may thus be of the inner call by rule 2, or of an outer call by
 *	       rule 1: UNSURE. The inner call may go on. It stays, *doubtful*, so that
 *	       its own exit is not taken for another call's.
 *	   An entry proves nothing dead at its own stack pointer: the older call may be
 *	   alive (inlining), or dead (a longjmp, then a call).
 *	   An exit by jump may also be that of a call which was not seen to begin, further
 *	   out, after a longjmp. If the caller of the open call is known, the caller's frame
 *	   stands between the two. If not, the distance tells: entry and exit of one body
 *	   stand in one machine frame, as far apart each time, and a call further out is at
 *	   a greater distance. The distance is one word where the entry is the first
 *	   instruction of the function. Else it is learnt, from a call whose caller was
 *	   known, or from several calls with the same distance (struct fl_jump).
 *	   Four cases are known to go wrong. No stack pointer shows them.
 *	   - A function recurses, uses alloca(), and is left by longjmp into an outer call
 *	     of itself.
 *	   - A body is inlined into itself, and is left by an exception of which clang
 *	     records no exit.
 *	   - Recording began in the middle. A longjmp leaves a call of f that has no known
 *	     caller. Then a call of f ends by rule 2 that was not seen to begin.
 *	   - The same with an exit by jump, if the first several of that exit were so.
 *	2. A call that ends credits its total to the call below it. The time of the thread's
 *	   probes is no time of any call: one sum over all probes says how much of it
 *	   passed since a call began. A call that is dropped passes on what was credited to
 *	   it, so its own time counts to the call that caught the unwinding.
 *	3. A caller that ends was alive at the entry, and was the innermost that was. The
 *	   calls above it had ended by then, were proved dead by the entry, or are dropped
 *	   when the caller ends, and then none of the open calls names them as caller.
 *	   An entry proves dead the calls that began lower, and those that began with the
 *	   same probe at the same stack pointer: one machine frame passes a site twice only
 *	   if the first call is over, and no two live frames stand at one place. Of calls
 *	   that began at the first instruction of their functions the newer is always lower.
 *	   A call that began lower may live after all: on the stack of a coroutine that is
 *	   inside a frame of a function without probes. So a new call to which all others
 *	   seem dead, because they began lower, is an *orphan*: its caller is not known, and
 *	   its time counts in the calls below. A call becomes an orphan, too, when make_room()
 *	   takes away its caller.
 *	4. make_room() drops the calls that stand lower than a newer one, and the middle of a
 *	   long run at one stack pointer (RUN_KEEP are kept at either end). Inlining does
 *	   not nest that deep; a loop around setjmp() repeats without end.
 *
 * Several stacks: a record that is further from the current stack than one call can move
 * belongs to another stack, which the record is next to, or to a new one. Once a thread was
 * seen on two stacks, inexact matches must lie within REACH_MANY, so that frames on
 * neighbouring stacks of coroutines are not mistaken for one another.
 *
 * A call far below the one on top is in a large frame of that one, or on the stack of a
 * coroutine that lies below. At first the former is believed. If a call further out ends
 * before it, the latter is, and it parts from the stack with all calls above it. Or else a
 * longjmp has left it: then none of these calls ends, and they are dropped when their thread
 * ends, or when others part from the same place.
 *
 * FAILURE  -ENOMEM from an entry that needs room; the stack is as before.
 */
#include "analysis/stack.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64u
#define RUN_KEEP 32u
#define MAX_FIBERS 256u
#define REACH_ONE (64 << 10)		/* bytes from a frame's entry to its exit */
#define REACH_MANY (2 << 10)
#define WORD 8
#define ABOVE_BOTTOM (64 << 10)		/* for an outer call that was not seen to begin */

/* How far a is above b; both are the low halves of stack pointers. */
static int32_t distance(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b);
}

/* ---- dropping ------------------------------------------------------------ */

/* The times of calls that ended in the dropped call are known: credit them further down. */
static void drop_call(struct fl_stack *s, struct fl_fiber *f, uint32_t i,
		      enum fl_drop how)
{
	const struct fl_open *call = &f->open[i];

	if (i) {
		f->open[i - 1].child += call->child;
		f->open[i - 1].raw += call->raw;
	}
	if (call->outer)
		f->open[call->outer - 1].inside += call->inside;
	s->drop(s->arg, f, i, how);
}

/* Drop the calls above the first `keep`. */
static void drop_above(struct fl_stack *s, struct fl_fiber *f, uint32_t keep,
		       enum fl_drop how)
{
	while (f->n > keep) {
		uint32_t i = f->n - 1;

		drop_call(s, f, i, how);
		f->last[f->open[i].function] = f->open[i].outer;
		f->n = i;
	}
}

/* Did both calls pass one site in one machine frame? Then the older one is over (WHY, 3). */
static bool is_of_same_frame(const struct fl_open *newer, const struct fl_open *older)
{
	return newer->probe == older->probe && newer->sp == older->sp;
}

/* Drop the calls below the top one, in a row, that it proves to be over. */
static void drop_passed(struct fl_stack *s, struct fl_fiber *f)
{
	uint32_t top = f->n - 1, keep = top;

	while (keep && is_of_same_frame(&f->open[top], &f->open[keep - 1]))
		drop_call(s, f, --keep, FL_DROP_UNWOUND);
	if (keep == top)
		return;
	f->open[top].outer = f->open[keep].outer;
	f->open[keep] = f->open[top];
	memmove(fl_stack_marks(f, keep), fl_stack_marks(f, top),
		f->n_marks * sizeof(*f->marks));
	f->n = keep + 1;
	f->last[f->open[keep].function] = f->n;
}

/* Move call i down to the top of what is kept; `moved` says where its caller
 * is now. */
static void keep_call(struct fl_fiber *f, uint32_t i, const uint32_t *moved)
{
	struct fl_open *call = &f->open[f->n];
	uint32_t *last = &f->last[f->open[i].function];

	memmove(fl_stack_marks(f, f->n), fl_stack_marks(f, i),
		f->n_marks * sizeof(*f->marks));
	*call = f->open[i];
	if (call->caller && call->caller != FL_STACK_ORPHAN)
		call->caller = moved[call->caller - 1];
	call->outer = *last;
	*last = ++f->n;
}

/* Drop the calls that are marked: `dead` is f->n flags. The innermost goes first,
 * so that what was credited to each goes on to the next; then close the gaps.
 * `moved` is room for f->n numbers. */
static void drop_marked(struct fl_stack *s, struct fl_fiber *f,
			const unsigned char *dead, uint32_t *moved)
{
	uint32_t n = f->n;

	for (uint32_t i = n; i-- > 0;)
		if (dead[i])
			drop_call(s, f, i, FL_DROP_UNWOUND);
	for (uint32_t i = 0; i < n; i++)
		f->last[f->open[i].function] = 0;
	f->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!dead[i])
			keep_call(f, i, moved);
		moved[i] = dead[i] ? FL_STACK_ORPHAN : f->n;
	}
}

/* A live call's frame is above the frame of every newer call. */
static void mark_below_newer(const struct fl_fiber *f, uint32_t sp,
			     unsigned char *dead)
{
	for (uint32_t i = f->n; i-- > 0;) {
		if (distance(sp, f->open[i].sp) > (int32_t)FL_STACK_PENDING)
			dead[i] = 1;
		else if (distance(f->open[i].sp, sp) > 0)
			sp = f->open[i].sp;
	}
}

static void mark_long_run(unsigned char *dead, const uint32_t *run, uint32_t n)
{
	for (uint32_t i = RUN_KEEP; i + RUN_KEEP < n; i++)
		dead[run[i]] = 1;
}

static void mark_runs(const struct fl_fiber *f, unsigned char *dead,
		      uint32_t *run)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		if (dead[i])
			continue;
		if (n && f->open[run[n - 1]].sp != f->open[i].sp) {
			mark_long_run(dead, run, n);
			n = 0;
		}
		run[n++] = i;
	}
	mark_long_run(dead, run, n);
}

/* Before the array grows: the calls that a new one at `*sp` proves dead. */
static void mark_outgrown(const struct fl_fiber *f, const void *sp, unsigned char *dead,
			  uint32_t *run)
{
	mark_below_newer(f, *(const uint32_t *)sp, dead);
	mark_runs(f, dead, run);
}

/* Calls that are over for sure, on stacks of coroutines, too: those at whose place a newer one
 * stands (WHY, 3), and all that they made. `run` is of the calls at one stack pointer, the
 * highest that was met from the innermost call on: what is below such a call was made by it, or
 * by one that is over. */
static void mark_passed(const struct fl_fiber *f, const void *arg, unsigned char *dead,
			uint32_t *run)
{
	uint32_t n = 0;

	(void)arg;
	for (uint32_t i = f->n; i-- > 0;) {
		const struct fl_open *old = &f->open[i], *newer = n ? &f->open[*run] : old;

		if (distance(old->sp, newer->sp) < 0)
			continue;
		if (old->sp != newer->sp)
			n = 0;
		for (uint32_t k = 0; k < n && !dead[i]; k++) {
			newer = &f->open[run[k]];
			dead[i] = (newer->framed && old->framed) || newer->probe == old->probe;
		}
		if (!dead[i] && n < RUN_KEEP)
			run[n++] = i;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		uint32_t caller = f->open[i].caller;

		if (caller && caller != FL_STACK_ORPHAN)
			dead[i] |= dead[caller - 1];
	}
}

/* Calls that began before `at`, of the functions that `of` marks. */
struct forgotten {
	uint64_t at;
	const unsigned char *of;
	uint32_t n;
};

static void mark_forgotten(const struct fl_fiber *f, const void *arg, unsigned char *dead,
			   uint32_t *room)
{
	const struct forgotten *w = arg;

	(void)room;
	for (uint32_t i = 0; i < f->n; i++)
		dead[i] = f->open[i].tsc < w->at && f->open[i].function < w->n &&
			  w->of[f->open[i].function];
}

/* `dead` is f->n flags, zeros at first, and `room` is for as many numbers. */
typedef void mark_calls(const struct fl_fiber *f, const void *arg, unsigned char *dead,
			uint32_t *room);

/* Drop the calls that are marked so. Without memory none is. */
static void drop_where(struct fl_stack *s, struct fl_fiber *f, mark_calls *mark,
		       const void *arg)
{
	unsigned char *dead = f->n ? calloc(f->n, 1) : NULL;
	uint32_t *room = dead ? malloc(f->n * sizeof(*room)) : NULL;

	if (room) {
		mark(f, arg, dead, room);
		drop_marked(s, f, dead, room);
	}
	free(room);
	free(dead);
}

void fl_stack_settle(struct fl_stack *s)
{
	for (uint32_t i = 0; i < s->n_fibers; i++) {
		if (s->fibers[i].is_parted)
			drop_above(s, &s->fibers[i], 0, FL_DROP_UNWOUND);
		drop_where(s, &s->fibers[i], mark_passed, NULL);
	}
}

void fl_stack_forget(struct fl_stack *s, uint64_t at, const unsigned char *of, uint32_t n)
{
	for (uint32_t i = 0; i < s->n_fibers; i++)
		drop_where(s, &s->fibers[i], mark_forgotten,
			   &(struct forgotten){ at, of, n });
}

/* ---- entry --------------------------------------------------------------- */

static int make_room_for(struct fl_fiber *f, uint32_t room)
{
	struct fl_open *open;
	void **marks;

	marks = realloc(f->marks, ((size_t)room * f->n_marks + 1) * sizeof(*marks));
	if (!marks)
		return -ENOMEM;
	f->marks = marks;
	open = realloc(f->open, room * sizeof(*open));
	if (!open)
		return -ENOMEM;
	f->open = open;
	f->room = room;
	return 0;
}

static int make_room(struct fl_stack *s, struct fl_fiber *f, uint32_t sp)
{
	drop_where(s, f, mark_outgrown, &sp);
	if (f->n <= f->room / 2 && f->room)
		return 0;
	return make_room_for(f, f->room ? f->room * 2 : ROOM_FIRST);
}

/* The innermost open call that may have made the new one, as fl_open.caller has it. The new
 * call proves an older one dead in two ways, rule 3 of WHY: it stands above the older one,
 * which is not sure; or at the very same place, which is sure for coroutines, too. All calls
 * above a dead call's caller were dead before. If the outermost is dead, but not for sure, the
 * new call may be a coroutine's, on a stack inside a frame that is no probed function's: then
 * the calls below it live, and its time is theirs. */
static uint32_t find_caller(const struct fl_fiber *f, const struct flick_record *entry,
			    const struct flick_tag *tag)
{
	uint32_t at = f->n;
	bool is_sure = true;

	while (at && at != FL_STACK_ORPHAN) {
		const struct fl_open *old = &f->open[at - 1];
		bool framed = tag->framed && old->framed;

		is_sure = entry->sp == old->sp && (framed || entry->probe == old->probe);
		if (!is_sure && distance(entry->sp, old->sp) <=
				(framed ? 0 : (int32_t)FL_STACK_PENDING))
			return at;
		at = old->caller;
	}
	return is_sure ? at : FL_STACK_ORPHAN;
}

/* Does `sp` lie on the stack of `f`, or next to it? */
static bool is_on_fiber(const struct fl_fiber *f, uint32_t sp)
{
	return f->n &&
	       distance(f->open[0].sp + ABOVE_BOTTOM, sp) >= 0 &&
	       distance(sp, f->open[f->n - 1].sp - FL_STACK_DEEP) >= 0;
}

/* Find an empty fiber, a new one, or an old one whose calls are dropped. */
static int add_fiber(struct fl_stack *s, uint32_t *index)
{
	struct fl_fiber *grown;

	for (uint32_t i = 0; i < s->n_fibers; i++) {
		if (s->fibers[i].n == 0) {
			s->fibers[i].is_parted = false;
			*index = i;
			return 0;
		}
	}
	if (s->n_fibers == MAX_FIBERS) {
		*index = s->recycle++ % MAX_FIBERS;
		drop_above(s, &s->fibers[*index], 0, FL_DROP_UNWOUND);
		s->fibers[*index].is_parted = false;
		return 0;
	}
	grown = realloc(s->fibers, (s->n_fibers + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->fibers = grown;
	s->fibers[s->n_fibers] = (struct fl_fiber){ .n_marks = s->n_marks };
	*index = s->n_fibers++;
	return fl_stack_extend(s, s->n_functions);
}

/* The fiber that a call at `sp` begins on becomes the current one. */
static int choose_fiber(struct fl_stack *s, uint32_t sp)
{
	uint32_t chosen;
	int err;

	if (is_on_fiber(fl_stack_fiber(s), sp))
		return 0;
	for (uint32_t i = 0; i < s->n_fibers; i++) {
		if (is_on_fiber(&s->fibers[i], sp)) {
			s->current = i;
			return 0;
		}
	}
	err = add_fiber(s, &chosen);
	if (!err)
		s->current = chosen;
	return err;
}

int fl_stack_enter_slow(struct fl_stack *s, const struct flick_record *r,
			const struct flick_tag *tag)
{
	struct fl_fiber *f;
	int err = choose_fiber(s, r->sp);

	if (err)
		return err;
	f = fl_stack_fiber(s);
	if (f->n == f->room && (err = make_room(s, f, r->sp)))
		return err;
	fl_stack_push(s, f, r, tag, find_caller(f, r, tag));
	return 0;
}

/* ---- exit ---------------------------------------------------------------- */

struct candidate {
	int64_t at;			/* index of the open call; -1: none */
	int32_t above;			/* how far the exit is above the call's entry */
	bool unsure;			/* another call up to `inner` may be meant */
	bool unseen;			/* a call that was not seen to begin may be meant */
	uint32_t inner;
};

/* A call that began below the exit is better than one that began above it. Of those below the
 * highest is best, of those above the innermost. */
static bool is_better(const struct candidate *best, int32_t above)
{
	if (best->at < 0)
		return true;
	return above > 0 && (best->above < 0 || above < best->above);
}

/* May the exit end this call of its function, whose entry is `above` bytes lower? If a call
 * that began at its function's first instruction ends by jump, it is one word. */
static bool is_in_reach(const struct fl_open *call, const struct flick_tag *exit, int32_t above)
{
	if (!exit->jump)
		return above <= (int32_t)FL_STACK_PENDING;
	return exit->framed && call->framed ? above == WORD : above > 0;
}

/* Is `sp` above the frame of the caller of `call`? For an orphan it may be: true. */
static bool is_above_caller(const struct fl_fiber *f, const struct fl_open *call,
			    uint32_t sp)
{
	if (call->caller == FL_STACK_ORPHAN)
		return true;
	return call->caller && distance(sp, f->open[call->caller - 1].sp) >
			       (int32_t)FL_STACK_PENDING;
}

static struct fl_jump *jump_of(const struct fl_stack *s, const struct flick_record *exit)
{
	return s->jumps && exit->probe < s->jumps->n ? &s->jumps->of[exit->probe] : NULL;
}

/* Is an exit by jump that of `call`, and not of a call further out? */
static bool is_own_jump(const struct fl_stack *s, const struct fl_fiber *f,
			const struct fl_open *call, const struct flick_record *exit,
			int32_t above)
{
	const struct fl_jump *j = jump_of(s, exit);

	if (call->caller != FL_STACK_ORPHAN)
		return !is_above_caller(f, call, exit->sp);
	return j && j->seen >= FL_JUMP_SURE && j->seen != FL_JUMP_VARIES &&
	       j->entry == call->probe && j->above == (uint32_t)above;
}

/* An exit by jump ended the candidate's call, or seems to have ended it. */
static void learn_jump(const struct fl_stack *s, const struct fl_open *call,
		       const struct flick_record *exit, const struct candidate *c)
{
	struct fl_jump *j = jump_of(s, exit);
	uint32_t above = (uint32_t)c->above;
	bool is_known = !c->unsure && !c->unseen && call->caller != FL_STACK_ORPHAN;

	if (!j || c->unsure || j->seen == FL_JUMP_VARIES)
		return;
	if (j->above && (j->entry != call->probe ||
			 (above > j->above && is_known) ||
			 (above < j->above && j->seen == FL_JUMP_KNOWN))) {
		j->seen = FL_JUMP_VARIES;
		return;
	}
	if (!j->above || above < j->above)
		*j = (struct fl_jump){ call->probe, above, 0 };
	if (above != j->above)
		return;
	if (is_known)
		j->seen = FL_JUMP_KNOWN;
	else if (j->seen < FL_JUMP_SURE)
		j->seen++;
}

/* The rules of the protocol, from the innermost call outwards. `deepest` is the most that the
 * exit can be above the entry of a call that no newer call proves dead. */
static struct candidate find_call(const struct fl_stack *s, const struct fl_fiber *f,
				  const struct flick_record *exit,
				  const struct flick_tag *tag, int32_t reach)
{
	struct candidate best = { .at = -1 };
	const struct fl_open *newer = NULL;	/* the last one that may be meant */
	int32_t deepest = reach;
	bool pending = false, higher = false;

	for (uint32_t i = f->n; i-- > 0;) {
		int32_t above = distance(exit->sp, f->open[i].sp);
		bool is_dead = above > deepest;

		if (above < -reach || (tag->jump && above <= 0) ||
		    (best.at >= 0 && above < -(int32_t)FL_STACK_PENDING))
			break;			/* an outer frame, and so are all below */
		if (above < deepest - (int32_t)FL_STACK_PENDING)
			deepest = above + (int32_t)FL_STACK_PENDING;
		if (is_dead || f->open[i].function != tag->function ||
		    !is_in_reach(&f->open[i], tag, above) ||
		    (tag->jump && newer && is_of_same_frame(newer, &f->open[i])))
			continue;
		newer = &f->open[i];
		if (best.at < 0)
			best.inner = i;
		if (above == 0)
			return (struct candidate){ i, 0, pending || higher, false,
						   best.inner };
		if (tag->jump && tag->framed && f->open[i].framed)
			return (struct candidate){ i, above, false, false, best.inner };
		pending |= above == (int32_t)FL_STACK_PENDING;
		higher |= above < 0;
		best.unsure |= best.at >= 0 && (above > 0 || best.above > 0);
		best.unseen |= tag->jump && !is_own_jump(s, f, &f->open[i], exit, above);
		if (is_better(&best, above))
			best = (struct candidate){ i, above, best.unsure, best.unseen,
						   best.inner };
	}
	return best;
}

/* ---- parting ------------------------------------------------------------- */

/* The first call above `at` that is further below its neighbour than most frames are large; n:
 * none. */
static uint32_t find_leap(const struct fl_fiber *f, uint32_t at)
{
	uint32_t i = at + 1;

	while (i < f->n && distance(f->open[i - 1].sp, f->open[i].sp) <= REACH_ONE)
		i++;
	return i < f->n ? i : f->n;
}

/* A fiber for what parts at `sp`: if others have parted there, and none of them has ended, they
 * were left. */
static int add_parted(struct fl_stack *s, uint32_t sp, uint32_t *index)
{
	for (uint32_t i = 0; i < s->n_fibers; i++) {
		struct fl_fiber *f = &s->fibers[i];

		if (i == s->current || !f->n || !f->is_parted || f->open[0].sp != sp)
			continue;
		drop_above(s, f, 0, FL_DROP_UNWOUND);
		*index = i;
		return 0;
	}
	return add_fiber(s, index);
}

/* Its caller is not known if it stayed behind. */
static void move_call(struct fl_fiber *to, struct fl_fiber *from, uint32_t i, uint32_t first)
{
	struct fl_open *call = &to->open[to->n];

	*call = from->open[i];
	memcpy(fl_stack_marks(to, to->n), fl_stack_marks(from, i),
	       to->n_marks * sizeof(*to->marks));
	if (call->caller != FL_STACK_ORPHAN)
		call->caller = call->caller > first ? call->caller - first :
						      FL_STACK_ORPHAN;
	call->outer = to->last[call->function];
	to->last[call->function] = ++to->n;
}

/* The current fiber's calls from `first` on become a fiber's of their own. Without memory they
 * stay. */
static void part(struct fl_stack *s, uint32_t first)
{
	struct fl_fiber *from = fl_stack_fiber(s), *to;
	uint32_t index, n = from->n;

	if (add_parted(s, from->open[first].sp, &index))
		return;
	from = fl_stack_fiber(s);
	to = &s->fibers[index];
	if (index == s->current || (to->room < n - first && make_room_for(to, n - first)))
		return;
	while (from->n > first) {
		from->n--;
		from->last[from->open[from->n].function] = from->open[from->n].outer;
	}
	for (uint32_t i = first; i < n; i++)
		move_call(to, from, i, first);
	to->is_parted = true;
}

/* ---- which call ends ------------------------------------------------------ */

/* The current stack first, then the others; -1 in `at` when on none. */
static struct candidate find_fiber(struct fl_stack *s, const struct flick_record *exit,
				   const struct flick_tag *tag)
{
	int32_t reach = s->n_fibers > 1 ? REACH_MANY : REACH_ONE;
	struct candidate c = find_call(s, fl_stack_fiber(s), exit, tag, reach);

	for (uint32_t i = 0; c.at < 0 && i < s->n_fibers; i++) {
		c = find_call(s, &s->fibers[i], exit, tag, reach);
		if (c.at >= 0)
			s->current = i;
	}
	return c;
}

/* One of the candidate's calls, `at` to `inner`, ended at `sp`. Calls that may be alive stay,
 * because their exits are to come. */
static void doubt(struct fl_stack *s, struct fl_fiber *f, const struct candidate *c,
		  uint32_t sp)
{
	uint32_t keep = c->inner + 1;

	while (keep > c->at && distance(sp, f->open[keep - 1].sp) >
			       (int32_t)FL_STACK_PENDING)
		keep--;
	drop_above(s, f, keep, FL_DROP_UNWOUND);
	for (uint32_t i = (uint32_t)c->at; i < keep; i++)
		f->open[i].doubtful = 1;
}

/* A call that was not seen to begin ended at `sp`: what it called has ended. Of doubtful calls
 * no end is known anyhow; one that stays would be taken for the caller of the next call. But
 * they stay beside another call that ended unseen: without them its end would seem certain. */
static void drop_left(struct fl_stack *s, struct fl_fiber *f, uint32_t sp)
{
	uint32_t keep = f->n;

	if (s->n_fibers > 1 || !is_on_fiber(f, sp))	/* or it is on another stack */
		return;
	while (keep && distance(sp, f->open[keep - 1].sp) > (int32_t)FL_STACK_PENDING)
		if (!f->open[--keep].doubtful)
			return;
	drop_above(s, f, keep, FL_DROP_UNWOUND);
}

static enum fl_match end_found(struct fl_stack *s, const struct flick_record *exit,
			       const struct flick_tag *tag, struct fl_closed *closed)
{
	struct candidate c = find_fiber(s, exit, tag);
	struct fl_fiber *f = fl_stack_fiber(s);
	uint32_t leap;

	if (c.at < 0) {
		drop_left(s, f, exit->sp);
		return FL_MATCH_NONE;
	}
	if (tag->jump)
		learn_jump(s, &f->open[c.at], exit, &c);
	if (c.unsure || c.unseen) {
		doubt(s, f, &c, exit->sp);
		return FL_MATCH_UNSURE;
	}
	leap = find_leap(f, (uint32_t)c.at);
	if (leap < f->n)
		part(s, leap);
	f = fl_stack_fiber(s);
	f->is_parted = false;
	drop_above(s, f, (uint32_t)c.at + 1, FL_DROP_UNWOUND);
	if (tag->jump)
		drop_passed(s, f);
	if (!f->open[f->n - 1].doubtful) {
		*closed = fl_stack_pop(s, f, exit->tsc);
		return FL_MATCH_CLOSED;
	}
	drop_above(s, f, f->n - 1, FL_DROP_UNWOUND);
	return FL_MATCH_UNSURE;
}

enum fl_match fl_stack_exit_slow(struct fl_stack *s, const struct flick_record *exit,
				 const struct flick_tag *tag, struct fl_closed *closed)
{
	enum fl_match match = end_found(s, exit, tag, closed);

	if (match != FL_MATCH_CLOSED)
		fl_stack_leave(s, tag->framed);
	return match;
}

/* ---- life ---------------------------------------------------------------- */

int fl_stack_init(struct fl_stack *s, uint32_t n_marks,
		  void (*drop)(void *, struct fl_fiber *, uint32_t, enum fl_drop),
		  void *arg)
{
	*s = (struct fl_stack){ .n_marks = n_marks, .drop = drop, .arg = arg };
	s->fibers = calloc(1, sizeof(*s->fibers));
	if (!s->fibers)
		return -ENOMEM;
	s->fibers->n_marks = n_marks;
	s->n_fibers = 1;
	return 0;
}

int fl_stack_extend(struct fl_stack *s, uint32_t n)
{
	int err = 0;

	s->n_functions = n;
	for (uint32_t i = 0; !err && i < s->n_fibers; i++)
		err = fl_array_extend(&s->fibers[i].last, &s->fibers[i].n_last,
				      n, sizeof(uint32_t));
	return err;
}

void fl_stack_begin_part(struct fl_stack *s)
{
	for (uint32_t i = 0; i < s->n_fibers; i++)
		for (uint32_t k = 0; k < s->fibers[i].n; k++)
			s->fibers[i].open[k].inside = 0;
}

void fl_stack_drop(struct fl_stack *s, struct fl_fiber *f)
{
	drop_above(s, f, f->n - 1, FL_DROP_OPEN);
}

void fl_stack_end(struct fl_stack *s)
{
	for (uint32_t i = 0; i < s->n_fibers; i++)
		drop_above(s, &s->fibers[i], 0, FL_DROP_OPEN);
}

void fl_stack_free(struct fl_stack *s)
{
	for (uint32_t i = 0; i < s->n_fibers; i++) {
		free(s->fibers[i].open);
		free(s->fibers[i].marks);
		free(s->fibers[i].last);
	}
	free(s->fibers);
	*s = (struct fl_stack){ 0 };
}
