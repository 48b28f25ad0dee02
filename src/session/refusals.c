/*
 * refusals.c - why probes cannot be had: how many for each reason, and what helps.
 */
#include <stdlib.h>
#include <string.h>

#include "session/session.h"

/* ---- refusals, by reason ------------------------------------------------------ */

static const char *remedy(int refusal)
{
	switch (refusal) {
	case FLE_NOSPACE:
		return "; build with a wider -fpatchable-function-entry";
	case FLE_THREADS:
		return "; load that code before threads start, or let ptrace be used";
	case FLE_STANDS:
	case FLE_STUCK:
		return "; attach again later";
	case FLE_TEXTREL:
		return "; build it with -fPIC";
	case FLE_NOREACH:
		return "; with -finstrument-functions none is needed";
	case -ENOMEM:
		return "; raise ulimit -v or vm.max_map_count";
	default:
		return "";
	}
}

/* A refusal that there is no room for counts as the last one. */
void fl_refusals_add(struct fl_refusals *r, int refusal)
{
	size_t k = 0;

	while (k < r->n && r->of[k].refusal != refusal)
		k++;
	if (k == r->n && r->n < ARRAY_LEN(r->of))
		r->of[r->n++] = (struct fl_refused){ .refusal = refusal };
	r->of[k < r->n ? k : r->n - 1].n++;
	r->all++;
}

static int by_number(const void *a, const void *b)
{
	const struct fl_refused *x = a, *y = b;

	return x->n < y->n ? 1 : x->n > y->n ? -1 : 0;
}

void fl_refusals_line(struct fl_refusals *r, char *line, size_t room)
{
	size_t n = 0;

	*line = '\0';
	qsort(r->of, r->n, sizeof(*r->of), by_number);
	for (size_t i = 0; i < r->n && n < room - 1; i++)
		n += (size_t)snprintf(line + n, room - n, "%s%llu: %s%s", i ? "; " : "",
				      (unsigned long long)r->of[i].n,
				      fl_reason(r->of[i].refusal),
				      r->are_functions ? "" : remedy(r->of[i].refusal));
}
