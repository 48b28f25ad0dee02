/*
 * pick.c - which calls of a function are timed: in its epoch some of them, a round.
 *
 * Hides how they are chosen. Where a function is called more often, one call in `gap` is timed,
 * at random, and some calls pass before the first one. If the clock alone chose, all in a row,
 * the program would choose: where each fiftieth call is long, nearly all epochs begin in a long
 * call, and the next calls are short. How far apart calls were in a round tells how many calls
 * each timed one of the next round stands for: so phases in which a function is called rarely
 * count as little as they are. Where a phase begins the next round is unlike the last one. If
 * calls come more rarely they stand for less at once; if more often, a round behind it stands
 * for what this one did not. A phase is what two rounds in a row agree on: those of a function
 * that is called in bursts do not.
 */
#include "pick.h"

enum { MOST_GAP = 32, MOST_STANDS = 4000000 };

/* So many times as often or as rarely as in the last round: by no chance, but in a phase of the
 * program's own. */
enum { OTHER_PHASE = 4 };

/* The first calls in a window meet code and counters that their core has not, and are not like
 * nearly all calls: in a function of ten ns they took five hundred. A function that is called
 * as often as a seldom one soon has others. */
enum { COLD_CALLS = 32 };

/* Timed calls in a window stand apart: in a function that calls itself they would lie in one
 * another, and all be open when the round ends, which makes code and data cold once more. */
enum { WINDOW_GAP = 8 };

static uint64_t epoch_ticks;		/* how long epochs are of late; 0: not known. R any */

static uint32_t draw(uint32_t below)
{
	static uint64_t random;			/* threads may draw alike */
	uint64_t x = load_relaxed(&random);

	if (!x)
		x = (fl_arch_ticks() | 1) * 0x9e3779b97f4a7c15ull;
	x = fl_random_next(x);
	store_relaxed(&random, x);
	return (uint32_t)((x >> 32) * below >> 32);
}

bool fl_pick_takes(struct fl_function *f)
{
	uint32_t *left = load_relaxed(&f->ahead) ? &f->ahead : &f->wait;
	uint32_t n = load_relaxed(left);

	if (n) {
		store_relaxed(left, n - 1);
		if (n == 1 && left == &f->ahead)
			store_relaxed(&f->since, fl_arch_ticks());
		return false;
	}
	if (f->gap > 1)
		store_relaxed(&f->wait, draw(2 * f->gap - 1));
	return true;
}

void fl_sample_space(uint32_t id, uint32_t gap)
{
	struct fl_function *f = &fl_table.functions[fl_table.probes[id].function];

	store_relaxed(&f->gap, gap);
	store_relaxed(&f->wait, gap > 1 ? draw(gap) : 0);
}

/* K for each epoch of a cycle of all groups; K alone at first, when all functions are timed. */
uint32_t fl_pick_most(void)
{
	return fl_table.session->samples * (load_relaxed(&epoch_ticks) ? FL_GROUPS : 1);
}

/* Ticks from one call to the next in the round that has just ended. */
static uint64_t pace_of(const struct fl_function *f, uint64_t took)
{
	const uint64_t gap = load_relaxed(&f->gap) + !f->gap, calls = fl_pick_most() * gap;

	return took / (calls + !calls) + 1;
}

bool fl_pick_goes_on(struct fl_function *f, uint64_t now)
{
	uint64_t took = now - load_relaxed(&f->since), epoch = load_relaxed(&epoch_ticks);
	uint32_t gap = load_relaxed(&f->gap) + !f->gap;

	if (!epoch || f->is_seldom || took < epoch) {
		store_relaxed(&f->pace, pace_of(f, took));
		return false;
	}
	if (took / 4 > epoch)		/* at half the gap it is still more than one */
		gap = (gap + 1) / 2;
	store_relaxed(&f->gap, gap);
	store_relaxed(&f->stands, gap);
	store_relaxed(&f->last, 0);
	store_relaxed(&f->usual, 0);
	store_relaxed(&f->since, now);
	store_relaxed(&f->begun, 0);
	return true;
}

/* How long a call takes has no part in what it stands for: only calls before it have. */
uint32_t fl_pick_stands(const struct fl_function *f, uint32_t nth, uint64_t now)
{
	uint32_t stands = load_relaxed(&f->stands), gap = load_relaxed(&f->gap) + !f->gap;
	uint64_t since = load_relaxed(&f->since), usual = load_relaxed(&f->usual);
	uint64_t took = now > since ? now - since : 0, calls = (uint64_t)nth * gap, fewer;

	if (!usual || took / OTHER_PHASE <= calls * usual)
		return stands;
	fewer = FL_GROUPS * load_relaxed(&epoch_ticks) / fl_pick_most() * calls / took;
	fewer = fewer > gap ? fewer : gap;
	return fewer < stands ? (uint32_t)fewer : stands;
}

static bool agree_on_pace(uint64_t pace, uint64_t other)
{
	return pace && pace / OTHER_PHASE <= other && other / OTHER_PHASE <= pace;
}

/* A round stands for all of a cycle. A round that seems to be as long as an epoch stands for
 * its own calls, since others follow at once. True: it is shorter. */
static bool learn_rate(struct fl_function *f)
{
	uint64_t pace = load_relaxed(&f->pace), epoch = load_relaxed(&epoch_ticks), stands;
	uint64_t gap = load_relaxed(&f->gap) + !f->gap, samples = fl_pick_most();
	uint64_t stood = load_relaxed(&f->stands), due;
	bool is_short, is_alike;

	if (!pace || !epoch)
		return false;
	store_relaxed(&f->pace, 0);
	if (!f->is_seldom && gap < MOST_GAP && samples * gap * pace < epoch)
		gap *= 2;
	is_short = f->is_seldom || samples * gap * pace < epoch;
	stands = FL_GROUPS * epoch / (samples * pace);
	if (stands < gap || !is_short)
		stands = gap;
	is_alike = !f->is_seldom && agree_on_pace(load_relaxed(&f->last), pace);
	due = is_alike ? load_relaxed(&f->owed) : 0;
	store_relaxed(&f->owed, !is_alike && stood && stands / OTHER_PHASE >= stood ?
				stands - stood : 0);
	store_relaxed(&f->usual, is_alike ? pace : 0);
	store_relaxed(&f->last, pace);
	stands += due;
	store_relaxed(&f->stands, stands < MOST_STANDS ? (uint32_t)stands : MOST_STANDS);
	store_relaxed(&f->gap, (uint32_t)gap);
	return is_short;
}

void fl_pick_begin(struct fl_function *f)
{
	bool is_short = learn_rate(f);
	uint32_t gap = f->gap + !f->gap;

	if (f->is_seldom && gap < WINDOW_GAP)
		gap = WINDOW_GAP;
	store_relaxed(&f->gap, gap);
	store_relaxed(&f->ahead, f->is_seldom ? COLD_CALLS :
				 is_short ? draw(fl_pick_most() * gap / 2) : 0);
	store_relaxed(&f->wait, gap > 1 && !f->is_seldom ? draw(gap) : 0);
	store_relaxed(&f->begun, 0);
	store_relaxed(&f->since, fl_arch_ticks());
}

void fl_pick_note_cycle(void)
{
	static uint64_t began;
	uint64_t now = fl_arch_ticks();

	if (began)
		store_relaxed(&epoch_ticks, (now - began) / FL_GROUPS);
	began = now;
}
