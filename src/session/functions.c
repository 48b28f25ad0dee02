/*
 * functions.c - the functions of a target, each with one index.
 *
 * The agent knows addresses; a function is named by its file and its address in
 * that file, so a library that is loaded again, or again after an exec, brings the
 * same functions. What the agent says is believed within the bounds of its tables.
 */
#include <stdlib.h>
#include <string.h>

#include "session/functions.h"
#include "session/lines.h"

enum { MAX_EXTRA = 1024 };		/* files that only samples met, and one spare */

int fl_functions_open(struct fl_functions *r, struct fl_region *shm)
{
	*r = (struct fl_functions){
		.shm = shm, .live = fl_shm_sites(shm), .rows = fl_shm_modules(shm),
		.max_sites = shm->max_sites, .max_modules = shm->max_modules,
		.modules = calloc(shm->max_modules + MAX_EXTRA, sizeof(*r->modules)),
		.path_hashes = calloc(shm->max_modules + MAX_EXTRA, sizeof(*r->path_hashes)),
	};
	r->real = calloc(shm->max_modules + MAX_EXTRA, sizeof(*r->real));
	return r->modules && r->path_hashes && r->real ? fl_symbols_open(&r->symbols) : -ENOMEM;
}

const struct fl_shm_module *fl_functions_module(const struct fl_functions *r, uint32_t i)
{
	static const struct fl_shm_module none;

	return i < r->n_modules ? &r->modules[i] : &none;
}

static const char *path_of(const struct fl_functions *r, uint32_t function)
{
	return fl_functions_module(r, r->all[function].module)->path;
}

static uint32_t at_most(uint32_t n, uint32_t max)
{
	return n < max ? n : max;
}

/* A row does not change once the target has asked with it. */
static void take_modules(struct fl_functions *r)
{
	uint32_t n = at_most(load_relaxed(&r->shm->n_modules), r->max_modules);

	for (; r->n_modules < n; r->n_modules++) {
		struct fl_shm_module *m = &r->modules[r->n_modules];

		*m = r->rows[r->n_modules];
		m->path[sizeof(m->path) - 1] = '\0';
		r->path_hashes[r->n_modules] = fl_hash_text(0, m->path);
	}
}

static uint32_t hash_of(const struct fl_functions *r, uint32_t module, uint64_t at)
{
	return fl_hash_of(module < r->n_modules ? r->path_hashes[module] : 0, at);
}

/* Kept as long as the process. */
static const char *name_by_address(const char *path, uint64_t at)
{
	const char *name = fl_symbols_unnamed(path, at);

	return name ? name : "?";
}

static struct fl_function describe(struct fl_functions *r, const char *path,
				   uint16_t module, uint64_t at)
{
	struct fl_function f = { .module = module, .at = at };

	f.linkage = fl_symbols_linkage(r->symbols, path, at);
	if (!f.linkage)
		f.linkage = name_by_address(path, at);
	if (fl_symbols_is_plain(f.linkage))
		f.name = f.linkage;
	return f;
}

/* Names are made when they are asked for: to make them all takes longer than many programs
 * run. */
const char *fl_functions_name(const struct fl_functions *r, uint32_t function)
{
	struct fl_function *f = &r->all[function];
	struct fl_symbol symbol;

	if (!load_relaxed(&f->name))
		store_relaxed(&f->name, fl_symbols_find(r->symbols, path_of(r, function), f->at,
							&symbol) ? symbol.name : f->linkage);
	return f->name;
}

const char *fl_functions_plain(const struct fl_functions *r, uint32_t function)
{
	const char *linkage = r->all[function].linkage;

	if (!r->plain[function] && !fl_symbols_is_plain(linkage))
		r->plain[function] = fl_symbols_plain(linkage);
	return r->plain[function];
}

const char *fl_functions_simple(const struct fl_functions *r, uint32_t function)
{
	if (!r->simple[function] && fl_functions_plain(r, function))
		r->simple[function] = fl_name_simple(fl_functions_name(r, function));
	return r->simple[function];
}

bool fl_functions_at(const struct fl_functions *r, uint32_t module, uint64_t at,
		     uint32_t *index)
{
	const char *path = fl_functions_module(r, module)->path;
	uint32_t hash = hash_of(r, module, at);

	for (uint32_t from = hash, i; (i = fl_hash_next(&r->by_address, hash, &from));) {
		if (r->all[i - 1].at == at && !strcmp(path_of(r, i - 1), path)) {
			*index = i - 1;
			return true;
		}
	}
	return false;
}

bool fl_functions_around(const struct fl_functions *r, uint32_t i, uint64_t at,
			 uint32_t *function)
{
	uint64_t lo, hi;

	return fl_symbols_range(r->symbols, fl_functions_module(r, i)->path, at, &lo, &hi) &&
	       fl_functions_at(r, i, lo, function);
}

static int index_of(struct fl_functions *r, uint16_t module, uint64_t at, uint32_t *index)
{
	const char *path = fl_functions_module(r, module)->path;
	uint32_t hash = hash_of(r, module, at);

	if (fl_functions_at(r, module, at, index))
		return 0;
	if (fl_array_room(&r->all, r->n, sizeof(*r->all)) ||
	    fl_array_room(&r->plain, r->n, sizeof(*r->plain)) ||
	    fl_array_room(&r->simple, r->n, sizeof(*r->simple)) ||
	    fl_hash_put(&r->by_address, hash, r->n + 1))
		return -ENOMEM;
	r->all[r->n] = describe(r, path, module, at);
	r->plain[r->n] = r->simple[r->n] = NULL;
	*index = r->n++;
	return 0;
}

static int make_room(struct fl_functions *r, uint32_t n)
{
	void *sites = realloc(r->sites, (n + 1) * sizeof(*r->sites)), *function_of;

	if (!sites)
		return -ENOMEM;
	r->sites = sites;
	function_of = realloc(r->function_of, (n + 1) * sizeof(*r->function_of));
	if (!function_of)
		return -ENOMEM;
	r->function_of = function_of;
	return 0;
}

enum { LOOK_BACK = 8 };

/* Sites of one function are neighbours, mostly: one of the last few says which it is. */
static bool find_beside(const struct fl_functions *r, uint32_t i, uint32_t *index)
{
	const struct fl_shm_site *s = &r->sites[i];

	for (uint32_t k = 1; k <= LOOK_BACK && k <= i; k++) {
		if (s[-(int)k].function != s->function || s[-(int)k].owner != s->owner)
			continue;
		*index = r->function_of[i - k];
		return true;
	}
	return false;
}

/* The name of an instruction inside of a function that has a name. All such names are kept as
 * long as the process. */
void fl_point_name(struct fl_symbols *s, const char *path, uint64_t at, struct fl_symbol *of)
{
	uint64_t lo, hi;
	char *name, *linkage;

	of->name = of->linkage = name_by_address(path, at);
	if (!fl_symbols_range(s, path, at, &lo, &hi) || !fl_symbols_find(s, path, lo, of))
		return;
	if (asprintf(&name, "%s+0x%llx", of->name, (unsigned long long)(at - lo)) >= 0)
		of->name = name;
	if (asprintf(&linkage, "%s+0x%llx", of->linkage, (unsigned long long)(at - lo)) >= 0)
		of->linkage = linkage;
}

static void name_point(struct fl_functions *r, uint32_t function)
{
	struct fl_function *f = &r->all[function];
	struct fl_symbol of;

	fl_point_name(r->symbols, path_of(r, function), f->at, &of);
	f->linkage = of.linkage;
	store_relaxed(&f->name, of.name);
}

int fl_functions_extend(struct fl_functions *r)
{
	uint32_t n = at_most(load_relaxed(&r->shm->n_sites), r->max_sites);
	int err;

	n = n > r->n_sites ? n : r->n_sites;	/* what was taken in stays */
	err = make_room(r, n);
	if (!err)
		take_modules(r);
	for (; !err && r->n_sites < n; r->n_sites++) {
		struct fl_shm_site *site = &r->sites[r->n_sites];

		*site = fl_site_copy(&r->live[r->n_sites]);
		if (find_beside(r, r->n_sites, &r->function_of[r->n_sites]))
			continue;
		err = index_of(r, site->owner,
			       site->function - fl_functions_module(r, site->owner)->base,
			       &r->function_of[r->n_sites]);
		if (!err && site->kind == FL_AT_POINT)
			name_point(r, r->function_of[r->n_sites]);
	}
	return err;
}

/* The kernel says which file is mapped, the loader by which name it found the file: a link,
 * mostly. Links are followed once for each file: `path` is the one asked for last, or new. */
static bool is_module_of(struct fl_functions *r, uint32_t i, const char *path)
{
	const char *own = r->modules[i].path;

	if (!strcmp(own, path))
		return true;
	if (i == r->n_real && *own == '/')
		r->real[i] = realpath(own, NULL);
	r->n_real += i == r->n_real;
	return r->real[i] && !strcmp(r->real[i], path);
}

/* The row of a file; n_modules: there is none. */
static uint32_t row_of(struct fl_functions *r, const char *path)
{
	uint32_t i = 0;

	while (i < r->n_modules && !is_module_of(r, i, path))
		i++;
	return i;
}

const char *fl_functions_path(struct fl_functions *r, const char *path)
{
	uint32_t i = row_of(r, path);

	return i < r->n_modules ? r->modules[i].path : path;
}

/* The row of a file, behind the target's own where it has none. */
static uint16_t module_of(struct fl_functions *r, const char *path)
{
	uint32_t i = row_of(r, path);

	if (i < r->n_modules || r->n_extra == MAX_EXTRA - 1)
		return (uint16_t)(i < r->n_modules ? i : i - 1);
	snprintf(r->modules[i].path, sizeof(r->modules[i].path), "%s", path);
	r->path_hashes[i] = fl_hash_text(0, r->modules[i].path);
	r->n_modules++;
	r->n_extra++;
	return (uint16_t)i;
}

static const char *name_by_file(const char *path)
{
	char *name;

	if (*path == '[' || asprintf(&name, "[%s]", fl_base_name(path)) < 0)
		return path;
	return name;			/* kept as long as the process */
}

int fl_functions_find(struct fl_functions *r, const char *path, uint64_t at, uint32_t *function)
{
	uint16_t module = module_of(r, path);
	const char *file = r->modules[module].path;
	uint64_t lo = 0, hi;
	bool is_known = *file == '/' && fl_symbols_range(r->symbols, file, at, &lo, &hi);
	uint32_t n = r->n;
	int err = index_of(r, module, lo, function);

	if (!err && !is_known && *function == n)
		r->all[n].name = r->all[n].linkage =
			name_by_file(r->modules[module].path);
	return err;
}

/* Such functions have no address that holds for all processes: their numbers stand for it. */
int fl_functions_made(struct fl_functions *r, const char *name, uint32_t *function)
{
	uint16_t module = module_of(r, "[jit]");
	uint64_t at = fl_hash_text(0, name);
	uint32_t n = r->n;
	int err;

	do
		err = index_of(r, module, at++, function);
	while (!err && *function < n && strcmp(r->all[*function].name, name));
	if (err || *function < n)
		return err;
	r->all[n].name = r->all[n].linkage = strdup(name);	/* kept, as all names are */
	return r->all[n].name ? 0 : -ENOMEM;
}

void fl_functions_lines(struct fl_functions *r, struct fl_lines *lines, const unsigned char *of)
{
	for (uint32_t i = 0; i < r->n; i++) {
		struct fl_function *f = &r->all[i];

		if (of[i])
			fl_functions_name(r, i);
		if (of[i] & FL_FUNCTIONS_LINES)
			f->file = fl_lines_find(lines, r->symbols, path_of(r, i), f->at,
						&f->line);
	}
}

void fl_functions_close(struct fl_functions *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		free(r->plain[i]);
		free(r->simple[i]);
	}
	free(r->plain);
	free(r->simple);
	free(r->all);
	fl_hash_free(&r->by_address);
	free(r->function_of);
	free(r->sites);
	for (uint32_t i = 0; i < r->n_real; i++)
		free(r->real[i]);
	free(r->real);
	free(r->modules);
	free(r->path_hashes);
	fl_symbols_close(r->symbols);
	*r = (struct fl_functions){ 0 };
}
