/*
 * names.c - names of the functions that have probes, inside the process.
 *
 * Hides a hash from function address to a name in the module's mapped symbol
 * table: one pass over the symbols of each module that has sites, and nothing
 * copied. The files stay mapped until close.
 */
#include <sys/mman.h>

#include "names.h"
#include "obj/obj.h"
#include "os/os.h"
#include "probe/probe.h"

struct cell {
	uintptr_t function;		/* 0: empty */
	const char *name;
};

enum { MAX_FILES = 256 };

static struct cell *cells;
static size_t n_cells;			/* a power of two */
static struct fl_obj files[MAX_FILES];
static uint16_t modules[MAX_FILES];	/* rows of these */
static size_t n_files;

int fl_names_open(uint32_t max)
{
	void *p;

	n_cells = 2;
	while (n_cells < 2 * (size_t)max)
		n_cells *= 2;
	p = fl_os_map(NULL, n_cells * sizeof *cells, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(p))
		return -ENOMEM;
	cells = p;
	return 0;
}

void fl_names_close(void)
{
	while (n_files)
		fl_obj_close(&files[--n_files]);
	fl_os_unmap(cells, n_cells * sizeof *cells);
	cells = NULL;
}

/* The cell of `function`, or the empty one where it belongs. */
static struct cell *cell_of(uintptr_t function)
{
	size_t h = function >> 4;	/* neighbours stay so: they share pages */

	while (cells[h & (n_cells - 1)].function &&
	       cells[h & (n_cells - 1)].function != function)
		h++;
	return &cells[h & (n_cells - 1)];
}

static int take_name(void *arg, const char *name, uint64_t value, uint64_t size)
{
	const uintptr_t *bias = arg;
	struct cell *c = cell_of(*bias + value);

	(void)size;
	if (c->function && !*c->name)
		c->name = name;
	return 0;
}

static bool is_read(uint16_t module, size_t first)
{
	for (size_t i = n_files; i-- > first;)
		if (modules[i] == module)
			return true;
	return false;
}

/* A file that cannot be opened counts as read: its place is empty. */
static void read_file(const struct fl_shm_module *m, uint16_t module, uintptr_t bias)
{
	if (n_files == MAX_FILES)
		return;
	modules[n_files] = module;
	if (fl_obj_open(&files[n_files], m->path))
		files[n_files] = (struct fl_obj){ 0 };
	else
		fl_obj_functions(&files[n_files], take_name, &bias);
	n_files++;
}

/* The cells of functions [first, last], at once: a fault for each page costs
 * more. Only a hint, and only worth it for a module's worth. */
static void populate(uintptr_t first, uintptr_t last)
{
	enum { MOST = 1 << 24 };	/* bytes of text */
	uintptr_t from = (uintptr_t)cell_of(first), to = (uintptr_t)cell_of(last);

	from = fl_round_down(from, FL_PAGE);
	if (last - first < MOST && to > from)
		fl_os_advise((void *)from, to - from, MADV_POPULATE_WRITE);
}

/* A row may say where the module is in another process. */
static void learn_module(struct fl_region *m, uint32_t id, const struct fl_shm_site *s)
{
	const struct fl_shm_module *module = &fl_shm_modules(m)[s->owner];
	uintptr_t by = s->function - fl_shm_sites(m)[id].function;

	read_file(module, s->owner, module->base + by);
}

void fl_names_learn(struct fl_region *m, uint32_t from)
{
	uint32_t n = fl_probes_count();
	size_t first = n_files;

	if (from < n && fl_probe_site(from) && fl_probe_site(n - 1))
		populate(fl_probe_site(from)->function, fl_probe_site(n - 1)->function);
	for (uint32_t i = from; i < n; i++) {
		const struct fl_shm_site *s = fl_probe_site(i);
		struct cell *c = s ? cell_of(s->function) : NULL;

		if (c && !c->function)
			*c = (struct cell){ s->function, "" };
	}
	for (uint32_t i = from; i < n; i++) {
		const struct fl_shm_site *s = fl_probe_site(i);

		if (s && s->owner < m->n_modules && !is_read(s->owner, first))
			learn_module(m, i, s);
	}
}

const char *fl_names_of(uintptr_t function)
{
	const struct cell *c = cell_of(function);

	return c->function ? c->name : "";
}
