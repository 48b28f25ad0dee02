/*
 * cfi.c - how the caller is found from a place in code: what tables for unwinding say of it.
 *
 * Hides libdw, which reads the tables, and that libdw takes longer to work out a place than a
 * sample may take: what it said is kept, because a profile has few places, and many samples of
 * each.
 */
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "obj/obj.h"
#include "perf/cfi-check.h"
#include "perf/cfi.h"

enum { MOST_ROWS = 1 << 18 };		/* of one file */

struct fl_cfi {
	struct fl_cfi_memory *memory;
	uint64_t taken;			/* of memory->taken, for this file */
	char *bytes;			/* headers and tables; not its code */
	Elf *elf;
	Dwarf_CFI *tables;
	struct fl_cfi_row *rows;	/* that were worked out */
	uint32_t n, most;		/* most: that room was taken for */
	struct fl_hash by_place;
};

/* ---- what libdw says ----------------------------------------------------------------- */

static bool read_register(const Dwarf_Op *op, uint8_t *reg, int32_t *offset)
{
	bool is_any = op->atom == DW_OP_bregx;
	uint64_t number = is_any ? op->number : (uint64_t)op->atom - DW_OP_breg0;
	uint64_t by = is_any ? op->number2 : op->number;

	if ((!is_any && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31)) ||
	    number >= FL_ARCH_DWARF_REGS || (int64_t)by != (int32_t)by)
		return false;
	*reg = (uint8_t)number;
	*offset = (int32_t)by;
	return true;
}

/* Linkers' stubs have one rule for all: the last 5 of a stub's 16 bytes come behind a push. */
static bool is_in_stub(const Dwarf_Op *ops, size_t n, uint64_t at, int32_t *more)
{
	enum { BYTES = 16, PUSHED = 11, OPS = 9 };

	*more = at % BYTES >= PUSHED ? 8 : 0;
	return n == OPS && ops[1].atom == DW_OP_breg0 + FL_ARCH_DWARF_RETURN &&
	       ops[2].atom == DW_OP_lit0 + BYTES - 1 && ops[4].atom == DW_OP_lit0 + PUSHED &&
	       ops[5].atom == DW_OP_ge;
}

/* A register plus an offset, or what stands in memory there: compilers ask for no more. */
static bool read_frame_rule(Dwarf_Frame *f, uint64_t at, struct fl_cfi_rule *rule)
{
	int32_t more;
	Dwarf_Op *ops;
	size_t n;

	*rule = (struct fl_cfi_rule){ .reg = FL_CFI_FRAME };
	if (dwarf_frame_cfa(f, &ops, &n) || !n ||
	    !read_register(ops, &rule->from, &rule->offset))
		return false;
	if (is_in_stub(ops, n, at, &more)) {
		rule->offset += more;
		return true;
	}
	rule->is_loaded = n == 2;
	return n == 1 || (n == 2 && ops[1].atom == DW_OP_deref);
}

enum saved { KEPT, LOST, SAVED, ODD };

/* Where a register is saved: in memory, below the frame's address, or, where a signal's handler
 * was called, above the stack pointer. */
static enum saved read_saved(Dwarf_Frame *f, int reg, struct fl_cfi_rule *rule)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	*rule = (struct fl_cfi_rule){ .reg = (uint8_t)reg, .from = FL_CFI_FRAME,
				      .is_loaded = true };
	if (dwarf_frame_register(f, reg, memory, &ops, &n))
		return ODD;
	if (!n)
		return ops == memory ? LOST : KEPT;
	if (ops[0].atom != DW_OP_call_frame_cfa || n > 2)
		return ODD;
	if (n == 1)
		return SAVED;
	if (ops[1].atom != DW_OP_plus_uconst)
		return read_register(&ops[1], &rule->from, &rule->offset) ? SAVED : ODD;
	rule->offset = (int32_t)ops[1].number;
	return (int64_t)ops[1].number == rule->offset ? SAVED : ODD;
}

/* A register that is told in an unknown way is taken to be as it was, because few frames are
 * told by such registers. If the return address is told so, the walk ends. */
static void read_rules(Dwarf_Frame *f, struct fl_cfi_row *row)
{
	if (!read_frame_rule(f, row->at, &row->frame))
		row->kind = FL_CFI_NONE;
	for (int reg = 0; reg < FL_ARCH_DWARF_REGS && row->kind; reg++) {
		struct fl_cfi_rule *rule = &row->saved[row->n_saved];
		enum saved is;

		if (reg == FL_ARCH_DWARF_SP || row->n_saved == FL_CFI_SAVED)
			continue;
		is = read_saved(f, reg, rule);
		row->n_saved += is == SAVED;
		if (reg == FL_ARCH_DWARF_RETURN && (is == LOST || is == ODD))
			row->kind = is == LOST ? FL_CFI_FIRST : FL_CFI_NONE;
	}
}

/* The kernel or the loader goes to a file's entry: nobody calls it. Often the entry is assembly
 * without a table, as the loader's own is. All code behind it up to the first function that has
 * a table is the entry's, up to the length that such code has. */
static bool is_table_entry(const struct fl_cfi *c, uint64_t at)
{
	enum { LONGEST = 256 };
	const Elf64_Ehdr *eh = elf64_getehdr(c->elf);
	uint64_t entry = eh ? eh->e_entry : 0;
	bool has_table = !entry || at - entry >= LONGEST;
	Dwarf_Frame *f;

	for (uint64_t i = entry; i <= at && !has_table; i++) {
		has_table = !dwarf_cfi_addrframe(c->tables, i, &f);
		if (has_table)
			free(f);
	}
	return !has_table;
}

static struct fl_cfi_row work_out(struct fl_cfi *c, uint64_t at)
{
	struct fl_cfi_row row = { .at = at };
	Dwarf_Frame *f;
	bool is_signal;
	int column;

	if (dwarf_cfi_addrframe(c->tables, at, &f)) {
		row.kind = is_table_entry(c, at) ? FL_CFI_FIRST : FL_CFI_NONE;
		return row;
	}
	column = dwarf_frame_info(f, NULL, NULL, &is_signal);
	if (column == FL_ARCH_DWARF_RETURN) {
		row.kind = is_signal ? FL_CFI_INTERRUPTED : FL_CFI_CALLED;
		read_rules(f, &row);
	}
	free(f);
	return row;
}

/* ---- what is kept -------------------------------------------------------------------- */

bool fl_cfi_has_room(const struct fl_cfi_memory *m, uint64_t bytes)
{
	return bytes <= FL_CFI_MOST_BYTES - m->taken;
}

static bool take_room(struct fl_cfi *c, uint64_t bytes)
{
	if (!fl_cfi_has_room(c->memory, bytes))
		return false;
	c->memory->taken += bytes;
	c->taken += bytes;
	return true;
}

/* Arrays grow to twice what they hold, and keep room that was once taken. */
static bool take_rows_room(struct fl_cfi *c)
{
	enum { BYTES = 2 * sizeof(struct fl_cfi_row) + 4 * sizeof(struct fl_hashed) };

	if (c->n < c->most)
		return true;
	c->most += take_room(c, BYTES);
	return c->n < c->most;
}

const struct fl_cfi_row *fl_cfi_row(struct fl_cfi *c, uint64_t at)
{
	uint32_t hash = fl_hash_of(0, at);

	for (uint32_t from = hash, i; (i = fl_hash_next(&c->by_place, hash, &from));)
		if (c->rows[i - 1].at == at)
			return &c->rows[i - 1];
	if (c->n == MOST_ROWS) {		/* the program is nowhere twice */
		fl_hash_free(&c->by_place);
		c->n = 0;
	}
	if (!take_rows_room(c) || fl_array_room(&c->rows, c->n, sizeof(*c->rows)) ||
	    fl_hash_put(&c->by_place, hash, c->n + 1))
		return NULL;
	c->rows[c->n] = work_out(c, at);
	return &c->rows[c->n++];
}

/* ---- files ----------------------------------------------------------------------------- */

bool fl_cfi_address(const struct fl_cfi *c, uint64_t offset, uint64_t *at)
{
	size_t n;
	const Elf64_Phdr *ph = elf_getphdrnum(c->elf, &n) ? NULL : elf64_getphdr(c->elf);

	return ph && fl_headers_address(ph, n, offset, at);
}

static struct fl_cfi *open_bytes(char *bytes, size_t n, struct fl_cfi_memory *memory)
{
	struct fl_cfi *c = calloc(1, sizeof(*c));

	elf_version(EV_CURRENT);
	if (!c) {
		free(bytes);
		return NULL;
	}
	c->memory = memory;
	c->bytes = bytes;
	c->elf = take_room(c, n) ? elf_memory(bytes, n) : NULL;
	c->tables = c->elf ? dwarf_getcfi_elf(c->elf) : NULL;
	if (c->tables)
		return c;
	fl_cfi_close(c);
	return NULL;
}

/* The vdso is the kernel's, the same for all processes, and no lie. Its sections stand last. */
static struct fl_cfi *open_vdso(struct fl_cfi_memory *memory)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t n = eh ? eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize : 0;
	char *bytes = n ? malloc(n) : NULL;

	if (!bytes)
		return NULL;
	memcpy(bytes, eh, n);
	return open_bytes(bytes, n, memory);
}

struct fl_cfi *fl_cfi_open_bytes(char *bytes, size_t n, struct fl_cfi_memory *memory)
{
	if (fl_cfi_make_modest(bytes, n))
		return open_bytes(bytes, n, memory);
	free(bytes);
	return NULL;
}

/* The bytes of both tables, of what stands between them, and of the rest of their segment: only
 * sections say how long the last table is. */
struct tables_at {
	const Elf64_Phdr *table;
	uint64_t from, n;
};

static bool find_tables(int fd, const struct fl_headers *h, struct tables_at *t)
{
	const Elf64_Phdr *ph = h->ph, *load = NULL;
	size_t n = h->eh.e_phnum;
	int32_t head[2] = { 0 };	/* the second: where frames are, from there on */
	uint64_t frames;

	t->table = NULL;
	for (size_t i = 0; i < n && !t->table; i++)
		t->table = ph[i].p_type == PT_GNU_EH_FRAME ? &ph[i] : NULL;
	for (size_t i = 0; i < n && t->table && !load; i++)
		load = ph[i].p_type == PT_LOAD &&
		       t->table->p_offset - ph[i].p_offset < ph[i].p_filesz ? &ph[i] : NULL;
	if (!load || !fl_headers_read(fd, head, t->table->p_offset, sizeof(head)))
		return false;
	frames = t->table->p_offset + sizeof(*head) + (uint64_t)(int64_t)head[1];
	t->from = frames < t->table->p_offset ? frames : t->table->p_offset;
	t->n = load->p_filesz - (t->from - load->p_offset);
	return t->from - load->p_offset < load->p_filesz;
}

/* Copy the headers as in the file, and behind them the tables. Then a file that is changed
 * meanwhile, or that is mostly holes, does no harm, and no file keeps a descriptor. */
static struct fl_cfi *copy_tables(int fd, const struct fl_headers *h,
				  struct fl_cfi_memory *memory)
{
	size_t head = sizeof(h->eh) + h->eh.e_phnum * sizeof(*h->ph);
	struct tables_at t;
	Elf64_Ehdr *eh;
	char *bytes;

	if (!find_tables(fd, h, &t) ||
	    t.n > FL_CFI_MOST_BYTES || !fl_cfi_has_room(memory, head + t.n))
		return NULL;
	bytes = malloc(head + t.n);
	if (!bytes || !fl_headers_read(fd, bytes + head, t.from, t.n)) {
		free(bytes);
		return NULL;
	}
	eh = (Elf64_Ehdr *)bytes;
	*eh = h->eh;
	eh->e_phoff = sizeof(*eh);
	eh->e_shoff = eh->e_shnum = eh->e_shstrndx = 0;
	memcpy(eh + 1, h->ph, head - sizeof(*eh));
	((Elf64_Phdr *)(eh + 1))[t.table - h->ph].p_offset = head + t.table->p_offset - t.from;
	return fl_cfi_open_bytes(bytes, head + t.n, memory);
}

struct fl_cfi *fl_cfi_open(const char *path, struct fl_cfi_memory *memory)
{
	struct fl_headers headers;
	struct fl_cfi *c;
	int fd;

	if (!strcmp(path, "[vdso]"))
		return open_vdso(memory);
	fd = fl_headers_open(&headers, path);
	if (fd < 0)
		return NULL;
	c = copy_tables(fd, &headers, memory);
	close(fd);
	return c;
}

void fl_cfi_close(struct fl_cfi *c)
{
	if (!c)
		return;
	if (c->tables)
		dwarf_cfi_end(c->tables);
	elf_end(c->elf);
	free(c->bytes);
	c->memory->taken -= c->taken;
	fl_hash_free(&c->by_place);
	free(c->rows);
	free(c);
}
