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

static void write_access(uint32_t thread, char what, uint64_t at, uint32_t size)
{
	all.n++;
	if (all.to)
		fprintf(all.to, "%" PRIu32 " %c %08" PRIx64 ",%" PRIu32 "\n", thread, what, at,
			size);
}

/* Access number `i` of a string. */
static void write_element(uint32_t thread, const struct flick_record *r, uint64_t i)
{
	uint32_t size = 1u << (r->tsc >> FLICK_STRING_SIZE & 3);
	uint64_t at = r->tsc & FLICK_STRING_ADDRESS;

	at += r->tsc >> FLICK_STRING_DOWN & 1 ? -i * size : i * size;
	write_access(thread, r->tsc >> FLICK_STRING_STORE & 1 ? 'S' : 'L', at, size);
}

static void write_string(uint32_t thread, const struct flick_record *r)
{
	static struct flick_record first;
	uint64_t n = (r->tsc >> FLICK_STRING_MORE & 0x3ff) << 32 | r->sp;

	if (r->tsc >> FLICK_STRING_WITH_NEXT & 1) {
		first = *r;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (first.probe)
			write_element(thread, &first, i);
		write_element(thread, r, i);
	}
	first.probe = 0;
}

static int write_batch(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	(void)state;
	for (size_t i = 0; i < n; i++) {
		uint32_t size = r[i].sp & FLICK_ACCESS_SIZE;
		int stores = !!(r[i].sp & FLICK_ACCESS_STORE);
		int loads = !!(r[i].sp & FLICK_ACCESS_LOAD);

		if (r[i].probe >> FLICK_PROBE_BITS == FLICK_TYPE_STRING)
			write_string(thread, &r[i]);
		if (r[i].probe >> FLICK_PROBE_BITS == FLICK_TYPE_ACCESS && size)
			write_access(thread, "?SLM"[loads * 2 + stores], r[i].tsc, size);
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
