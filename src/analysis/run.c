/*
 * run.c - one stream of records a thread, any number of analyses.
 *
 * Hides which analysis is told of what: records go to a pairing (run.h), whose calls all
 * analyses see; counts, ends of threads and late news go to analyses directly. An analysis
 * sees structures of flick/analysis.h only, a built-in one as much as a third party's.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/callers.h"
#include "analysis/run.h"

/* ---- opening ------------------------------------------------------------------ */

static const char *name_of(const struct flick_view *v, uint32_t function)
{
	const struct fl_run *run = v->owner;
	const struct fl_view *s = run->source;
	const char *name = s->name && function < s->n_functions ?
			   s->name(s->owner, function) : NULL;

	return name ? name : "?";
}

static struct flick_tag tag_of(const struct fl_view *v, uint32_t probe)
{
	const struct fl_shm_site *site = &v->sites[probe];
	bool ends = site->kind == FL_EXIT || site->kind == FL_TAIL;

	return (struct flick_tag){
		.function = v->function_of[probe],
		.kind = site->kind == FL_ENTRY ? FLICK_TAG_ENTRY :
			site->kind == FL_AT_POINT ? FLICK_TAG_POINT :
			ends ? FLICK_TAG_EXIT : FLICK_TAG_OTHER,
		.jump = site->jump,
		.framed = v->framed >> site->provider & 1,
	};
}

/* Take in what the reader has learnt since. */
static int refresh(struct fl_run *run)
{
	uint32_t from = run->n_tags, n = run->source->n_sites;
	int err = fl_array_extend(&run->jumps.of, &run->jumps.n, n,
				  sizeof(*run->jumps.of));

	if (!err)
		err = fl_array_extend(&run->tags, &run->n_tags, n,
				      sizeof(*run->tags));
	for (uint32_t i = from; !err && i < run->n_tags; i++)
		run->tags[i] = tag_of(run->source, i);
	run->view.tags = run->tags;
	run->view.n_tags = run->n_tags;
	run->view.n_functions = run->source->n_functions;
	run->view.ns_per_tick = run->source->ns_per_tick;
	return err;
}

static uint32_t caller_of(const struct flick_view *v, uint32_t from)
{
	const struct fl_run *run = v->owner;

	return run->callers ? fl_callers_of(run->callers, from & ~FL_ORIGIN) :
	       FLICK_NO_FUNCTION;
}

/* The function of a record's place. */
static uint32_t place_owner(const struct flick_view *v, uint32_t place)
{
	const struct fl_run *run = v->owner;
	const struct fl_view *s = run->source;

	return s->place ? s->place(s->owner, place) : FLICK_NO_FUNCTION;
}

static const char *place_line(const struct flick_view *v, uint32_t place)
{
	const struct fl_run *run = v->owner;

	return run->source->line(run->source->owner, place);
}

static int open_worker(struct fl_run *run, const struct fl_use *use)
{
	struct fl_analyst *w = &run->workers[run->n];
	const struct flick_analysis *a = use->analysis;
	int err;

	*w = (struct fl_analyst){ .a = a, .enter = a->enter, .leave = a->leave,
				 .words = a == &fl_analysis_cache ? fl_misses_words : NULL,
				 .mark = run->n_marks };
	err = a->open(&w->state, &run->view, use->arg);
	run->n += !err;
	if (!err && use->threads > 1)
		err = fl_misses_share(w->state, use->threads);
	run->n_marks += a->enter || a->leave || a->stray;
	run->is_in_order |= a->needs == FLICK_NEEDS_ACCESSES && a->batch &&
			    (a->enter || a->leave || a->stray);
	run->tells_entered |= a->enter != NULL;
	return err;
}

static int choose_pairing(struct fl_run *run)
{
	if (!run->n_marks)
		return 0;
	run->pairing = run->source->sampled ? &fl_pair_samples : &fl_pair_all;
	if (!run->source->windows)
		return 0;
	run->pairing = &fl_pair_windows;
	run->from_mark = run->n_marks++;
	return fl_callers_open(&run->callers, run->source);
}

int fl_run_open(struct fl_run **out, const struct fl_use *uses, size_t n,
		const struct fl_view *source)
{
	struct fl_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	run->source = source;
	run->view = (struct flick_view){
		.size = sizeof(run->view), .name = name_of, .owner = run,
		.flags = (source->sampled ? FLICK_VIEW_SAMPLED : 0) |
			 (source->windows ? FLICK_VIEW_WINDOWS : 0),
		.weight = FLICK_WEIGHT_ONE,
		.caller = caller_of,
		.place = place_owner,
		.line = source->line ? place_line : NULL,
	};
	run->workers = calloc(n + 1, sizeof(*run->workers));
	err = run->workers ? refresh(run) : -ENOMEM;
	for (size_t i = 0; !err && i < n; i++)
		err = open_worker(run, &uses[i]);
	if (!err)
		err = choose_pairing(run);
	if (err)
		fl_run_close(run);
	else
		*out = run;
	return err;
}

/* ---- threads ----------------------------------------------------------------------- */

static void free_stream(struct fl_stream *s)
{
	fl_stack_free(&s->stack);
	free(s->marks);
	free(s);
}

static struct fl_stream *make_stream(struct fl_run *run, uint32_t thread)
{
	struct fl_stream *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return NULL;
	s->run = run;
	s->call = (struct flick_call){ .size = sizeof(s->call), .thread = thread,
				       .caller = FLICK_NO_FUNCTION,
				       .weight = FLICK_WEIGHT_ONE };
	s->marks = calloc(run->n_marks + 1, sizeof(*s->marks));
	if (s->marks)
		err = run->pairing && run->pairing->drop ?
		      fl_stack_init(&s->stack, run->n_marks, run->pairing->drop, s) : 0;
	memcpy(s->stack.overhead, run->source->overhead, sizeof(s->stack.overhead));
	s->stack.jumps = &run->jumps;
	if (!err)
		return s;
	free_stream(s);
	return NULL;
}

static struct fl_stream *stream_of(struct fl_run *run, uint32_t thread)
{
	if (fl_array_extend(&run->streams, &run->n_streams, thread + 1,
			    sizeof(*run->streams)))
		return NULL;
	if (!run->streams[thread])
		run->streams[thread] = make_stream(run, thread);
	return run->streams[thread];
}

/* Calls of the thread without a caller go into the result, as far as they are known. */
static void settle_thread(struct fl_stream *s)
{
	for (size_t i = 0; i < s->run->n; i++) {
		struct fl_analyst *w = &s->run->workers[i];

		if (w->a->thread_end && !w->error)
			fl_analyst_note(w, w->a->thread_end(w->state, s->call.thread,
							   &s->marks[w->mark]));
	}
}

int fl_run_thread_end(struct fl_run *run, uint32_t thread, uint64_t alive)
{
	struct fl_stream *s = stream_of(run, thread);

	if (!s)
		return -ENOMEM;
	s->alive = alive;
	if (run->pairing && run->pairing->end)
		run->pairing->end(s);
	settle_thread(s);
	free_stream(s);
	run->streams[thread] = NULL;
	return run->error;
}

void fl_run_settle(struct fl_run *run)
{
	for (uint32_t i = 0; i < run->n_streams; i++)
		if (run->streams[i])
			settle_thread(run->streams[i]);
}

int fl_run_end(struct fl_run *run)
{
	for (uint32_t i = 0; i < run->n_streams; i++)
		if (run->streams[i])
			fl_run_thread_end(run, i, 0);
	return run->error;
}

/* ---- to all --------------------------------------------------------------------------- */

void fl_tell_entered(struct fl_stream *s, struct fl_fiber *f, uint32_t i)
{
	void **marks = fl_stack_marks(f, i), **callers = fl_marks_of_caller(s, f, i);

	for (size_t k = 0; k < s->run->n; k++) {
		struct fl_analyst *w = &s->run->workers[k];

		if (w->enter)
			fl_analyst_note(w, w->enter(w->state, &s->call, &marks[w->mark],
						   &callers[w->mark]));
	}
}

void fl_tell_alone(struct fl_run *run, struct flick_call *call, void **marks)
{
	const struct flick_call over = *call;

	for (size_t i = 0; i < run->n; i++) {
		struct fl_analyst *w = &run->workers[i];
		void *mark = NULL;

		call->how = FLICK_RUNNING;
		call->total = call->raw_total = 0;
		if (w->enter)
			fl_analyst_note(w, w->enter(w->state, call, &mark, &marks[w->mark]));
		*call = over;
		if (w->leave)
			fl_analyst_note(w, w->leave(w->state, call, &mark, &marks[w->mark]));
	}
}

/* How much windows saw of each function's calls. */
static int see(struct fl_run *run, const struct fl_batch *b)
{
	int err = fl_scales_extend(&run->scales, run->view.n_functions);

	for (size_t i = 0; !err && i < b->n; i++) {
		uint32_t probe = b->records[i].probe;

		if (probe < run->n_tags && fl_tag_counts(&run->tags[probe]))
			run->scales.of[run->tags[probe].function].seen += b->window->weight;
	}
	return err;
}

static int feed_all(struct fl_stream *s, const struct fl_batch *b)
{
	struct fl_run *run = s->run;
	int err = 0;

	for (size_t i = 0; i < run->n; i++) {
		struct fl_analyst *w = &run->workers[i];

		if (w->a->batch && !w->error)
			fl_analyst_note(w, w->a->batch(w->state, b->thread, b->records, b->n));
	}
	if (b->window)
		err = see(run, b);
	if (!err && run->pairing)
		err = run->pairing->feed(s, b);
	return err;
}

/* An access belongs to the calls that are open there. So records go to analyses in pieces, each
 * of which ends with a call's begin or end. */
static int feed_pieces(struct fl_stream *s, const struct fl_batch *b)
{
	int err = 0;

	for (size_t from = 0, upto = 0; !err && from < b->n; from = upto) {
		struct fl_batch piece = *b;

		while (upto < b->n && b->records[upto++].probe >= s->run->n_tags)
			;
		piece.records = b->records + from;
		piece.skipped = b->skipped ? b->skipped + from : NULL;
		piece.n = upto - from;
		piece.paused = from ? 0 : b->paused;
		err = feed_all(s, &piece);
	}
	return err;
}

int fl_run_feed(struct fl_run *run, const struct fl_batch *b)
{
	int err = refresh(run);
	struct fl_stream *s = err ? NULL : stream_of(run, b->thread);

	if (!s)
		return err ? err : -ENOMEM;
	run->view.weight = b->window ? b->window->weight : FLICK_WEIGHT_ONE;
	err = run->is_in_order ? feed_pieces(s, b) : feed_all(s, b);
	if (err && !run->error)
		run->error = err;
	return run->error;
}

/* An analysis that wants calls passes over accesses: only `batch` has to be asked for. */
bool fl_run_takes_words(const struct fl_run *run)
{
	for (size_t i = 0; i < run->n; i++)
		if (run->workers[i].a->batch && !run->workers[i].words)
			return false;
	return true;
}

int fl_run_words(struct fl_run *run, struct fl_words *b)
{
	int err = refresh(run);
	bool is_taken = false;

	for (size_t i = 0; !err && i < run->n; i++) {
		struct fl_analyst *w = &run->workers[i];

		if (!w->words || w->error)
			continue;
		is_taken = true;
		fl_analyst_note(w, w->words(w->state, b));
	}
	if (!is_taken)
		b->n = fl_words_taken(b->of, b->n);
	return err ? err : run->error;
}

int fl_run_count(struct fl_run *run, uint32_t thread, uint32_t probe, uint64_t n)
{
	int err = refresh(run);
	uint32_t function;

	if (err || probe >= run->n_tags || !fl_tag_counts(&run->tags[probe]))
		return err;
	function = run->tags[probe].function;
	if (run->source->windows || run->source->sampled) {
		err = fl_scales_extend(&run->scales, run->view.n_functions);
		if (!err) {
			run->scales.of[function].calls += n;
			run->scales.of[function].counted += n;
		}
		return err;
	}
	for (size_t i = 0; i < run->n; i++) {
		struct fl_analyst *w = &run->workers[i];

		if (w->a->count && !w->error)
			fl_analyst_note(w, w->a->count(w->state, thread, function, n));
	}
	return run->error;
}

int fl_run_point(struct fl_run *run, uint32_t function)
{
	int err = fl_scales_extend(&run->scales, run->view.n_functions);

	if (!err)
		run->scales.of[function].calls++;
	return err;
}

int fl_run_estimate(struct fl_run *run, uint32_t function, uint64_t calls, uint64_t counted,
		    uint64_t error)
{
	int err = fl_scales_extend(&run->scales, function + 1);

	if (!err) {
		run->scales.of[function].calls = calls;
		run->scales.of[function].counted = counted;
		run->scales.of[function].error = error;
	}
	return err;
}

int fl_run_forget(struct fl_run *run, uint64_t at, const unsigned char *of, uint32_t n)
{
	struct fl_left_off *l;
	unsigned char *copy;

	if (run->pairing != &fl_pair_all)
		return 0;
	copy = malloc(n + 1);
	if (!copy || fl_array_room(&run->left_off, run->n_left_off, sizeof(*l))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, of, n);
	run->left_off[run->n_left_off++] = (struct fl_left_off){ .at = at, .of = copy, .n = n };
	return 0;
}

int fl_run_open_call(struct fl_run *run, uint32_t probe, uint64_t begun, uint64_t ended,
		     uint32_t thread)
{
	struct flick_call call = {
		.size = sizeof(call), .thread = thread, .caller = FLICK_NO_FUNCTION,
		.flags = FLICK_CALL_SAMPLED | FLICK_CALL_ALIVE, .begin = begun,
		.weight = FLICK_WEIGHT_ONE,
		.how = FLICK_OPEN, .total = ended - begun, .raw_total = ended - begun,
	};
	int err = refresh(run);
	void **marks;

	if (err || probe >= run->n_tags || begun >= ended ||
	    run->tags[probe].kind != FLICK_TAG_ENTRY)
		return err;
	call.function = run->tags[probe].function;
	marks = calloc(run->n_marks + 1, sizeof(*marks));	/* the thread's are gone */
	if (!marks)
		return -ENOMEM;
	fl_tell_alone(run, &call, marks);
	free(marks);
	return run->error;
}

/* ---- results -------------------------------------------------------------------------- */

bool fl_run_recurses(const struct flick_view *view, uint32_t function)
{
	const struct fl_scales *s = &((const struct fl_run *)view->owner)->scales;

	return function < s->n && s->of[function].recurses;
}

/* Each run numbers origins for itself. */
uint32_t fl_run_renamed(const struct flick_view *from, uint32_t function)
{
	const struct fl_run *run = from->owner;

	if (!fl_is_origin(function) || !run->merging)
		return function;
	return fl_callers_adopt(run->merging->callers, run->callers, function & ~FL_ORIGIN) |
	       FL_ORIGIN;
}

int fl_run_merge(struct fl_run *into, struct fl_run *from)
{
	int err = refresh(into);

	for (size_t i = 0; i < into->n; i++)
		if (!into->workers[i].a->merge)
			return FLE_OPTION;
	if (!err)
		err = refresh(from);
	if (!err)
		err = fl_run_end(from);
	from->merging = into->callers && from->callers ? into : NULL;
	for (size_t i = 0; !err && i < into->n; i++) {
		struct fl_analyst *w = &into->workers[i];

		fl_analyst_note(w, from->workers[i].error);
		if (!w->error)
			fl_analyst_note(w, w->a->merge(w->state, from->workers[i].state));
	}
	from->merging = NULL;
	if (!err)
		err = fl_scales_merge(&into->scales, &from->scales);
	return err ? err : into->error;
}

static bool is_good_column(const struct flick_column *c)
{
	const char *name = c->name;

	if (!name || !*name || strlen(name) > 48 || c->type > FLICK_COL_PARENT)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

bool fl_rows_are_good(const struct flick_rows *r)
{
	if (!r->columns || !r->n_columns || r->n_columns > FL_MAX_COLUMNS ||
	    (r->n_rows && !r->cells))
		return false;
	for (size_t i = 0; i < r->n_columns; i++) {
		if (!is_good_column(&r->columns[i]))
			return false;
		for (size_t j = 0; j < i; j++)
			if (!strcasecmp(r->columns[i].name, r->columns[j].name))
				return false;
	}
	return true;
}

int fl_run_rows(struct fl_run *run, size_t i, struct flick_rows *rows)
{
	struct fl_analyst *w = &run->workers[i];
	int err = refresh(run);

	*rows = (struct flick_rows){ 0 };
	if (err || run->error || w->error)
		return err ? err : run->error ? run->error : w->error;
	if (run->source->windows || run->source->sampled || run->scales.n)
		err = fl_scales_tell(&run->scales, &run->view);
	if (!err)
		err = w->a->rows(w->state, rows);
	if (!err && fl_rows_are_good(rows))
		return 0;
	if (!err)
		free(rows->cells);		/* after an error they are not ours */
	*rows = (struct flick_rows){ 0 };
	return err ? err : -EBADMSG;
}

void fl_run_close(struct fl_run *run)
{
	if (!run)
		return;
	fl_run_end(run);
	for (size_t i = 0; i < run->n; i++)
		run->workers[i].a->close(run->workers[i].state);
	while (run->n_left_off)
		free(run->left_off[--run->n_left_off].of);
	free(run->left_off);
	free(run->streams);
	free(run->workers);
	fl_callers_close(run->callers);
	fl_scales_free(&run->scales);
	free(run->jumps.of);
	free(run->tags);
	free(run);
}
