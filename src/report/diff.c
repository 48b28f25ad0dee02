/*
 * diff.c - two results side by side, matched by the names in their rows.
 *
 * A function's index differs from recording to recording, its name does not. Rows
 * with the same names add up where that makes sense; a row of a tree is matched by
 * the names on its way from the root.
 */
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

#define MAX_KEYS 4
enum { BEFORE, AFTER };

struct entry {
	uint32_t parent;		/* 1 + index; 0: none, or no tree */
	char *name;			/* by which it is matched */
	char *shown;			/* NULL: `name` is shown */
	bool seen[2];
	uint64_t value[2][MAX_KEYS];
};

struct fl_diff {
	struct entry *entries;
	uint32_t n;
	struct fl_hash by_name;		/* and by parent */
	size_t n_keys;
	const char *keys[MAX_KEYS];
	bool is_tree;
	char names[MAX_KEYS][3][64];	/* of columns */
	const char *title;		/* of the column of names; the caller's */
	struct flick_column columns[3 * MAX_KEYS + 3];
	struct flick_rows rows;
	struct fl_sheet sheet;
};

/* ---- entries --------------------------------------------------------------------- */

/* The entry of `name` below `parent`, as 1 + index; it is made if there is none. `name` is
 * taken over. 0: no memory. */
static uint32_t entry_of(struct fl_diff *d, uint32_t parent, char *name)
{
	uint32_t hash = fl_hash_text(parent, name);

	for (uint32_t at = hash, i; (i = fl_hash_next(&d->by_name, hash, &at));) {
		if (d->entries[i - 1].parent == parent &&
		    !strcmp(d->entries[i - 1].name, name)) {
			free(name);
			return i;
		}
	}
	if (fl_array_room(&d->entries, d->n, sizeof(*d->entries)) ||
	    fl_hash_put(&d->by_name, hash, d->n + 1)) {
		free(name);
		return 0;
	}
	d->entries[d->n] = (struct entry){ .parent = parent, .name = name };
	return ++d->n;
}

/* The names in a row: "caller -> function", "program: function", "thread: function". */
static char *name_of(const struct fl_sheet *s, const uint64_t *row)
{
	const struct flick_rows *r = s->result;
	const char *between = "";
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	for (size_t c = 0; f && c < r->n_columns; c++) {
		if (!fl_sheet_is_text(r, c))
			continue;
		fprintf(f, "%s%s", between, fl_sheet_text(s, c, row[c]));
		between = strcmp(r->columns[c].name, "program") &&
			  strcmp(r->columns[c].name, "thread") ? " -> " : ": ";
	}
	return f && !fclose(f) ? text : NULL;
}

/* The same with full names: a function may have a simple name in one recording and a full
 * one in the other. */
static char *key_of(const struct fl_sheet *s, const uint64_t *row)
{
	struct fl_sheet full = *s;

	full.functions = s->full ? s->full : s->functions;
	return name_of(&full, row);
}

/* Not averages, quantiles and errors, nor what a third party's number may be. */
static bool adds_up(const char *key)
{
	static const char *const keys[] = {
		"calls", "total_ns", "self_ns", "sum_ns", "raw_total_ns", "raw_self_ns",
		"raw_sum_ns", "unknown", "unsure", "open", "sampled", "counted", "given_up",
		"runs", "samples", "self_samples", "stack_samples",
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void add_row(struct fl_diff *d, struct entry *e, const struct fl_sheet *s,
		    const uint64_t *row, int side)
{
	for (size_t k = 0; k < d->n_keys; k++) {
		uint64_t v = row[fl_sheet_column(s->result, d->keys[k])];
		uint64_t *to = &e->value[side][k];

		if (!e->seen[side])
			*to = v;
		else if (!adds_up(d->keys[k]))
			*to = FLICK_NONE;
		else if (v != FLICK_NONE)
			*to = *to == FLICK_NONE ? v : *to + v;
	}
	e->seen[side] = true;
}

/* Rows of a tree come parents first: at[depth + 1] is the last entry of that depth. */
static int add_sheet(struct fl_diff *d, const struct fl_sheet *s, int side)
{
	const struct flick_rows *r = s->result;
	uint32_t *at = calloc(r->n_rows + 2, sizeof(*at));
	int err = at ? 0 : -1;

	for (size_t i = 0; !err && i < r->n_rows; i++) {
		const uint64_t *row = r->cells + i * r->n_columns;
		uint32_t depth = s->depth ? s->depth[i] : 0, e = 0;
		char *name = key_of(s, row);

		if (name)
			e = entry_of(d, s->depth ? at[depth] : 0, name);
		err = e ? 0 : -1;
		if (e && s->full && !d->entries[e - 1].shown)
			d->entries[e - 1].shown = name_of(s, row);
		if (e) {
			at[depth + 1] = e;
			add_row(d, &d->entries[e - 1], s, row, side);
		}
	}
	free(at);
	return err;
}

/* ---- the sheet --------------------------------------------------------------------- */

/* "total_ns" gives total_before_ns, total_after_ns and total_change_ns. Where the calls of
 * one side are samples, that side's column says so. */
static void name_columns(struct fl_diff *d, size_t k, const struct fl_sheet *const from[2],
			 struct flick_column *c)
{
	static const char *const sides[] = { "before", "after", "change" };
	int at[2];

	for (int side = BEFORE; side <= AFTER; side++)
		at[side] = fl_sheet_column(from[side]->result, d->keys[k]);
	for (int i = 0; i < 3; i++) {
		int side = i == BEFORE ? BEFORE : AFTER;
		const char *key = fl_sheet_title(from[side], (size_t)at[side]);
		const char *unit = strstr(key, "_ns");
		int n = unit ? (int)(unit - key) : (int)strlen(key);

		snprintf(d->names[k][i], sizeof(d->names[k][i]), "%.*s_%s%s", n, key,
			 sides[i], unit ? unit : "");
		c[i].name = d->names[k][i];
		c[i].type = from[AFTER]->result->columns[at[AFTER]].type;
	}
	c[2].type = (enum flick_column_type)(c[2].type == FLICK_COL_NS ? FL_COL_CHANGE_NS :
					     FL_COL_CHANGE);
}

static void make_columns(struct fl_diff *d, const struct fl_sheet *const from[2])
{
	struct flick_column *c = d->columns;

	for (size_t k = 0; k < d->n_keys; k++, c += 3)
		name_columns(d, k, from, c);
	*c++ = (struct flick_column){ d->title, FLICK_COL_TEXT };
	if (d->is_tree) {
		*c++ = (struct flick_column){ "id", FLICK_COL_ID };
		*c++ = (struct flick_column){ "parent", FLICK_COL_PARENT };
	}
	d->rows.columns = d->columns;
	d->rows.n_columns = (size_t)(c - d->columns);
}

/* An entry that one side does not have counts as 0 there; a value that is not known leaves
 * the change unknown. */
static uint64_t change_of(const struct entry *e, size_t k)
{
	uint64_t before = e->seen[BEFORE] ? e->value[BEFORE][k] : 0;
	uint64_t after = e->seen[AFTER] ? e->value[AFTER][k] : 0;

	return before == FLICK_NONE || after == FLICK_NONE ? FLICK_NONE :
	       fl_change_cell((int64_t)(after - before));
}

/* Neither side knows any of the values, as of a function that samples alone tell of. */
static bool is_unknown(const struct fl_diff *d, const struct entry *e)
{
	for (size_t k = 0; k < d->n_keys; k++)
		for (int side = BEFORE; side <= AFTER; side++)
			if (e->seen[side] && e->value[side][k] != FLICK_NONE)
				return false;
	return true;
}

static int make_rows(struct fl_diff *d)
{
	uint64_t *cell = calloc(d->n * d->rows.n_columns + 1, sizeof(*cell));

	d->rows.cells = cell;
	for (uint32_t i = 0; cell && i < d->n; i++) {
		const struct entry *e = &d->entries[i];

		if (!d->is_tree && is_unknown(d, e))
			continue;
		d->rows.n_rows++;
		for (size_t k = 0; k < d->n_keys; k++) {
			*cell++ = e->seen[BEFORE] ? e->value[BEFORE][k] : FLICK_NONE;
			*cell++ = e->seen[AFTER] ? e->value[AFTER][k] : FLICK_NONE;
			*cell++ = change_of(e, k);
		}
		*cell++ = (uintptr_t)(e->shown ? e->shown : e->name);
		if (d->is_tree) {
			*cell++ = i;
			*cell++ = e->parent ? e->parent - 1 : FLICK_NONE;
		}
	}
	return d->rows.cells ? 0 : -1;
}

static int fill(struct fl_diff *d, struct fl_sheet *before, struct fl_sheet *after,
		const char *const *keys)
{
	for (; *keys && d->n_keys < MAX_KEYS; keys++)
		if (fl_sheet_has_numbers(before->result, *keys) &&
		    fl_sheet_has_numbers(after->result, *keys))
			d->keys[d->n_keys++] = *keys;
	if (!d->n_keys)
		return -1;
	if (!fl_sheet_sort(before, d->keys[0]) || !fl_sheet_sort(after, d->keys[0]))
		return -1;
	if (add_sheet(d, before, BEFORE) || add_sheet(d, after, AFTER))
		return -1;
	d->is_tree = before->depth || after->depth;
	make_columns(d, (const struct fl_sheet *const[]){ before, after });
	return make_rows(d);
}

int fl_diff_make(struct fl_diff **out, struct fl_sheet *before, struct fl_sheet *after,
		 const char *const *keys, const char *title)
{
	struct fl_diff *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	d->title = title;
	d->sheet = (struct fl_sheet){ .result = &d->rows };
	if (fill(d, before, after, keys) || !fl_sheet_sort(&d->sheet, d->columns[2].name)) {
		fl_diff_free(d);
		return -1;
	}
	*out = d;
	return 0;
}

struct fl_sheet *fl_diff_sheet(struct fl_diff *d)
{
	return &d->sheet;
}

void fl_diff_free(struct fl_diff *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->n; i++) {
		free(d->entries[i].name);
		free(d->entries[i].shown);
	}
	free(d->entries);
	fl_hash_free(&d->by_name);
	fl_sheet_free(&d->sheet);
	free(d);
}
