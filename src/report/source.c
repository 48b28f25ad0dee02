/*
 * source.c - what libdwfl may read: files of root and this user that not all may write.
 *
 * The reader may be root and its target not, and the target says which files there
 * are. If others may write a file, only its tables of symbols are read, by obj/read.c;
 * its DWARF, compressed sections and the other files that it names are read only if it
 * is one's own. Hides how libdwfl is kept from opening or mapping anything by itself:
 * it gets an open descriptor, and other files only as root has put them below
 * /usr/lib/debug.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "obj/obj.h"
#include "report/source.h"

#define MOST_DEBUG (1ull << 30)		/* bytes of .debug_* */
#define DEBUG_FILES "/usr/lib/debug/.build-id"
#define ASK_ALL "FLICK_DEBUG_FILES"	/* "all": debug links and debuginfod, too */

/* ---- separate debug files -------------------------------------------------------- */

static int open_debug_file(Dwfl_Module *m, char **name)
{
	const unsigned char *id;
	char hex[2 * 64 + 1] = "";
	uint64_t bytes;
	GElf_Addr at;
	bool is_own;
	int n = dwfl_module_build_id(m, &id, &at), fd;

	if (n < 2 || n > 64)
		return -1;
	for (int i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	if (asprintf(name, DEBUG_FILES "/%.2s/%s.debug", hex, hex + 2) < 0)
		return -1;
	fd = fl_obj_open_plain(*name, &bytes, &is_own);
	if (fd >= 0 && is_own)
		return fd;
	if (fd >= 0)
		close(fd);
	free(*name);
	*name = NULL;
	return -1;
}

static int find_debug(Dwfl_Module *m, void **data, const char *module, Dwarf_Addr base,
		      const char *file, const char *link, GElf_Word crc, char **name)
{
	const char *all = getenv(ASK_ALL);

	if (all && !strcmp(all, "all"))
		return dwfl_standard_find_debuginfo(m, data, module, base, file, link, crc,
						    name);
	return open_debug_file(m, name);
}

/* ---- the file itself -------------------------------------------------------------- */

struct given {
	Elf *elf;
	const char *path;
};

/* libdwfl asks once for a module's ELF file, while share() reports the module. */
static int find_elf(Dwfl_Module *m, void **data, const char *module, Dwarf_Addr base,
		    char **name, Elf **elf)
{
	const struct given *g = *data;

	(void)m;
	(void)module;
	(void)base;
	*name = strdup(g->path);
	*elf = elf_begin(-1, ELF_C_READ, g->elf);	/* one more reference to it */
	return -1;
}

static char *debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debug,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

/* The addresses at which the file would be loaded; false: at none. */
static bool find_range(Elf *elf, GElf_Addr *lo, GElf_Addr *hi)
{
	GElf_Phdr p;

	*lo = *hi = 0;
	for (int i = 0; gelf_getphdr(elf, i, &p); i++) {
		if (p.p_type != PT_LOAD)
			continue;
		if (!*hi)
			*lo = p.p_vaddr & -p.p_align;
		*hi = p.p_vaddr + p.p_memsz;
	}
	return *lo < *hi;
}

static int share(struct fl_source *s, const char *path)
{
	struct given g = { s->elf, path };
	GElf_Addr lo, hi;
	void **data;

	if (!find_range(s->elf, &lo, &hi) || !(s->dwfl = dwfl_begin(&callbacks)))
		return -1;
	dwfl_report_begin(s->dwfl);
	s->module = dwfl_report_module(s->dwfl, "", lo, hi);
	dwfl_report_end(s->dwfl, NULL, NULL);
	if (!s->module || !dwfl_module_info(s->module, &data, NULL, NULL, NULL, NULL, NULL,
					    NULL))
		return -1;
	*data = &g;
	return dwfl_module_getelf(s->module, &s->bias) ? 0 : -1;
}

int fl_source_open(struct fl_source *s, const char *path)
{
	uint64_t bytes;
	bool is_own;

	*s = (struct fl_source){ .fd = fl_obj_open_plain(path, &bytes, &is_own) };
	elf_version(EV_CURRENT);
	if (s->fd >= 0 && is_own)
		s->elf = elf_begin(s->fd, ELF_C_READ, NULL);
	if (s->elf && !share(s, path))
		return 0;
	fl_source_close(s);
	return -1;
}

void fl_source_rest(struct fl_source *s)
{
	if (s->elf)
		elf_cntl(s->elf, ELF_C_FDDONE);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void fl_source_close(struct fl_source *s)
{
	if (s->dwfl)
		dwfl_end(s->dwfl);
	elf_end(s->elf);
	free(s->units);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct fl_source){ .fd = -1 };
}

/* ---- lines ------------------------------------------------------------------------- */

static uint64_t size_of(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr packed;

	return sh->sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &packed) ?
	       packed.ch_size : sh->sh_size;
}

/* The name of the next section, "" when it has no bytes; NULL: there is no next section. */
static const char *next_name(Elf *elf, Elf_Scn **scn, GElf_Shdr *sh)
{
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) || !(*scn = elf_nextscn(elf, *scn)))
		return NULL;
	name = gelf_getshdr(*scn, sh) ? elf_strptr(elf, names, sh->sh_name) : NULL;
	return name && sh->sh_type != SHT_NOBITS ? name : "";
}

static uint64_t count_debug(Elf *elf)
{
	Elf_Scn *scn = NULL;
	uint64_t sum = 0;
	const char *name;
	GElf_Shdr sh;

	while (sum < MOST_DEBUG && (name = next_name(elf, &scn, &sh)))
		if (!strncmp(name, ".debug_", 7))
			sum += size_of(scn, &sh) < MOST_DEBUG ? size_of(scn, &sh) : MOST_DEBUG;
	return sum;
}

bool fl_source_has_lines(struct fl_source *s)
{
	Dwarf_Addr bias;

	return count_debug(s->elf) < MOST_DEBUG && dwfl_module_getdwarf(s->module, &bias);
}

bool fl_source_is_whole(struct fl_source *s)
{
	bool has_lines = false, has_rest = false;
	Elf_Scn *scn = NULL;
	const char *name;
	GElf_Shdr sh;

	while ((name = next_name(s->elf, &scn, &sh))) {
		has_lines |= !strcmp(name, ".debug_line");
		has_rest |= !strcmp(name, ".gnu_debugaltlink");
	}
	return has_lines && !has_rest;
}

struct fl_unit {
	uint64_t lo;			/* of one of its ranges, as DWARF has it */
	Dwarf_Die die;
};

static void read_units(struct fl_source *s)
{
	Dwarf_Die *die = NULL;
	Dwarf_Addr base, lo, hi;

	s->has_units = true;
	while ((die = dwfl_module_nextcu(s->module, die, &s->units_bias)))
		for (ptrdiff_t i = 0; (i = dwarf_ranges(die, i, &base, &lo, &hi)) > 0; ) {
			if (fl_array_room(&s->units, s->n_units, sizeof(*s->units)))
				return;
			s->units[s->n_units++] = (struct fl_unit){ lo, *die };
		}
	fl_rows_sort(s->units, s->n_units, sizeof(*s->units));
}

/* libdwfl finds the unit of an address by .debug_aranges alone, which gcc writes, but neither
 * clang nor rustc does. A unit's lines end where its code does. */
static Dwarf_Line *line_by_unit(struct fl_source *s, uint64_t at)
{
	struct fl_unit *u;
	size_t i;

	if (!s->has_units)
		read_units(s);
	at += s->bias - s->units_bias;
	i = fl_rows_from(s->units, s->n_units, sizeof(*s->units), at);
	u = i ? &s->units[i - 1] : NULL;
	return u ? dwarf_getsrc_die(&u->die, at) : NULL;
}

const char *fl_source_line(struct fl_source *s, uint64_t at, int *line)
{
	Dwfl_Line *l = dwfl_module_getsrc(s->module, at + s->bias);
	Dwarf_Line *by_unit = l ? NULL : line_by_unit(s, at);

	if (l)
		return dwfl_lineinfo(l, NULL, line, NULL, NULL, NULL);
	return by_unit && !dwarf_lineno(by_unit, line) ? dwarf_linesrc(by_unit, NULL, NULL) :
	       NULL;
}
