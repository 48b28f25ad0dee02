/*
 * inline.c - flick's analyses, run by the thread that is analysed.
 *
 *	LD_PRELOAD=inline.so FLICK_SHM=ANALYSIS:FILE PROGRAM ...
 *
 * The sequential twin (E_s of paper 2) of `flick record -a NAME --all`. It is
 * linked with src/analysis: the analysis, and what pairs its calls, are the very
 * same code, fed by __cyg_profile_func_enter and _exit in the thread itself
 * instead of by a reader of rings. Records are gathered by BATCH in the thread's
 * own memory, as that is faster than feeding each. Calls that are only counted
 * are counted in place, as flick's own probes do.
 *
 * A function is found by its address in one load, a table has a word for each
 * byte of the program's code. Only the program itself is looked at, and one
 * thread of it: a second one ends the run, as its result would not be flick's.
 * At the end the rows go to FILE.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "analysis/analysis.h"

#define BATCH 256
#define HOOK __attribute__((visibility("default"), no_instrument_function))

/* What a function's probes are called: its index + one of these. Index 0 is no
 * function's. */
enum { ENTRY, EXIT_BY_CALL, EXIT_BY_JUMP, N_PROBES };

static uintptr_t base, text, text_bytes;
static uint32_t *probe_of;		/* index: address - text; 0: not met yet */
static uint64_t *calls;			/* index: function; counts only */
static uintptr_t *functions;		/* index: function */
static uint32_t *function_of;		/* index: probe */
static struct fl_shm_site *sites;	/* index: probe */
static struct fl_view view;
static struct fl_use use;
static bool counting;			/* no records */
static int owner;			/* the one thread */
static char *spec;
static const char *rows_path;

static __thread struct lane {
	struct fl_run *run;
	uint32_t n;
	struct flick_record records[BATCH];
} lane __attribute__((tls_model("initial-exec")));

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);

static void die(const char *why)
{
	fprintf(stderr, "inline: %s\n", why);
	_exit(99);
}

/* ---- the program's code ----------------------------------------------- */

static void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die("no memory");
	return p;
}

/* The first object is the program. */
static int note_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		text = base + p->p_vaddr;
		text_bytes = p->p_memsz;
	}
	return 1;
}

/* ---- what has been met ------------------------------------------------ */

static const char *no_name(const void *who, uint32_t function)
{
	(void)who;
	(void)function;
	return "?";
}

/* Before the constructors of what is preloaded before this. */
__attribute__((constructor, no_instrument_function))
static void read_spec(void)
{
	const char *given = getenv("FLICK_SHM");

	spec = given ? strdup(given) : NULL;
}

/* At the first call: nothing but the program makes one. */
static void open_all(void)
{
	char why[FL_USE_WHY];
	size_t most;

	if (!spec || !strchr(spec, ':'))
		die("FLICK_SHM=ANALYSIS:FILE, please");

	owner = gettid();
	rows_path = strchr(spec, ':') + 1;
	spec[rows_path - spec - 1] = '\0';
	dl_iterate_phdr(note_text, NULL);
	most = text_bytes / 4 + 2;
	probe_of = reserve(text_bytes * sizeof(*probe_of));
	calls = reserve(most * sizeof(*calls));
	functions = reserve(most * sizeof(*functions));
	function_of = reserve(most * N_PROBES * sizeof(*function_of));
	sites = reserve(most * N_PROBES * sizeof(*sites));
	view = (struct fl_view){
		.sites = sites, .function_of = function_of, .n_sites = 1,
		.n_functions = 1, .ns_per_tick = 1.0, .name = no_name,
	};
	if (fl_use_open(&use, spec, why))
		die(why);
	counting = fl_use_action(&use, 1, FL_ACT_TIME) == FL_ACT_COUNT;
	if (fl_run_open(&lane.run, &use, 1, &view))
		die("no memory");
}

static uint32_t meet(uintptr_t at)
{
	uint32_t probe;

	if (!lane.run && owner)
		die("a second thread");
	if (!lane.run)
		open_all();
	if (at - text >= text_bytes)
		die("a function outside the program");
	if (probe_of[at - text])		/* by the thread's first record */
		return probe_of[at - text];
	probe = view.n_sites;
	for (uint32_t i = 0; i < N_PROBES; i++) {
		sites[probe + i].kind = i == ENTRY ? FL_ENTRY : FL_EXIT;
		sites[probe + i].jump = i == EXIT_BY_JUMP;
		function_of[probe + i] = view.n_functions;
	}
	functions[view.n_functions++] = at;
	view.n_sites += N_PROBES;
	probe_of[at - text] = probe;
	return probe;
}

static inline uint32_t probe_at(uintptr_t at)
{
	uint32_t probe = lane.run && at - text < text_bytes ? probe_of[at - text] : 0;

	return probe ? probe : meet(at);
}

/* ---- records ---------------------------------------------------------- */

static void feed(void)
{
	struct fl_batch b = { .thread = 0, .records = lane.records, .n = lane.n };

	lane.n = 0;
	if (fl_run_feed(lane.run, &b))
		die("the analysis failed");
}

static inline void put(uint32_t probe, uintptr_t frame)
{
	struct flick_record *r = &lane.records[lane.n];

	r->tsc = fl_arch_ticks();
	r->probe = probe;
	r->sp = (uint32_t)frame;
	if (++lane.n == BATCH)
		feed();
}

HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
	uint32_t probe = probe_at((uintptr_t)function);

	(void)caller;
	if (counting)
		calls[function_of[probe]]++;
	else
		put(probe, (uintptr_t)__builtin_dwarf_cfa());
}

/* Who is jumped to returns where its caller's frame does. */
HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
	uint32_t probe = probe_at((uintptr_t)function);
	bool jumped = __builtin_return_address(0) == caller;

	if (!counting)
		put(probe + (jumped ? EXIT_BY_JUMP : EXIT_BY_CALL),
		    (uintptr_t)__builtin_dwarf_cfa());
}

/* ---- the result ------------------------------------------------------- */

static void write_cell(FILE *out, enum flick_column_type type, uint64_t v)
{
	if (v == FLICK_NONE)
		fprintf(out, "-");
	else if (type == FLICK_COL_FUNCTION)
		fprintf(out, "%lu", functions[v] - base);
	else
		fprintf(out, "%lu", v);
}

/* Everything but times, which differ: a row a line, as bench/analysis/rows has
 * them of flick. */
static void write_rows(FILE *out, const struct flick_rows *r)
{
	for (size_t i = 0; i < r->n_rows; i++) {
		const char *space = "";

		for (size_t c = 0; c < r->n_columns; c++) {
			if (r->columns[c].type == FLICK_COL_NS)
				continue;
			fputs(space, out);
			write_cell(out, r->columns[c].type,
				   r->cells[i * r->n_columns + c]);
			space = " ";
		}
		fputc('\n', out);
	}
}

static void end_run(void)
{
	if (counting)
		for (uint32_t f = 1; f < view.n_functions; f++)
			fl_run_count(lane.run, 0, 1 + (f - 1) * N_PROBES, calls[f]);
	else
		feed();
	fl_run_end(lane.run);
}

__attribute__((destructor, no_instrument_function))
static void end(void)
{
	struct flick_rows r;
	FILE *out;

	if (!lane.run)
		return;
	end_run();
	out = fopen(rows_path, "w");
	if (!out || fl_run_rows(lane.run, 0, &r))
		die("no result");
	write_rows(out, &r);
	if (fclose(out))
		die("the result cannot be written");
}
