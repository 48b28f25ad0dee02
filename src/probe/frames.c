/*
 * frames.c - the timed calls of a thread that are open, and which of them an exit ends.
 *
 * Few calls are timed, and calls of the same function that begin meanwhile are not. So an exit
 * of the function may be of a call that has no frame. The thread tells calls apart by the stack
 * pointer, and counts the calls that begin without a frame in each frame of their function.
 *
 * INVARIANT	A sample's entry and exit belong to one call of one function.
 * WHY	1 While a thread has a frame of a function it sees all of that function's entries
 *	  and exits: they are on, count, and come here wherever that matters (sample.c). A
 *	  call that was let go (period.c) has no exit; a newer call at its place shows that
 *	  it was left, because it is a body's.
 *	2 All of an inner machine frame lies below all of an outer one. An exit by jump
 *	  stands at its frame's top: of the frames of its function that began below it, the
 *	  outermost is its own, the others were left by longjmp or an exception.
 *	3 An exit by call stands where its entry did, in code of fixed frame size; of
 *	  several calls there (bodies inlined into themselves) the innermost ends first:
 *	  those without a frame are `same`, and end before the frame does. One that stands
 *	  lower is of a call further in, without a frame (`inner`), or of a frame that
 *	  alloca has made larger: the latter if there is no such call, no other frame
 *	  of the function could be meant, and none of its exits has ever stood where its
 *	  entry did, or been a jump.
 *	4 An entry further up than a frame proves the frame left. An entry at the same place
 *	  does not, except in second bodies; if the frame was left indeed, the newer call is
 *	  `same`, and ends first.
 *	5 A frame that is dropped by mistake is a sample less. A handler may come at any step
 *	  and leave frames of its own, or take some away: each number is read once.
 *	6 What is 2 GiB away is on another stack (a coroutine's, a handler's), and tells
 *	  nothing of a frame. Nearer stacks are taken for one.
 *	Known to go wrong: where a function uses alloca in some of its calls, these are no
 *	samples; and where a frame was left by longjmp, and then a call of its function
 *	further out, which began before the function was timed, exits by jump.
 *	Frames are the process's own memory: a child that a handler forks in the middle of this
 *	changes its copy.
 */
#include "table.h"

/* Within one machine frame gcc lets up to 16 bytes of arguments stand. */
enum { ARGUMENTS = 16 };
enum { MOST_REFUSED = 1024 };		/* calls that found no room, before all is given up */
#define NO_FRAME UINT32_MAX

/* Is stack pointer a below b? They are the low halves of addresses. */
static bool is_below(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool is_near(uint32_t a, uint32_t b)
{
	return a - b + ARGUMENTS <= 2 * ARGUMENTS;
}

/* For glue. A handler that comes in between has no frame left when it ends. */
static void show_innermost(const struct fl_frames *of)
{
	uint32_t n = load_relaxed(&of->n);
	const struct fl_frame *f = n ? &of->at[n - 1] : NULL;
	uint64_t sp = f ? (uint64_t)f->sp_high << 32 | f->sp : 0;

	store_relaxed(&fl_timed.limit, f ? sp - ARGUMENTS : UINT64_MAX);
	store_relaxed(&fl_timed.loose, f ? f->loose : FL_FIXED);
}

/* The high half of a stack pointer of this thread's: this function stands below it. */
static uint32_t high_of(uint32_t sp)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	return (uint32_t)(here >> 32) + (sp < (uint32_t)here);
}

/* Frames go from the innermost on: a handler in between finds all that is left whole. */
static void give_up(struct fl_frames *of, uint32_t n)
{
	uint32_t last;

	while ((last = load_relaxed(&of->n)) > n) {
		const struct fl_frame f = of->at[last - 1];

		store_relaxed(&of->n, last - 1);
		fl_sample_lost(&f);
	}
	show_innermost(of);
}

void fl_frames_forget(struct fl_frames *of)
{
	give_up(of, 0);
}

/* Does this call, of the stack that we are on, stand on another one than the frame? */
static bool is_far_away(const struct fl_frame *f, uint32_t sp)
{
	uint64_t here = (uint64_t)high_of(sp) << 32 | sp;
	uint64_t there = (uint64_t)f->sp_high << 32 | f->sp;

	return here - there + (1u << 31) > UINT32_MAX;
}

static bool has_body(uint32_t probe)
{
	return fl_probe_is_body(&fl_table.probes[probe]);
}

/* Two calls that have not ended never have the same stack pointer at a function's first
 * instruction. */
static bool is_left(const struct fl_frame *f, uint32_t entry, uint32_t sp)
{
	if (is_far_away(f, sp))
		return false;
	return has_body(f->probe) && has_body(entry) ? !is_below(sp, f->sp) :
	       is_below(f->sp + ARGUMENTS, sp);
}

void fl_frames_leave(struct fl_frames *of, uint32_t entry, uint32_t sp)
{
	uint32_t n = load_relaxed(&of->n), was = n;

	while (n && is_left(&of->at[n - 1], entry, sp))
		n--;
	if (n < was || !n)			/* in fork's child none is its own */
		give_up(of, n);
}

static uint32_t drop_stale(struct fl_frames *of)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < FL_FRAMES; i++) {
		if (!fl_sample_is_stale(&of->at[i]))
			of->at[kept++] = of->at[i];
		else
			fl_sample_lost(&of->at[i]);
	}
	store_relaxed(&of->n, kept);
	return kept;
}

/* Outer calls are longer, and stay. After many refusals all go: frames may have been left where
 * nobody comes any more, on stacks of coroutines, say. */
static bool has_room(struct fl_frames *of)
{
	if (load_relaxed(&of->n) < FL_FRAMES || drop_stale(of) < FL_FRAMES)
		return true;
	if (++of->refused < MOST_REFUSED)
		return false;
	of->refused = 0;
	give_up(of, 0);
	return true;
}

/* The reader takes out of times what probes nearly always take. What they take now and then, to
 * switch a function off or to wake the reader, belongs to no call that this thread is in, not
 * even as the clock has it: these calls begin as much later. */
static void take_out(struct fl_frames *of, uint32_t n, uint64_t took)
{
	enum { NEARLY_ALWAYS = 1000 };

	if (took <= NEARLY_ALWAYS)
		of->spent += took * FL_TICK_PARTS;
	for (uint32_t i = 0; i < n && took > NEARLY_ALWAYS; i++)
		of->at[i].tsc += took;
}

void fl_frames_take_out_since(struct fl_frames *of, uint64_t tsc)
{
	take_out(of, load_relaxed(&of->n), fl_arch_ticks() - tsc);
}

bool fl_frames_push(struct fl_frames *of, const struct fl_frame *frame)
{
	bool bare = fl_table.probes[frame->probe].bare;
	struct fl_frame *f;
	uint64_t spent;
	uint32_t n;

	if (!has_room(of))
		return false;
	n = load_relaxed(&of->n) % FL_FRAMES;
	f = &of->at[n];
	FL_POINT("sample.frame");
	store_relaxed(&of->n, n + 1);
	*f = *frame;
	spent = of->spent;
	f->loose = load_relaxed(&fl_table.functions[f->function].is_fixed) ||
		   has_body(f->probe) ? FL_FIXED : f->function;
	f->sp_high = high_of(f->sp);
	show_innermost(of);
	f->tsc = fl_arch_ticks_apart();
	take_out(of, n, f->tsc - frame->tsc);
	of->spent += fl_table.session->probes_take.timed[bare];
	f->spent += of->spent - spent;
	return true;
}

/* The same question as COUNTS_BELOW asks, which does without us then: the place is in no
 * machine frame of a timed call, and cannot end one. */
static bool is_further_in(const struct fl_frames *of, uint32_t function, uint32_t sp)
{
	uint32_t n = load_relaxed(&of->n);
	const struct fl_frame *f = n ? &of->at[n - 1] : NULL;

	return !f || (f->loose != function && is_below(sp + ARGUMENTS, f->sp) &&
		      !is_far_away(f, sp));
}

/* The function's code has a fixed frame size: what ends lower than its frame began is further
 * in. A handler on a stack of its own may have left no frame since the function's was found. */
static void note_fixed(struct fl_frames *of, uint32_t function)
{
	uint32_t n;

	FL_POINT("frames.found");
	n = load_relaxed(&of->n);
	if (load_relaxed(&fl_table.functions[function].is_fixed) &&
	    (!n || of->at[n - 1].loose != function))
		return;
	store_relaxed(&fl_table.functions[function].is_fixed, 1);
	for (uint32_t i = load_relaxed(&of->n); i-- > 0;)
		if (of->at[i].function == function)
			of->at[i].loose = FL_FIXED;
	show_innermost(of);
}

void fl_frames_note(struct fl_frames *of, uint32_t function, uint32_t sp)
{
	if (is_further_in(of, function, sp))
		return;
	for (uint32_t i = load_relaxed(&of->n); i-- > 0;) {
		struct fl_frame *f = &of->at[i];

		if (f->function != function || is_far_away(f, sp))
			continue;
		if (is_near(sp, f->sp)) {
			f->same += f->same < UINT16_MAX;
		} else {
			f->inner += f->inner < UINT16_MAX;
			of->inner_sp = sp;
		}
		return;
	}
}

/* An exit by jump: the outermost frame of the function that began below. */
static uint32_t find_below(struct fl_frames *of, uint32_t function, uint32_t sp)
{
	uint32_t found = NO_FRAME;

	for (uint32_t i = load_relaxed(&of->n); i-- > 0;) {
		struct fl_frame *f = &of->at[i];

		if (f->function != function || is_far_away(f, sp))
			continue;
		if (is_below(f->sp, sp))
			found = i;
	}
	if (found != NO_FRAME && of->at[found].same) {
		of->at[found].same--;
		return NO_FRAME;
	}
	note_fixed(of, function);
	return found;
}

/* Does a call inside of this frame's call, without a frame of its own, end at `sp`? */
static bool ends_unframed(struct fl_frames *of, struct fl_frame *f, uint32_t sp)
{
	bool near = is_near(sp, f->sp);
	uint16_t *n = near ? &f->same : &f->inner;

	if (!*n || is_below(f->sp + ARGUMENTS, sp))
		return false;
	--*n;
	if (!near && sp == of->inner_sp)
		note_fixed(of, f->function);
	return true;
}

/* May the call of `top` end there? Arguments stand, or alloca has made its machine frame
 * larger. */
static bool may_end_elsewhere(const struct fl_frame *top, uint32_t function, uint32_t sp)
{
	return top->function == function && !is_far_away(top, sp) &&
	       (is_near(sp, top->sp) || (top->loose == function && is_below(sp, top->sp)));
}

/* An exit by call: the innermost frame that began just there; else the only
 * one there is, when nothing stands above it. */
static uint32_t find_at(struct fl_frames *of, uint32_t function, uint32_t sp)
{
	uint32_t all = load_relaxed(&of->n), n = 0;

	for (uint32_t i = all; i-- > 0;) {
		struct fl_frame *f = &of->at[i];

		if (f->function != function || is_far_away(f, sp))
			continue;
		if (ends_unframed(of, f, sp))
			return NO_FRAME;
		if (f->sp == sp) {
			note_fixed(of, function);
			return i;
		}
		n++;
	}
	return n == 1 && may_end_elsewhere(&of->at[all - 1], function, sp) ? all - 1 : NO_FRAME;
}

bool fl_frames_find(struct fl_frames *of, uint32_t exit, uint32_t sp, uint32_t *at)
{
	uint32_t function = fl_table.probes[exit].function;

	if (is_further_in(of, function, sp))
		return false;
	*at = fl_table.sites[exit].jump ? find_below(of, function, sp) :
					  find_at(of, function, sp);
	return *at != NO_FRAME;
}

bool fl_frames_take(struct fl_frames *of, uint32_t at, struct fl_frame *f)
{
	*f = of->at[at];
	if (load_relaxed(&of->n) <= at)
		return false;
	give_up(of, at + 1);
	store_relaxed(&of->n, at);
	show_innermost(of);
	return true;
}

/* Tell the reader that open calls have been open until now. */
void fl_frames_tell(struct fl_frames *of, int32_t tid)
{
	struct fl_shm_session *s = fl_table.session;
	uint64_t now = fl_arch_ticks();

	for (uint32_t i = 0; i < of->n && i < FL_FRAMES; i++) {
		const struct fl_frame *f = &of->at[i];
		uint32_t n;

		if (fl_sample_is_stale(f))
			continue;
		n = __atomic_fetch_add(&s->n_open, 1, __ATOMIC_RELAXED);
		if (n >= FL_MAX_OPEN)
			return;
		s->open[n] = (struct fl_open_call){ .begun = f->tsc, .probe = f->probe,
						    .tid = tid };
		/* ordering: none, whoever reads it waits for this process's end */
		store_release(&s->open[n].ended, now);
	}
}

void fl_frames_forget_dead(struct fl_frames *of, int32_t tid)
{
	(void)tid;
	if (of->was_dead++)		/* else it may be ending with the program */
		give_up(of, 0);
}
