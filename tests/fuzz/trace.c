/*
 * fuzz/trace - the blocks of a trace, packed for it, through every analysis as `flick
 * dump` makes a tree of them; and the same bytes as a file that is not.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "fuzz.h"
#include "report/report.h"

#define SITES 16u

static struct fl_shm_site sites[SITES];
static uint32_t function_of[SITES];
static struct fl_run *run;

static const char *name_of(const void *owner, uint32_t function)
{
	(void)owner;
	(void)function;
	return "f";
}

/* A thread costs memory by itself: some are enough. */
static void feed(void *arg, const struct fl_batch *b)
{
	struct fl_batch few = *b;

	(void)arg;
	few.thread %= 64;
	fl_run_feed(run, &few);
}

static void thread_end(void *arg, uint32_t thread, uint64_t alive)
{
	(void)arg;
	fl_run_thread_end(run, thread % 64, alive);
}

static void read_file(const uint8_t *bytes, size_t n, bool sampled)
{
	static const char *const names[] = { "counts", "latency", "spread", "graph", "tree",
					     "subtrees" };
	const struct fl_sink sink = { .feed = feed, .thread_end = thread_end };
	const struct fl_view view = { .sites = sites, .function_of = function_of,
				      .n_sites = SITES, .n_functions = SITES,
				      .ns_per_tick = 0.4, .name = name_of,
				      .sampled = sampled, .framed = 2 };
	const char *dir = fuzz_directory("trace.zst", bytes, n);
	struct fl_use uses[6];
	char why[FL_WHY];
	size_t n_uses = sampled ? 3 : 6;

	for (size_t i = 0; i < n_uses; i++)
		uses[i] = (struct fl_use){ .analysis = fl_analysis_find(names[i]) };
	if (fl_run_open(&run, uses, n_uses, &view))
		return;
	fl_trace_read(dir, &sink, why);
	fl_run_end(run);
	for (size_t i = 0; i < n_uses; i++) {
		struct flick_rows rows;

		if (!fl_run_rows(run, i, &rows))
			free(rows.cells);
	}
	fl_run_close(run);
}

static void pack(const uint8_t *data, size_t n, bool sampled)
{
	static const uint64_t header[] = { 0x3165636172746b66, FL_TRACE_VERSION |
					   (uint64_t)sizeof(struct flick_record) << 32 };
	size_t room = sizeof(header) + ZSTD_compressBound(n);
	uint8_t *file = malloc(room);

	memcpy(file, header, sizeof(header));
	n = ZSTD_compress(file + sizeof(header), room - sizeof(header), data, n, 1);
	if (!ZSTD_isError(n))
		read_file(file, sizeof(header) + n, sampled);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (!n || n > 1 << 16)
		return 0;
	for (uint32_t i = 0; i < SITES; i++) {
		function_of[i] = i / 2;
		sites[i] = (struct fl_shm_site){ .kind = i % 4 == 3 ? FL_TAIL : i % 2,
						 .jump = i % 8 == 5, .provider = i % 3 };
	}
	if (*data & 1)
		read_file(data + 1, n - 1, false);
	else
		pack(data + 1, n - 1, *data & 2);
	return 0;
}
