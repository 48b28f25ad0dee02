/*
 * to-chrome.c - the calls of a trace as Chrome's trace event format (JSON), for
 * chrome://tracing and Perfetto.
 *
 * An analysis of the trace writes each call when it ends, so a file of any size takes memory
 * only for calls that are open. A call whose end was not seen is an instant.
 *
 * INVARIANT	Two slices of a thread have no time in common, or one lies in the other;
 *		all slices lie in the time that the recording took.
 * WHY		Begins and ends are read from a clock of the thread's own, in the order in
 *		which they came. The clock shows the time so far, less the time that the
 *		thread's probes took and that it waited for its ring. The clock stands
 *		still where more would be taken out than has passed. A call that ends
 *		while a newer one is open has another stack (a coroutine): it becomes an
 *		asynchronous pair, which need not lie in any slice.
 *
 * A call takes a hundred bytes, so the file's size is estimated before the file is written.
 * If the size has a limit, calls that began after it was reached are not written: the file
 * has all of the first part of the time, except calls that other threads bring late.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay.h"
#include "report/table.h"

struct open {		/* a call */
	uint64_t serial;		/* its mark */
	uint64_t begin;			/* by its thread's clock */
};

struct clock {		/* a thread's */
	uint64_t now;			/* ticks since the start */
	uint64_t serial;
	struct open *open;		/* innermost last */
	size_t n_open;
};

/* What the analysis writes; dumps come one at a time. */
static struct {
	struct fl_dump *dump;
	const struct fl_span *span;	/* NULL: the whole trace */
	double ns_per_tick;
	uint64_t start;
	const struct fl_thread *threads;
	uint32_t n_threads;
	uint64_t n;			/* events written */
	uint64_t bytes;			/* of them */
	uint64_t until;			/* tsc at which the limit was reached; 0: not yet */
	struct clock *clocks;		/* index: thread */
	uint32_t n_clocks;
	uint64_t n_pairs;		/* asynchronous */
} out;

/* Bytes are counted here, because the output may be a pipe, which has no position. */
__attribute__((format(printf, 1, 2)))
static void put(const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vfprintf(out.dump->to, format, ap);
	va_end(ap);
	out.bytes += n > 0 ? (uint64_t)n : 0;
}

static void put_string(const char *text)
{
	fl_json_string(out.dump->to, text);
	out.bytes += strlen(text) + 2;
}

static void print_thread(const struct fl_thread *t)
{
	put("%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,"
	    "\"tid\":%d,\"args\":{\"name\":", out.n++ ? ",\n" : "", t->pid, t->tid);
	put_string(t->name);
	put("}}");
}

static uint64_t ns_of(uint64_t ticks)
{
	return (uint64_t)((double)ticks * out.ns_per_tick + 0.5);
}

/* In microseconds, to the last nanosecond: times that are rounded one by one would not nest. */
static void print_time(const char *key, uint64_t ns)
{
	put(",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

static void print_head(const char *phase, const char *name, uint32_t thread)
{
	const bool known = thread < out.n_threads && out.threads[thread].tid;

	put("%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":",
	    out.n++ ? ",\n" : "", phase, known ? out.threads[thread].pid : 0,
	    known ? out.threads[thread].tid : (int)thread);
	put_string(name);
}

static int open_chrome(void **state, const struct flick_view *view, const char *arg)
{
	(void)arg;
	*state = (void *)(uintptr_t)view;
	return 0;
}

/* ---- the time of a thread ------------------------------------------------------------- */

static struct clock *clock_of(uint32_t thread)
{
	return fl_array_extend(&out.clocks, &out.n_clocks, thread + 1, sizeof(*out.clocks)) ?
	       NULL : &out.clocks[thread];
}

/* The clock at `tsc`, less the `probes` ticks that probes took before; it never goes back. */
static uint64_t read_clock(struct clock *c, uint64_t tsc, uint64_t probes)
{
	uint64_t now = tsc > out.start + probes ? tsc - out.start - probes : 0;

	c->now = now > c->now ? now : c->now;
	return c->now;
}

static int enter(void *state, const struct flick_call *call, void **mark, void **caller)
{
	struct clock *c = clock_of(call->thread);

	(void)state;
	(void)caller;
	if (!c || fl_array_room(&c->open, c->n_open, sizeof(*c->open)))
		return -ENOMEM;
	c->open[c->n_open++] = (struct open){ ++c->serial, read_clock(c, call->begin,
								      call->before) };
	*mark = (void *)(uintptr_t)c->serial;
	return 0;
}

/* Take a call from the open ones. Returns when it began; `crosses`: newer calls are open. */
static uint64_t close_call(struct clock *c, const void *mark, bool *crosses)
{
	size_t i = c->n_open - 1;
	uint64_t begin;

	while (i && c->open[i].serial != (uintptr_t)mark)
		i--;
	*crosses = i + 1 < c->n_open;
	begin = c->open[i].begin;
	memmove(c->open + i, c->open + i + 1, (--c->n_open - i) * sizeof(*c->open));
	return begin;
}

static int thread_end(void *state, uint32_t thread, void **root)
{
	(void)state;
	(void)root;
	if (thread < out.n_clocks) {
		free(out.clocks[thread].open);
		out.clocks[thread] = (struct clock){ 0 };
	}
	return 0;
}

/* ---- calls ------------------------------------------------------------------------------ */

/* Did the call begin after the limit was reached? Calls come when they end, so calls that
 * began before that are still written. */
static bool is_beyond(const struct flick_call *call)
{
	if (out.dump->limit && !out.until && out.bytes >= out.dump->limit)
		out.until = call->begin + call->total;
	if (!out.until || call->begin <= out.until)
		return false;
	out.dump->limited = true;
	return true;
}

/* A pair need not lie in another event of its thread. */
static void print_pair(const char *name, uint32_t thread, uint64_t begin, uint64_t end)
{
	out.n_pairs++;
	print_head("b", name, thread);
	print_time("ts", begin);
	put(",\"cat\":\"call\",\"id\":%llu}", (unsigned long long)out.n_pairs);
	print_head("e", name, thread);
	print_time("ts", end);
	put(",\"cat\":\"call\",\"id\":%llu}", (unsigned long long)out.n_pairs);
}

static void print_slice(const char *name, uint32_t thread, uint64_t begin, uint64_t end)
{
	print_head("X", name, thread);
	print_time("ts", begin);
	print_time("dur", end - begin);
	put("}");
}

static void print_instant(const char *name, const struct flick_call *call, uint64_t begin)
{
	print_head("i", name, call->thread);
	print_time("ts", begin);
	put(",\"s\":\"t\",\"args\":{\"end\":\"%s\"}}",
	    call->how == FLICK_OPEN ? "open" : "unwound");
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	const struct flick_view *v = state;
	const char *name = v->name(v, call->function);
	struct clock *c = &out.clocks[call->thread];
	bool crosses;
	uint64_t begin = ns_of(close_call(c, *mark, &crosses)), end = begin;

	(void)caller;
	if (call->how == FLICK_ENDED)
		end = ns_of(read_clock(c, call->begin + call->total, call->before));
	if (is_beyond(call) || (out.span && fl_span_is_behind(out.span, call)))
		return 0;
	if (call->how != FLICK_ENDED)
		print_instant(name, call, begin);
	else if (crosses)
		print_pair(name, call->thread, begin, end);
	else
		print_slice(name, call->thread, begin, end);
	return ferror(out.dump->to) ? -EIO : 0;
}

static int rows(void *state, struct flick_rows *r)
{
	static const struct flick_column none = { "none", FLICK_COL_COUNT };

	(void)state;
	*r = (struct flick_rows){ .columns = &none, .n_columns = 1 };
	return 0;
}

static void close_chrome(void *state)
{
	for (uint32_t i = 0; i < out.n_clocks; i++)
		thread_end(state, i, NULL);
	free(out.clocks);
	out.clocks = NULL;
	out.n_clocks = 0;
}

static const struct flick_analysis analysis = {
	.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS, .name = "chrome", .about = "",
	.open = open_chrome, .enter = enter, .leave = leave, .thread_end = thread_end,
	.rows = rows, .close = close_chrome,
};

/* ---- how large it will be --------------------------------------------------------------- */

/* The average length of a function's name. A function counts as often as a result says that
 * it was called; every function counts once if no result says so. */
static double name_bytes(struct fl_store *s)
{
	static const char *const results[] = { "latency", "counts" };
	struct flick_rows r = { 0 };
	char why[FL_WHY];
	double bytes = 0, calls = 0;
	int function, times;
	size_t n;
	const char *const *names = fl_store_functions(s, &n);

	for (size_t i = 0; !r.n_rows && i < ARRAY_LEN(results); i++)
		if (fl_store_has(s, results[i]) && fl_store_load(s, results[i], &r, why))
			return 0;
	function = fl_sheet_column(&r, "function");
	times = fl_sheet_has_numbers(&r, "calls") ? fl_sheet_column(&r, "calls") : -1;
	for (size_t i = 0; function >= 0 && times >= 0 && i < r.n_rows; i++) {
		const uint64_t *row = r.cells + i * r.n_columns;
		double by = row[function] < n && row[times] != FLICK_NONE ?
			    (double)row[times] : 0;

		bytes += by ? (double)strlen(names[row[function]]) * by : 0;
		calls += by;
	}
	for (size_t f = 0; calls <= 0 && f < n; f++)
		bytes += (double)strlen(names[f]) / (double)n;
	free(r.cells);
	return calls > 0 ? bytes / calls : bytes;
}

/* Two events make a call, which takes LETTERS bytes beside its name. */
static uint64_t estimate(struct fl_store *s)
{
	enum { LETTERS = 72 };
	const struct fl_thread *t = out.threads;
	uint64_t events = 0;
	double each = LETTERS + name_bytes(s);

	for (uint32_t i = 0; i < out.n_threads; i++)
		events += t[i].delivered;
	return (uint64_t)((double)events / 2 * each);
}

static int write_chrome(struct fl_dump *d)
{
	struct fl_use use = { .analysis = &analysis };
	struct fl_view view;
	struct fl_span span;
	int status;

	/* Only a recording with a trace keeps all sites, so look for the trace first. */
	if (fl_trace_check(d->dir, d->why) || fl_store_view(d->store, &view, d->why) ||
	    fl_store_threads(d->store, &out.threads, &out.n_threads, d->why) ||
	    fl_store_number(d->store, "start_tsc", &out.start, d->why) ||
	    (d->part && fl_span_of(&span, d->store, &view, d->part, d->why)) || fl_dump_open(d))
		return -1;
	if (d->raw)
		fl_view_make_raw(&view);
	out.dump = d;
	out.span = d->part ? &span : NULL;
	out.ns_per_tick = view.ns_per_tick;
	out.n = out.bytes = out.until = out.n_pairs = 0;
	if (d->about_to_write && !d->part)
		d->about_to_write(estimate(d->store));
	put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	for (uint32_t i = 0; i < out.n_threads; i++)
		print_thread(&out.threads[i]);
	status = fl_replay(d->dir, &view, &use, out.span, NULL, d->why);
	fputs("\n]}\n", d->to);
	return status;
}

const struct fl_dumper fl_dumper_chrome = {
	.name = "chrome",
	.about = "every call of a trace, JSON for chrome://tracing and Perfetto",
	.from = FL_FROM_TRACE,
	.write = write_chrome,
};
