/*
 * tells.c - an analysis that writes each access to memory into the file that its argument
 * names, as valgrind's lackey does, behind the number of its thread; `-`: it only counts them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <flick/analysis.h>
#include <flick/event.h>

static struct {
	FILE *to;
	uint64_t n;
} all;

static int open_file(void **state, const struct flick_view *v, const char *arg)
{
	(void)v;
	*state = &all;
	if (arg && strcmp(arg, "-"))
		all.to = fopen(arg, "w");
	return 0;
}

static int write_batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint32_t size = r[i].sp & FLICK_ACCESS_SIZE;
		int stores = !!(r[i].sp & FLICK_ACCESS_STORE);
		int loads = !!(r[i].sp & FLICK_ACCESS_LOAD);

		if (r[i].probe >> FLICK_PROBE_BITS != FLICK_TYPE_ACCESS || !size)
			continue;
		all.n++;
		if (all.to)
			fprintf(all.to, "%" PRIu32 " %c %08" PRIx64 ",%" PRIu32 "\n", thread,
				"?SLM"[loads * 2 + stores], r[i].tsc, size);
	}
	return 0;
}

static int tell_rows(void *state, struct flick_rows *r)
{
	static const struct flick_column columns[] = { { "accesses", FLICK_COL_COUNT } };

	(void)state;
	r->columns = columns;
	r->n_columns = 1;
	r->cells = malloc(sizeof *r->cells);
	if (!r->cells)
		return -1;
	r->cells[0] = all.n;
	r->n_rows = 1;
	return 0;
}

static void close_file(void *state)
{
	(void)state;
	if (all.to)
		fclose(all.to);
}

const struct flick_analysis flick_analysis = {
	.size = sizeof(flick_analysis),
	.version = FLICK_ANALYSIS_VERSION,
	.needs = FLICK_NEEDS_ACCESSES,
	.name = "accesses",
	.about = "each access to memory, as lackey tells it",
	.args = "FILE",
	.open = open_file,
	.batch = write_batch,
	.rows = tell_rows,
	.close = close_file,
};
