/*
 * to-chrome.c - the calls of a trace as Chrome's trace event format (JSON), for
 * chrome://tracing and Perfetto.
 *
 * An analysis of the trace writes each call when it ends, so a file of any size
 * takes no memory. A call whose end or begin was not seen is an instant.
 *
 * It is a hundred bytes a call, so how large the file will be is estimated before it is
 * written. Where it has a limit, no call is written that began after it was reached: what
 * is there is all of the first part of the time, but for what other threads bring late.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/replay.h"
#include "report/table.h"

/* What the analysis writes; dumps come one at a time. */
static struct {
	struct fl_dump *dump;
	double ns_per_tick;
	uint64_t start;
	const struct fl_thread *threads;
	uint32_t n_threads;
	uint64_t n;			/* events written */
	uint64_t bytes;			/* of them */
	uint64_t until;			/* ticks: the limit was reached; 0: not yet */
} out;

/* Bytes count where they are made: what it writes to may not know where it is. */
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

static void print_time(const char *key, double ticks)
{
	put(",\"%s\":%.3f", key, ticks * out.ns_per_tick / 1000);
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

/* Clocks of two cores may disagree by a little. */
static double since_start(uint64_t tsc)
{
	return tsc > out.start ? (double)(tsc - out.start) : 0;
}

/* Calls are told when they end: those that began before the limit are still written. */
static bool is_beyond(const struct flick_call *call)
{
	if (out.dump->limit && !out.until && out.bytes >= out.dump->limit)
		out.until = call->begin + call->total;
	if (!out.until || call->begin <= out.until)
		return false;
	out.dump->limited = true;
	return true;
}

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	const struct flick_view *v = state;
	bool ended = call->how == FLICK_ENDED;

	(void)mark;
	(void)caller;
	if (is_beyond(call))
		return 0;
	print_head(ended ? "X" : "i", v->name(v, call->function), call->thread);
	print_time("ts", since_start(call->begin));
	if (ended)
		print_time("dur", (double)call->total);
	else
		put(",\"s\":\"t\",\"args\":{\"end\":\"%s\"}",
		    call->how == FLICK_OPEN ? "open" : "unwound");
	put("}");
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
	(void)state;
}

static const struct flick_analysis analysis = {
	.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_CALLS, .name = "chrome", .about = "",
	.open = open_chrome, .leave = leave, .rows = rows, .close = close_chrome,
};

/* ---- how large it will be --------------------------------------------------------------- */

/* Average bytes of a function's name, by how often a result says that it was called; each
 * once where none does. */
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

/* Two events are a call, of so many letters beside its name. */
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
	int status;

	/* Beside a trace all sites are kept: without one the view is not whole. */
	if (fl_trace_check(d->dir, d->why) || fl_store_view(d->store, &view, d->why) ||
	    fl_store_threads(d->store, &out.threads, &out.n_threads, d->why) ||
	    fl_store_number(d->store, "start_tsc", &out.start, d->why) || fl_dump_open(d))
		return -1;
	out.dump = d;
	out.ns_per_tick = view.ns_per_tick;
	out.n = out.bytes = out.until = 0;
	if (d->about_to_write)
		d->about_to_write(estimate(d->store));
	put("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
	for (uint32_t i = 0; i < out.n_threads; i++)
		print_thread(&out.threads[i]);
	status = fl_replay(d->dir, &view, &use, NULL, d->why);
	fputs("\n]}\n", d->to);
	return status;
}

const struct fl_dumper fl_dumper_chrome = {
	.name = "chrome",
	.about = "every call of a trace, JSON for chrome://tracing and Perfetto",
	.from = FL_FROM_TRACE,
	.write = write_chrome,
};
