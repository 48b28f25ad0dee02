/*
 * atoms.c - is one store fetched whole? By offset in a line, size, hot and cold.
 *
 * READER code. Hides which stores are tried where. Each kind of store changes a
 * call or an operand at every offset of a line, in code that stays in the
 * executor's caches (hot) or is flushed before each call (cold). A locked store
 * never goes across a line: the tactic that will use it never does, and some
 * kernels punish it. The controls are stores in two halves: where these are not
 * seen to fail, nothing would be.
 */
#include "calibrate.h"

static bool makes_sense(const struct fl_trial *t)
{
	if (t->way == FL_WAY_LOCK8)
		return fl_trial_crossing(t) != FL_CROSS_LINE;
	if (t->way == FL_WAY_SSE16 || t->way == FL_WAY_AVX32)
		return t->subject == FL_SUBJECT_OPERAND && fl_trial_can(t->way);
	return true;
}

static size_t add(struct fl_trial *to, const struct fl_trial *t)
{
	if (!makes_sense(t))
		return 0;
	if (to)
		*to = *t;
	return 1;
}

/* Every offset, hot and cold. */
static size_t list_store(struct fl_trial *to, uint8_t way, uint8_t subject)
{
	size_t n = 0;

	for (unsigned i = 0; i < 2 * FL_ARCH_LINE; i++) {
		struct fl_trial t = {
			.way = way, .subject = subject, .executors = 1,
			.cold = i >= FL_ARCH_LINE, .offset = (uint8_t)(i % FL_ARCH_LINE),
		};

		n += add(to ? to + n : NULL, &t);
	}
	return n;
}

/* A call that a line's boundary splits 2|3, and an operand within a line, hot and cold. */
static size_t list_controls(struct fl_trial *to)
{
	static const struct fl_trial controls[] = {
		{ .way = FL_WAY_HALVES, .subject = FL_SUBJECT_CALL, .executors = 1,
		  .offset = FL_ARCH_LINE - 2 },
		{ .way = FL_WAY_HALVES, .subject = FL_SUBJECT_OPERAND, .executors = 1 },
		{ .way = FL_WAY_HALVES, .subject = FL_SUBJECT_OPERAND, .executors = 1,
		  .cold = true },
	};

	for (size_t i = 0; to && i < ARRAY_LEN(controls); i++)
		to[i] = controls[i];
	return ARRAY_LEN(controls);
}

size_t fl_atoms_list(struct fl_trial *to)
{
	size_t n = list_controls(to);

	for (uint8_t way = FL_WAY_LOCK8; way <= FL_WAY_AVX32; way++)
		for (uint8_t subject = 0; subject < FL_N_SUBJECTS; subject++)
			n += list_store(to ? to + n : NULL, way, subject);
	return n;
}
