/*
 * to-chrome.c - the calls of a trace as Chrome's trace event format (JSON), for
 * chrome://tracing and Perfetto.
 *
 * An analysis of the trace writes each call when it ends, so a file of any size
 * takes no memory. A call whose end or begin was not seen is an instant.
 */
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
} out;

static void print_thread(const struct fl_thread *t)
{
	fprintf(out.dump->to, "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,"
		"\"tid\":%d,\"args\":{\"name\":", out.n++ ? ",\n" : "", t->pid, t->tid);
	fl_json_string(out.dump->to, t->name);
	fputs("}}", out.dump->to);
}

static void print_time(const char *key, double ticks)
{
	fprintf(out.dump->to, ",\"%s\":%.3f", key, ticks * out.ns_per_tick / 1000);
}

static void print_head(const char *phase, const char *name, uint32_t thread)
{
	const bool known = thread < out.n_threads && out.threads[thread].tid;

	fprintf(out.dump->to, "%s{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":",
		out.n++ ? ",\n" : "", phase, known ? out.threads[thread].pid : 0,
		known ? out.threads[thread].tid : (int)thread);
	fl_json_string(out.dump->to, name);
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

static int leave(void *state, const struct flick_call *call, void **mark, void **caller)
{
	const struct flick_view *v = state;
	bool ended = call->how == FLICK_ENDED;

	(void)mark;
	(void)caller;
	print_head(ended ? "X" : "i", v->name(v, call->function), call->thread);
	print_time("ts", since_start(call->begin));
	if (ended)
		print_time("dur", (double)call->total);
	else
		fprintf(out.dump->to, ",\"s\":\"t\",\"args\":{\"end\":\"%s\"}",
			call->how == FLICK_OPEN ? "open" : "unwound");
	fputc('}', out.dump->to);
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
	out.n = 0;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", d->to);
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
