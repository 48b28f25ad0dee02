/*
 * pair-samples.c - calls that their thread has paired itself: an entry, then its exit.
 */
#include "analysis/run.h"

/* The time of a call, without what probes took of it, and without the ticks for which its
 * thread was preempted. The entry says, in place of a stack pointer, what the probes of calls
 * in it took. */
static uint64_t length_of(struct fl_stream *s, const struct fl_overhead *own, uint64_t end)
{
	const struct fl_view *v = s->run->source;
	uint64_t begin = s->entry.tsc;

	if (own->pair)			/* else as measured */
		begin += own->inside + s->entry.sp;
	if (v->preempted)
		begin += v->preempted(v->owner, s->call.thread, s->entry.tsc, end);
	return end > begin ? end - begin : 0;
}

static void finish(struct fl_stream *s, const struct flick_record *exit)
{
	const uint32_t most = UINT32_MAX / FLICK_WEIGHT_ONE;
	const struct flick_tag *tag = &s->run->tags[s->entry.probe];
	uint32_t stands = exit->sp ? exit->sp : 1;
	struct flick_call *call = &s->call;
	bool is_given_up = fl_record_type(exit) == FLICK_TYPE_GIVEN_UP;

	if (s->run->tags[fl_record_probe(exit)].function != tag->function)
		return;				/* its other half was lost */
	call->function = tag->function;
	call->flags = FLICK_CALL_SAMPLED | (is_given_up ? FLICK_CALL_GIVEN_UP : 0);
	call->how = is_given_up ? FLICK_OPEN : FLICK_ENDED;
	call->begin = s->entry.tsc;
	call->weight = (stands < most ? stands : most) * FLICK_WEIGHT_ONE;
	call->total = length_of(s, &s->run->source->overhead[tag->framed], exit->tsc);
	call->raw_total = exit->tsc > call->begin ? exit->tsc - call->begin : 0;
	fl_tell_alone(s->run, call, s->marks);
}

/* An entry and its exit may come in two batches. */
static int feed(struct fl_stream *s, const struct fl_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct flick_record *r = &b->records[i];

		if (fl_record_probe(r) >= s->run->n_tags)
			continue;
		if (fl_record_type(r) != FLICK_TYPE_EVENT && s->entry.tsc) {
			finish(s, r);
			s->entry.tsc = 0;
		} else if (fl_record_type(r) == FLICK_TYPE_EVENT &&
			   s->run->tags[r->probe].kind == FLICK_TAG_ENTRY) {
			s->entry = *r;
		}
	}
	return 0;
}

const struct fl_pairing fl_pair_samples = { NULL, feed, NULL };
