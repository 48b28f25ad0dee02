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

#include "cli/cli.h"
#include "cli/inner.h"

/* The profiling calls of one file; the function's index is one more, 0 is none. */
struct call {
	uint64_t at;			/* ELF address */
	uint32_t function;
};

struct calls {
	struct call *of;		/* ascending */
	size_t n;
	uintptr_t bias;			/* where the file is laid out */
};

static int by_address(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int take_calls(struct calls *c, const struct fl_roster *r, const char *path)
{
	uint32_t n = r->n_sites;

	c->of = malloc(n * sizeof(*c->of) + 1);
	if (!c->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct fl_shm_site *site = &r->sites[i];
		const struct fl_shm_module *m = fl_roster_module(r, site->module);

		if (site->provider == FL_PROVIDER_CYG && !strcmp(m->path, path))
			c->of[c->n++] = (struct call){ site->at - m->base,
						       r->function_of[i] + 1 };
	}
	qsort(c->of, c->n, sizeof(*c->of), by_address);
	return 0;
}

static uint32_t function_at(void *arg, uintptr_t at)
{
	const struct calls *c = arg;
	struct call key = { .at = at - c->bias };
	const struct call *found = bsearch(&key, c->of, c->n, sizeof(key), by_address);

	return found ? found->function : 0;
}

static int find_in(struct fl_module *m, struct calls *c, struct fl_place *p, size_t n)
{
	uintptr_t *at = malloc(n * sizeof(*at));
	uint32_t *inner = malloc(n * sizeof(*inner));
	struct fl_inner_in in = { .at = at, .n = n, .function_at = function_at, .arg = c };
	int err = -ENOMEM;

	c->bias = m->bias;
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
static int fill_file(const struct fl_roster *r, struct fl_place *p, size_t n)
{
	struct calls c = { 0 };
	struct fl_module m;
	struct fl_obj file;
	int err = take_calls(&c, r, p->path);

	if (!err && c.n && !fl_obj_read(&file, p->path, FL_OBJ_ALL)) {
		if (!fl_obj_lay_out(&m, &file, p->path)) {
			err = find_in(&m, &c, p, n);
			fl_obj_unlay(&m);
		}
		fl_obj_close(&file);
	}
	free(c.of);
	return err;
}

static int by_file(const void *a, const void *b)
{
	const struct fl_place *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

int fl_inner_fill(const struct fl_roster *r, struct fl_place *p, size_t n)
{
	int err = 0;

	qsort(p, n, sizeof(*p), by_file);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i; end < n && !strcmp(p[end].path, p[i].path); end++)
			p[end].inner = 0;
		if (*p[i].path == '/')
			err = fill_file(r, &p[i], end - i);
	}
	return err;
}
