/*
 * to-calls.c - a trace as indented text, in uftrace's manner.
 *
 *	   0.512 us [  4711] |   leaf();
 *	            [  4711] |   node() {
 *	   1.204 us [  4711] |   } /" node "/	(as a comment of C)
 *
 * A call's mark says how deep the call is and whether it is shown, so only open calls and
 * waiting lines are kept. A call is one line if no shown call lies in it. That is known at
 * its end: the call is held until then, or until a call in it is shown.
 *
 * A trace has a thread's events in order, but pieces of threads in turn. Up to WAITING
 * lines wait; then the earliest is written. So threads whose events lie no further apart in
 * the file are merged by time; lines of others come late.
 */
#include <stdlib.h>
#include <string.h>

#include "report/replay.h"
#include "report/table.h"

#define WAITING (1u << 19)
#define MAX_INDENT 100			/* levels */

/* The mark of a call; 0 above a thread's first call. */
#define DEPTH(mark) ((uint32_t)(mark) & 0xffffff)	/* calls shown above and with it */
#define IN_ROOT (1u << 24)		/* -F names the call, or one above */
#define HIDDEN (1u << 25)		/* -N names the call, or one above */
#define SHOWN (1u << 26)
#define SERIAL 32			/* shift: the number of a held call */

enum kind { BEGINS, ENDS, WHOLE, LEFT, NEVER_BEGAN };

struct line {
	struct line *next;
	uint64_t key, begin, end;	/* ticks; key: never less than the one before */
	uint64_t total;			/* ticks; of ENDS and WHOLE */
	uint32_t function, depth;
	enum kind kind;
};

struct held {
	uint32_t serial, function, depth;
	uint64_t begin;
};

struct thread {
	uint32_t index;
	bool has_ended;
	uint32_t serial;
	uint64_t key;			/* of its last line */
	struct held *held;		/* outermost first */
	uint32_t n_held;
	struct line *first, **last;	/* waiting; first NULL: thread is not in the heap */
};

struct calls {
	const struct fl_calls *o;
	const struct flick_view *view;
	const struct fl_thread *known;
	uint32_t n_known;
	uint64_t start;
	struct thread **threads;	/* index: thread */
	uint32_t n_threads;
	struct thread **heap;		/* by its first line's key; index 1 is the least */
	uint32_t n_heap, heap_room;
	struct line *spare;
	size_t n_waiting;
	bool any;			/* a line was written */
};

/* An analysis takes no argument but a text, so its state waits here while it opens; one
 * analysis opens at a time. */
static struct calls *opening;

/* ---- a line ------------------------------------------------------------------------ */

static uint64_t ns_of(const struct calls *c, uint64_t ticks)
{
	return (uint64_t)((double)ticks * c->view->ns_per_tick + 0.5);
}

/* Clocks of two cores may disagree by a little. */
static uint64_t since_start(const struct calls *c, uint64_t tsc)
{
	return tsc > c->start ? ns_of(c, tsc - c->start) : 0;
}

static const struct fl_thread *thread_known(const struct calls *c, uint32_t index)
{
	static const struct fl_thread nobody = { .name = "?" };

	return index < c->n_known ? &c->known[index] : &nobody;
}

static void print_duration(const struct calls *c, const struct line *l)
{
	const bool has_ended = l->kind == ENDS || l->kind == WHOLE;
	const uint64_t ns = has_ended ? ns_of(c, l->total) : 0;
	const char *colour = c->o->colour ? fl_colour_of(ns) : "";
	char text[32] = "";

	if (has_ended)
		fl_text_time(text, ns);
	fprintf(c->o->to, " %s%10s%s", colour, text, *colour ? FL_PLAIN : "");
}

static void print_field(const struct calls *c, const struct thread *t, const struct line *l,
			enum fl_calls_field field)
{
	const struct fl_thread *who = thread_known(c, t->index);
	char text[32];

	switch (field) {
	case FL_CALLS_DURATION:
		print_duration(c, l);
		break;
	case FL_CALLS_TID:
		fprintf(c->o->to, " [%6d]", who->tid ? who->tid : (int)t->index);
		break;
	case FL_CALLS_ELAPSED:
		fl_text_time(text, since_start(c, l->key));
		fprintf(c->o->to, " %10s", text);
		break;
	default:
		fprintf(c->o->to, "%*s", 16 - (int)fl_print_plain(NULL, who->name), " ");
		fl_print_plain(c->o->to, who->name);
	}
}

/* A full name has its parameters. */
static void print_call(const struct calls *c, const char *name, const char *behind)
{
	const size_t n = strlen(name);

	fl_print_plain(c->o->to, name);
	fprintf(c->o->to, "%s%s\n", n && name[n - 1] == ')' ? "" : "()", behind);
}

static void print_end(const struct calls *c, const char *name, const char *why)
{
	fputs("} /* ", c->o->to);
	fl_print_plain(c->o->to, name);
	fprintf(c->o->to, "%s */\n", why);
}

static void print_line(const struct calls *c, const struct thread *t, const struct line *l)
{
	const char *name = c->view->name(c->view, l->function);

	for (size_t i = 0; i < c->o->n_fields; i++)
		print_field(c, t, l, c->o->fields[i]);
	fputs(c->o->n_fields ? " | " : "", c->o->to);
	if (l->depth > MAX_INDENT)
		fprintf(c->o->to, "%*s(%u) ", 2 * MAX_INDENT, "", l->depth);
	else
		fprintf(c->o->to, "%*s", 2 * (int)l->depth, "");
	switch (l->kind) {
	case BEGINS: print_call(c, name, " {"); break;
	case WHOLE:  print_call(c, name, ";"); break;
	case ENDS:   print_end(c, name, ""); break;
	case LEFT:   print_end(c, name, ": did not return"); break;
	default:     print_end(c, name, ": began before");
	}
}

static void print_titles(const struct fl_calls *o)
{
	static const char *const titles[] = {
		[FL_CALLS_DURATION] = "  DURATION ", [FL_CALLS_TID] = "    TID  ",
		[FL_CALLS_ELAPSED] = "   ELAPSED ", [FL_CALLS_TASK] = "            TASK",
	};

	if (!o->n_fields)
		return;
	fputs(o->colour ? FL_BOLD "#" : "#", o->to);
	for (size_t i = 0; i < o->n_fields; i++)
		fputs(titles[o->fields[i]] + !i, o->to);
	fprintf(o->to, "   FUNCTION%s\n", o->colour ? FL_PLAIN : "");
}

/* ---- threads, merged by time --------------------------------------------------------- */

static bool is_before(const struct thread *a, const struct thread *b)
{
	return a->first->key != b->first->key ? a->first->key < b->first->key :
	       a->index < b->index;
}

static void sink(struct calls *c, uint32_t at)
{
	struct thread *t = c->heap[at];

	for (uint32_t below; (below = 2 * at) <= c->n_heap; at = below) {
		below += below < c->n_heap && is_before(c->heap[below + 1], c->heap[below]);
		if (is_before(t, c->heap[below]))
			break;
		c->heap[at] = c->heap[below];
	}
	c->heap[at] = t;
}

static int put_in_heap(struct calls *c, struct thread *t)
{
	uint32_t at;

	if (fl_array_extend(&c->heap, &c->heap_room, c->n_heap + 2, sizeof(*c->heap)))
		return -ENOMEM;
	for (at = ++c->n_heap; at > 1 && is_before(t, c->heap[at / 2]); at /= 2)
		c->heap[at] = c->heap[at / 2];
	c->heap[at] = t;
	return 0;
}

static void free_thread(struct calls *c, struct thread *t)
{
	c->threads[t->index] = NULL;
	free(t->held);
	free(t);
}

/* Write the earliest of all lines that wait. */
static void write_one(struct calls *c)
{
	struct thread *t = c->heap[1];
	struct line *l = t->first;

	print_line(c, t, l);
	c->any = true;
	t->first = l->next;
	l->next = c->spare;
	c->spare = l;
	c->n_waiting--;
	if (!t->first) {
		c->heap[1] = c->heap[c->n_heap--];
		if (t->has_ended)
			free_thread(c, t);
	}
	if (c->n_heap)
		sink(c, 1);
}

static struct line *new_line(struct calls *c)
{
	struct line *l = c->spare;

	if (l)
		c->spare = l->next;
	return l ? l : malloc(sizeof(*l));
}

static bool is_in_range(const struct calls *c, const struct line *l)
{
	uint64_t from = since_start(c, l->kind == ENDS ? l->end : l->begin);
	uint64_t until = l->kind == WHOLE ? since_start(c, l->end) : from;

	return until >= c->o->part.from_ns && from <= c->o->part.until_ns;
}

static int put_line(struct calls *c, struct thread *t, struct line line)
{
	struct line *l;
	uint64_t key = line.kind == ENDS ? line.end : line.begin;

	if (!is_in_range(c, &line))
		return 0;
	l = new_line(c);
	if (!l)
		return -ENOMEM;
	t->key = key > t->key ? key : t->key;
	*l = line;
	l->key = t->key;
	l->next = NULL;
	c->n_waiting++;
	if (t->first) {
		*t->last = l;
		t->last = &l->next;
	} else {
		t->first = l;
		t->last = &l->next;
		if (put_in_heap(c, t))
			return -ENOMEM;
	}
	while (c->n_waiting > WAITING)
		write_one(c);
	return ferror(c->o->to) ? -EIO : 0;
}

static bool is_wanted(const struct calls *c, uint32_t index)
{
	const int32_t tid = thread_known(c, index)->tid;

	for (size_t i = 0; i < c->o->n_tids; i++)
		if (c->o->tids[i] == tid)
			return true;
	return !c->o->n_tids;
}

static struct thread *thread_of(struct calls *c, uint32_t index)
{
	struct thread *t;

	if (fl_array_extend(&c->threads, &c->n_threads, index + 1, sizeof(*c->threads)))
		return NULL;
	t = c->threads[index];
	if (!t) {
		t = calloc(1, sizeof(*t));
		if (t)
			t->index = index;
		c->threads[index] = t;
	}
	return t;
}

/* ---- calls --------------------------------------------------------------------------- */

static int hold(struct thread *t, uint32_t function, uint32_t depth, uint64_t begin)
{
	if (fl_array_room(&t->held, t->n_held, sizeof(*t->held)))
		return -ENOMEM;
	t->serial += t->serial + 1 ? 1 : 2;		/* 0 is no serial */
	t->held[t->n_held++] = (struct held){ t->serial, function, depth, begin };
	return 0;
}

/* Write the begins of the `n` outermost held calls: a call in them is shown. */
static int release(struct calls *c, struct thread *t, uint32_t n)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < n; i++)
		err = put_line(c, t, (struct line){ .kind = BEGINS, .begin = t->held[i].begin,
			       .function = t->held[i].function, .depth = t->held[i].depth });
	memmove(t->held, t->held + n, (t->n_held - n) * sizeof(*t->held));
	t->n_held -= n;
	return err;
}

/* 1 + the index of the held call `serial`, which need not be the innermost (contexts); 0: no
 * such call is held. */
static uint32_t find_held(const struct thread *t, uint32_t serial)
{
	uint32_t n = t->n_held;

	while (n && t->held[n - 1].serial != serial)
		n--;
	return n;
}

static uint64_t mark_of(const struct calls *c, uint32_t function, uint64_t above)
{
	const unsigned char *marks = c->o->marks;
	const unsigned char m = marks ? marks[function] : 0;
	uint64_t mark = above & (IN_ROOT | HIDDEN);

	if (!c->o->has_roots || m & FL_CALLS_ROOT)
		mark |= IN_ROOT;
	if (m & FL_CALLS_HIDDEN)
		mark |= HIDDEN;
	if (mark & IN_ROOT && !(mark & HIDDEN) && DEPTH(above) < c->o->depth)
		mark |= SHOWN;
	return mark | (DEPTH(above) + !!(mark & SHOWN));
}

static int enter(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct calls *c = state;
	uint64_t m = mark_of(c, call->function, (uintptr_t)*caller);
	struct thread *t;
	int err = 0;

	*mark = (void *)(uintptr_t)m;
	if (!(m & SHOWN) || !is_wanted(c, call->thread))
		return 0;
	t = thread_of(c, call->thread);
	if (!t)
		return -ENOMEM;
	if (!c->o->least_ns)
		err = release(c, t, t->n_held);
	if (!err)
		err = hold(t, call->function, DEPTH(m) - 1, call->begin);
	*mark = (void *)(uintptr_t)(m | (uint64_t)t->serial << SERIAL);
	return err;
}

/* Nobody knows when a call ended that was left without a return: its line has the time of
 * the thread's last line. */
static int end_call(struct calls *c, struct thread *t, const struct flick_call *call,
		    uint64_t m)
{
	struct line line = { .function = call->function, .depth = DEPTH(m) - 1,
			     .begin = call->begin, .kind = LEFT };
	uint32_t n = find_held(t, (uint32_t)(m >> SERIAL));
	bool counts = call->how == FLICK_ENDED && ns_of(c, call->total) >= c->o->least_ns;
	int err = 0;

	if (call->how == FLICK_UNWOUND)
		line.begin = t->key;
	if (call->how == FLICK_ENDED) {
		line.kind = n ? WHOLE : ENDS;
		line.total = call->total;
		line.end = call->begin + call->raw_total;
	}
	if (n && !counts && c->o->least_ns) {
		memmove(t->held + n - 1, t->held + n, (t->n_held - n) * sizeof(*t->held));
		t->n_held--;
		return 0;
	}
	if (n)
		err = release(c, t, counts ? n - 1 : n);
	if (n && counts && !err)
		memmove(t->held, t->held + 1, --t->n_held * sizeof(*t->held));
	return err || call->how == FLICK_OPEN ? err : put_line(c, t, line);
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct calls *c = state;
	const uint64_t m = (uintptr_t)*mark;

	(void)caller;
	if (!(m & SHOWN) || !(m >> SERIAL))
		return 0;
	return call->thread < c->n_threads && c->threads[call->thread] ?
	       end_call(c, c->threads[call->thread], call, m) : 0;
}

static int stray(void *state, uint32_t thread, uint32_t function, void **root)
{
	struct calls *c = state;
	const bool is_shown = is_wanted(c, thread) && !c->o->least_ns &&
			      mark_of(c, function, 0) & SHOWN;
	struct thread *t = is_shown ? thread_of(c, thread) : NULL;
	struct line line = { .kind = NEVER_BEGAN, .function = function };
	int err = t ? release(c, t, t->n_held) : is_shown ? -ENOMEM : 0;

	(void)root;
	if (err || !t)
		return err;
	line.begin = t->key;
	return put_line(c, t, line);
}

static int thread_end(void *state, uint32_t thread, void **root)
{
	struct calls *c = state;
	struct thread *t = thread < c->n_threads ? c->threads[thread] : NULL;

	(void)root;
	if (!t)
		return 0;
	t->has_ended = true;
	if (!t->first)
		free_thread(c, t);
	return 0;
}

/* ---- the analysis ---------------------------------------------------------------------- */

static int open_calls(void **state, const struct flick_view *view, const char *arg)
{
	(void)arg;
	opening->view = view;
	*state = opening;
	return 0;
}

static int rows(void *state, struct flick_rows *r)
{
	static const struct flick_column none = { "none", FLICK_COL_COUNT };

	(void)state;
	*r = (struct flick_rows){ .columns = &none, .n_columns = 1 };
	return 0;
}

static void close_calls(void *state)
{
	struct calls *c = state;
	struct line *next;

	while (c->n_heap && !ferror(c->o->to))
		write_one(c);
	for (uint32_t i = 0; i < c->n_threads; i++) {
		while (c->threads[i] && c->threads[i]->first) {
			next = c->threads[i]->first->next;
			free(c->threads[i]->first);
			c->threads[i]->first = next;
		}
		if (c->threads[i])
			free_thread(c, c->threads[i]);
	}
	for (struct line *l = c->spare; l; l = next) {
		next = l->next;
		free(l);
	}
	free(c->threads);
	free(c->heap);
}

static const struct flick_analysis analysis = {
	.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS, .name = "calls", .about = "",
	.open = open_calls, .enter = enter, .leave = leave, .stray = stray,
	.thread_end = thread_end, .rows = rows, .close = close_calls,
};

int fl_calls_print(struct fl_calls *o, struct fl_store *store, const char *dir,
		   char why[FL_WHY])
{
	struct fl_use use = { .analysis = &analysis };
	struct calls calls = { .o = o };
	struct fl_view view;
	int status;

	if (fl_trace_check(dir, why) || fl_store_view(store, &view, why) ||
	    fl_store_threads(store, &calls.known, &calls.n_known, why) ||
	    fl_store_number(store, "start_tsc", &calls.start, why))
		return -1;
	if (o->raw)
		fl_view_make_raw(&view);
	opening = &calls;
	print_titles(o);
	status = fl_replay(dir, &view, &use, NULL, NULL, why);
	o->any = calls.any;
	return status;
}
