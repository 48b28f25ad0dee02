/*
 * fuzz/results - a results.db as `flick report` and `flick dump` read it. SQLite itself
 * is not what is looked at: pages are changed, and what is still a database is shown.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "fuzz.h"
#include "report/report.h"

/* A terminal's, with a column of modules. */
static void show_narrow(struct fl_store *s, struct fl_sheet *sheet, FILE *to)
{
	const struct fl_home *homes;
	struct fl_modules *modules;
	char why[FL_WHY];

	if (fl_store_homes(s, &homes, why))
		return;
	modules = fl_modules_make(sheet, homes, FL_BY_BASE_NAME);
	if (!modules || !fl_sheet_add_modules(sheet, modules))
		return;
	sheet->width = 80;
	for (size_t i = 0; fl_exporters[i]; i++)
		fl_exporters[i]->write(to, sheet);
}

static void show(struct fl_store *s, const char *dir, const char *name, FILE *to)
{
	char why[FL_WHY] = "";
	struct flick_rows rows;
	struct fl_sheet sheet = { .result = &rows, .name = name };

	if (fl_store_load(s, name, &rows, why))
		return;
	sheet.functions = fl_store_functions(s, &sheet.n_functions);
	for (size_t c = 0; c < rows.n_columns; c++)
		if (fl_sheet_sort(&sheet, rows.columns[c].name))
			for (size_t i = 0; fl_exporters[i]; i++)
				fl_exporters[i]->write(to, &sheet);
	for (size_t i = 0; sheet.depth && rows.n_rows && fl_dumpers[i]; i++) {
		struct fl_dump d = { .output = "/dev/null", .tree = &sheet, .dir = dir,
				     .title = "x" };

		if (fl_dumpers[i]->from != FL_FROM_TREE ||
		    fl_sheet_column(&rows, "function") < 0 ||
		    !fl_sheet_has_numbers(&rows, "self_ns") ||
		    !fl_sheet_has_numbers(&rows, "calls"))
			continue;
		fl_dumpers[i]->write(&d);
		if (d.to)
			fclose(d.to);
	}
	show_narrow(s, &sheet, to);
	fl_sheet_free(&sheet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *dir = fuzz_directory("results.db", data, n), *name;
	const struct fl_thread *threads;
	char why[FL_WHY] = "", value[256];
	const struct fl_home *homes;
	struct fl_view view;
	struct fl_store *s;
	FILE *to;
	uint32_t n_threads;

	if (fl_store_open(&s, dir, why))
		return 0;
	to = fopen("/dev/null", "w");
	for (size_t i = 0; to && (name = fl_store_result(s, i)); i++)
		show(s, dir, name, to);
	if (!fl_store_view(s, &view, why))
		for (uint32_t i = 0; i < view.n_sites; i++)
			if (!view.name(view.owner, view.function_of[i]))
				abort();
	fl_store_threads(s, &threads, &n_threads, why);
	fl_store_homes(s, &homes, why);
	for (int how = FL_DEMANGLE_SIMPLE; how <= FL_DEMANGLE_NO; how++)
		fl_store_demangle(s, (enum fl_demangle)how, why);
	fl_store_value(s, "mode", value, sizeof(value));
	fl_store_close(s);
	fclose(to);
	return 0;
}
