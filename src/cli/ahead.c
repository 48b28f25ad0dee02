/*
 * ahead.c - rows of sites and functions are written while the program runs.
 *
 * Of a large program they are most of its results, and writing them takes longer than many
 * programs run. What they say is known once the sites are armed, nearly always: so a thread
 * writes them then, and makes the names of their functions. At the end only those rows are
 * written that are new, or have become otherwise (report/save.c). The program comes first:
 * the thread has what it leaves of the processors, and what is not done when it has ended
 * is done at once.
 *
 * The thread has copies of what the session makes larger, and reads the region; the store
 * is its own until fl_ahead_end().
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"
#include "os/os.h"
#include "site/site.h"

enum {
	FEW = 4096,			/* sites: soon written */
	ARMED_US = 1000, ARMED_TRIES = 100
};

struct fl_ahead {
	const struct fl_shm_site *live;
	struct fl_store *store;
	struct fl_symbols *symbols;
	struct fl_recording r;		/* what is written; its arrays are these */
	struct fl_shm_site *sites;
	struct fl_function *functions;
	uint32_t *function_of, *row_of;
	unsigned char *selected;
	const char *names[FL_MAX_ANALYSES], *providers[FL_N_PROVIDERS];
	pthread_t thread;
	bool has_thread;
	bool is_over;			/* the program has ended: nothing will be armed */
};

/* ---- the thread -------------------------------------------------------------------- */

static bool is_kept(const struct fl_ahead *a, size_t i)
{
	return !a->r.selected || a->selected[i];
}

/* The last ones are armed last. */
static void await_arming(const struct fl_ahead *a)
{
	size_t last = a->r.n_sites - 1;

	while (last && !is_kept(a, last))
		last--;
	for (int i = 0; i < ARMED_TRIES && !load_relaxed(&a->is_over) &&
	     load_relaxed(&a->live[last].state) == FL_SITE_FOUND; i++)
		fl_os_sleep_us(ARMED_US);
}

/* They stay with the symbols. As fl_functions_name() makes them. */
static void make_names(void *ahead)
{
	struct fl_ahead *a = ahead;

	for (size_t i = 0; i < a->r.n_functions && !load_relaxed(&a->is_over); i++) {
		struct fl_function *f = &a->functions[i];
		struct fl_symbol symbol = { .name = f->linkage };

		if (a->row_of[i] == FL_NO_ROW || f->name)
			continue;
		if (f->module < a->r.n_modules)
			fl_symbols_find(a->symbols, a->r.modules[f->module].path, f->at,
					&symbol);
		f->name = symbol.name;
	}
}

static void *write_rows(void *arg)
{
	struct fl_ahead *a = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), FL_AHEAD_NICE);
	await_arming(a);
	for (size_t i = 0; i < a->r.n_sites; i++)
		if (is_kept(a, i))
			a->sites[i] = fl_site_as_now(&a->sites[i], &a->live[i]);
	fl_store_ahead(a->store, &a->r, &a->is_over);
	return NULL;
}

/* ---- its beginning and end ------------------------------------------------------------ */

static void *copy(const void *from, size_t n, size_t bytes)
{
	void *to = malloc(n * bytes + 1);

	return to ? memcpy(to, from, n * bytes) : NULL;
}

static void number_rows(struct fl_ahead *a)
{
	uint32_t n = 0;

	for (size_t f = 0; f < a->r.n_functions; f++)
		a->row_of[f] = a->r.selected ? FL_NO_ROW : 0;
	for (size_t i = 0; i < a->r.n_sites && a->r.selected; i++)
		if (a->selected[i])
			a->row_of[a->function_of[i]] = 0;
	for (size_t f = 0; f < a->r.n_functions; f++)
		if (!a->row_of[f])
			a->row_of[f] = n++;
}

static bool copy_session(struct fl_ahead *a, const struct fl_session *s)
{
	const struct fl_functions *r = &s->functions;

	*a = (struct fl_ahead){
		.live = s->sites, .store = s->store, .symbols = r->symbols,
		.sites = copy(r->sites, s->n_selected, sizeof(*r->sites)),
		.functions = copy(r->all, r->n, sizeof(*r->all)),
		.function_of = copy(r->function_of, s->n_selected, sizeof(*r->function_of)),
		.selected = copy(s->selected, s->n_selected, 1),
		.row_of = malloc((r->n + 1) * sizeof(*a->row_of)),
	};
	if (!a->sites || !a->functions || !a->function_of || !a->selected || !a->row_of)
		return false;
	for (int i = 0; i < FL_N_PROVIDERS; i++)
		a->providers[i] = fl_providers[i]->name;
	for (size_t i = 0; i < s->o->n_analyses; i++)
		a->names[i] = s->o->analyses[i].name;
	a->r = (struct fl_recording){
		.modules = r->modules, .n_modules = r->n_modules,
		.sites = a->sites, .n_sites = s->n_selected, .function_of = a->function_of,
		.selected = s->trace ? NULL : a->selected,
		.providers = a->providers, .tactics = fl_tactic_names,
		.functions = a->functions, .n_functions = r->n, .row_of = a->row_of,
		.lines = make_names, .lines_of = a,
		.names = a->names, .n_results = s->o->n_analyses,
	};
	number_rows(a);
	return true;
}

static void drop(struct fl_ahead *a)
{
	free(a->sites);
	free(a->functions);
	free(a->function_of);
	free(a->row_of);
	free(a->selected);
	free(a);
}

static uint32_t count_kept(const struct fl_session *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_selected; i++)
		n += s->trace || s->selected[i];
	return n;
}

void fl_ahead_begin(struct fl_session *s)
{
	struct fl_ahead *a;

	if (!s->store || s->ahead || count_kept(s) < FEW)
		return;
	a = malloc(sizeof(*a));
	if (!a)
		return;
	if (!copy_session(a, s) || pthread_create(&a->thread, NULL, write_rows, a)) {
		drop(a);
		return;
	}
	a->has_thread = true;
	s->ahead = a;
}

const struct fl_recording *fl_ahead_rows(const struct fl_session *s)
{
	return s->ahead ? &s->ahead->r : NULL;
}

void fl_ahead_end(struct fl_session *s)
{
	struct fl_ahead *a = s->ahead;

	if (!a || !a->has_thread)
		return;
	store_relaxed(&a->is_over, true);
	pthread_join(a->thread, NULL);
	a->has_thread = false;
}

void fl_ahead_close(struct fl_session *s)
{
	fl_ahead_end(s);
	if (s->ahead)
		drop(s->ahead);
	s->ahead = NULL;
}
