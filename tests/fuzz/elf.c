/*
 * fuzz/elf - a file that says it is ELF: its headers, symbols and sites as `flick
 * list` and the reader of a target's modules have them.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "fuzz.h"
#include "obj/obj.h"
#include "report/report.h"
#include "site/site.h"

static int see_symbol(void *arg, const char *name, const Elf64_Sym *s)
{
	*(uint64_t *)arg += strlen(name) + s->st_value;
	return 0;
}

static int see_site(void *arg, const struct fl_site *site)
{
	*(uint64_t *)arg += site->at;
	return 0;
}

static int see_frame(void *arg, const struct fl_obj_frame *f)
{
	*(uint64_t *)arg += f->end - f->start;
	return 0;
}

static void read_parts(const char *path, enum fl_obj_part part)
{
	struct fl_module m;
	uint64_t sum = 0;

	if (fl_obj_copy(&m, path, part))
		return;
	fl_obj_symbols(&m.file, see_symbol, &sum);
	if (part == FL_OBJ_ALL && m.hi - m.lo < 16u << 20)
		fl_site_scan(&m, see_site, &sum);
	if (part != FL_OBJ_SYMBOLS)
		fl_obj_frames(&m, see_frame, &sum);
	fl_obj_unlay(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *path = fuzz_file(data, n);
	struct fl_symbols *symbols;
	struct fl_symbol found;

	read_parts(path, FL_OBJ_SYMBOLS);
	read_parts(path, FL_OBJ_TABLES);
	read_parts(path, FL_OBJ_ALL);
	if (fl_symbols_open(&symbols))
		return 0;
	for (uint64_t at = 0; at < 0x4000; at += 0x400)
		fl_symbols_find(symbols, path, at, &found);
	fl_symbols_close(symbols);
	return 0;
}
