/*
 * to-folded.c - a line a calling context: names with ; between, self time in ns.
 */
#include <stdlib.h>

#include "report/table.h"

/* A recursion of any depth still gives lines that can be handled. */
#define MAX_NAMES 1000

/* A ; separates names, so a ; in a name is written as : */
static void print_name(FILE *to, const char *name)
{
	size_t columns = 0;

	while (*name) {
		if (*name != ';') {
			name += fl_print_character(to, name, &columns);
			continue;
		}
		fputc(':', to);
		name++;
	}
}

static int write_folded(struct fl_dump *d)
{
	const struct flick_rows *r = d->tree->result;
	size_t function = (size_t)fl_sheet_column(r, "function");
	size_t self = (size_t)fl_sheet_column(r, "self_ns");
	const char *names[MAX_NAMES];

	if (fl_dump_open(d))
		return -1;
	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		uint32_t depth = d->tree->depth[i];

		if (depth < MAX_NAMES)
			names[depth] = fl_sheet_text(d->tree, function, row[function]);
		else
			d->cut = true;
		if (row[self] == FLICK_NONE || row[self] == 0)
			continue;
		for (uint32_t n = 0; n <= depth && n < MAX_NAMES; n++) {
			if (n)
				fputc(';', d->to);
			print_name(d->to, names[n]);
		}
		fprintf(d->to, " %llu\n", (unsigned long long)row[self]);
	}
	return 0;
}

const struct fl_dumper fl_dumper_folded = {
	.name = "folded",
	.about = "a line a calling context with its self time in ns, for flame graphs",
	.from = FL_FROM_TREE,
	.write = write_folded,
};
