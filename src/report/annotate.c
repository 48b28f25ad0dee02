/*
 * annotate.c - the source lines that samples stood in, with their text, from their addresses
 * (result `places`), and from files as they are now: debug information and sources.
 *
 * An address without a line stands for itself, with its instruction.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report/schema.h"
#include "report/source-text.h"
#include "report/table.h"

static const struct flick_column columns[] = {
	{ "self_ns", FLICK_COL_NS },
	{ "samples", FLICK_COL_COUNT },
	{ "line", FLICK_COL_TEXT },
	{ "function", FLICK_COL_FUNCTION },
	{ "code", FLICK_COL_TEXT },
};
enum { SELF, SAMPLES, LINE, FUNCTION, CODE, N_COLUMNS };

struct annotated {
	struct fl_store *store;
	const struct fl_home *homes;
	struct fl_symbols *symbols;
	struct fl_source_texts texts;
	struct fl_insn_texts *insns;	/* NULL: none was wanted so far */
	struct flick_rows to;
	struct fl_hash by_line;
	const char *here;		/* the working directory */
	int64_t ended;			/* when the recording did, seconds; 0: not known */
	struct checked_build {
		const char *path;
		int64_t built;		/* when it was changed, seconds */
		bool can;		/* its lines are those of the recording */
	} *files;
	size_t n_files;
	struct fl_annotated *found;
};

struct sampled_place {
	const char *path;		/* of the program's file; NULL: it is not to be read */
	int64_t built;			/* when that was changed */
	const char *file;		/* NULL: its line is not known */
	int line;
	uint64_t at;			/* 0: nor is its address */
};

/* build: NULL: it is in no file. */
static struct sampled_place look_up_place(const struct annotated *a,
					  const struct checked_build *build, uint64_t at,
					  uint64_t samples)
{
	struct sampled_place p = { .at = build ? at : 0 };

	if (build && build->can) {
		p.path = build->path;
		p.built = build->built;
	}
	p.file = p.at && p.path ? fl_symbols_line(a->symbols, p.path, at, &p.line) : NULL;
	if (p.at && p.path && !p.file)
		a->found->bare += samples;
	return p;
}

/* NULL: no memory. */
static const char *name_place(const struct annotated *a, const struct sampled_place *p)
{
	char *text = NULL;

	if (p->file)
		text = fl_line_text(a->here, p->file, p->line);
	else if ((p->at ? asprintf(&text, "0x%" PRIx64, p->at) :
		  asprintf(&text, "[not known]")) < 0)
		return NULL;
	return fl_store_own(a->store, text);
}

static const char *read_insn(struct annotated *a, const struct sampled_place *p)
{
	if (!a->insns)
		a->insns = fl_insn_texts_open();
	if (!a->insns)
		return NULL;
	return fl_store_own(a->store, fl_insn_text_in(a->insns, p->path, p->at));
}

/* The text of a place: its line's, or else its instruction. NULL: no memory. */
static const char *read_code(struct annotated *a, const struct sampled_place *p)
{
	int64_t changed;
	const char *code;

	if (!p->file)
		return p->path && p->at ? read_insn(a, p) : "";
	code = fl_store_own(a->store, fl_source_text(&a->texts, p->file, p->line, &changed));
	if (code && *code && changed > p->built && !a->found->newer)
		a->found->newer = fl_store_own(a->store, strdup(p->file));
	return code;
}

/* The row of that place of the function; NULL: no memory. */
static uint64_t *row_of_place(struct annotated *a, const struct sampled_place *p,
			      uint64_t function)
{
	const char *line = name_place(a, p), *code;
	uint32_t hash, at, item;
	uint64_t *row;

	if (!line)
		return NULL;
	hash = at = fl_hash_text((uint32_t)function, line);
	while ((item = fl_hash_next(&a->by_line, hash, &at))) {
		row = a->to.cells + (item - 1) * N_COLUMNS;
		if (row[FUNCTION] == function && !strcmp((char *)(uintptr_t)row[LINE], line))
			return row;
	}
	code = read_code(a, p);
	if (!code || fl_hash_put(&a->by_line, hash, (uint32_t)a->to.n_rows + 1))
		return NULL;
	row = a->to.cells + a->to.n_rows++ * N_COLUMNS;
	row[LINE] = (uintptr_t)line;
	row[FUNCTION] = function;
	row[CODE] = (uintptr_t)code;
	return row;
}

static int64_t when_ended(struct fl_store *store)
{
	char ended[64] = "";
	struct tm tm = { 0 };

	return fl_store_value(store, "ended", ended, sizeof(ended)) &&
	       strptime(ended, "%Y-%m-%dT%H:%M:%S", &tm) ? timegm(&tm) : 0;
}

/* Is the file the one that was recorded? The build id tells. Of a file without one times do: a
 * file that was put in its place, as by an installation, may be as old as it was where it came
 * from; but when it was put there is told. */
static bool is_as_it_was(const struct annotated *a, const struct fl_home *home,
			 const struct stat *st)
{
	char id[FL_BUILD_ID_TEXT];

	if (*home->build_id)
		return fl_build_id(home->path, id) && !strcmp(id, home->build_id);
	return !a->ended || (st->st_mtime <= a->ended && st->st_ctime <= a->ended);
}

/* Of a file that was changed behind the recording lines are others: addresses stand alone.
 * NULL: no memory. */
static const struct checked_build *check_build(struct annotated *a, const struct fl_home *home)
{
	struct checked_build *f = a->files;
	struct stat st = { 0 };

	while (f < a->files + a->n_files && strcmp(f->path, home->path))
		f++;
	if (f < a->files + a->n_files)
		return f;
	if (fl_array_room(&a->files, a->n_files, sizeof(*a->files)))
		return NULL;
	f = &a->files[a->n_files++];
	*f = (struct checked_build){ home->path, 0, true };
	if (*home->path != '/')			/* it is no file */
		return f;
	f->can = !stat(home->path, &st) && is_as_it_was(a, home, &st);
	f->built = st.st_mtime;
	if (!f->can)
		a->found->changed = home->path;
	return f;
}

/* 0 or -ENOMEM. */
static int add_places(struct annotated *a, const struct fl_sheet *s)
{
	const struct flick_rows *r = s->result;
	const int address = fl_sheet_column(r, "address"), self = fl_sheet_column(r, "self_ns");
	const int function = fl_sheet_column(r, "function"),
		  samples = fl_sheet_column(r, "samples");

	for (size_t i = 0; i < r->n_rows; i++) {
		const uint64_t *from = r->cells + i * r->n_columns;
		const struct checked_build *build = NULL;
		struct sampled_place place;
		uint64_t *row;

		if (from[function] < s->n_functions) {
			build = check_build(a, &a->homes[from[function]]);
			if (!build)
				return -ENOMEM;
		}
		place = look_up_place(a, build, from[address], from[samples]);
		row = row_of_place(a, &place, from[function]);
		if (!row)
			return -ENOMEM;
		if (!place.at)
			a->found->unknown += from[samples];
		row[SELF] += from[self];
		row[SAMPLES] += from[samples];
	}
	return 0;
}

int fl_store_annotate(struct fl_store *store, struct fl_sheet *s, struct fl_annotated *found,
		      char why[FL_WHY])
{
	struct annotated a = { .store = store, .to = { columns, N_COLUMNS, NULL, 0 },
			       .ended = when_ended(store), .found = found };
	char *here;
	int err;

	*found = (struct fl_annotated){ .changed = NULL };
	if (fl_sheet_column(s->result, "address") < 0 ||
	    fl_sheet_column(s->result, "function") < 0 ||
	    !fl_sheet_has_numbers(s->result, "self_ns") ||
	    !fl_sheet_has_numbers(s->result, "samples"))
		return fl_store_damaged(store, why);
	if (fl_store_homes(store, &a.homes, why))
		return -1;
	a.here = here = getcwd(NULL, 0);
	a.to.cells = calloc(s->result->n_rows + 1, N_COLUMNS * sizeof(*a.to.cells));
	err = !a.to.cells ? -ENOMEM : fl_symbols_open(&a.symbols);
	if (!err) {
		err = add_places(&a, s);
		fl_symbols_close(a.symbols);
	}
	fl_hash_free(&a.by_line);
	fl_source_texts_free(&a.texts);
	fl_insn_texts_close(a.insns);
	free(here);
	free(a.files);
	if (!err) {
		free(s->result->cells);
		*s->result = a.to;
		return 0;
	}
	free(a.to.cells);
	return fl_store_fail(store, why, fl_reason(err));
}
