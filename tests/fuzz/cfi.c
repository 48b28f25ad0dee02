/*
 * fuzz/cfi - a file's tables for unwinding, as a walk up a stack reads them: what may be asked
 * of libdw, and what it says of each place.
 *
 * timeout: 600
 */
#include <stdbool.h>
#include <stdint.h>

#include "fuzz.h"
#include "perf/cfi.h"

static void check_rule(const struct fl_cfi_rule *r)
{
	if (r->from >= FL_ARCH_DWARF_REGS && r->from != FL_CFI_FRAME)
		abort();
}

static void check_row(const struct fl_cfi_row *row)
{
	if (!row || row->kind < FL_CFI_CALLED)
		return;
	if (row->n_saved > FL_CFI_SAVED || row->frame.from == FL_CFI_FRAME)
		abort();
	check_rule(&row->frame);
	for (uint32_t i = 0; i < row->n_saved; i++) {
		check_rule(&row->saved[i]);
		if (row->saved[i].reg >= FL_ARCH_DWARF_REGS)
			abort();
	}
}

/* The first eight bytes are a place; those around it, and some others, are looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fl_cfi_memory memory = { 0 };
	struct fl_cfi *c;
	uint64_t from, at;

	if (n < sizeof(from))
		return 0;
	memcpy(&from, data, sizeof(from));
	c = fl_cfi_open(fuzz_file(data + sizeof(from), n - sizeof(from)), &memory);
	for (uint64_t i = 0; c && i < 32; i++) {
		check_row(fl_cfi_row(c, from + i));
		check_row(fl_cfi_row(c, i << (i & 31)));
		if (fl_cfi_address(c, i * 64, &at))
			check_row(fl_cfi_row(c, at));
	}
	fl_cfi_close(c);
	if (memory.taken)
		abort();
	return 0;
}
