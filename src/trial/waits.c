/*
 * waits.c - how long must a patcher wait? Paper 1, section 8.1, Figure 9.
 *
 * READER code. Hides which waits, splits and executors are tried. A call that a
 * line's boundary splits 1|4 to 4|1 is switched by trap, wait, tail, wait, head
 * while 1 to N executors run through it; as in patch/commit.c also with a jump
 * over the tail in place of the trap. Beside the paper's hot loop there is a cold
 * one, which flushes both lines before each call. There the fetches of the two
 * lines take longest, and bytes are mixed when one fetch comes before a store and
 * the other after the next.
 */
#include "calibrate.h"

enum { CALL_BYTES = 5, EVERY = 100, EVERY_COARSE = 600, PAPER_LAST = 2400 };

/* The paper goes to 2,400 ticks. These longer waits are there because a wait is
 * judged together with *all longer ones*. */
static const uint32_t longer[] = { 3000, 4000, 6000, 10000 };

uint32_t fl_waits_next(uint32_t wait)
{
	if (wait < PAPER_LAST)
		return wait + EVERY;
	for (size_t i = 0; i < ARRAY_LEN(longer); i++)
		if (longer[i] > wait)
			return longer[i];
	return 0;
}

static bool is_coarse(uint32_t wait)
{
	return wait > PAPER_LAST || wait % EVERY_COARSE == 0;
}

/* A jump of two bytes is one store only if the line's boundary is behind the jump. */
static bool makes_sense(const struct fl_trial *t)
{
	return t->way != FL_WAY_WAIT_JUMP || t->offset + 2 <= FL_ARCH_LINE;
}

/* List trials of one wait and number of executors: each split, each way of waiting,
 * in code that stays hot and in code that is flushed before each call. */
static size_t list_splits(struct fl_trial *to, uint32_t wait, unsigned executors)
{
	enum { N_WAYS = FL_WAY_WAIT_UNFENCED + 1, N_SPLITS = CALL_BYTES - 1 };
	size_t n = 0;

	for (unsigned i = 0; i < N_SPLITS * N_WAYS * 2; i++) {
		struct fl_trial t = {
			.way = i % N_WAYS, .cold = i / N_WAYS % 2, .wait = wait,
			.executors = (uint8_t)executors,
			.offset = (uint8_t)(FL_ARCH_LINE - 1 - i / N_WAYS / 2),
		};

		if (!makes_sense(&t))
			continue;
		if (to)
			to[n] = t;
		n++;
	}
	return n;
}

size_t fl_waits_list(struct fl_trial *to, unsigned executors, enum fl_waits which)
{
	uint32_t wait = 0;
	size_t n = 0;

	do {
		if (which == FL_WAITS_FEWER && !is_coarse(wait))
			continue;
		for (unsigned e = 1; e <= executors; e++)
			n += list_splits(to ? to + n : NULL, wait, e);
	} while ((wait = fl_waits_next(wait)));
	return n;
}
