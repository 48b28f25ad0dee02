/*
 * query.c - open and read a file of results that may be anybody's.
 *
 * A recording can come from elsewhere, so nothing in it is believed. Hides how
 * SQLite is kept to reading (no views, no triggers, no virtual tables, no code, no
 * other files), how much reading may cost, and the one place where a value of the
 * file becomes one of C: its type and its range are checked here.
 */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "report/schema.h"

#define DAMAGED "damaged: record again"

/* Limits of the steps of SQLite's machine: a recording needs less than one a byte. */
#define STEPS_LEAST (20u << 20)
#define STEPS_BYTE 8
#define STEPS_LOOK 1000			/* between two looks at the sum */

int fl_store_damaged(const struct fl_store *s, char why[FL_WHY])
{
	if (s->steps > s->most_steps)
		return fl_store_fail(s, why, "takes longer to read than a recording of its "
				     "size could: not written by flick record");
	if (s->db && sqlite3_errcode(s->db) == SQLITE_NOMEM)
		return fl_store_fail(s, why, "out of memory");
	return fl_store_fail(s, why, DAMAGED);
}

/* ---- queries ------------------------------------------------------------------ */

void fl_query_open(struct fl_query *q, struct fl_store *s, const char *sql)
{
	*q = (struct fl_query){ 0 };
	q->is_wrong = !sql || sqlite3_prepare_v2(s->db, sql, -1, &q->st, NULL) != SQLITE_OK;
}

void fl_query_give_text(struct fl_query *q, const char *text)
{
	if (!q->is_wrong)
		sqlite3_bind_text(q->st, 1, text, -1, SQLITE_STATIC);
}

bool fl_query_row(struct fl_query *q)
{
	int step = q->is_wrong || q->is_over ? SQLITE_DONE : sqlite3_step(q->st);

	q->is_over = step != SQLITE_ROW;	/* one more step would start anew */
	q->is_wrong |= step != SQLITE_ROW && step != SQLITE_DONE;
	return step == SQLITE_ROW;
}

bool fl_query_is_null(struct fl_query *q, int c)
{
	return sqlite3_column_type(q->st, c) == SQLITE_NULL;
}

int64_t fl_query_number(struct fl_query *q, int c, int64_t least, int64_t most)
{
	int64_t n = sqlite3_column_type(q->st, c) == SQLITE_INTEGER ?
		    sqlite3_column_int64(q->st, c) : INT64_MIN;

	if (n >= least && n <= most && n != INT64_MIN)
		return n;
	q->is_wrong = true;
	return least;
}

const char *fl_query_text(struct fl_query *q, int c)
{
	const char *text = sqlite3_column_type(q->st, c) == SQLITE_TEXT ?
			   (const char *)sqlite3_column_text(q->st, c) : NULL;

	if (text && strlen(text) == (size_t)sqlite3_column_bytes(q->st, c))
		return text;
	q->is_wrong = true;
	return "";
}

int fl_query_close(struct fl_query *q)
{
	sqlite3_finalize(q->st);
	q->st = NULL;
	return q->is_wrong ? -1 : 0;
}

/* ---- what SQLite may do -------------------------------------------------------- */

static int count_steps(void *store)
{
	struct fl_store *s = store;

	s->steps += STEPS_LOOK;
	return s->steps > s->most_steps;
}

/* Allow SQLite only what flick's own queries of flick's own tables need. */
static void limit(struct fl_store *s, uint64_t bytes)
{
	static const struct {
		int what, on;
	} configs[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_DQS_DML, 0 },
		{ SQLITE_DBCONFIG_DQS_DDL, 0 },
	};
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 16 << 20 },	/* of a row or a text */
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 16 },
		{ SQLITE_LIMIT_COLUMN, 128 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 32 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 3 },
		{ SQLITE_LIMIT_VDBE_OP, 25000 },
		{ SQLITE_LIMIT_FUNCTION_ARG, 8 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50 },
		{ SQLITE_LIMIT_VARIABLE_NUMBER, 10 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(configs); i++)
		sqlite3_db_config(s->db, configs[i].what, configs[i].on, NULL);
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		sqlite3_limit(s->db, limits[i].what, limits[i].most);
	s->most_steps = STEPS_LEAST + STEPS_BYTE * bytes;
	sqlite3_progress_handler(s->db, STEPS_LOOK, count_steps, s);
}

/* A URI, because only a URI can say `immutable`: no lock, no journal, no file beside it. */
static char *uri_of(const char *path)
{
	char *uri = sqlite3_mprintf("file:%s", *path == '/' ? "//" : "");

	for (; uri && *path; path++) {
		bool plain = isalnum((unsigned char)*path) || strchr("/._-", *path);

		uri = sqlite3_mprintf(plain ? "%z%c" : "%z%%%02x", uri,
				      (unsigned char)*path);
	}
	return uri ? sqlite3_mprintf("%z?immutable=1", uri) : NULL;
}

static int open_file(struct fl_store *s, uint64_t bytes, char why[FL_WHY])
{
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	char *uri = uri_of(s->path);
	int err;

	if (!uri)
		return fl_store_fail(s, why, "out of memory");
	err = sqlite3_open_v2(uri, &s->db, flags, NULL);
	sqlite3_free(uri);
	if (err != SQLITE_OK)
		return fl_store_fail(s, why, NULL);
	limit(s, bytes);
	return 0;
}

/* ---- what the file must be ------------------------------------------------------- */

/* The one number a statement gives; -1 when it gives none. */
static int64_t number_of(struct fl_store *s, const char *sql)
{
	struct fl_query q;
	int64_t n = -1;

	fl_query_open(&q, s, sql);
	if (fl_query_row(&q))
		n = fl_query_number(&q, 0, INT32_MIN, UINT32_MAX);
	return fl_query_close(&q) ? -1 : n;
}

/* Has `table` no computed columns? SQLite lists these as hidden. */
static bool has_plain_columns(struct fl_store *s, const char *table)
{
	enum { HIDDEN = 6 };
	char *sql = sqlite3_mprintf("PRAGMA table_xinfo(%Q)", table);
	struct fl_query q;
	size_t n = 0;

	fl_query_open(&q, s, sql);
	for (; fl_query_row(&q); n++)
		fl_query_number(&q, HIDDEN, 0, 0);
	sqlite3_free(sql);
	return !fl_query_close(&q) && n;
}

/* No table may run code. A virtual table, which has no root page, would run its module's
 * code on other tables; a computed column would run its expression. */
static int check_schema(struct fl_store *s, char why[FL_WHY])
{
	char text[128] = "";
	struct fl_query q;

	fl_query_open(&q, s, "SELECT name, rootpage FROM sqlite_master WHERE type = 'table'");
	while (!*text && fl_query_row(&q)) {
		const char *name = fl_query_text(&q, 0);

		if (!fl_query_number(&q, 1, 0, UINT32_MAX) || !has_plain_columns(s, name))
			snprintf(text, sizeof(text), "its table `%.48s` is none that flick "
				 "record makes", name);
	}
	if (fl_query_close(&q) || s->steps > s->most_steps)
		return fl_store_damaged(s, why);
	return *text ? fl_store_fail(s, why, text) : 0;
}

/* Is the file sound? Constraints that it brings along are expressions, which are not run. */
static int check_pages(struct fl_store *s, char why[FL_WHY])
{
	static const char settings[] = "PRAGMA ignore_check_constraints=1;"
				       "PRAGMA cell_size_check=1; PRAGMA mmap_size=0;"
				       "PRAGMA temp_store=2";
	struct fl_query q;
	bool sound = false;

	if (sqlite3_exec(s->db, settings, NULL, NULL, NULL) != SQLITE_OK)
		return fl_store_damaged(s, why);
	fl_query_open(&q, s, "PRAGMA quick_check(1)");
	if (fl_query_row(&q))
		sound = !strcmp(fl_query_text(&q, 0), "ok");
	return fl_query_close(&q) || !sound ? fl_store_damaged(s, why) : 0;
}

static int check(struct fl_store *s, char why[FL_WHY])
{
	int64_t id = number_of(s, "PRAGMA application_id");
	int64_t version = number_of(s, "PRAGMA user_version");
	char text[96];

	if (id == -1)
		return fl_store_damaged(s, why);
	if (id != FL_STORE_ID)
		return fl_store_fail(s, why, "not written by flick record");
	if (version != FL_STORE_VERSION) {
		snprintf(text, sizeof(text), "is version %d of the format, this "
			 "flick reads %d", (int)version, FL_STORE_VERSION);
		return fl_store_fail(s, why, text);
	}
	return check_schema(s, why) ? -1 : check_pages(s, why);
}

int fl_query_begin(struct fl_store *s, char why[FL_WHY])
{
	struct stat st;

	if (stat(s->path, &st))
		return fl_store_fail(s, why, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fl_store_fail(s, why, "no regular file");
	return open_file(s, (uint64_t)st.st_size, why) ? -1 : check(s, why);
}

int fl_query_check_table(struct fl_store *s, const char *table, char why[FL_WHY])
{
	char text[128];
	struct fl_query q;
	bool is_table = false, is_there;

	fl_query_open(&q, s, "SELECT type FROM sqlite_master WHERE name = ? COLLATE NOCASE");
	fl_query_give_text(&q, table);
	is_there = fl_query_row(&q);
	if (is_there)
		is_table = !strcmp(fl_query_text(&q, 0), "table");
	if (fl_query_close(&q) || !is_there)
		return fl_store_damaged(s, why);
	snprintf(text, sizeof(text), "its `%.48s` is no table", table);
	return is_table ? 0 : fl_store_fail(s, why, text);
}
