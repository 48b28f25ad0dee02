/*
 * save.c - write a recording into flick.data/results.db.
 *
 * The file is made under another name before the target starts, filled in one
 * transaction at the end and then renamed: under its final name it is whole. A
 * directory has one writer at a time, because all writers use the same file names.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/schema.h"

static const char schema[] =
	"CREATE TABLE session(key TEXT PRIMARY KEY, value TEXT);"
	"CREATE TABLE modules(id INTEGER PRIMARY KEY, path TEXT,"
	"  base INTEGER, lo INTEGER, hi INTEGER, build_id TEXT);"
	"CREATE TABLE functions(id INTEGER PRIMARY KEY, name TEXT, linkage TEXT,"
	"  module INTEGER REFERENCES modules, offset INTEGER, file TEXT, line INTEGER);"
	"CREATE TABLE sites(id INTEGER PRIMARY KEY, kind TEXT,"
	"  module INTEGER REFERENCES modules, function INTEGER REFERENCES functions,"
	"  address INTEGER, offset INTEGER, provider TEXT,"
	"  tactic TEXT, state TEXT, wanted INTEGER, jump INTEGER, refusal INTEGER,"
	"  reason TEXT);"
	"CREATE TABLE results(name TEXT PRIMARY KEY);"
	"CREATE TABLE columns(result TEXT REFERENCES results, position INTEGER, name TEXT,"
	"  type TEXT, PRIMARY KEY(result, position));"
	"CREATE TABLE threads(id INTEGER PRIMARY KEY, tid INTEGER, name TEXT,"
	"  image INTEGER, produced INTEGER, delivered INTEGER, filtered INTEGER";

static const char *const state_names[] = {
	[FL_SITE_OTHERS] = "none", [FL_SITE_FOUND] = "found", [FL_SITE_READY] = "ready",
	[FL_SITE_REFUSED] = "refused", [FL_SITE_GONE] = "gone",
};

static const char *const lost_columns[FL_N_LOST] = {
	[FL_LOST_READER] = "lost_reader",
	[FL_LOST_SLOT] = "lost_slot",
	[FL_LOST_ROOM] = "lost_room",
	[FL_LOST_SITE] = "lost_site",
};

bool fl_store_takes(const char *name)
{
	static const char *const tables[] = { "session", "modules", "functions", "sites",
					      "results", "columns", "threads", "losses" };

	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (!strcasecmp(tables[i], name))
			return false;
	return strncasecmp(name, "sqlite_", 7);
}

/* ---- rows: one prepared statement, bound by a string of types -------------- */

/* A prepared statement. An error is kept until end_rows(). */
struct insert {
	sqlite3_stmt *st;
	int err;			/* 0 or -1 */
};

/* A statement that inserts `rows` rows at a time. */
static struct insert insert_rows(sqlite3 *db, const char *table, int columns, int rows)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	struct insert w = { .err = -1 };
	char *text;

	sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES", table);
	for (int i = 0; i < rows * columns; i++)
		sqlite3_str_appendall(sql, i % columns ? ",?" : i ? "),(?" : "(?");
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (text && sqlite3_prepare_v2(db, text, -1, &w.st, NULL) == SQLITE_OK)
		w.err = 0;
	sqlite3_free(text);
	return w;
}

static struct insert insert_into(sqlite3 *db, const char *table, int columns)
{
	return insert_rows(db, table, columns, 1);
}

/* Bind from column `at` on; a letter of `types` stands for a column: i integer, s text, k a
 * text that is bound already, n NULL. */
static void bind_row(struct insert *w, int at, const char *types, const int64_t *ints,
		     const char *const *texts)
{
	for (int c = 0; types[c]; c++) {
		if (types[c] == 'k')
			texts++;
		else if (types[c] == 's')
			sqlite3_bind_text(w->st, at + c + 1, *texts++, -1, SQLITE_STATIC);
		else if (types[c] == 'i')
			sqlite3_bind_int64(w->st, at + c + 1, *ints++);
		else
			sqlite3_bind_null(w->st, at + c + 1);
	}
}

static void put_bound(struct insert *w)
{
	if (sqlite3_step(w->st) != SQLITE_DONE || sqlite3_reset(w->st) != SQLITE_OK)
		w->err = -1;
}

static void put_row(struct insert *w, const char *types, const int64_t *ints,
		    const char *const *texts)
{
	if (w->err)
		return;
	bind_row(w, 0, types, ints, texts);
	put_bound(w);
}

static int end_rows(struct insert *w)
{
	sqlite3_finalize(w->st);
	return w->err;
}

#define INTS(...) (const int64_t[]){ __VA_ARGS__ }
#define TEXTS(...) (const char *const[]){ __VA_ARGS__ }

static int put_session(sqlite3 *db, const struct fl_recording *r)
{
	struct insert w = insert_into(db, "session", 2);

	for (size_t i = 0; i < r->n_session; i++)
		put_row(&w, "ss", NULL,
			      TEXTS(r->session[i].key, r->session[i].value));
	return end_rows(&w);
}

static int put_modules(sqlite3 *db, const struct fl_recording *r)
{
	struct insert w = insert_into(db, "modules", 6);

	for (size_t i = 0; i < r->n_modules; i++) {
		const struct fl_shm_module *m = &r->modules[i];
		char id[FL_BUILD_ID_TEXT];

		bool has_id = r->symbols && fl_symbols_build_id(r->symbols, m->path, id);

		put_row(&w, has_id ? "isiiis" : "isiiin",
			      INTS((int64_t)i, (int64_t)m->base, (int64_t)m->lo,
				   (int64_t)m->hi), TEXTS(m->path, id));
	}
	return end_rows(&w);
}

static int64_t row_of(const struct fl_recording *r, size_t function)
{
	return r->row_of ? r->row_of[function] : (int64_t)function;
}

static void put_function(struct insert *w, const struct fl_recording *r, size_t i)
{
	const struct fl_function *f = &r->functions[i];

	put_row(w, f->file ? "issiisi" : "issiinn",
		INTS(row_of(r, i), f->module, (int64_t)f->at, f->line),
		TEXTS(f->name, f->linkage, f->file));
}

static int put_functions(sqlite3 *db, const struct fl_recording *r)
{
	struct insert w = insert_into(db, "functions", 7);

	if (r->lines)
		r->lines(r->lines_of);
	for (size_t i = 0; i < r->n_functions; i++)
		if (row_of(r, i) != FL_NO_ROW)
			put_function(&w, r, i);
	return end_rows(&w);
}

/* One statement inserts many sites: to begin a statement takes as long as a row. */
enum { SITE_COLUMNS = 13, SITE_TEXTS = 5, SITE_ROWS = 64 };

struct sites {
	struct insert w;
	const char *bound[SITE_ROWS][SITE_TEXTS];
	size_t of[SITE_ROWS];		/* indices of sites that wait for a statement */
	int n;
};

/* Sites are many and their texts few: a text that equals the one bound before stays bound. */
static void bind_site(struct insert *w, int row, const struct fl_recording *r, size_t i,
		      const char *bound[SITE_TEXTS])
{
	const struct fl_shm_site *s = &r->sites[i];
	/* A function may be in no module. */
	uint64_t base = s->module < r->n_modules ? r->modules[s->module].base : 0;
	const char *texts[SITE_TEXTS] = {
		fl_kind_names[s->kind], r->providers[s->provider], r->tactics[s->tactic],
		state_names[s->state], s->refusal ? fl_reason(s->refusal) : NULL,
	};
	char types[SITE_COLUMNS + 1] = "isiiiisssiiis";

	for (size_t c = 0, t = 0; types[c]; c++)
		if (types[c] == 's' && texts[t] == bound[t])
			types[c] = 'k', t++;
		else if (types[c] == 's')
			bound[t] = texts[t], t++;
	bind_row(w, row * SITE_COLUMNS, types,
		 INTS((int64_t)i, s->module, row_of(r, r->function_of[i]), (int64_t)s->at,
		      (int64_t)(s->at - base), s->wanted, s->jump, s->refusal), texts);
}

static void put_gathered(struct sites *s, const struct fl_recording *r)
{
	if (s->w.err)
		return;
	for (int row = 0; row < s->n; row++)
		bind_site(&s->w, row, r, s->of[row], s->bound[row]);
	put_bound(&s->w);
	s->n = 0;
}

static void put_site(struct sites *s, const struct fl_recording *r, size_t i)
{
	s->of[s->n++] = i;
	if (s->n == SITE_ROWS)
		put_gathered(s, r);
}

/* The last sites, which do not fill a statement. */
static int end_sites(sqlite3 *db, struct sites *s, const struct fl_recording *r)
{
	struct sites rest = { .n = s->n };

	memcpy(rest.of, s->of, sizeof(rest.of));
	if (end_rows(&s->w) || !rest.n)
		return s->w.err;
	rest.w = insert_rows(db, "sites", SITE_COLUMNS, rest.n);
	put_gathered(&rest, r);
	return end_rows(&rest.w);
}

static int put_sites(sqlite3 *db, const struct fl_recording *r)
{
	struct sites sites = { .w = insert_rows(db, "sites", SITE_COLUMNS, SITE_ROWS) };

	for (size_t i = 0; !sites.w.err && i < r->n_sites; i++)
		if (!r->kept || r->kept[i])
			put_site(&sites, r, i);
	return end_sites(db, &sites, r);
}

static int put_threads(sqlite3 *db, const struct fl_recording *r)
{
	struct insert w = insert_into(db, "threads", 8 + FL_N_LOST);

	for (size_t i = 0; i < r->n_threads; i++) {
		const struct fl_thread *t = &r->threads[i];
		char types[8 + FL_N_LOST + 1] = "iisiiiii";
		int64_t ints[7 + FL_N_LOST] = {
			(int64_t)i, t->tid, t->image, (int64_t)t->produced,
			(int64_t)t->delivered, (int64_t)t->filtered };

		for (int c = 0; c < FL_N_LOST; c++) {
			types[8 + c] = 'i';
			ints[6 + c] = (int64_t)t->lost[c];
		}
		ints[6 + FL_N_LOST] = t->pid;
		put_row(&w, types, ints, TEXTS(t->name));
	}
	return end_rows(&w);
}

uint64_t fl_threads_lost(const struct fl_thread *t, size_t n, enum fl_lost cause)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += t[i].lost[cause];
	return sum;
}

static int put_losses(sqlite3 *db, const struct fl_recording *r)
{
	struct insert w = insert_into(db, "losses", 2);

	for (int c = 0; c < FL_N_LOST; c++) {
		uint64_t n = fl_threads_lost(r->threads, r->n_threads, c);

		put_row(&w, "si", INTS((int64_t)n), TEXTS(fl_lost_names[c]));
	}
	return end_rows(&w);
}

/* ---- results: one table an analysis, with its columns ---------------------- */

const char *const fl_column_types[] = {
	[FLICK_COL_FUNCTION] = "function", [FLICK_COL_COUNT] = "count",
	[FLICK_COL_NS] = "ns", [FLICK_COL_TEXT] = "text",
	[FLICK_COL_ID] = "id", [FLICK_COL_PARENT] = "parent", NULL
};

static const char *const sql_types[] = {
	[FLICK_COL_FUNCTION] = "INTEGER REFERENCES functions", [FLICK_COL_COUNT] = "INTEGER",
	[FLICK_COL_NS] = "INTEGER", [FLICK_COL_TEXT] = "TEXT",
	[FLICK_COL_ID] = "INTEGER", [FLICK_COL_PARENT] = "INTEGER",
};

/* Run and free `sql`; NULL: there was no memory for it. */
static int execute(sqlite3 *db, char *sql)
{
	int err = sql && sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;

	sqlite3_free(sql);
	return err;
}

static int make_result_table(sqlite3 *db, const char *name,
			     const struct flick_rows *r)
{
	char *sql = sqlite3_mprintf("CREATE TABLE \"%w\"(", name);

	for (size_t c = 0; sql && c < r->n_columns; c++)
		sql = sqlite3_mprintf("%z%s\"%w\" %s", sql, c ? "," : "",
				      r->columns[c].name, sql_types[r->columns[c].type]);
	return execute(db, sql ? sqlite3_mprintf("%z)", sql) : NULL);
}

/* NAME_SUFFIX; NULL: no memory, or a result has that name. Free it. */
static char *name_beside(const struct fl_recording *r, const char *name, const char *suffix)
{
	char *beside = sqlite3_mprintf("%s_%s", name, suffix);

	for (size_t i = 0; beside && i < r->n_results; i++)
		if (!strcasecmp(r->names[i], beside)) {
			sqlite3_free(beside);
			return NULL;
		}
	return beside;
}

/* The view NAME_named shows the result with names of functions in place of their numbers. */
static int make_view(sqlite3 *db, const struct fl_recording *rec, size_t which)
{
	const struct flick_rows *r = &rec->results[which];
	char *view = name_beside(rec, rec->names[which], "named"), *from, *sql;

	if (!view)
		return 0;
	sql = sqlite3_mprintf("CREATE VIEW \"%w\" AS SELECT", view);
	from = sqlite3_mprintf(" FROM \"%w\" AS r", rec->names[which]);
	for (size_t c = 0; sql && from && c < r->n_columns; c++) {
		const char *column = r->columns[c].name;
		const bool is_function = r->columns[c].type == FLICK_COL_FUNCTION;

		if (is_function)
			from = sqlite3_mprintf("%z LEFT JOIN functions AS f%d ON f%d.id = "
					       "r.\"%w\"", from, (int)c, (int)c, column);
		sql = is_function ?
		      sqlite3_mprintf("%z%s f%d.name AS \"%w\"", sql, c ? "," : "", (int)c,
				      column) :
		      sqlite3_mprintf("%z%s r.\"%w\"", sql, c ? "," : "", column);
	}
	if (sql && from)
		sql = sqlite3_mprintf("%z%s", sql, from);
	sqlite3_free(view);
	sqlite3_free(from);
	return execute(db, sql);
}

static int make_index(sqlite3 *db, const struct fl_recording *rec, const char *table,
		      const char *column)
{
	char *by = sqlite3_mprintf("by_%s", column);
	char *name = by ? name_beside(rec, table, by) : NULL;
	int err = !name ? 0 :
		  execute(db, sqlite3_mprintf("CREATE INDEX IF NOT EXISTS \"%w\" ON "
					      "\"%w\"(\"%w\")", name, table, column));

	sqlite3_free(name);
	sqlite3_free(by);
	return err;
}

/* Indexes are made once all rows are there: each is then made in one go. */
static int make_indexes(sqlite3 *db, const struct fl_recording *rec)
{
	int err = make_index(db, rec, "functions", "name");

	if (!err)
		err = make_index(db, rec, "sites", "function");
	for (size_t i = 0; !err && i < rec->n_results; i++) {
		const struct flick_rows *r = &rec->results[i];

		for (size_t c = 0; !err && c < r->n_columns; c++)
			if (r->columns[c].type == FLICK_COL_FUNCTION ||
			    r->columns[c].type == FLICK_COL_PARENT)
				err = make_index(db, rec, rec->names[i], r->columns[c].name);
	}
	return err;
}

static int put_columns(sqlite3 *db, const char *name, const struct flick_rows *r)
{
	struct insert result = insert_into(db, "results", 1), w = insert_into(db, "columns", 4);

	put_row(&result, "s", NULL, TEXTS(name));
	for (size_t c = 0; c < r->n_columns; c++)
		put_row(&w, "siss", INTS((int64_t)c),
			TEXTS(name, r->columns[c].name, fl_column_types[r->columns[c].type]));
	end_rows(&result);
	return end_rows(&w) | result.err;
}

static void bind_cell(sqlite3_stmt *st, int at, enum flick_column_type type, uint64_t v,
		      const struct fl_recording *r)
{
	if (v == FLICK_NONE)
		sqlite3_bind_null(st, at);
	else if (type == FLICK_COL_TEXT)
		sqlite3_bind_text(st, at, (const char *)(uintptr_t)v, -1, SQLITE_STATIC);
	else if (type != FLICK_COL_FUNCTION)	/* SQLite's largest integer for larger ones */
		sqlite3_bind_int64(st, at, v < INT64_MAX ? (int64_t)v : INT64_MAX);
	else if (v < r->n_functions)
		sqlite3_bind_int64(st, at, row_of(r, v));
	else
		sqlite3_bind_null(st, at);	/* nobody knows which */
}

static int put_result(sqlite3 *db, const struct fl_recording *rec, size_t which)
{
	const struct flick_rows *r = &rec->results[which];
	const char *name = rec->names[which];
	struct insert w;

	if (make_result_table(db, name, r) || put_columns(db, name, r))
		return -1;
	w = insert_into(db, name, (int)r->n_columns);
	for (size_t i = 0; !w.err && i < r->n_rows; i++) {
		for (size_t c = 0; c < r->n_columns; c++)
			bind_cell(w.st, (int)c + 1, r->columns[c].type,
				  r->cells[i * r->n_columns + c], rec);
		put_row(&w, "", NULL, NULL);
	}
	return end_rows(&w);
}

static int put_all(sqlite3 *db, const struct fl_recording *r)
{
	static int (*const tables[])(sqlite3 *, const struct fl_recording *) = {
		put_session, put_modules, put_sites, put_threads, put_losses,
		put_functions,
	};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_LEN(tables); i++)
		err = tables[i](db, r);
	for (size_t i = 0; !err && i < r->n_results; i++)
		err = put_result(db, r, i);
	for (size_t i = 0; !err && i < r->n_results; i++)
		err = make_view(db, r, i);
	return err ? err : make_indexes(db, r);
}

static int make_tables(sqlite3 *db)
{
	char *sql = sqlite3_mprintf("PRAGMA application_id=%d;"
				    "PRAGMA user_version=%d; BEGIN; %s",
				    FL_STORE_ID, FL_STORE_VERSION, schema);

	for (int c = 0; sql && c < FL_N_LOST; c++)
		sql = sqlite3_mprintf("%z, %s INTEGER", sql, lost_columns[c]);
	if (sql)
		sql = sqlite3_mprintf("%z, pid INTEGER", sql);
	if (sql)
		sql = sqlite3_mprintf("%z); CREATE TABLE losses(cause TEXT, n INTEGER)",
				      sql);
	return execute(db, sql);
}

/* ---- the file --------------------------------------------------------------- */

static int make_directory(struct fl_store *s, char why[FL_WHY])
{
	if (!mkdir(s->dir, 0777))
		s->made_dir = true;
	else if (errno != EEXIST)
		return fl_why(why, s->dir, "%s", strerror(errno));
	return 0;
}

static bool is_flicks(const char *name)
{
	static const char *const names[] = { ".", "..", FL_STORE_FILE, FL_STORE_FILE ".tmp",
					     FL_TRACE_FILE, FL_TRACE_FILE ".tmp" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* A directory that holds other files was named by mistake: it is left as it was. */
static int look_for_others(const struct fl_store *s, char why[FL_WHY])
{
	DIR *d = opendir(s->dir);
	const struct dirent *e;
	int err = 0;

	while (d && !err && (e = readdir(d)))
		if (!is_flicks(e->d_name))
			err = fl_why(why, s->dir, "it has `%s` in it, which is not flick's; "
				     "use -o for another directory", e->d_name);
	if (d)
		closedir(d);
	return err;
}

/* Before the lock is held no file is touched: it may be another flick's. The lock ends
 * with this process, whatever ends it; the target does not inherit it. Where directories
 * cannot be locked, as on some network file systems, nobody is kept out. */
static int lock_directory(struct fl_store *s, char why[FL_WHY])
{
	enum { LOOKS = 3, PAUSE_US = 5000 };	/* `flick report` holds it for a moment */

	s->lock = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < LOOKS; i++) {
		if (s->lock < 0 || !flock(s->lock, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
			return 0;
		usleep(PAUSE_US);
	}
	return fl_why(why, s->dir, "another flick is recording into it; use -o for another "
		      "directory");
}

static void remove_file(const char *dir, const char *name)
{
	char *path = sqlite3_mprintf("%s/%s", dir, name);

	if (path)
		unlink(path);
	sqlite3_free(path);
}

/* SQLite would not say why a file cannot be made, so it is made here. */
static int make_file(const struct fl_store *s, char why[FL_WHY])
{
	int fd;

	if (unlink(s->path) && errno != ENOENT)
		return fl_why(why, s->dir, "%s", strerror(errno));
	fd = open(s->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return fl_why(why, s->dir, "%s", strerror(errno));
	close(fd);
	return 0;
}

/* Is the path, with all directories before it, too long for SQLite? */
static bool is_too_long(const char *path)
{
	enum { SQLITE_MOST = 512 };	/* in its sources; no call tells it */
	char *whole = realpath(path, NULL);
	bool is = whole && strlen(whole) >= SQLITE_MOST;

	free(whole);
	return is;
}

/* Files that a killed flick left are removed. Then a table is made and dropped, to see
 * whether the file can be written. */
static int open_new(struct fl_store *s, char why[FL_WHY])
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;

	if (make_file(s, why))
		return -1;
	if (is_too_long(s->path))
		return fl_why(why, s->dir, "with the names of all directories around it SQLite "
			      "takes no more than 511 characters; -o says another place");
	remove_file(s->dir, FL_TRACE_FILE ".tmp");
	if (sqlite3_open_v2(s->path, &s->db, flags, NULL) != SQLITE_OK ||
	    sqlite3_exec(s->db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
			 "CREATE TABLE probe(x); DROP TABLE probe",
			 NULL, NULL, NULL) != SQLITE_OK)
		return fl_store_fail(s, why, NULL);
	return 0;
}

int fl_store_create(struct fl_store **out, const char *dir, char why[FL_WHY])
{
	struct fl_store *s = calloc(1, sizeof(*s));

	if (!s)
		return fl_why(why, dir, "out of memory");
	s->lock = -1;
	s->dir = strdup(dir);
	s->path = sqlite3_mprintf("%s/" FL_STORE_FILE ".tmp", dir);
	if (make_directory(s, why) || look_for_others(s, why) || lock_directory(s, why))
		goto fail;
	s->final = sqlite3_mprintf("%s/" FL_STORE_FILE, dir);
	if (open_new(s, why))
		goto fail;
	*out = s;
	return 0;
fail:
	fl_store_close(s);
	return -1;
}

/* Move file `name` to `old`. The file that had that name there goes, also if there is no new
 * one. */
static void keep_file(const char *dir, const char *old, const char *name)
{
	char *from = sqlite3_mprintf("%s/%s", dir, name);
	char *to = sqlite3_mprintf("%s/%s", old, name);

	if (from && to && rename(from, to) && errno == ENOENT)
		unlink(to);
	sqlite3_free(from);
	sqlite3_free(to);
}

/* The path DIR.old, beside DIR. If DIR ends in `.` or `..` its real path is taken. */
static char *name_old(const char *dir)
{
	size_t n = strlen(dir);
	char *real, *old;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	real = dir[n - 1] == '.' ? realpath(dir, NULL) : NULL;
	old = real ? sqlite3_mprintf("%s.old", real) :
	      sqlite3_mprintf("%.*s.old", (int)n, dir);
	free(real);
	return old;
}

/* Earlier results stay readable in DIR.old. Where DIR.old cannot be made they are replaced:
 * -o asked for that. A trace whose results are gone is of no use and is removed. */
static void keep_earlier(const struct fl_store *s)
{
	char *old = name_old(s->dir);

	if (old && !access(s->final, F_OK)) {
		mkdir(old, 0777);
		keep_file(s->dir, old, FL_STORE_FILE);
		keep_file(s->dir, old, FL_TRACE_FILE);
	}
	remove_file(s->dir, FL_TRACE_FILE);
	sqlite3_free(old);
}

int fl_store_save(struct fl_store *s, const struct fl_recording *r,
		  char why[FL_WHY])
{
	if (make_tables(s->db) || put_all(s->db, r) ||
	    sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return fl_store_fail(s, why, NULL);
	if (sqlite3_close(s->db) != SQLITE_OK)
		return fl_store_fail(s, why, NULL);
	s->db = NULL;
	keep_earlier(s);
	if (rename(s->path, s->final))
		return fl_store_fail(s, why, strerror(errno));
	sqlite3_free(s->final);
	s->final = NULL;
	return 0;
}
