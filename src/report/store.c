/*
 * store.c - read a recording back, whatever state its file is in.
 *
 * A file that is not a recording, is damaged, or was written by another version of
 * flick is recognised when it is opened. Each value is checked where it is read
 * (query.c).
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/schema.h"

#define TEXT 192			/* at most so much of FL_WHY; the path has the rest */

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

/* What is wrong: in the system's words where SQLite has the error from there. */
static const char *reason_of(sqlite3 *db)
{
	int code = sqlite3_errcode(db) & 0xff, err = sqlite3_system_errno(db);

	if (code == SQLITE_FULL)
		return strerror(ENOSPC);
	return (code == SQLITE_CANTOPEN || code == SQLITE_IOERR) && err ? strerror(err) :
	       sqlite3_errmsg(db);
}

/* Nobody knows the name of a file that is being written: the directory is named instead. */
int fl_store_fail(const struct fl_store *s, char why[FL_WHY], const char *text)
{
	if (!text)
		text = s->db ? reason_of(s->db) : "out of memory";
	return fl_why(why, s->final ? s->dir : s->path, "%s", text);
}

/* ---- names --------------------------------------------------------------------- */

/* Add a copy of `text` behind the `n` texts; false: no memory. */
static bool add_text(char ***texts, size_t *n, const char *text)
{
	if (fl_array_room(texts, *n, sizeof(**texts)))
		return false;
	(*texts)[*n] = strdup(text);
	return (*texts)[*n] && ++*n;
}

/* Ids are dense: they were written so. */
static int load_functions(struct fl_store *s, char why[FL_WHY])
{
	struct fl_query q;
	size_t n_linkages = 0;
	bool fits = true;

	if (fl_query_check_table(s, "functions", why))
		return -1;
	fl_query_open(&q, s, "SELECT id, name, linkage FROM functions ORDER BY id");
	while (fits && fl_query_row(&q)) {
		int64_t id = (int64_t)s->n_functions;

		fl_query_number(&q, 0, id, id);
		fits = id < UINT32_MAX &&
		       add_text(&s->linkages, &n_linkages, fl_query_text(&q, 2)) &&
		       add_text(&s->functions, &s->n_functions, fl_query_text(&q, 1));
	}
	s->n_linkages = n_linkages;
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	return fits ? 0 : fl_store_fail(s, why, "out of memory");
}

static int load_results(struct fl_store *s, char why[FL_WHY])
{
	struct fl_query q;
	bool fits = true;

	if (fl_query_check_table(s, "results", why))
		return -1;
	fl_query_open(&q, s, "SELECT name FROM results ORDER BY rowid");
	while (fits && fl_query_row(&q)) {
		const char *name = fl_query_text(&q, 0);

		q.is_wrong |= !fl_store_takes(name);
		fits = add_text(&s->results, &s->n_results, name);
	}
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	return fits ? 0 : fl_store_fail(s, why, "out of memory");
}

const char *const *fl_store_functions(struct fl_store *s, size_t *n)
{
	*n = s->n_functions;
	return s->names ? fl_names_shown(s->names) : fl_store_full_names(s);
}

const char *const *fl_store_full_names(struct fl_store *s)
{
	return (const char *const *)s->functions;
}

const char *const *fl_store_linkages(struct fl_store *s)
{
	return (const char *const *)s->linkages;
}

int fl_store_demangle(struct fl_store *s, enum fl_demangle how, char why[FL_WHY])
{
	fl_names_free(s->names);
	s->names = fl_names_make(fl_store_full_names(s), fl_store_linkages(s),
				 s->n_functions, how);
	return s->names ? 0 : fl_store_fail(s, why, "out of memory");
}

/* ---- what is there ---------------------------------------------------------------- */

/* Does a recorder hold the directory's lock (save.c)? Where directories cannot be locked it
 * never does. */
static bool is_recorded_into(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is_locked;
}

enum fl_unfinished fl_store_unfinished(const struct fl_store *s)
{
	char *path = sqlite3_mprintf("%s/" FL_STORE_FILE ".tmp", s->dir);
	bool is_there = path && !access(path, F_OK);

	sqlite3_free(path);
	return !is_there ? FL_ALL_FINISHED : is_recorded_into(s->dir) ? FL_UNDER_WAY :
	       FL_INTERRUPTED;
}

/* There is no results file: say what is there instead. */
static void say_missing(const struct fl_store *s, char why[FL_WHY])
{
	const enum fl_unfinished left = fl_store_unfinished(s);
	int err = ENOENT;
	struct stat st;

	if (stat(s->path, &st))
		err = errno;
	if (!stat(s->dir, &st) && !S_ISDIR(st.st_mode))
		fl_why(why, s->dir, "a file, not the directory that `flick record` made");
	else if (left == FL_UNDER_WAY)
		fl_why(why, s->dir, "`flick record` is still at it: there are results when it "
		       "has ended");
	else if (left == FL_INTERRUPTED)
		fl_why(why, s->dir, "`flick record` was killed before it wrote its results, "
		       "which are lost with it; record again (Ctrl-C or --duration end it)");
	else if (err == ENOENT && !stat(s->dir, &st))
		fl_why(why, s->dir, "no " FL_STORE_FILE " in it; `flick record` makes one");
	else
		fl_why(why, s->dir, "%s%s", strerror(err), err == ENOENT || err == ENOTDIR ?
		       "; `flick record` makes one" : "");
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
	if (fl_query_begin(s, why) || fl_query_check_table(s, "session", why) ||
	    fl_query_check_table(s, "columns", why) || load_functions(s, why) ||
	    load_results(s, why))
		goto fail;
	*out = s;
	return 0;
fail:
	fl_store_close(s);
	return -1;
}

bool fl_store_value(struct fl_store *s, const char *key, char *value, size_t room)
{
	struct fl_query q;
	char found[FL_VALUE];
	bool is_there;

	fl_query_open(&q, s, "SELECT value FROM session WHERE key = ?");
	fl_query_give_text(&q, key);
	is_there = fl_query_row(&q);
	if (is_there)
		snprintf(found, sizeof(found), "%s", fl_query_text(&q, 0));
	if (fl_query_close(&q) || !is_there)
		return false;
	snprintf(value, room, "%s", found);
	return true;
}

int fl_store_number(struct fl_store *s, const char *key, uint64_t *out, char why[FL_WHY])
{
	char value[256] = "0", *end;

	fl_store_value(s, key, value, sizeof(value));
	errno = 0;
	*out = strtoull(value, &end, 10);
	return isdigit((unsigned char)*value) && !*end && !errno ? 0 :
	       fl_store_fail(s, why, "damaged: record again");
}

char *fl_line_text(const char *here, const char *file, int line)
{
	const size_t n = here ? strlen(here) : 0;
	char *text = NULL;

	if (n && !strncmp(file, here, n) && file[n] == '/')
		file += n + 1;
	return asprintf(&text, "%s:%d", file, line) < 0 ? NULL : text;
}

int fl_store_lines(struct fl_store *s, const char *const **out, char why[FL_WHY])
{
	const char **lines = fl_store_own(s, calloc(s->n_functions + 1, sizeof(*lines)));
	char *here = getcwd(NULL, 0);
	struct fl_query q;
	bool fits = lines;

	fl_query_open(&q, s, "SELECT id, file, line FROM functions WHERE file IS NOT NULL");
	while (fits && fl_query_row(&q)) {
		size_t f = (size_t)fl_query_number(&q, 0, 0, (int64_t)s->n_functions - 1);

		lines[f] = fl_store_own(s, fl_line_text(here, fl_query_text(&q, 1), (int)
						fl_query_number(&q, 2, 0, INT32_MAX)));
		fits = lines[f];
	}
	free(here);
	*out = lines;
	if (fl_query_close(&q))
		return fl_store_damaged(s, why);
	return fits ? 0 : fl_store_fail(s, why, "out of memory");
}

/* ---- results ------------------------------------------------------------------ */

void *fl_store_own(struct fl_store *s, void *p)
{
	if (p && fl_array_room(&s->owned, s->n_owned, sizeof(*s->owned))) {
		free(p);
		return NULL;
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
	return i < s->n_results ? s->results[i] : NULL;
}

bool fl_store_has(struct fl_store *s, const char *result)
{
	for (size_t i = 0; i < s->n_results; i++)
		if (!strcmp(s->results[i], result))
			return true;
	return false;
}

/* Say which results the store has instead, and how one of flick's own is recorded. */
static int say_others(struct fl_store *s, const char *name, char why[FL_WHY])
{
	const bool ours = fl_analysis_find(name);
	char others[80] = "";
	const char *other;
	size_t n = 0;

	for (size_t i = 0; (other = fl_store_result(s, i)) && n < sizeof(others); i++)
		n += (size_t)snprintf(others + n, sizeof(others) - n, "%s%s", i ? ", " : "",
				      other);
	return fl_why(why, s->path, "has no result `%.48s`%s%s%s%s", name,
		      n ? "; it has " : "", others, ours ? "; record with -a " : "",
		      ours ? name : "");
}

/* Read the columns of result `name`. 0, or -1: they are damaged. */
static int load_columns(struct fl_store *s, const char *name, struct flick_rows *r)
{
	struct flick_column *columns = fl_store_own(s, calloc(FL_MAX_COLUMNS,
							      sizeof(*columns)));
	struct fl_query q;

	fl_query_open(&q, s, "SELECT position, name, type FROM columns WHERE result = ? "
			     "ORDER BY position");
	fl_query_give_text(&q, name);
	while (columns && r->n_columns < FL_MAX_COLUMNS && fl_query_row(&q)) {
		struct flick_column *c = &columns[r->n_columns];
		int type = type_of(fl_query_text(&q, 2));

		fl_query_number(&q, 0, (int64_t)r->n_columns, (int64_t)r->n_columns);
		c->name = fl_store_own(s, strdup(fl_query_text(&q, 1)));
		q.is_wrong |= type < 0 || !c->name;
		c->type = (enum flick_column_type)type;
		r->n_columns += !q.is_wrong;
	}
	q.is_wrong |= !columns || fl_query_row(&q);
	r->columns = columns;
	return fl_query_close(&q) || !fl_rows_are_good(r) ? -1 : 0;
}

/* Columns are written r."NAME": SQLite would read "NAME" as a text if there were no such
 * column. */
static char *select_of(const char *name, const struct flick_rows *r)
{
	char *sql = sqlite3_mprintf("SELECT ");

	for (size_t c = 0; sql && c < r->n_columns; c++)
		sql = sqlite3_mprintf("%z%sr.\"%w\"", sql, c ? "," : "",
				      r->columns[c].name);
	return sql ? sqlite3_mprintf("%z FROM \"%w\" AS r", sql, name) : NULL;
}

static uint64_t read_cell(struct fl_store *s, struct fl_query *q, int c,
			  enum flick_column_type type)
{
	const bool is_function = type == FLICK_COL_FUNCTION;
	const char *text;

	if (fl_query_is_null(q, c))
		return FLICK_NONE;
	if (type != FLICK_COL_TEXT)
		return (uint64_t)fl_query_number(q, c, 0, is_function ?
						 (int64_t)s->n_functions - 1 : INT64_MAX);
	text = fl_store_own(s, strdup(fl_query_text(q, c)));
	q->is_wrong |= !text;
	return (uintptr_t)text;
}

static int read_rows(struct fl_store *s, struct fl_query *q, struct flick_rows *r)
{
	while (fl_query_row(q)) {
		if (fl_array_room(&r->cells, r->n_rows, r->n_columns * sizeof(*r->cells)))
			return -1;
		for (size_t c = 0; c < r->n_columns; c++)
			r->cells[r->n_rows * r->n_columns + c] =
				read_cell(s, q, (int)c, r->columns[c].type);
		r->n_rows++;
	}
	return 0;
}

int fl_store_load(struct fl_store *s, const char *name, struct flick_rows *r,
		  char why[FL_WHY])
{
	struct fl_query q;
	char *sql;
	int err;

	*r = (struct flick_rows){ 0 };
	if (!fl_store_has(s, name))
		return say_others(s, name, why);
	if (fl_query_check_table(s, name, why))
		return -1;
	if (load_columns(s, name, r))
		return fl_store_damaged(s, why);
	sql = select_of(name, r);
	fl_query_open(&q, s, sql);
	sqlite3_free(sql);
	err = read_rows(s, &q, r);
	if (!fl_query_close(&q) && !err)
		return 0;
	free(r->cells);
	r->cells = NULL;
	return err ? fl_store_fail(s, why, "out of memory") : fl_store_damaged(s, why);
}

static void free_texts(char **texts, size_t n)
{
	while (n)
		free(texts[--n]);
	free(texts);
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
	fl_names_free(s->names);
	free_texts(s->functions, s->n_functions);
	free_texts(s->linkages, s->n_linkages);
	free_texts(s->results, s->n_results);
	for (size_t i = 0; i < s->n_owned; i++)
		free(s->owned[i]);
	free(s->owned);
	sqlite3_free(s->path);
	sqlite3_free(s->final);
	free(s->dir);
	free(s);
}
