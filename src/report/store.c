/*
 * store.c - read a recording back, whatever state its file is in.
 *
 * A file that is not a recording, is damaged, or was written by another
 * version of flick is told apart once, when it is opened.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/schema.h"

#define TEXT 192			/* of FL_WHY, at most: a path has the rest */

int fl_why(char why[FL_WHY], const char *path, const char *format, ...)
{
	char text[TEXT];
	size_t n = strlen(path), room;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	room = FL_WHY - sizeof("...: ") - strlen(text);
	snprintf(why, FL_WHY, "%s%s: %s", n > room ? "..." : "",
		 path + (n > room ? n - room : 0), text);
	return -1;
}

const char *fl_reason(int err)
{
	const char *text = fl_err_text(err);

	if (text)
		return text;
	return err < 0 && err >= -4095 ? strerror(-err) : "no reason that is known";
}

int fl_store_fail(const struct fl_store *s, char why[FL_WHY], const char *text)
{
	if (!text)
		text = s->db ? sqlite3_errmsg(s->db) : "out of memory";
	return fl_why(why, s->path, "%s", text);
}

/* The one number a statement gives; -1 when it gives none. */
static int64_t number_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t n = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static bool is_sound(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	bool sound = false;

	if (sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		sound = !strcmp((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	return sound;
}

static int check(struct fl_store *s, char why[FL_WHY])
{
	int64_t id = number_of(s->db, "PRAGMA application_id");
	int64_t version = number_of(s->db, "PRAGMA user_version");
	char text[96];

	if (id < 0)
		return fl_store_fail(s, why, "damaged: record again");
	if (id != FL_STORE_ID)
		return fl_store_fail(s, why, "not written by flick record");
	if (version != FL_STORE_VERSION) {
		snprintf(text, sizeof(text), "is version %d of the format, this "
			 "flick reads %d", (int)version, FL_STORE_VERSION);
		return fl_store_fail(s, why, text);
	}
	if (!is_sound(s->db))
		return fl_store_fail(s, why, "damaged: record again");
	return 0;
}

/* ---- names of functions ------------------------------------------------------ */

static int load_names(struct fl_store *s, char why[FL_WHY])
{
	int64_t n = number_of(s->db, "SELECT coalesce(max(id), -1) + 1 FROM functions");
	sqlite3_stmt *st = NULL;

	if (n < 0 || n > UINT32_MAX ||
	    sqlite3_prepare_v2(s->db, "SELECT id, name FROM functions WHERE id >= 0",
			       -1, &st, NULL) != SQLITE_OK)
		return fl_store_fail(s, why, "damaged: record again");
	s->functions = calloc((size_t)n + 1, sizeof(*s->functions));
	while (s->functions && sqlite3_step(st) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);

		s->functions[sqlite3_column_int64(st, 0)] = strdup(name ? name : "?");
	}
	sqlite3_finalize(st);
	s->n_functions = s->functions ? (size_t)n : 0;
	return s->functions ? 0 : fl_store_fail(s, why, "out of memory");
}

const char *const *fl_store_functions(struct fl_store *s, size_t *n)
{
	*n = s->n_functions;
	return (const char *const *)s->functions;
}

/* There is no results file: what is there instead? */
static void say_missing(const struct fl_store *s, char why[FL_WHY])
{
	int err = errno;
	struct stat st;

	if (!stat(s->dir, &st) && !S_ISDIR(st.st_mode))
		fl_why(why, s->dir, "a file, not the directory that `flick record` made");
	else if (err == ENOENT && !stat(s->dir, &st))
		fl_why(why, s->dir, "no " FL_STORE_FILE " in it; `flick record` makes one");
	else
		fl_why(why, s->dir, "%s; `flick record` makes one", strerror(err));
}

int fl_store_open(struct fl_store **out, const char *dir, char why[FL_WHY])
{
	struct fl_store *s = calloc(1, sizeof(*s));
	struct stat st;

	if (!s)
		return fl_why(why, dir, "out of memory");
	s->lock = -1;
	s->dir = strdup(dir);
	s->path = sqlite3_mprintf("%s/" FL_STORE_FILE, dir);
	if (stat(s->path, &st)) {
		say_missing(s, why);
		goto fail;
	}
	if (sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
		fl_store_fail(s, why, NULL);
		goto fail;
	}
	if (check(s, why) || load_names(s, why))
		goto fail;
	*out = s;
	return 0;
fail:
	fl_store_close(s);
	return -1;
}

bool fl_store_value(struct fl_store *s, const char *key, char value[256])
{
	sqlite3_stmt *st = NULL;
	bool found = false;

	if (sqlite3_prepare_v2(s->db, "SELECT value FROM session WHERE key = ?", -1,
			       &st, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0)) {
		snprintf(value, 256, "%s", sqlite3_column_text(st, 0));
		found = true;
	}
	sqlite3_finalize(st);
	return found;
}

int fl_store_number(struct fl_store *s, const char *key, uint64_t *out, char why[FL_WHY])
{
	char value[256] = "0", *end;

	fl_store_value(s, key, value);
	errno = 0;
	*out = strtoull(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end && !errno ? 0 :
	       fl_store_fail(s, why, "damaged: record again");
}

/* ---- results ------------------------------------------------------------------ */

void *fl_store_own(struct fl_store *s, void *p)
{
	void **grown;

	if (p && s->n_owned == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		grown = realloc(s->owned, s->room * sizeof(*grown));
		if (!grown) {
			free(p);
			return NULL;
		}
		s->owned = grown;
	}
	if (p)
		s->owned[s->n_owned++] = p;
	return p;
}

static int type_of(const char *name)
{
	for (int t = 0; name && fl_column_types[t]; t++)
		if (!strcmp(fl_column_types[t], name))
			return t;
	return -1;
}

const char *fl_store_result(struct fl_store *s, size_t i)
{
	sqlite3_stmt *st = NULL;
	const char *name = NULL;

	if (sqlite3_prepare_v2(s->db, "SELECT name FROM results ORDER BY rowid LIMIT 1 "
			       "OFFSET ?", -1, &st, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(st, 1, (int64_t)i);
	if (sqlite3_step(st) == SQLITE_ROW)
		name = (const char *)sqlite3_column_text(st, 0);
	name = name ? fl_store_own(s, strdup(name)) : NULL;
	sqlite3_finalize(st);
	return name;
}

bool fl_store_has(struct fl_store *s, const char *result)
{
	const char *name;

	for (size_t i = 0; (name = fl_store_result(s, i)); i++)
		if (!strcmp(name, result))
			return true;
	return false;
}

/* What it has instead, and how flick's own are had. */
static int say_others(struct fl_store *s, const char *name, char why[FL_WHY])
{
	const bool ours = fl_analysis_find(name);
	char others[80] = "";
	const char *other;
	size_t n = 0;

	for (size_t i = 0; (other = fl_store_result(s, i)) && n < sizeof(others); i++)
		n += (size_t)snprintf(others + n, sizeof(others) - n, "%s%s", i ? ", " : "",
				      other);
	return fl_why(why, s->path, "holds no result of %.48s%s%s%s%s", name,
		      n ? "; it has " : "", others, ours ? "; record with -a " : "",
		      ours ? name : "");
}

/* The columns of result `name`, as they were stored. 0, or -1: they are damaged. */
static int load_columns(struct fl_store *s, const char *name, struct flick_rows *r)
{
	struct flick_column *columns = fl_store_own(s, calloc(FL_MAX_COLUMNS,
							      sizeof(*columns)));
	sqlite3_stmt *st = NULL;
	bool sound = true;

	r->columns = columns;
	if (!columns || sqlite3_prepare_v2(s->db, "SELECT name, type FROM columns WHERE "
					   "result = ? ORDER BY position", -1, &st,
					   NULL) != SQLITE_OK)
		return -1;
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	while (sound && sqlite3_step(st) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);
		int type = type_of((const char *)sqlite3_column_text(st, 1));

		sound = text && type >= 0 && r->n_columns < FL_MAX_COLUMNS;
		if (!sound)
			break;
		columns[r->n_columns].type = (enum flick_column_type)type;
		columns[r->n_columns].name = fl_store_own(s, strdup(text));
		sound = columns[r->n_columns++].name;
	}
	sqlite3_finalize(st);
	return sound && r->n_columns ? 0 : -1;
}

/* A name in quotes alone would be a text where there is no such column. */
static sqlite3_stmt *select_rows(struct fl_store *s, const char *name,
				 const struct flick_rows *r)
{
	char *sql = sqlite3_mprintf("SELECT ");
	sqlite3_stmt *st = NULL;

	for (size_t c = 0; sql && c < r->n_columns; c++)
		sql = sqlite3_mprintf("%z%sr.\"%w\"", sql, c ? "," : "",
				      r->columns[c].name);
	if (sql)
		sql = sqlite3_mprintf("%z FROM \"%w\" AS r", sql, name);
	if (!sql || sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
		st = NULL;
	sqlite3_free(sql);
	return st;
}

static uint64_t read_cell(struct fl_store *s, sqlite3_stmt *st, int c,
			  enum flick_column_type type)
{
	const char *text;

	if (sqlite3_column_type(st, c) == SQLITE_NULL)
		return FLICK_NONE;
	if (type != FLICK_COL_TEXT)
		return (uint64_t)sqlite3_column_int64(st, c);
	text = (const char *)sqlite3_column_text(st, c);
	text = text ? fl_store_own(s, strdup(text)) : NULL;
	return text ? (uintptr_t)text : FLICK_NONE;
}

static int read_rows(struct fl_store *s, sqlite3_stmt *st, struct flick_rows *r)
{
	size_t room = 0;
	int step;

	while ((step = sqlite3_step(st)) == SQLITE_ROW) {
		if (r->n_rows == room) {
			uint64_t *grown;

			room = room ? room * 2 : 64;
			grown = realloc(r->cells, room * r->n_columns * sizeof(*grown));
			if (!grown)
				return -1;
			r->cells = grown;
		}
		for (size_t c = 0; c < r->n_columns; c++)
			r->cells[r->n_rows * r->n_columns + c] =
				read_cell(s, st, (int)c, r->columns[c].type);
		r->n_rows++;
	}
	return step == SQLITE_DONE ? 0 : -1;
}

int fl_store_load(struct fl_store *s, const char *name, struct flick_rows *r,
		  char why[FL_WHY])
{
	sqlite3_stmt *st;
	int err;

	*r = (struct flick_rows){ 0 };
	if (!fl_store_has(s, name))
		return say_others(s, name, why);
	st = load_columns(s, name, r) ? NULL : select_rows(s, name, r);
	if (!st)
		return fl_store_fail(s, why, "damaged: record again");
	err = read_rows(s, st, r);
	sqlite3_finalize(st);
	if (err) {
		free(r->cells);
		r->cells = NULL;
		return fl_store_fail(s, why, NULL);
	}
	return 0;
}

void fl_store_close(struct fl_store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	if (s->final) {
		unlink(s->path);
		if (s->made_dir)
			rmdir(s->dir);
	}
	if (s->lock >= 0)
		close(s->lock);
	for (size_t i = 0; i < s->n_functions; i++)
		free(s->functions[i]);
	free(s->functions);
	for (size_t i = 0; i < s->n_owned; i++)
		free(s->owned[i]);
	free(s->owned);
	sqlite3_free(s->path);
	sqlite3_free(s->final);
	free(s->dir);
	free(s);
}
