/*
 * inner.c - samples that stood in bodies which the compiler put into other functions.
 *
 * A symbol tells the machine function only; which of the bodies in it stands at a
 * sample is told by the profiling calls around it (fl_site_inner), as the target named
 * them when it found or ran them. Hides that a file is laid out and decoded once for all
 * of its samples.
 */
#include <stdlib.h>
#include <string.h>

#include "session/samples/inner.h"
#include "session/session.h"

struct calls {		/* the profiling calls of all files */
	const struct fl_functions *functions;
	struct fl_hash by_place;	/* their sites, by file and ELF address */
	bool *has;			/* index: module; it has any */
	const char *path;		/* the file that is looked at now */
	uint32_t hash;			/* of its path */
	uintptr_t bias;			/* where it is laid out */
	struct fl_place *places;	/* in it */
	fl_inner_each *each;		/* who is told of all bodies */
	void *arg;
};

static uint64_t elf_address(const struct fl_functions *r, uint32_t site)
{
	return r->sites[site].at - r->modules[r->sites[site].module].base;
}

/* 1 + the site of a profiling call that is there; 0: there is none. */
static uint32_t call_there(const struct calls *c, const char *path, uint64_t elf, uint32_t hash)
{
	const struct fl_functions *r = c->functions;

	for (uint32_t from = hash, i; (i = fl_hash_next(&c->by_place, hash, &from));)
		if (elf_address(r, i - 1) == elf &&
		    !strcmp(r->modules[r->sites[i - 1].module].path, path))
			return i;
	return 0;
}

/* A place has one profiling call, however many a target may tell of. */
static int find_calls(struct calls *c)
{
	const struct fl_functions *r = c->functions;
	int err = 0;

	c->has = calloc(r->n_modules + 1, sizeof(*c->has));
	for (uint32_t i = 0; c->has && !err && i < r->n_sites; i++) {
		uint32_t m = r->sites[i].module, hash;

		if (r->sites[i].provider != FL_PROVIDER_CYG || m >= r->n_modules)
			continue;
		c->has[m] = true;
		hash = fl_hash_of(r->path_hashes[m], elf_address(r, i));
		if (!call_there(c, r->modules[m].path, elf_address(r, i), hash))
			err = fl_hash_put(&c->by_place, hash, i + 1);
	}
	return c->has ? err : -ENOMEM;
}

/* A file may have been loaded at several places. */
static bool has_calls(const struct calls *c)
{
	const struct fl_functions *r = c->functions;

	for (uint32_t m = 0; m < r->n_modules; m++)
		if (c->has[m] && !strcmp(r->modules[m].path, c->path))
			return true;
	return false;
}

/* 1 + the function whose profiling call is there; 0: there is none. */
static uint32_t function_at(void *arg, uintptr_t at)
{
	const struct calls *c = arg;
	uint64_t elf = at - c->bias;
	uint32_t site = call_there(c, c->path, elf, fl_hash_of(c->hash, elf));

	return site ? c->functions->function_of[site - 1] + 1 : 0;
}

static void is_around(void *arg, size_t i, uint32_t function)
{
	const struct calls *c = arg;

	c->each(c->arg, &c->places[i], function - 1);
}

static int find_in(struct fl_module *m, struct calls *c, struct fl_place *p, size_t n)
{
	uintptr_t *at = malloc(n * sizeof(*at));
	uint32_t *inner = malloc(n * sizeof(*inner));
	struct fl_inner_in in = { .at = at, .n = n, .function_at = function_at,
				  .around = c->each ? is_around : NULL, .arg = c };
	int err = -ENOMEM;

	c->bias = m->bias;
	c->places = p;
	if (at && inner) {
		for (size_t i = 0; i < n; i++)
			at[i] = m->bias + p[i].at;
		err = fl_site_inner(m, &in, inner);
		for (size_t i = 0; !err && i < n; i++)
			p[i].inner = inner[i];
	}
	free(at);
	free(inner);
	return err;
}

/* A file that cannot be read any more leaves samples with its symbols. */
static int fill_file(struct calls *c, struct fl_place *p, size_t n)
{
	struct fl_module m;
	int err;

	c->path = p->path;
	c->hash = fl_hash_text(0, p->path);
	if (!has_calls(c) || fl_obj_copy(&m, p->path, FL_OBJ_ALL))
		return 0;
	err = find_in(&m, c, p, n);
	fl_obj_unlay(&m);
	return err;
}

static int by_file(const void *a, const void *b)
{
	const struct fl_place *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

int fl_inner_fill(const struct fl_functions *r, struct fl_place *p, size_t n,
		  fl_inner_each *each, void *arg)
{
	struct calls c = { .functions = r, .each = each, .arg = arg };
	int err = find_calls(&c);

	qsort(p, n, sizeof(*p), by_file);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i; end < n && !strcmp(p[end].path, p[i].path); end++)
			p[end].inner = 0;
		if (*p[i].path == '/')
			err = fill_file(&c, &p[i], end - i);
	}
	fl_hash_free(&c.by_place);
	free(c.has);
	return err;
}
