/*
 * A recording comes back as it was written; a file in any other state gives
 * one line that says what is wrong with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/schema.h"

static char dir[64], file[96];
static char why[FL_WHY];

static const struct flick_column columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
};
static uint64_t cells[] = { 0, 41, 1, FLICK_NONE };
static const struct flick_rows result = { columns, 2, cells, 2 };
static const struct fl_pair session[] = { { "mode", "sampled" } };
static const struct fl_function functions[] = {
	{ .name = "it's", .linkage = "its", .file = "a.c", .line = 7 },
	{ .name = "f(int)", .linkage = "_Z1fi" },
};
static const struct fl_shm_module module = { .base = 0x1000, .path = "/bin/x" };
static const struct fl_shm_site site = { .at = 0x1234, .refusal = FLE_NOSPACE };
static const uint32_t function_of[] = { 1 };
static const struct fl_thread thread = { .tid = 5, .produced = 9, .delivered = 9 };
static const char *const words[] = { "one", "two", "three" };
static const char *const analyses[] = { "counts" };

static const struct fl_recording recording = {
	.session = session, .n_session = 1, .modules = &module, .n_modules = 1,
	.sites = &site, .n_sites = 1, .function_of = function_of,
	.providers = words, .tactics = words,
	.functions = functions, .n_functions = 2, .threads = &thread, .n_threads = 1,
	.names = analyses, .results = &result, .n_results = 1,
};

static int set_up(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/flick-store.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/results.db", dir);
	why[0] = '\0';
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	unlink(file);
	rmdir(dir);
	return 0;
}

static void write_recording(void)
{
	struct fl_store *s;

	assert_int_equal(fl_store_create(&s, dir, why), 0);
	assert_int_equal(fl_store_save(s, &recording, why), 0);
	fl_store_close(s);
}

static void expect_refused(const char *text)
{
	struct fl_store *s;

	assert_int_equal(fl_store_open(&s, dir, why), -1);
	assert_non_null(strstr(why, text));
	assert_null(strchr(why, '\n'));
}

static void change(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void what_is_written_is_read(void **unused)
{
	struct fl_store *s;
	struct flick_rows r;
	char value[256];
	size_t n;

	(void)unused;
	write_recording();
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	assert_true(fl_store_value(s, "mode", value, sizeof(value)));
	assert_string_equal(value, "sampled");
	assert_false(fl_store_value(s, "nothing", value, sizeof(value)));
	assert_int_equal(fl_store_load(s, "counts", &r, why), 0);
	assert_int_equal(r.n_rows, 2);
	assert_memory_equal(r.cells, cells, sizeof(cells));
	assert_string_equal(fl_store_functions(s, &n)[0], "it's");
	assert_int_equal(n, 2);
	free(r.cells);
	assert_int_equal(fl_store_load(s, "latency", &r, why), -1);
	assert_non_null(strstr(why, " -a latency"));
	assert_int_equal(fl_store_load(s, "sessions; DROP", &r, why), -1);
	assert_null(strstr(why, " -a "));
	assert_non_null(strstr(why, "it has counts"));
	assert_true(fl_store_has(s, "counts"));
	assert_false(fl_store_has(s, "latency"));
	assert_string_equal(fl_store_result(s, 0), "counts");
	assert_null(fl_store_result(s, 1));
	fl_store_close(s);
}

static int64_t ask(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	int64_t v = -1;

	assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	if (sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

/* Views and indexes give way to results, whatever those are called. */
static void results_may_be_called_as_views_are(void **unused)
{
	static const char *const odd[] = { "x", "x_named", "x_by_function", "functions_by_name",
					   "a b\"c" };
	struct flick_rows results[] = { result, result, result, result, result };
	struct fl_recording r = recording;
	struct fl_store *s;

	(void)unused;
	r.names = odd;
	r.results = results;
	r.n_results = 5;
	assert_int_equal(fl_store_create(&s, dir, why), 0);
	assert_int_equal(fl_store_save(s, &r, why), 0);
	fl_store_close(s);
	assert_int_equal(ask("SELECT count(*) FROM sqlite_master WHERE type = 'view'"), 4);
	assert_int_equal(ask("SELECT count(*) FROM sqlite_master WHERE type = 'index' "
			     "AND sql IS NOT NULL"), 5);
	assert_int_equal(ask("SELECT calls FROM x_named_named WHERE function = 'it''s'"), 41);
	assert_int_equal(ask("SELECT calls FROM \"a b\"\"c_named\" "
			     "WHERE function = 'it''s'"), 41);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	fl_store_close(s);
}

/* Neither sites nor functions. */
static void what_is_not_kept_has_no_row(void **unused)
{
	enum { N = 200 };		/* more than a statement has */
	static const uint32_t rows[] = { FL_NO_ROW, 0 };
	static struct fl_shm_site sites[N];
	static uint32_t functions_of[N];
	static unsigned char kept[N];
	struct fl_recording r = recording;
	struct fl_store *s;

	(void)unused;
	for (uint32_t i = 0; i < N; i++) {
		kept[i] = i % 2;
		functions_of[i] = i % 2;
		sites[i].state = i == 7 ? FL_SITE_REFUSED : FL_SITE_READY;
		sites[i].refusal = i == 7 ? FLE_CHANGED : 0;
	}
	r.sites = sites;
	r.function_of = functions_of;
	r.kept = kept;
	r.n_sites = N;
	r.row_of = rows;
	assert_int_equal(fl_store_create(&s, dir, why), 0);
	assert_int_equal(fl_store_save(s, &r, why), 0);
	fl_store_close(s);
	assert_int_equal(ask("SELECT count(*) FROM sites"), N / 2);
	assert_int_equal(ask("SELECT sum(id) FROM sites"), N * N / 4);
	assert_int_equal(ask("SELECT count(*) FROM sites WHERE function = 0"), N / 2);
	assert_int_equal(ask("SELECT id FROM sites WHERE state = 'refused'"), 7);
	assert_int_equal(ask("SELECT refusal FROM sites WHERE id = 7"), FLE_CHANGED);
	assert_int_equal(ask("SELECT count(*) FROM functions"), 1);
	assert_int_equal(ask("SELECT count(*) FROM functions WHERE id = 0 AND "
			     "name = 'f(int)'"), 1);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	fl_store_close(s);
}

/* As far as analyses of a trace ask. */
static void sites_and_threads_come_back(void **unused)
{
	static const struct fl_shm_site three[] = {
		{ .kind = FL_ENTRY }, { .kind = FL_EXIT, .jump = 1, .provider = 1 },
		{ .kind = FL_TAIL },
	};
	static const struct fl_thread two[] = {
		{ .tid = 5, .pid = 4, .name = "main" }, { .tid = 6, .pid = 4, .name = "other" },
	};
	static const uint32_t functions_of[] = { 1, 0, 1 };
	static const char *const providers[] = { "cyg", "xray" };
	struct fl_recording rec = recording;
	const struct fl_thread *threads;
	struct fl_store *s;
	struct fl_view v;
	uint32_t n;

	(void)unused;
	rec.sites = three;
	rec.n_sites = 3;
	rec.function_of = functions_of;
	rec.providers = providers;
	rec.threads = two;
	rec.n_threads = 2;
	assert_int_equal(fl_store_create(&s, dir, why), 0);
	assert_int_equal(fl_store_save(s, &rec, why), 0);
	fl_store_close(s);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	assert_int_equal(fl_store_view(s, &v, why), 0);
	assert_int_equal(v.n_sites, 3);
	assert_true(v.sampled);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(v.sites[i].kind, three[i].kind);
		assert_int_equal(v.sites[i].jump, three[i].jump);
		assert_int_equal(v.framed >> v.sites[i].provider & 1, three[i].provider);
		assert_int_equal(v.function_of[i], functions_of[i]);
	}
	assert_string_equal(v.name(v.owner, 1), "f(int)");
	assert_int_equal(fl_store_threads(s, &threads, &n, why), 0);
	assert_int_equal(n, 2);
	assert_int_equal(threads[1].tid, 6);
	assert_int_equal(threads[1].pid, 4);
	assert_string_equal(threads[1].name, "other");
	fl_store_close(s);
}

static void tables_can_be_joined(void **unused)
{
	(void)unused;
	write_recording();
	assert_int_equal(ask("SELECT count(*) FROM sites JOIN functions ON "
			     "function = functions.id JOIN modules ON sites.module = "
			     "modules.id WHERE reason IS NOT NULL AND sites.offset = 564 "
			     "AND linkage = '_Z1fi'"), 1);
	assert_int_equal(ask("SELECT line FROM functions WHERE file = 'a.c'"), 7);
	assert_int_equal(ask("SELECT produced - delivered - filtered - lost_reader "
			     "- lost_slot - lost_room - lost_site FROM threads"), 0);
	assert_int_equal(ask("SELECT count(*) FROM losses"), FL_N_LOST);
}

static void missing_file(void **unused)
{
	(void)unused;
	expect_refused("flick record");
}

static void garbage(void **unused)
{
	FILE *f = fopen(file, "w");

	(void)unused;
	for (int i = 0; i < 3000; i++)
		fputs("not a database", f);
	fclose(f);
	expect_refused("damaged");
}

static void empty_file(void **unused)
{
	(void)unused;
	close(open(file, O_CREAT | O_WRONLY, 0666));
	expect_refused("not written by flick");
}

static void other_database(void **unused)
{
	(void)unused;
	change("CREATE TABLE x(y)");
	expect_refused("not written by flick");
}

static void other_version(void **unused)
{
	(void)unused;
	write_recording();
	change("PRAGMA user_version = 99");
	expect_refused("version 99");
}

static void truncated_anywhere(void **unused)
{
	struct stat st;

	(void)unused;
	write_recording();
	assert_int_equal(stat(file, &st), 0);
	for (off_t n = st.st_size - 4096; n > 0; n -= 4096) {
		struct fl_store *s;

		assert_int_equal(truncate(file, n), 0);
		assert_int_equal(fl_store_open(&s, dir, why), -1);
		assert_non_null(strstr(why, file));
	}
}

/* Any page but the first, whose damage may look like another kind of file. */
static void overwritten_page(void **unused)
{
	char junk[4096];
	struct stat st;

	(void)unused;
	memset(junk, 0x5a, sizeof(junk));
	write_recording();
	assert_int_equal(stat(file, &st), 0);
	for (off_t at = 4096; at < st.st_size; at += 4096) {
		int fd;

		write_recording();
		fd = open(file, O_WRONLY);
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
		close(fd);
		expect_refused("damaged");
	}
}

/* What is sound as a database may still be no result. */
static void expect_damaged_result(const char *sql)
{
	struct flick_rows r;
	struct fl_store *s;

	write_recording();
	change(sql);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	assert_int_equal(fl_store_load(s, "counts", &r, why), -1);
	assert_non_null(strstr(why, "damaged: record again"));
	fl_store_close(s);
}

static void damaged_results(void **unused)
{
	(void)unused;
	expect_damaged_result("UPDATE columns SET type = 'nx' WHERE name = 'calls'");
	expect_damaged_result("UPDATE columns SET type = NULL WHERE name = 'function'");
	expect_damaged_result("UPDATE columns SET name = NULL WHERE name = 'calls'");
	expect_damaged_result("UPDATE columns SET name = 'call' WHERE name = 'calls'");
	expect_damaged_result("DELETE FROM columns");
	expect_damaged_result("DROP TABLE counts");
	expect_damaged_result("WITH RECURSIVE n(i) AS (SELECT 2 UNION SELECT i + 1 FROM n "
			      "LIMIT 63) INSERT INTO columns SELECT 'counts', i, 'calls', "
			      "'count' FROM n");
}

/* A tick without a length makes no times, a number is one from end to end. */
static void damaged_numbers(void **unused)
{
	static const char *const ticks[] = { "nan", "inf", "-inf", "0", "-1", "", "1x", "x" };
	static const char *const numbers[] = { "nan", "-1", " 1", "1.5", "", "1x",
					       "18446744073709551616" };
	struct fl_store *s;
	struct fl_view view;
	uint64_t n = 7;
	char sql[128];

	(void)unused;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(*ticks); i++) {
		write_recording();
		snprintf(sql, sizeof(sql), "INSERT INTO session VALUES('ns_per_tick', '%s')",
			 ticks[i]);
		change(sql);
		assert_int_equal(fl_store_open(&s, dir, why), 0);
		assert_int_equal(fl_store_view(s, &view, why), -1);
		assert_non_null(strstr(why, "damaged: record again"));
		fl_store_close(s);
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		write_recording();
		snprintf(sql, sizeof(sql), "INSERT INTO session VALUES('lost', '%s')",
			 numbers[i]);
		change(sql);
		assert_int_equal(fl_store_open(&s, dir, why), 0);
		assert_int_equal(fl_store_number(s, "lost", &n, why), -1);
		assert_non_null(strstr(why, "damaged: record again"));
		assert_int_equal(fl_store_number(s, "filtered", &n, why), 0);
		assert_int_equal(n, 0);
		fl_store_close(s);
	}
}

/* ---- a file that somebody else made ---------------------------------------------- */

/* Whatever is asked of it; returns how often it was refused, of 4. */
static int read_all(void)
{
	const struct fl_thread *threads;
	struct fl_store *s = NULL;
	struct flick_rows r;
	struct fl_view view;
	const struct fl_home *homes;
	int refused = 0;
	uint32_t n;

	if (fl_store_open(&s, dir, why))
		return 4;
	if (fl_store_load(s, "counts", &r, why))
		refused++;
	for (size_t i = 0; i < r.n_rows; i++)
		if (r.cells && r.cells[2 * i] != FLICK_NONE)
			assert_true(r.cells[2 * i] < 2);
	free(r.cells);
	refused += fl_store_view(s, &view, why) != 0;
	for (uint32_t i = 0; i < view.n_sites; i++)
		assert_non_null(view.name(view.owner, view.function_of[i]));
	refused += fl_store_threads(s, &threads, &n, why) != 0;
	homes = NULL;
	refused += fl_store_homes(s, &homes, why) != 0;
	for (uint32_t i = 0; homes && i < 2; i++)
		assert_non_null(homes[i].path);
	fl_store_close(s);
	return refused;
}

static void expect_refusal_after(const char *sql, const char *text)
{
	write_recording();
	assert_int_equal(read_all(), 0);
	change(sql);
	why[0] = '\0';
	if (!read_all() || !strstr(why, text))
		fail_msg("%s: %s", sql, why);
	assert_null(strchr(why, '\n'));
}

/* Its key may be no key, and of any type. */
static void ids_that_are_no_indices(void **unused)
{
	static const char *const ids[] = { "7", "-1", "'zzz'", "1.5", "x'00'", "NULL", "0",
					   "4611686018427387904", "9223372036854775807" };
	char sql[256];

	(void)unused;
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		snprintf(sql, sizeof(sql), "DROP TABLE functions;"
			 "CREATE TABLE functions(id, name, linkage, module, offset);"
			 "INSERT INTO functions VALUES(0, 'f', 'f', 0, 0), "
			 "(1, 'g', 'g', 0, 1), (%s, 'h', 'h', 0, 2)", ids[i]);
		expect_refusal_after(sql, "damaged: record again");
	}
	expect_refusal_after("DELETE FROM functions WHERE id = 0", "damaged");
	expect_refusal_after("UPDATE sites SET id = 5", "damaged");
	expect_refusal_after("UPDATE threads SET id = 5", "damaged");
	expect_refusal_after("UPDATE modules SET id = 5", "damaged");
}

static void values_of_another_type(void **unused)
{
	static const char *const changes[] = {
		"UPDATE functions SET name = NULL WHERE id = 1",
		"UPDATE functions SET name = x'6100' WHERE id = 1",
		"UPDATE functions SET name = CAST(x'61006200' AS TEXT) WHERE id = 1",
		"UPDATE functions SET linkage = NULL", "UPDATE functions SET linkage = x'61'",
		"UPDATE functions SET module = -1", "UPDATE functions SET module = 65536",
		"UPDATE functions SET module = 'm'", "UPDATE functions SET offset = 0.5",
		"UPDATE modules SET path = NULL", "UPDATE modules SET path = x'6100'",
		"UPDATE counts SET calls = 'many'", "UPDATE counts SET calls = -1",
		"UPDATE counts SET calls = 0.5", "UPDATE counts SET calls = x'01'",
		"UPDATE counts SET function = 2", "UPDATE counts SET function = -1",
		"UPDATE counts SET function = 4294967296",
		"UPDATE columns SET name = 'a b' WHERE name = 'calls'",
		"UPDATE columns SET name = 'FUNCTION' WHERE name = 'calls'",
		"UPDATE columns SET position = 9 WHERE name = 'calls'",
		"UPDATE results SET name = 'session'", "UPDATE results SET name = x'00'",
		"UPDATE results SET name = NULL",
		"UPDATE sites SET function = 2", "UPDATE sites SET function = NULL",
		"UPDATE sites SET function = 4294967296",
		"UPDATE sites SET kind = 'none'", "UPDATE sites SET kind = 0",
		"UPDATE sites SET jump = 2", "UPDATE sites SET provider = NULL",
		"UPDATE threads SET tid = 1 << 40", "UPDATE threads SET tid = 'x'",
		"UPDATE threads SET name = x'05'", "UPDATE threads SET pid = NULL",
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		expect_refusal_after(changes[i], "damaged: record again");
}

#define ENDLESS "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) "

static void tables_that_are_none(void **unused)
{
	static const char *const names[] = { "session", "functions", "results", "columns",
					     "sites", "threads", "counts" };
	char sql[512];

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(sql, sizeof(sql), "DROP TABLE %s; CREATE VIEW %s AS " ENDLESS
			 "SELECT i AS id, i AS position, 'counts' AS name, 0 AS function, "
			 "'counts' AS result, i AS calls, 'count' AS type, 'x' AS key, "
			 "0 AS value, 0 AS tid, 0 AS pid, 'entry' AS kind, 0 AS jump, "
			 "'' AS provider FROM n", names[i], names[i]);
		expect_refusal_after(sql, "is no table");
	}
	expect_refusal_after("CREATE TABLE mine(a, b AS (hex(zeroblob(a))) NOT NULL)",
			     "`mine` is none");
	expect_refusal_after("DROP TABLE counts; CREATE TABLE counts(function, calls AS "
			     "(length(hex(zeroblob(9999999)))) STORED)", "`counts` is none");
	expect_refusal_after("CREATE VIRTUAL TABLE words USING fts5(x)", "`words` is none");
}

/* What is not flick's may be there, as long as nobody has to run it. */
static void what_somebody_added_is_not_looked_at(void **unused)
{
	(void)unused;
	write_recording();
	change("CREATE VIEW hottest AS " ENDLESS "SELECT * FROM n; CREATE INDEX i ON "
	       "functions(name); CREATE TRIGGER t AFTER INSERT ON functions BEGIN SELECT 1; "
	       "END; CREATE TABLE notes(x CHECK(length(x) < 3)); INSERT INTO notes VALUES(1)");
	assert_int_equal(read_all(), 0);
}

static void what_takes_too_long_is_given_up(void **unused)
{
	struct fl_store *s;
	struct fl_query q;

	(void)unused;
	write_recording();
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	fl_query_open(&q, s, ENDLESS "SELECT max(i) FROM n");
	assert_false(fl_query_row(&q));
	assert_in_range(s->steps, s->most_steps, s->most_steps + s->most_steps / 8);
	assert_int_equal(fl_query_close(&q), -1);
	assert_int_equal(fl_store_damaged(s, why), -1);
	assert_non_null(strstr(why, "takes longer to read"));
	fl_store_close(s);
}

/* Read only: no table of its own, no other file, no code. */
static void nothing_but_reading_is_done(void **unused)
{
	static const char *const others[] = {
		"ATTACH '/dev/null' AS x", "DELETE FROM counts",
		"SELECT load_extension('x')", "SELECT * FROM \"no such column\"",
		"SELECT writefile('/tmp/x', 'y')", "SELECT \"no such column\" FROM counts",
		"CREATE VIEW x AS SELECT 1",
	};
	struct fl_store *s;
	struct fl_query q;

	(void)unused;
	write_recording();
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		fl_query_open(&q, s, others[i]);
		fl_query_row(&q);
		if (!fl_query_close(&q))
			fail_msg("%s", others[i]);
	}
	fl_store_close(s);
	assert_int_equal(read_all(), 0);
}

/* Its header may ask for a log beside it, or a journal may lie there. */
static void no_other_file_is_read_or_made(void **unused)
{
	char journal[128], wal[128], shm[128];
	int fd;

	(void)unused;
	snprintf(journal, sizeof(journal), "%s-journal", file);
	snprintf(wal, sizeof(wal), "%s-wal", file);
	snprintf(shm, sizeof(shm), "%s-shm", file);
	write_recording();
	fd = open(file, O_WRONLY);
	assert_int_equal(pwrite(fd, "\2\2", 2, 18), 2);
	close(fd);
	read_all();
	assert_int_not_equal(access(wal, F_OK), 0);
	assert_int_not_equal(access(shm, F_OK), 0);
	write_recording();
	fd = open(journal, O_WRONLY | O_CREAT, 0666);
	assert_int_equal(write(fd, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8), 8);
	close(fd);
	assert_int_equal(read_all(), 0);
	assert_int_equal(access(journal, F_OK), 0);
	unlink(journal);
}

static void a_pipe_is_not_waited_for(void **unused)
{
	(void)unused;
	assert_int_equal(mkfifo(file, 0666), 0);
	expect_refused("no regular file");
}

static void names_of_megabytes(void **unused)
{
	struct flick_rows r;
	struct fl_store *s;
	size_t n;

	(void)unused;
	write_recording();
	change("UPDATE functions SET name = hex(zeroblob(1000000)) WHERE id = 0");
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	assert_int_equal(strlen(fl_store_functions(s, &n)[0]), 2000000);
	assert_int_equal(fl_store_load(s, "counts", &r, why), 0);
	free(r.cells);
	fl_store_close(s);
	expect_refusal_after("UPDATE functions SET name = hex(zeroblob(20000000))", "");
}

/* A directory's name is no part of a URI. */
static void directories_of_any_name(void **unused)
{
	static const char *const names[] = { "a b", "a?mode=rwc", "a#b", "a%41", "\xc3\xa9" };
	char below[96], inside[128];
	struct fl_store *s;

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(below, sizeof(below), "%s/%s", dir, names[i]);
		snprintf(inside, sizeof(inside), "%s/results.db", below);
		assert_int_equal(fl_store_create(&s, below, why), 0);
		assert_int_equal(fl_store_save(s, &recording, why), 0);
		fl_store_close(s);
		assert_int_equal(fl_store_open(&s, below, why), 0);
		fl_store_close(s);
		unlink(inside);
		rmdir(below);
	}
}

/* A number that SQLite cannot hold is its largest one, a function that is none is
 * not known. */
static void what_cannot_be_stored_is_bent(void **unused)
{
	uint64_t large[] = { 0, UINT64_MAX - 1, 77, 3 };
	struct flick_rows odd = { columns, 2, large, 2 }, r;
	struct fl_recording rec = recording;
	struct fl_store *s;

	(void)unused;
	rec.results = &odd;
	assert_int_equal(fl_store_create(&s, dir, why), 0);
	assert_int_equal(fl_store_save(s, &rec, why), 0);
	fl_store_close(s);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	assert_int_equal(fl_store_load(s, "counts", &r, why), 0);
	assert_true(r.cells[1] == INT64_MAX);
	assert_true(r.cells[2] == FLICK_NONE);
	free(r.cells);
	fl_store_close(s);
}

/* ---- writing ----------------------------------------------------------------------- */

static void unwritable_directory(void **unused)
{
	struct fl_store *s;

	(void)unused;
	assert_int_equal(fl_store_create(&s, "/proc/nothing/here", why), -1);
	assert_non_null(strstr(why, "/proc/nothing/here"));
	close(open(file, O_CREAT | O_WRONLY, 0666));
	assert_int_equal(fl_store_create(&s, file, why), -1);
	assert_null(strchr(why, '\n'));
}

static void full_disk(void **unused)
{
	struct fl_store *s;

	(void)unused;
	assert_int_equal(fl_store_create(&s, "/dev/full", why), -1);
}

/* Of a long path enough is cut to leave the reason. */
static void long_paths_leave_the_reason(void **unused)
{
	char path[400];
	struct fl_store *s;

	(void)unused;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 20 ? 'a' : '/';
	strcpy(path + sizeof(path) - 9, "/the-end");
	assert_int_equal(fl_store_open(&s, path, why), -1);
	assert_non_null(strstr(why, "/the-end"));
	assert_non_null(strstr(why, "`flick record` makes one"));
	assert_int_equal(fl_store_create(&s, path, why), -1);
	assert_non_null(strstr(why, strerror(ENOENT)));
}

/* One at a time; the second leaves the first's file where it is. */
static void one_recording_at_a_time(void **unused)
{
	struct fl_store *first, *second;

	(void)unused;
	assert_int_equal(fl_store_create(&first, dir, why), 0);
	assert_int_equal(fl_store_create(&second, dir, why), -1);
	assert_non_null(strstr(why, "recording into it"));
	assert_int_equal(fl_store_save(first, &recording, why), 0);
	assert_int_equal(fl_store_create(&second, dir, why), -1);
	fl_store_close(first);
	assert_int_equal(fl_store_create(&second, dir, why), 0);
	fl_store_close(second);
}

/* A recording that fails leaves the one before it as it was. */
static void unsaved_leaves_nothing(void **unused)
{
	char below[96], tmp[128];
	struct fl_store *s;

	(void)unused;
	snprintf(below, sizeof(below), "%s/new", dir);
	assert_int_equal(fl_store_create(&s, below, why), 0);
	fl_store_close(s);
	assert_int_not_equal(access(below, F_OK), 0);

	write_recording();
	assert_int_equal(fl_store_create(&s, dir, why), 0);
	fl_store_close(s);
	snprintf(tmp, sizeof(tmp), "%s.tmp", file);
	assert_int_not_equal(access(tmp, F_OK), 0);
	assert_int_equal(fl_store_open(&s, dir, why), 0);
	fl_store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(results_may_be_called_as_views_are),
		T(what_is_written_is_read),
		T(what_is_not_kept_has_no_row),
		T(sites_and_threads_come_back),
		T(tables_can_be_joined),
		T(missing_file),
		T(garbage),
		T(empty_file),
		T(other_database),
		T(other_version),
		T(truncated_anywhere),
		T(overwritten_page),
		T(damaged_results),
		T(damaged_numbers),
		T(ids_that_are_no_indices),
		T(values_of_another_type),
		T(tables_that_are_none),
		T(what_somebody_added_is_not_looked_at),
		T(what_takes_too_long_is_given_up),
		T(nothing_but_reading_is_done),
		T(no_other_file_is_read_or_made),
		T(a_pipe_is_not_waited_for),
		T(names_of_megabytes),
		T(directories_of_any_name),
		T(what_cannot_be_stored_is_bent),
		T(unwritable_directory),
		T(full_disk),
		T(long_paths_leave_the_reason),
		T(one_recording_at_a_time),
		T(unsaved_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
