/*
 * modules.c - what tells functions apart that have one name: the module that each is in.
 *
 * It is like perf's column of shared objects: programs always get it, people where two rows
 * would look alike. Modules of one name are told apart by their paths, functions of one name
 * in one module by where they are: MODULE!0xOFFSET, which is a pattern as well.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

struct fl_modules {
	const char **texts;		/* by function; NULL: not known */
	char **made;			/* texts that are owned here; by function, or NULL */
	size_t n;
	char columns[FL_MAX_COLUMNS][72];	/* names of the added columns */
};

/* ---- which functions look alike -------------------------------------------------- */

/* Fill in the functions of the rows, each once. Returns how many, or -1: no memory. */
static ssize_t gather(const struct fl_sheet *s, uint32_t *functions)
{
	const struct flick_rows *r = s->result;
	bool *has = calloc(s->n_functions + 1, sizeof(*has));
	ssize_t n = 0;

	for (size_t c = 0; has && c < r->n_columns; c++)
		for (size_t i = 0; r->columns[c].type == FLICK_COL_FUNCTION && i < r->n_rows;
		     i++) {
			uint64_t f = r->cells[i * r->n_columns + c];

			if (f < s->n_functions && !has[f])
				functions[n++] = (uint32_t)f;
			if (f < s->n_functions)
				has[f] = true;
		}
	free(has);
	return has ? n : -1;
}

/* Keep those of `functions` that share their name with another. Returns how many, or -1. */
static ssize_t keep_twins(const struct fl_sheet *s, uint32_t *functions, size_t n)
{
	const char **names = malloc((n + 1) * sizeof(*names));
	uint32_t *first = malloc((n + 1) * sizeof(*first));
	bool *is_twin = calloc(n + 1, sizeof(*is_twin));
	ssize_t kept = names && first && is_twin ? 0 : -1;

	for (size_t i = 0; !kept && i < n; i++)
		names[i] = fl_sheet_function(s, functions[i]);
	if (!kept && fl_names_first(names, n, first))
		kept = -1;
	for (size_t i = 0; !kept && i < n; i++)
		if (first[i] != i)
			is_twin[i] = is_twin[first[i]] = true;
	for (size_t i = 0; kept >= 0 && i < n; i++)
		if (is_twin[i])
			functions[kept++] = functions[i];
	free(names);
	free(first);
	free(is_twin);
	return kept;
}

/* The functions that share a name, to be freed; NULL: no memory. */
static uint32_t *find_twins(const struct fl_sheet *s, size_t *n)
{
	uint32_t *functions = malloc((s->n_functions + 1) * sizeof(*functions));
	ssize_t found = functions ? gather(s, functions) : -1;

	if (found > 0)
		found = keep_twins(s, functions, (size_t)found);
	if (found >= 0) {
		*n = (size_t)found;
		return functions;
	}
	free(functions);
	return NULL;
}

bool fl_sheet_has_twins(const struct fl_sheet *s)
{
	size_t n = 0;

	free(find_twins(s, &n));
	return n;
}

/* ---- what tells them apart -------------------------------------------------------- */

struct order {
	const struct fl_sheet *sheet;
	const struct fl_home *homes;
};

/* Order by function's name, module's name, path, address. */
static int compare(const void *x, const void *y, void *arg)
{
	const struct order *o = arg;
	const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	const struct fl_home *u = &o->homes[a], *v = &o->homes[b];
	int order = strcmp(fl_sheet_function(o->sheet, a), fl_sheet_function(o->sheet, b));

	if (!order)
		order = strcmp(fl_base_name(u->path), fl_base_name(v->path));
	if (!order)
		order = strcmp(u->path, v->path);
	return order ? order : (u->at > v->at) - (u->at < v->at);
}

static bool are_beside(const struct order *o, uint32_t a, uint32_t b)
{
	return !strcmp(fl_sheet_function(o->sheet, a), fl_sheet_function(o->sheet, b)) &&
	       !strcmp(fl_base_name(o->homes[a].path), fl_base_name(o->homes[b].path));
}

/* Functions [0, n) of `f` share a name, and so do their modules. */
static int tell_apart(struct fl_modules *m, const struct order *o, const uint32_t *f, size_t n)
{
	const struct fl_home *homes = o->homes;
	const bool paths = strcmp(homes[f[0]].path, homes[f[n - 1]].path) != 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = homes[f[i]].path;
		const char *module = paths ? path : m->texts[f[i]];
		bool is_one = (i && !strcmp(homes[f[i - 1]].path, path)) ||
			      (i + 1 < n && !strcmp(homes[f[i + 1]].path, path));

		if (!module)
			continue;
		m->texts[f[i]] = module;
		if (!is_one)
			continue;
		if (asprintf(&m->made[f[i]], "%s!0x%llx", module,
			     (unsigned long long)homes[f[i]].at) < 0) {
			m->made[f[i]] = NULL;
			return -1;
		}
		m->texts[f[i]] = m->made[f[i]];
	}
	return 0;
}

static int name_twins(struct fl_modules *m, const struct order *o)
{
	size_t n = 0, end;
	uint32_t *twins = find_twins(o->sheet, &n);
	int err = twins ? 0 : -1;

	if (n)
		qsort_r(twins, n, sizeof(*twins), compare, (void *)o);
	for (size_t i = 0; !err && i < n; i = end) {
		for (end = i + 1; end < n && are_beside(o, twins[i], twins[end]); end++)
			;
		err = tell_apart(m, o, twins + i, end - i);
	}
	free(twins);
	return err;
}

struct fl_modules *fl_modules_make(const struct fl_sheet *s, const struct fl_home *homes,
				   enum fl_modules_by by)
{
	const struct order order = { s, homes };
	struct fl_modules *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->n = s->n_functions;
	m->texts = calloc(m->n + 1, sizeof(*m->texts));
	m->made = calloc(m->n + 1, sizeof(*m->made));
	for (size_t f = 0; m->texts && f < m->n; f++)
		if (*homes[f].path)
			m->texts[f] = by == FL_BY_PATH ? homes[f].path :
				      fl_base_name(homes[f].path);
	if (m->texts && m->made && !name_twins(m, &order))
		return m;
	fl_modules_free(m);
	return NULL;
}

const char *const *fl_modules_texts(const struct fl_modules *m)
{
	return m->texts;
}

void fl_modules_free(struct fl_modules *m)
{
	if (!m)
		return;
	for (size_t f = 0; m->made && f < m->n; f++)
		free(m->made[f]);
	free(m->made);
	free(m->texts);
	free(m);
}

/* A result may have a column of that name of its own: then none is added. */
bool fl_sheet_add_modules(struct fl_sheet *s, struct fl_modules *m)
{
	const size_t n = s->result->n_columns;

	s->modules = m;
	s->has_twins = fl_sheet_has_twins(s);
	for (size_t c = 0; c < n && c < FL_MAX_COLUMNS; c++) {
		const char *column = s->result->columns[c].name;
		const bool is_main = !strcmp(column, "function");
		char *name = m->columns[s->n_modules];

		snprintf(name, sizeof(m->columns[0]), "%s%smodule", is_main ? "" : column,
			 is_main ? "" : "_");
		if (s->result->columns[c].type != FLICK_COL_FUNCTION ||
		    fl_sheet_column(s->result, name) >= 0)
			continue;
		if (!fl_sheet_add_texts(s, name, (int)c, m->texts))
			return false;
		s->n_modules++;
	}
	return true;
}
