/*
 * cfi.h - private to perf/: how the caller is found from a place in code (cfi.c).
 */
#ifndef FL_CFI_H
#define FL_CFI_H

#include "arch/arch.h"

enum { FL_CFI_SAVED = 20 };		/* registers, at most, that one place has in memory */

/* Where a thread stands: registers by their numbers in tables for unwinding. */
struct fl_cfi_place {
	uint64_t pc, regs[FL_ARCH_DWARF_REGS];
};

/* A register plus an offset tells another register: by the sum, or by what stands in memory
 * there. The frame's own address is register FL_CFI_FRAME. */
enum { FL_CFI_FRAME = 0xff };
struct fl_cfi_rule {
	uint8_t reg, from;		/* the register that is told; by which one */
	bool is_loaded;
	int32_t offset;
};

struct fl_cfi_row {
	uint64_t at;			/* the place */
	enum {
		FL_CFI_NONE,		/* nothing tells who called, as far as we know */
		FL_CFI_FIRST,		/* nobody called */
		FL_CFI_CALLED,
		FL_CFI_INTERRUPTED	/* by a signal: `at` is the next instruction */
	} kind;
	struct fl_cfi_rule frame, saved[FL_CFI_SAVED];
	uint8_t n_saved;
};

/* Memory that tables take of all files that one program has mapped: the tables are the
 * program's own, and so is their size. Zero: none. */
enum { FL_CFI_MOST_BYTES = 1 << 28 };
struct fl_cfi_memory {
	uint64_t taken;			/* FL_CFI_MOST_BYTES at most */
};
bool fl_cfi_has_room(const struct fl_cfi_memory *, uint64_t bytes);

/* Tables of one file, or of memory that has the form of one. */
struct fl_cfi;
/* NULL: there are no tables, or no memory. open: of a file, or "[vdso]". open_bytes: of bytes
 * in the form of a file; they come from malloc(), and are kept. */
struct fl_cfi *fl_cfi_open(const char *path, struct fl_cfi_memory *);
struct fl_cfi *fl_cfi_open_bytes(char *bytes, size_t n, struct fl_cfi_memory *);
void fl_cfi_close(struct fl_cfi *);	/* NULL is fine */
/* The row of the place at ELF address `at`, until the next call; NULL: no memory. */
const struct fl_cfi_row *fl_cfi_row(struct fl_cfi *, uint64_t at);
/* A place in the file as an ELF address; false: it is in nothing that is loaded. */
bool fl_cfi_address(const struct fl_cfi *, uint64_t offset, uint64_t *at);

#endif
