/*
 * Tables look as uftrace's, funccount's and funclatency's do; csv and json keep
 * odd names whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/table.h"

static const struct flick_column latency_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
	{ "total_ns", FLICK_COL_NS }, { "self_ns", FLICK_COL_NS },
	{ "avg_ns", FLICK_COL_NS },
};
static const char *const names[] = { "main", "say, \"x\"", "tab\there" };

static char *print(void (*write)(FILE *, const struct fl_sheet *),
		   const struct fl_sheet *sheet)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	write(f, sheet);
	fclose(f);
	return text;
}

static const struct fl_exporter *exporter(const char *name)
{
	for (size_t i = 0; fl_exporters[i]; i++)
		if (!strcmp(fl_exporters[i]->name, name))
			return fl_exporters[i];
	fail();
	return NULL;
}

static void expect_time(uint64_t ns, const char *want)
{
	char text[32];

	fl_text_time(text, ns);
	assert_string_equal(text, want);
}

static void times_have_units(void **unused)
{
	(void)unused;
	expect_time(0, "  0.000 us");
	expect_time(999999, "999.999 us");
	expect_time(1000000, "  1.000 ms");
	expect_time(1234567890, "  1.234  s");
	expect_time(90000000000, "  1.500  m");
	expect_time(5400000000000, "  1.500  h");
	expect_time(FLICK_NONE, "         -");
}

static void report_has_uftraces_columns(void **unused)
{
	uint64_t cells[] = { 0, 2, 3000000, FLICK_NONE, 1500000 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency", .whole = 4000000 };
	char *text;

	(void)unused;
	cells[3] = 1000000;
	text = print(exporter("text")->write, &sheet);
	assert_string_equal(text,
		"     Total      Self   Self%  Calls       Avg  Function\n"
		"  ========  ========  ======  =====  ========  ====================\n"
		"  3.000 ms  1.000 ms   25.00      2  1.500 ms  main\n");
	free(text);
}

/* Where nothing is known of it, as of samples that the system refuses. */
static void self_time_is_shown_if_any(void **unused)
{
	uint64_t cells[] = { 0, 2, 3000000, FLICK_NONE, 1500000 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency", .sampled = true };
	char *text = print(exporter("text")->write, &sheet);

	(void)unused;
	assert_null(strstr(text, "Self"));
	free(text);
}

static void samples_are_not_called_calls(void **unused)
{
	uint64_t cells[] = { 0, 2, 3000000, FLICK_NONE, 1500000 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency", .sampled = true };
	char *text = print(exporter("text")->write, &sheet);
	char *csv = print(exporter("csv")->write, &sheet);

	(void)unused;
	assert_non_null(strstr(text, "Samples"));
	assert_null(strstr(text, "Calls"));
	assert_non_null(strstr(csv, "samples"));
	free(csv);
	free(text);
}

static const struct flick_column seen_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
	{ "avg_ns", FLICK_COL_NS }, { "unknown", FLICK_COL_COUNT },
	{ "sampled", FLICK_COL_COUNT },
};

/* Only where there are any. */
static void unknown_and_sampled_calls_are_shown(void **unused)
{
	uint64_t cells[] = { 0, 2, 5, 0, 0, 1, 2, 5, 0, 0 };
	struct flick_rows r = { seen_columns, 5, cells, 2 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency" };

	(void)unused;
	for (int i = 0; i < 8; i++) {
		char *text;

		cells[8] = i & 1;
		cells[9] = (i & 2) / 2;
		sheet.sampled = i & 4;
		text = print(exporter("text")->write, &sheet);
		assert_int_equal(strstr(text, "Unknown") != NULL, i & 1);
		assert_int_equal(strstr(text, "Sampled") != NULL, (i & 2) / 2);
		free(text);
	}
}

/* Of rows without a total the one with more time of its own is first, then with more calls. */
static void rows_without_a_total_have_an_order(void **unused)
{
	static const struct flick_column columns[] = {
		{ "function", FLICK_COL_FUNCTION }, { "total_ns", FLICK_COL_NS },
		{ "self_ns", FLICK_COL_NS }, { "calls", FLICK_COL_COUNT },
	};
	uint64_t cells[] = { 0, FLICK_NONE, 10, 1, 1, FLICK_NONE, 20, 1, 2, FLICK_NONE, 20, 3 };
	struct flick_rows r = { columns, 4, cells, 3 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency" };

	(void)unused;
	assert_true(fl_sheet_sort(&sheet, "total_ns"));
	assert_int_equal(cells[0], 2);
	assert_int_equal(cells[4], 1);
	assert_int_equal(cells[8], 0);
}

/* Where there is no room what says nothing goes before what is asked for least. */
static void a_column_of_nothing_goes_first(void **unused)
{
	static const struct flick_column columns[] = {
		{ "function", FLICK_COL_FUNCTION }, { "total_ns", FLICK_COL_NS },
		{ "avg_ns", FLICK_COL_NS }, { "p50_ns", FLICK_COL_NS },
		{ "unknown", FLICK_COL_COUNT },
	};
	uint64_t cells[] = { 0, 2, 0, 5, 0, 1, 2, FLICK_NONE, 5, FLICK_NONE };
	struct flick_rows r = { columns, 5, cells, 2 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency", .width = 30 };
	char *text = print(exporter("text")->write, &sheet);

	(void)unused;
	assert_null(strstr(text, "Unknown"));
	assert_non_null(strstr(text, "   Total       P50  Function\n"));
	free(text);
}

/* The column of calls alone. */
static char *print_calls(struct flick_rows *r)
{
	struct fl_sheet sheet = { .result = r, .functions = names, .n_functions = 3,
				  .name = "latency" };

	assert_null(fl_sheet_choose(&sheet, "calls"));
	return print(exporter("text")->write, &sheet);
}

/* A column is as wide as what is in it, with its mark. */
static void an_estimate_has_room_for_its_mark(void **unused)
{
	static const struct flick_column columns[] = {
		{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
		{ "counted", FLICK_COL_COUNT },
	};
	uint64_t cells[] = { 0, 1234567, 10, 1, 10, 10 };
	struct flick_rows r = { columns, 3, cells, 2 };
	char *text = print_calls(&r);

	(void)unused;
	assert_int_equal(strncmp(text, "     Calls  Function\n  ========", 30), 0);
	assert_non_null(strstr(text, "\n  ~1234567  main\n        10  say"));
	free(text);
}

/* Twice its standard error is a quarter of it or more. */
static void a_rough_estimate_has_a_mark_of_its_own(void **unused)
{
	static const struct flick_column columns[] = {
		{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
		{ "counted", FLICK_COL_COUNT }, { "calls_error", FLICK_COL_COUNT },
	};
	uint64_t cells[] = { 0, 8000, 10, 1001, 1, 8000, 10, 1000, 1, 10, 10, 10 };
	struct flick_rows r = { columns, 4, cells, 3 };
	char *text = print_calls(&r);

	(void)unused;
	assert_int_equal(strncmp(text, "   Calls  Function\n", 19), 0);
	assert_non_null(strstr(text, "\n  ~~8000  main\n   ~8000  say, \"x\"\n      10  say"));
	assert_non_null(strstr(text, "\n  ~ to count all"));
	assert_non_null(strstr(text, "\n  ~~ an estimate that may be off by a quarter"));
	free(text);
}

/* Of the standard error of the average, and what is made of it; not where it holds. */
static void times_that_few_calls_carry_are_marked(void **unused)
{
	static const struct flick_column columns[] = {
		{ "function", FLICK_COL_FUNCTION }, { "total_ns", FLICK_COL_NS },
		{ "avg_ns", FLICK_COL_NS }, { "avg_error_ns", FLICK_COL_NS },
	};
	uint64_t cells[] = { 0, 2000, 1000, 301, 1, 2000, 1000, 300,
			     1, FLICK_NONE, 1000, 301 };
	struct flick_rows r = { columns, 4, cells, 3 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency" };
	char *text;

	(void)unused;
	assert_null(fl_sheet_choose(&sheet, "total,avg"));
	text = print(exporter("text")->write, &sheet);
	assert_non_null(strstr(text, "\n  ~2.000 us  ~1.000 us  main\n"
				     "   2.000 us   1.000 us  say"));
	assert_non_null(strstr(text, "\n          -  ~1.000 us  say"));
	assert_non_null(strstr(text, "\n  ~ few of the calls that were timed"));
	free(text);
}

/* Estimates are flick's own, and so is what is known of columns by their names. */
static void other_results_keep_their_columns(void **unused)
{
	uint64_t cells[] = { 0, 2, 5, 0, 0 };
	struct flick_rows r = { seen_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .estimated = true };
	char *text = print(exporter("text")->write, &sheet);
	char *csv = print(exporter("csv")->write, &sheet);

	(void)unused;
	assert_string_equal(text,
		"       Avg  Calls  Unknown  Sampled  Function\n"
		"  ========  =====  =======  =======  ====================\n"
		"  0.005 us      2        0        0  main\n");
	assert_int_equal(strncmp(csv, "function,calls,avg_ns,unknown,sampled\r\n", 39), 0);
	free(text);
	free(csv);
	sheet.name = "graph";
	text = print(exporter("text")->write, &sheet);
	assert_non_null(strstr(text, "Est. calls  Function"));
	free(text);
}

static char *json_string(const char *name)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	fl_json_string(f, name);
	fclose(f);
	return text;
}

#define NO "\xef\xbf\xbd"

static void json_is_always_utf8(void **unused)
{
	static const char *const pairs[][2] = {
		{ "gr\xc3\xb6\xc3\x9f" "e", "\"gr\xc3\xb6\xc3\x9f" "e\"" },
		{ "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"" },
		{ "gr\xf6\xdf" "e", "\"gr" NO NO "e\"" },
		{ "cut\xe2\x82", "\"cut" NO NO "\"" },
		{ "\xc0\xaf", "\"" NO NO "\"" },		/* two bytes for one */
		{ "\xed\xa0\x80", "\"" NO NO NO "\"" },	/* half a pair */
		{ "\xf4\x90\x80\x80", "\"" NO NO NO NO "\"" },	/* too large */
		{ "\x01\"\\", "\"\\u0001\\\"\\\\\"" },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char *text = json_string(pairs[i][0]);

		assert_string_equal(text, pairs[i][1]);
		free(text);
	}
}

static void csv_quotes_what_it_must(void **unused)
{
	uint64_t cells[] = { 1, 2, 3, FLICK_NONE, 5 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };
	char *text = print(exporter("csv")->write, &sheet);

	(void)unused;
	assert_string_equal(text, "function,calls,total_ns,self_ns,avg_ns\r\n"
			    "\"say, \"\"x\"\"\",2,3,,5\r\n");
	free(text);
}

static void json_escapes_what_it_must(void **unused)
{
	uint64_t cells[] = { 1, 2, 3, FLICK_NONE, 5, 2, 1, 1, 1, 1, 9, 1, 1, 1, 1 };
	struct flick_rows r = { latency_columns, 5, cells, 3 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };
	char *text = print(exporter("json")->write, &sheet);

	(void)unused;
	assert_non_null(strstr(text, "\"function\": \"say, \\\"x\\\"\", \"calls\": 2, "
			       "\"total_ns\": 3, \"self_ns\": null, \"avg_ns\": 5"));
	assert_non_null(strstr(text, "\"tab\\u0009here\""));
	assert_non_null(strstr(text, "\"function\": \"?\""));
	free(text);
}

static void rows_sort_largest_first_unknown_last(void **unused)
{
	uint64_t cells[] = { 0, 1, FLICK_NONE, 0, 0, 1, 1, 5, 0, 0, 2, 1, 7, 0, 0 };
	struct flick_rows r = { latency_columns, 5, cells, 3 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };

	(void)unused;
	assert_true(fl_sheet_sort(&sheet, "total_ns"));
	assert_int_equal(cells[0], 2);
	assert_int_equal(cells[5], 1);
	assert_int_equal(cells[10], 0);
	assert_true(fl_sheet_sort(&sheet, "function"));
	assert_int_equal(cells[0], 0);
	assert_false(fl_sheet_sort(&sheet, "nonsense"));
}

/* The first key decides, then the second; a name's go up. */
static void several_keys_sort(void **unused)
{
	uint64_t cells[] = { 0, 1, 5, 9, 0, 1, 1, 7, 9, 0, 2, 1, 7, 8, 0, 0, 2, 5, 9, 0 };
	struct flick_rows r = { latency_columns, 5, cells, 4 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };

	(void)unused;
	assert_true(fl_sheet_sort(&sheet, "total_ns,self_ns"));
	assert_int_equal(cells[0], 1);
	assert_int_equal(cells[5], 2);
	assert_int_equal(cells[11], 2);		/* equal: more calls */
	assert_true(fl_sheet_sort(&sheet, "self_ns,function"));
	assert_int_equal(cells[0], 0);
	assert_int_equal(cells[10], 1);
	assert_int_equal(cells[15], 2);
	assert_false(fl_sheet_sort(&sheet, "total_ns,nonsense"));
	assert_false(fl_sheet_sort(&sheet, ""));
}

static void expect_fields(const char *fields, const char *also, const char *titles)
{
	uint64_t cells[] = { 0, 2, 3000, 1000, 1500 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3,
				  .name = "latency", .whole = 4000 };
	char *csv;

	assert_null(fl_sheet_choose(&sheet, fields));
	if (*also)
		fl_sheet_show_also(&sheet, (size_t)fl_sheet_key(&sheet, also, strlen(also)));
	csv = print(exporter("csv")->write, &sheet);
	assert_int_equal(strncmp(csv, titles, strlen(titles)), 0);
	assert_int_equal(csv[strlen(titles)], '\r');
	free(csv);
}

static void columns_are_those_asked_for(void **unused)
{
	uint64_t cells[] = { 0, 2, 3000, 1000, 1500 };
	struct flick_rows r = { latency_columns, 5, cells, 1 };
	struct fl_sheet sheet = { .result = &r };

	(void)unused;
	expect_fields("total,self", "", "total_ns,self_ns,function");
	expect_fields("self_ns,function,call", "", "self_ns,function,calls");
	expect_fields("avg,self%,avg", "", "avg_ns,self%,function");
	expect_fields("none", "", "function");
	expect_fields("all", "", "calls,total_ns,self_ns,avg_ns,function");
	expect_fields("+avg", "", "total_ns,self_ns,self%,calls,avg_ns,function");
	expect_fields("+avg,+avg", "", "total_ns,self_ns,self%,calls,avg_ns,function");
	expect_fields("calls", "total", "calls,total_ns,function");
	expect_fields("calls,total", "total", "calls,total_ns,function");
	assert_string_equal(fl_sheet_choose(&sheet, "total,p98,self"), "p98,self");
	assert_string_equal(fl_sheet_choose(&sheet, "self%"), "self%");	/* of what? */
}

static void source_lines_are_a_column(void **unused)
{
	static const char *const lines[] = { "a.c:12", NULL, "b.c:1" };
	uint64_t *cells = calloc(10, sizeof(*cells));
	struct flick_rows r = { latency_columns, 5, cells, 2 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };
	char *csv;

	(void)unused;
	cells[5] = 1;
	assert_true(fl_sheet_add_texts(&sheet, "line", 0, lines));
	assert_null(fl_sheet_choose(&sheet, "none"));
	csv = print(exporter("csv")->write, &sheet);
	assert_string_equal(csv, "function,line\r\nmain,a.c:12\r\n\"say, \"\"x\"\"\",\r\n");
	free(csv);
	fl_sheet_free(&sheet);
}

static const struct flick_column counts_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
};

static void counts_look_like_funccount(void **unused)
{
	uint64_t cells[] = { 0, 12 };
	struct flick_rows r = { counts_columns, 2, cells, 1 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };
	char *text = print(fl_text_counts, &sheet);

	(void)unused;
	assert_string_equal(text,
		"FUNC                                    COUNT\n"
		"main                                       12\n");
	free(text);
}

static const struct flick_column tree_columns[] = {
	{ "id", FLICK_COL_ID }, { "parent", FLICK_COL_PARENT },
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
};

/* Below its parent, most calls first; a row whose parent is not there is a
 * root, and a damaged tree's circle is left out. */
static void trees_are_indented(void **unused)
{
	static const uint64_t rows[] = {
		0, FLICK_NONE, 0, 1,
		1, 0, 1, 2,
		2, 0, 2, 9,
		3, 1, 0, 7,
		4, 77, 1, 3,
		5, 6, 0, 1,
		6, 5, 0, 1,
	};
	uint64_t *cells = malloc(sizeof(rows));
	struct flick_rows r = { tree_columns, 4, cells, 7 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 2 };
	char *text;

	(void)unused;
	memcpy(cells, rows, sizeof(rows));
	assert_true(fl_sheet_sort(&sheet, "calls"));
	text = print(exporter("text")->write, &sheet);
	assert_string_equal(text,
		"  Calls  Function\n"
		"  =====  ====================\n"
		"      3  say, \"x\"\n"
		"      1  main\n"
		"      9    ?\n"
		"      2    say, \"x\"\n"
		"      7      main\n");
	free(text);
	fl_sheet_free(&sheet);
}

static const struct flick_column spread_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "from_ns", FLICK_COL_NS },
	{ "below_ns", FLICK_COL_NS }, { "calls", FLICK_COL_COUNT },
};

static const struct flick_column summed_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
	{ "total_ns", FLICK_COL_NS }, { "avg_ns", FLICK_COL_NS }, { "sum_ns", FLICK_COL_NS },
};

#define HALF "********************"
#define SPACE "                    "

/* Of four calls three ended, one in another: 3 of 5 are 15, whatever the total is. */
static void histogram_looks_like_funclatency(void **unused)
{
	uint64_t spread_cells[] = { 0, 0, 1, 1, 0, 4, 8, 2 };
	uint64_t cells[] = { 0, 4, 6, 5, 15 };
	struct flick_rows s = { spread_columns, 4, spread_cells, 2 };
	struct flick_rows l = { summed_columns, 5, cells, 1 };
	struct fl_sheet spread = { .result = &s, .functions = names, .n_functions = 3 };
	struct fl_sheet latency = { .result = &l, .functions = names, .n_functions = 3 };
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)unused;
	fl_text_spread(f, &spread, &latency);
	fclose(f);
	assert_string_equal(text, "\nFunction = main\n"
		"     nsecs               : count     distribution\n"
		"         0 -> 1          : 1        |" HALF SPACE "|\n"
		"         2 -> 3          : 0        |" SPACE SPACE "|\n"
		"         4 -> 7          : 2        |" HALF HALF "|\n"
		"\navg = 5 nsecs, total: 15 nsecs, count: 3\n");
	free(text);
}

static const struct flick_column open_columns[] = {
	{ "function", FLICK_COL_FUNCTION }, { "avg_ns", FLICK_COL_NS },
	{ "sum_ns", FLICK_COL_NS }, { "unknown", FLICK_COL_COUNT },
	{ "open", FLICK_COL_COUNT },
};

/* What is in no histogram is said: two calls beside three that ended, one of which was open for
 * 985; of others none ended. */
static void histograms_say_what_they_lack(void **unused)
{
	uint64_t spread_cells[] = { 0, 0, 1, 1, 0, 4, 8, 2 };
	uint64_t cells[] = { 0, 5, 1000, 2, 1, 1, FLICK_NONE, FLICK_NONE, 7, 0, 2, FLICK_NONE,
			     FLICK_NONE, 0, 0 };
	struct flick_rows s = { spread_columns, 4, spread_cells, 2 };
	struct flick_rows l = { open_columns, 5, cells, 3 };
	struct fl_sheet spread = { .result = &s, .functions = names, .n_functions = 3 };
	struct fl_sheet latency = { .result = &l, .functions = names, .n_functions = 3 };
	char *text, due[256];
	size_t n;
	FILE *f = open_memstream(&text, &n);

	(void)unused;
	fl_text_spread(f, &spread, &latency);
	fclose(f);
	snprintf(due, sizeof(due), "\navg = 5 nsecs, total: 15 nsecs, count: 3\n"
		 "not timed: 2, open at the begin or the end, or left by longjmp or an "
		 "exception\n\nFunction = %s\nnot timed: 7, open at the begin or the end, or "
		 "left by longjmp or an exception\n", names[1]);
	assert_string_equal(strstr(text, "\navg"), due);
	free(text);
}

/* ---- names of anybody's ------------------------------------------------------------ */

static const char *const hostile[] = {
	"\x1b[31mred\a", "two\nlines\r", "\x7f\xc2\x9b" "31m", "not\xff\xfeutf",
	"\xe2\x80\xae" "drow\xe2\x81\xa6", "a;b,\"c\"", "=cmd|'/c calc'!A1", "-x", "@y", "+z",
	"<script>&amp;]]>", "\xf3\xa0\x81\x81tag", "gr\xc3\xb6\xc3\x9f" "e",
};
enum { N_HOSTILE = sizeof(hostile) / sizeof(*hostile) };

/* Nothing that a terminal obeys or that turns text around; `extra` may be in it. */
static void expect_harmless(const char *text, const char *extra)
{
	for (const char *s = text; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c < 0x20 || c == 0x7f) && !strchr(extra, c))
			fail_msg("byte %02x in `%s`", c, text);
		if (c == 0xc2 && (unsigned char)s[1] < 0xa0)
			fail_msg("a control in `%s`", text);
		if (c == 0xff || c == 0xfe || !strncmp(s, "\xe2\x80\xae", 3) ||
		    !strncmp(s, "\xe2\x81\xa6", 3) || c == 0xf3)
			fail_msg("byte %02x in `%s`", c, text);
	}
}

static struct fl_sheet hostile_sheet(struct flick_rows *r, uint64_t cells[])
{
	*r = (struct flick_rows){ counts_columns, 2, cells, N_HOSTILE };
	for (uint64_t i = 0; i < N_HOSTILE; i++) {
		cells[2 * i] = i;
		cells[2 * i + 1] = 100 - i;
	}
	return (struct fl_sheet){ .result = r, .functions = hostile,
				  .n_functions = N_HOSTILE, .note = "a\x1b" };
}

static void no_name_does_anything_to_a_terminal(void **unused)
{
	uint64_t cells[2 * N_HOSTILE];
	struct flick_rows r;
	struct fl_sheet sheet = hostile_sheet(&r, cells);
	char *text, line[128];

	(void)unused;
	text = print(exporter("text")->write, &sheet);
	expect_harmless(text, "\n");
	assert_non_null(strstr(text, "  a\\x1b\n"));
	assert_non_null(strstr(text, "    100  \\x1b[31mred\\x07\n"));
	assert_non_null(strstr(text, "  two\\x0alines\\x0d\n"));
	assert_non_null(strstr(text, "  \\x7f\\xc2\\x9b31m\n"));
	assert_non_null(strstr(text, "  \\xe2\\x80\\xaedrow\\xe2\\x81\\xa6\n"));
	assert_non_null(strstr(text, "  gr\xc3\xb6\xc3\x9f" "e\n"));
	free(text);
	text = print(fl_text_counts, &sheet);
	expect_harmless(text, "\n");
	snprintf(line, sizeof(line), "\n%-36s %8d\n", "\\x1b[31mred\\x07", 100);
	assert_non_null(strstr(text, line));
	snprintf(line, sizeof(line), "\ngr\xc3\xb6\xc3\x9f" "e%31s %8d\n", "", 88);
	assert_non_null(strstr(text, line));
	free(text);
	text = print(exporter("json")->write, &sheet);
	expect_harmless(text, "\n");
	assert_non_null(strstr(text, "\"\\u001b[31mred\\u0007\""));
	assert_non_null(strstr(text, "\"\\u007f\\u009b31m\""));
	assert_non_null(strstr(text, "\"\\u202edrow\\u2066\""));
	assert_non_null(strstr(text, "\"\\udb40\\udc41tag\""));
	free(text);
}

/* A row is a line, and no cell a formula. */
static void csv_is_for_spreadsheets(void **unused)
{
	uint64_t cells[2 * N_HOSTILE];
	struct flick_rows r;
	struct fl_sheet sheet = hostile_sheet(&r, cells);
	char *text = print(exporter("csv")->write, &sheet);
	size_t lines = 0;

	(void)unused;
	expect_harmless(text, "\r\n");
	for (const char *s = text; *s; s++)
		lines += *s == '\n';
	assert_int_equal(lines, N_HOSTILE + 1);
	assert_non_null(strstr(text, "\n\"a;b,\"\"c\"\"\",95\r"));
	assert_non_null(strstr(text, "\n'=cmd|'/c calc'!A1,94\r\n'-x,93\r\n'@y,92\r\n"
			       "'+z,91\r"));
	free(text);
}

static void histograms_and_dumps_are_harmless_too(void **unused)
{
	static const struct flick_column columns[] = {
		{ "id", FLICK_COL_ID }, { "parent", FLICK_COL_PARENT },
		{ "function", FLICK_COL_FUNCTION }, { "calls", FLICK_COL_COUNT },
		{ "self_ns", FLICK_COL_NS },
	};
	uint64_t cells[5 * N_HOSTILE];
	uint32_t depth[N_HOSTILE];
	struct flick_rows r = { columns, 5, cells, N_HOSTILE };
	struct fl_sheet tree = { .result = &r, .functions = hostile,
				 .n_functions = N_HOSTILE, .depth = depth };
	char path[] = "/tmp/flick-text.XXXXXX", *text;
	int fd = mkstemp(path);

	(void)unused;
	assert_true(fd >= 0);
	for (uint64_t i = 0; i < N_HOSTILE; i++) {
		const uint64_t row[] = { i, i ? i - 1 : FLICK_NONE, i, 1, 10 };

		memcpy(cells + 5 * i, row, sizeof(row));
		depth[i] = (uint32_t)i;
	}
	text = calloc(1, 65536);
	for (size_t i = 0; fl_dumpers[i]; i++) {
		struct fl_dump d = { .output = path, .tree = &tree, .dir = "x",
				     .title = "\x1b]0;title\a" };
		bool folded = !strcmp(fl_dumpers[i]->name, "folded");

		if (fl_dumpers[i]->from != FL_FROM_TREE)
			continue;
		assert_int_equal(fl_dumpers[i]->write(&d), 0);
		fclose(d.to);
		memset(text, 0, 65536);
		assert_true(pread(fd, text, 65535, 0) > 0);
		expect_harmless(text, folded ? "\n" : "\n\t");
		if (folded)
			assert_non_null(strstr(text, ";a:b,\"c\" 10\n"));
		else
			assert_non_null(strstr(text, "&lt;script&gt;&amp;amp;]]&gt;\n"));
		if (folded)
			assert_int_equal(strncmp(text, "\\x1b[31mred\\x07 10\n"
						 "\\x1b[31mred\\x07;two\\x0alines\\x0d "
						 "10\n", 55), 0);
	}
	free(text);
	close(fd);
	unlink(path);
}

/* Up and down; the least number there is has no positive. */
static void changes_have_their_signs(void **unused)
{
	static const struct flick_column columns[] = {
		{ "a", (enum flick_column_type)FL_COL_CHANGE },
		{ "b_ns", (enum flick_column_type)FL_COL_CHANGE_NS },
		{ "c_ns", (enum flick_column_type)FL_COL_CHANGE_NS },
		{ "function", FLICK_COL_FUNCTION },
	};
	uint64_t cells[] = {
		2 * 5, 2 * 1500, 2 * 1500 - 1, 0, 2 * 5 - 1, UINT64_MAX - 1, UINT64_MAX, 0,
		0, 0, 1, 0,
	};
	struct flick_rows r = { columns, 4, cells, 3 };
	struct fl_sheet sheet = { .result = &r, .functions = names, .n_functions = 3 };
	char *text = print(exporter("text")->write, &sheet);

	(void)unused;
	assert_non_null(strstr(text, "  +1.500 us  -1.500 us  +5  main\n"));
	assert_non_null(strstr(text, "  +2562047  h          -  -5  main\n"));
	assert_non_null(strstr(text, "  +0.000 us  -0.001 us  +0  main\n"));
	free(text);
	text = print(exporter("csv")->write, &sheet);
	assert_non_null(strstr(text, "\n5,1500,-1500,main\r\n-5,9223372036854775807,,main"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_does_anything_to_a_terminal),
		cmocka_unit_test(csv_is_for_spreadsheets),
		cmocka_unit_test(histograms_and_dumps_are_harmless_too),
		cmocka_unit_test(changes_have_their_signs),
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(report_has_uftraces_columns),
		cmocka_unit_test(self_time_is_shown_if_any),
		cmocka_unit_test(samples_are_not_called_calls),
		cmocka_unit_test(unknown_and_sampled_calls_are_shown),
		cmocka_unit_test(an_estimate_has_room_for_its_mark),
		cmocka_unit_test(a_rough_estimate_has_a_mark_of_its_own),
		cmocka_unit_test(rows_without_a_total_have_an_order),
		cmocka_unit_test(a_column_of_nothing_goes_first),
		cmocka_unit_test(times_that_few_calls_carry_are_marked),
		cmocka_unit_test(times_that_few_calls_carry_are_marked),
		cmocka_unit_test(other_results_keep_their_columns),
		cmocka_unit_test(json_is_always_utf8),
		cmocka_unit_test(csv_quotes_what_it_must),
		cmocka_unit_test(json_escapes_what_it_must),
		cmocka_unit_test(rows_sort_largest_first_unknown_last),
		cmocka_unit_test(several_keys_sort),
		cmocka_unit_test(columns_are_those_asked_for),
		cmocka_unit_test(source_lines_are_a_column),
		cmocka_unit_test(trees_are_indented),
		cmocka_unit_test(counts_look_like_funccount),
		cmocka_unit_test(histogram_looks_like_funclatency),
		cmocka_unit_test(histograms_say_what_they_lack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
