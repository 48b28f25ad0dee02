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

/* Those of all modules: of module m they stand from from[m] on, up to from[m + 1]. */
struct index {
	struct call *of;
	size_t *from;
};

static int by_address(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static bool is_call(const struct fl_functions *r, uint32_t i)
{
	return r->sites[i].provider == FL_PROVIDER_CYG && r->sites[i].module < r->n_modules;
}

static void sort_by_module(struct index *x, const struct fl_functions *r)
{
	size_t *end = x->from + 1;	/* of a module, while it is filled */

	for (uint32_t i = 0; i < r->n_sites; i++)
		if (is_call(r, i))
			end[r->sites[i].module + 1]++;
	for (uint32_t m = 0; m < r->n_modules; m++)
		end[m + 1] += end[m];
	for (uint32_t i = 0; i < r->n_sites; i++) {
		const struct fl_shm_site *site = &r->sites[i];

		if (is_call(r, i))
			x->of[end[site->module]++] =
				(struct call){ site->at - r->modules[site->module].base,
					       r->function_of[i] + 1 };
	}
}

static int make_index(struct index *x, const struct fl_functions *r)
{
	x->of = malloc(r->n_sites * sizeof(*x->of) + 1);
	x->from = calloc(r->n_modules + 2, sizeof(*x->from));
	if (!x->of || !x->from)
		return -ENOMEM;
	sort_by_module(x, r);
	return 0;
}

static void free_index(struct index *x)
{
	free(x->of);
	free(x->from);
}

/* A file may have been loaded at several places. */
static int take_calls(struct calls *c, const struct index *x, const struct fl_functions *r,
		      const char *path)
{
	for (uint32_t m = 0; m < r->n_modules; m++) {
		size_t n = x->from[m + 1] - x->from[m];
		struct call *grown;

		if (!n || strcmp(r->modules[m].path, path))
			continue;
		grown = realloc(c->of, (c->n + n) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->of = grown;
		memcpy(grown + c->n, x->of + x->from[m], n * sizeof(*grown));
		c->n += n;
	}
	if (c->n)
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
static int fill_file(const struct index *x, const struct fl_functions *r, struct fl_place *p,
		     size_t n)
{
	struct calls c = { 0 };
	struct fl_module m;
	struct fl_obj file;
	int err = take_calls(&c, x, r, p->path);

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

int fl_inner_fill(const struct fl_functions *r, struct fl_place *p, size_t n)
{
	struct index x = { NULL };
	int err = make_index(&x, r);

	qsort(p, n, sizeof(*p), by_file);
	for (size_t i = 0, end; i < n && !err; i = end) {
		for (end = i; end < n && !strcmp(p[end].path, p[i].path); end++)
			p[end].inner = 0;
		if (*p[i].path == '/')
			err = fill_file(&x, r, &p[i], end - i);
	}
	free_index(&x);
	return err;
}
