/*
 * probes.c - the probes of the program a bench runs in, by function.
 */
#include "probes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBES_MAX 100000
#define LINE_BYTES 64

static struct probe probes[PROBES_MAX];	/* sorted at the first look-up */
static size_t n_probes;
static bool is_sorted;

static int compare_probes(const void *a, const void *b)
{
	const struct probe *p = a, *q = b;

	if (p->function != q->function)
		return p->function < q->function ? -1 : 1;
	return (int)q->is_entry - (int)p->is_entry;
}

static void take_probe(const struct flick_probe *p, void *arg)
{
	(void)arg;
	if (!p->refusal && n_probes < PROBES_MAX)
		probes[n_probes++] = (struct probe){
			.id = p->id,
			.function = (uintptr_t)p->function,
			.at = (uintptr_t)p->site,
			.is_entry = p->kind == FLICK_ENTRY,
		};
}

flick *probes_open(void)
{
	struct flick_opt opt = {
		.size = sizeof(opt),
		.discovered = take_probe,
	};
	flick *f = NULL;
	int err = flick_open(&f, &opt);

	if (err < 0) {
		fprintf(stderr, "bench: flick_open: %s\n", flick_error(err));
		return NULL;
	}
	return f;
}

static const struct probe *find_probe(const void *function, bool is_entry)
{
	struct probe key = { .function = (uintptr_t)function,
			     .is_entry = is_entry };

	if (!is_sorted)		/* here: what flick_open() costs is measured */
		qsort(probes, n_probes, sizeof(probes[0]), compare_probes);
	is_sorted = true;
	return bsearch(&key, probes, n_probes, sizeof(key), compare_probes);
}

const struct probe *probes_entry(const void *function)
{
	return find_probe(function, true);
}

const struct probe *probes_exit(const void *function)
{
	return find_probe(function, false);
}

bool probe_straddles(const struct probe *p, size_t len)
{
	return p->at / LINE_BYTES != (p->at + len - 1) / LINE_BYTES;
}
