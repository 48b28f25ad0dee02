/*
 * cfi.h - private to cli/: how who called is found from a place in code (cfi.c).
 */
#ifndef FL_CFI_H
#define FL_CFI_H

#include "arch/arch.h"

enum { FL_CFI_SAVED = 20 };		/* registers, at most, that one place has in memory */

/* Where a thread stands: registers by their numbers in tables for unwinding. */
struct fl_cfi_place {
	uint64_t pc, regs[FL_ARCH_DWARF_REGS];
};

/* Of a register, plus an offset: that, or what stands in memory there. The frame's own
 * address is register FL_CFI_FRAME. */
enum { FL_CFI_FRAME = 0xff };
struct fl_cfi_rule {
	uint8_t reg, from;		/* of whom it is; what it is told by */
	bool is_loaded;
	int32_t offset;
};

struct fl_cfi_row {
	uint64_t at;			/* it is of this place */
	enum {
		FL_CFI_NONE,		/* nothing tells who called, as far as we know */
		FL_CFI_FIRST,		/* nobody called */
		FL_CFI_CALLED,
		FL_CFI_INTERRUPTED	/* by a signal: this is the next instruction */
	} kind;
	struct fl_cfi_rule frame, saved[FL_CFI_SAVED];
	uint8_t n_saved;
};

/* Memory that tables of one program have, of as many files as it has mapped: they are the
 * program's own. Zero: none. */
enum { FL_CFI_MOST_BYTES = 1 << 28 };
struct fl_cfi_memory {
	uint64_t taken;			/* FL_CFI_MOST_BYTES at most */
};
bool fl_cfi_has_room(const struct fl_cfi_memory *, uint64_t bytes);

/* Tables of one file, or of memory that has the form of one. */
struct fl_cfi;
/* NULL: it has none, or there is no memory. open: a file, or "[vdso]". bytes: of the form of
 * one; free() takes them, and they are kept. */
struct fl_cfi *fl_cfi_open(const char *path, struct fl_cfi_memory *);
struct fl_cfi *fl_cfi_open_bytes(char *bytes, size_t n, struct fl_cfi_memory *);
void fl_cfi_close(struct fl_cfi *);	/* NULL is fine */
/* The row of the place at ELF address `at`, until the next call; NULL: no memory. */
const struct fl_cfi_row *fl_cfi_row(struct fl_cfi *, uint64_t at);
/* A place in the file as an ELF address; false: it is in nothing that is loaded. */
bool fl_cfi_address(const struct fl_cfi *, uint64_t offset, uint64_t *at);

#endif
