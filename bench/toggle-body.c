/*
 * toggle-body.c - what it takes to switch a function that has a second body.
 *
 *	toggle.one.body		its entry on or off, no thread running it
 *
 * A program's own session has no bodies, so this one is linked with flick's objects, and has
 * them built as a recorded program does: of a library of bench/synth's functions, compiled
 * without sites, at every offset of a line. A function is measured if it was seen to be
 * switched: on, its calls count, off, they do not, and either way it returns the same.
 */
#include "bench.h"
#include "flick.h"

#include <dlfcn.h>
#include <stdio.h>

#include "channel/channel.h"
#include "copy/copy.h"
#include "probe/goal.h"
#include "probe/table.h"
#include "site/site.h"

#define RUNS 400
#define FLIPS 1000			/* on and off, a run */

/* Its name ends with a NUL, and all of them with another one. */
static const struct fl_body_rules rules = { .text = "+toggle-body.so\0" };

static const size_t *n_functions;
static int (*const *functions)(int);
static flick *f;

static int load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	functions = library ? dlsym(library, "synth_fn") : NULL;
	n_functions = library ? dlsym(library, "synth_n") : NULL;
	return functions && n_functions ? 0 : -1;
}

/* Who opens flick.h decides nothing of bodies: as a reader does, that wants all. */
static void want_all(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		fl_table.rows[id].wanted = FL_WANTED;
	fl_probes_commit(0, FL_RUNNING);
}

/* The entry of that function's body, or FL_NO_PROBE. */
static uint32_t entry_of(int (*function)(int))
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_table.sites[id].function == (uintptr_t)function &&
		    fl_table.sites[id].kind == FL_ENTRY &&
		    fl_table.probes[id].form == FL_FORM_BODY &&
		    fl_table.probes[id].state == FL_PROBE_ARMED)
			return id;
	return FL_NO_PROBE;
}

/* So many of 10 calls count. */
static uint64_t counted(uint32_t id, int (*function)(int), int is)
{
	uint64_t before = flick_hits(f, id);

	for (int i = 0; i < 10; i++)
		if (function(7) != is)
			return UINT64_MAX;
	return flick_hits(f, id) - before;
}

static bool is_switched(uint32_t id, int (*function)(int))
{
	int is = function(7);
	uint64_t on, off;

	fl_probe_switch(id, FL_ON);
	on = counted(id, function, is);
	fl_probe_switch(id, FL_OFF);
	off = counted(id, function, is);
	return on == 10 && off == 0;
}

static double flip_ticks(uint32_t id)
{
	uint64_t from = bench_ticks();

	for (size_t i = 0; i < FLIPS; i++) {
		fl_probe_switch(id, FL_ON);
		fl_probe_switch(id, FL_OFF);
	}
	return ((double)(bench_ticks() - from) - bench_empty(FLIPS)) / (2 * FLIPS);
}

int main(int argc, char **argv)
{
	static struct series one;
	struct flick_opt opt = { .size = sizeof opt };

	if (argc < 2 || load(argv[1])) {
		fprintf(stderr, "usage: toggle-body LIBRARY [--json]\n");
		return 2;
	}
	bench_options(argc - 1, argv + 1);
	bench_pin(BENCH_VICTIM);
	fl_unwind_serve();
	fl_site_rules(&rules);
	fl_probe_builder = &fl_copy_builder;
	if (flick_open(&f, &opt))
		return 1;
	want_all();
	for (size_t i = 0; i < *n_functions && one.n < RUNS; i++) {
		uint32_t id = entry_of(functions[i]);

		if (id == FL_NO_PROBE || !is_switched(id, functions[i]))
			continue;
		flip_ticks(id);			/* warm */
		series_add(&one, flip_ticks(id));
	}
	flick_close(f);
	if (one.n < RUNS)
		bench_skip("toggle.one.body", "functions were not switched");
	else
		bench_report("toggle.one.body", "ticks", &one);
	return 0;
}
