/*
 * cache.c - what it costs to simulate caches, paper 2's two levels, on one thread.
 *
 *	cache TRACE		bench/cache.sh makes it, and says what is measured
 *
 * Accesses are handed over as a reader would have them: by chunks of a ring.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#include "analysis/analysis.h"

enum { ROUNDS = 15, CHUNK = 1024, ROUND = 65536, MOST = 8 << 20 };

static struct fl_access all[MOST];

static size_t read_trace(const char *path)
{
	FILE *from = fopen(path, "r");
	char line[256], kind;
	unsigned long at;
	size_t n = 0;

	while (from && n < MOST && fgets(line, sizeof(line), from))
		if (sscanf(line, " %c %lx,%u", &kind, &at, &all[n].size) == 3 && kind != 'I') {
			all[n].at = at;
			all[n++].kind = kind == 'S' ? FL_ACCESS_STORE : FL_ACCESS_LOAD;
		}
	if (from)
		fclose(from);
	return n;
}

static double simulate(const struct fl_cache_geometry *g, size_t n, size_t chunk)
{
	struct fl_cache *c;
	uint64_t begun;

	bench_pin(BENCH_VICTIM);		/* where a second thread stays */
	if (fl_cache_open(&c, g))
		exit(1);
	bench_pin(BENCH_OTHER);
	begun = bench_ticks();
	for (size_t i = 0; i + chunk <= n; i += chunk)
		fl_cache_feed(c, &all[i], chunk);
	fl_cache_counts(c);			/* of all of them */
	begun = bench_ticks() - begun;
	fl_cache_close(c);
	return (double)begun / (double)(n - n % chunk);
}

int main(int argc, char **argv)
{
	struct fl_cache_geometry two, g = {
		.data = { { 32768, 4, 64 }, { 524288, 8, 64 } }, .n_data = 2,
	};
	static struct series ticks, ratio;
	size_t n = argc > 1 ? read_trace(argv[1]) : 0;

	if (n < 1000000) {
		fprintf(stderr, "cache: no trace of a million accesses\n");
		return 1;
	}
	bench_options(argc - 1, argv + 1);
	two = g;
	two.threads = 2;
	simulate(&two, n, ROUND);
	for (int i = 0; i < ROUNDS; i++)	/* by turns, each thread on its CPU */
		series_add(&ratio, simulate(&g, n, ROUND) / simulate(&two, n, ROUND));
	for (int i = 0; i < ROUNDS; i++)
		series_add(&ticks, simulate(&g, n, CHUNK));
	bench_report("cache.access", "ticks/access", &ticks);
	bench_report("cache.split", "x", &ratio);
	return 0;
}
