/*
 * symbol.c - which function stands at an ELF address, and on which line.
 *
 * Hides where names come from: libdwfl reads .symtab, .dynsym, separate debug
 * files and the compressed .gnu_debugdata alike. Each file is read once, into
 * a row sorted by address; of several names for one address the best is kept.
 */
#include "report/report.h"

#include <elfutils/libdwfl.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t address, size;
	const char *linkage;		/* owned by the Dwfl */
	char *name;			/* demangled at first use; NULL: not yet */
	int rank;			/* lower is better */
};

struct file {
	char *path;
	Dwfl *dwfl;			/* NULL: unreadable */
	Dwfl_Module *module;
	struct entry *entries;		/* ascending by address */
	size_t n;
};

struct fl_symbols {
	struct file *files;
	size_t n;
};

/* ---- reading a file ------------------------------------------------------- */

static char *debug_path;

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debug_path,
};

/* Global before weak before local; the address itself is the first key. */
static int rank_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL: return 0;
	case STB_WEAK:	 return 1;
	default:	 return 2;
	}
}

static int compare_entries(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank - b->rank;
	if (strlen(a->linkage) != strlen(b->linkage))
		return strlen(a->linkage) < strlen(b->linkage) ? -1 : 1;
	return strcmp(a->linkage, b->linkage);
}

static size_t keep_best(struct entry *e, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || e[kept - 1].address != e[i].address)
			e[kept++] = e[i];
	return kept;
}

static bool is_function(const GElf_Sym *sym, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return name && *name && sym->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static void read_entries(struct file *f)
{
	int n = dwfl_module_getsymtab(f->module);

	if (n <= 0 || !(f->entries = calloc((size_t)n, sizeof(*f->entries))))
		return;
	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name = dwfl_module_getsym_info(f->module, i, &sym, &at,
							   NULL, NULL, NULL);

		if (is_function(&sym, name))
			f->entries[f->n++] = (struct entry){
				.address = at, .size = sym.st_size,
				.linkage = name, .rank = rank_of(&sym) };
	}
	qsort(f->entries, f->n, sizeof(*f->entries), compare_entries);
	f->n = keep_best(f->entries, f->n);
}

static void read_file(struct file *f)
{
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl)
		return;
	dwfl_report_begin(f->dwfl);
	f->module = dwfl_report_elf(f->dwfl, "", f->path, -1, 0, false);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (f->module)
		read_entries(f);
}

static struct file *file_of(struct fl_symbols *s, const char *path)
{
	struct file *grown;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->files[i].path, path))
			return &s->files[i];
	grown = realloc(s->files, (s->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	s->files = grown;
	grown[s->n] = (struct file){ .path = strdup(path) };
	if (!grown[s->n].path)
		return NULL;
	read_file(&grown[s->n]);
	return &grown[s->n++];
}

/* ---- looking up ------------------------------------------------------------ */

/* The last entry at or below `at`. */
static struct entry *entry_at(const struct file *f, uint64_t at)
{
	size_t lo = 0, hi = f->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (f->entries[mid].address <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &f->entries[lo - 1] : NULL;
}

static const char *name_of(struct entry *e)
{
	if (!e->name)
		e->name = cplus_demangle(e->linkage, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	if (!e->name)
		e->name = strdup(e->linkage);
	return e->name ? e->name : e->linkage;
}

bool fl_symbols_find(struct fl_symbols *s, const char *path, uint64_t at,
		     struct fl_symbol *out)
{
	struct file *f = file_of(s, path);
	struct entry *e = f ? entry_at(f, at) : NULL;

	if (!e || at - e->address >= (e->size ? e->size : 1))
		return false;
	*out = (struct fl_symbol){ name_of(e), e->linkage, e->address, e->size };
	return true;
}

const char *fl_symbols_line(struct fl_symbols *s, const char *path, uint64_t at,
			    int *line)
{
	struct file *f = file_of(s, path);
	Dwfl_Line *l = f && f->module ? dwfl_module_getsrc(f->module, at) : NULL;

	return l ? dwfl_lineinfo(l, NULL, line, NULL, NULL, NULL) : NULL;
}

char *fl_symbols_plain(const char *linkage)
{
	return cplus_demangle(linkage, DMGL_AUTO);
}

int fl_symbols_open(struct fl_symbols **s)
{
	*s = calloc(1, sizeof(**s));
	return *s ? 0 : -ENOMEM;
}

static void close_file(struct file *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->entries[i].name);
	free(f->entries);
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free(f->path);
}

void fl_symbols_close(struct fl_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		close_file(&s->files[i]);
	free(s->files);
	free(s);
}
