/*
 * inner.c - samples that stood in bodies which the compiler put into other functions.
 *
 * A symbol tells the machine function only; which of the bodies in it stands at a
 * sample is told by the profiling calls around it (fl_site_inner), as the target named
 * them when it found or ran them. Hides that a file is laid out once for all of its
 * samples, and stays so for those of stacks, which are asked for next.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/inner.h"
#include "session/session.h"

/* ---- profiling calls ------------------------------------------------------------- */

static bool is_profiling(const struct fl_inner *c, uint32_t site)
{
	const struct fl_functions *r = c->functions;

	return r->sites[site].provider == FL_PROVIDER_CYG &&
	       r->sites[site].module < c->n_modules;
}

int fl_inner_open(struct fl_inner *c, const struct fl_functions *r)
{
	*c = (struct fl_inner){ .functions = r, .n_modules = r->n_modules };
	c->first = calloc(c->n_modules + 2, sizeof(*c->first));
	c->calls = malloc((r->n_sites + 1) * sizeof(*c->calls));
	if (!c->first || !c->calls)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_sites; i++)
		if (is_profiling(c, i))
			c->first[r->sites[i].module + 2]++;
	for (uint32_t m = 0; m < c->n_modules; m++)
		c->first[m + 2] += c->first[m + 1];
	/* first[m + 1] is where those of m begin, and where they end once all are there */
	for (uint32_t i = 0; i < r->n_sites; i++)
		if (is_profiling(c, i))
			c->calls[c->first[r->sites[i].module + 1]++] = i;
	return 0;
}

static bool are_of(const struct fl_inner *c, uint32_t module, const char *path)
{
	return c->first[module] < c->first[module + 1] &&
	       !strcmp(c->functions->modules[module].path, path);
}

static bool has_calls(const struct fl_inner *c, const char *path)
{
	for (uint32_t m = 0; m < c->n_modules; m++)
		if (are_of(c, m, path))
			return true;
	return false;
}

/* Of those at one place that which was told first comes last, where it is found. */
static int by_address(const void *a, const void *b)
{
	const struct fl_call_at *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->site > y->site ? -1 : x->site < y->site;
}

static int add_calls(struct fl_inner *c, uint32_t module)
{
	const struct fl_functions *r = c->functions;

	for (uint32_t i = c->first[module]; i < c->first[module + 1]; i++) {
		uint32_t site = c->calls[i];

		if (fl_array_room(&c->in_file, c->n_in_file, sizeof(*c->in_file)))
			return -ENOMEM;
		c->in_file[c->n_in_file++] = (struct fl_call_at){
			.at = r->sites[site].at - r->modules[module].base, .site = site,
		};
	}
	return 0;
}

/* 1 + the function whose profiling call is there; 0: there is none. */
static uint32_t function_at(void *arg, uintptr_t at)
{
	const struct fl_inner *c = arg;
	uint64_t elf = at - c->module.bias;
	size_t i = fl_rows_from(c->in_file, c->n_in_file, sizeof(*c->in_file), elf);

	return i && c->in_file[i - 1].at == elf ?
	       c->functions->function_of[c->in_file[i - 1].site] + 1 : 0;
}

/* ---- a file ---------------------------------------------------------------------- */

static void is_around(void *arg, size_t i, uint32_t function)
{
	const struct fl_inner *c = arg;

	c->each(c->arg, &c->places[i], function - 1);
}

static int find_in(struct fl_inner *c, struct fl_place *p, size_t n)
{
	uintptr_t *at = malloc(n * sizeof(*at));
	uint32_t *inner = malloc(n * sizeof(*inner));
	struct fl_inner_in in = { .at = at, .n = n, .function_at = function_at,
				  .around = c->each ? is_around : NULL, .arg = c };
	int err = -ENOMEM;

	c->places = p;
	if (at && inner) {
		for (size_t i = 0; i < n; i++)
			at[i] = c->module.bias + p[i].at;
		err = fl_site_inner(&c->module, &in, inner);
		for (size_t i = 0; !err && i < n; i++)
			p[i].inner = inner[i];
	}
	free(at);
	free(inner);
	return err;
}

static void forget_file(struct fl_inner *c)
{
	if (c->path)
		fl_obj_unlay(&c->module);
	free(c->path);
	free(c->in_file);
	c->path = NULL;
	c->in_file = NULL;
	c->n_in_file = 0;
}

/* A file may have been loaded at several places. One that cannot be read any more leaves
 * samples with its symbols: there is no path then. */
static int lay_file(struct fl_inner *c, const char *path)
{
	int err = 0;

	forget_file(c);
	for (uint32_t m = 0; m < c->n_modules && !err; m++)
		if (are_of(c, m, path))
			err = add_calls(c, m);
	if (err)
		return err;
	qsort(c->in_file, c->n_in_file, sizeof(*c->in_file), by_address);
	c->path = strdup(path);
	if (!c->path)
		return -ENOMEM;
	if (fl_obj_copy(&c->module, c->path, FL_OBJ_CODE)) {
		free(c->path);
		c->path = NULL;
	}
	return 0;
}

static int fill_file(struct fl_inner *c, struct fl_place *p, size_t n)
{
	int err = 0;

	if (*p->path != '/' || !has_calls(c, p->path))
		return 0;
	if (!c->path || strcmp(c->path, p->path))
		err = lay_file(c, p->path);
	return err || !c->path ? err : find_in(c, p, n);
}

static int by_file(const void *a, const void *b)
{
	const struct fl_place *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

int fl_inner_fill(struct fl_inner *c, struct fl_place *p, size_t n, fl_inner_each *each,
		  void *arg)
{
	int err = 0;

	c->each = each;
	c->arg = arg;
	qsort(p, n, sizeof(*p), by_file);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i; end < n && !strcmp(p[end].path, p[i].path); end++)
			p[end].inner = 0;
		err = fill_file(c, &p[i], end - i);
	}
	return err;
}

void fl_inner_close(struct fl_inner *c)
{
	forget_file(c);
	free(c->calls);
	free(c->first);
}
