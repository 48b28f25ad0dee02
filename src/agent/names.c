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

struct cell {
	uintptr_t function;		/* 0: empty */
	const char *name;
};

enum { MAX_FILES = 256 };

static struct cell *cells;
static size_t n_cells;			/* a power of two */
static struct fl_obj files[MAX_FILES];
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
	size_t h = (size_t)((function >> 2) * 0x9e3779b97f4a7c15ull >> 20);

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

static void read_file(const struct fl_shm_module *m)
{
	uintptr_t bias = m->base;

	if (n_files == MAX_FILES || fl_obj_open(&files[n_files], m->path))
		return;
	fl_obj_functions(&files[n_files], take_name, &bias);
	n_files++;
}

void fl_names_learn(struct fl_shm *m, uint32_t from)
{
	const struct fl_shm_site *sites = fl_shm_sites(m);
	uint32_t last = UINT32_MAX;

	for (uint32_t i = from; i < m->n_sites; i++) {
		struct cell *c = cell_of(sites[i].function);

		if (!c->function)
			*c = (struct cell){ sites[i].function, "" };
	}
	for (uint32_t i = from; i < m->n_sites; i++) {
		if (sites[i].module == last || sites[i].module >= m->n_modules)
			continue;
		last = sites[i].module;
		read_file(&fl_shm_modules(m)[last]);
	}
}

const char *fl_names_of(uintptr_t function)
{
	const struct cell *c = cell_of(function);

	return c->function ? c->name : "";
}
