/*
 * before.c - what unwinders are told of the jumps that stand before entries.
 *
 * Hides a table of one row that holds at any address. A module's own tables have nothing for
 * the bytes between functions. A function that is interrupted at such a jump has just been
 * called, and its frame is what a frame is at every entry. Handlers ask in any thread: they
 * look only at words, each of which is an address or 0, and at a table that is constant.
 *
 * An address stays as long as its module does: a thread may still stand there when the NOPs are
 * back, which lead to the entry as well.
 */
#include "copy/unwind.h"

enum { MOST = 256, WORD = 8 };

static uintptr_t jumps[MOST];		/* W with the table's lock, R any */
static uint32_t n_jumps;		/* likewise; words in use */

enum { DEF_CFA = 0x0c, OFFSET = 0x80 };	/* DW_CFA_* */

/* The same form as .eh_frame_hdr, without entries: FDEs are read one after the other. One for
 * each number of words that lie above the way back. */
static const struct {
	uint8_t version, frames_how, count_how, entries_how;
	int32_t frames;			/* .eh_frame, from this field */
	uint32_t cie_bytes, cie_id;
	uint8_t cie_version, augmentation[3], code_align, data_align, return_column;
	uint8_t augmentation_bytes, addresses_how, rules[7];
	uint32_t fde_bytes, cie;
	uintptr_t start, size;
	uint8_t none[8];
	uint32_t end;
} __attribute__((packed)) tables[] = {
#define TABLE(pushed) {								\
	.version = 1, .frames_how = FL_PE_PCREL | FL_PE_SDATA4, .count_how = FL_PE_OMIT, \
	.entries_how = FL_PE_OMIT, .frames = sizeof(int32_t),			\
	.cie_bytes = 20, .cie_version = 1, .augmentation = "zR", .code_align = 1,	\
	.data_align = 0x80 - WORD, .return_column = FL_ARCH_DWARF_RETURN,	\
	.augmentation_bytes = 1, .addresses_how = FL_PE_ABSOLUTE,		\
	.rules = { DEF_CFA, FL_ARCH_DWARF_SP, FL_ARCH_DWARF_CALLED + (pushed),	\
		   OFFSET | FL_ARCH_DWARF_RETURN, FL_ARCH_DWARF_CALLED / WORD },	\
	.fde_bytes = 28, .cie = 28, .start = 1, .size = UINTPTR_MAX - 1,	\
}
	TABLE(0), TABLE(WORD), TABLE(2 * WORD), TABLE(3 * WORD), TABLE(4 * WORD)
};

const void *fl_before_table(int pushed)
{
	return pushed < 0 || pushed / WORD >= (int)ARRAY_LEN(tables) ? NULL :
	       &tables[pushed / WORD];
}

int fl_before_note(uintptr_t at)
{
	uint32_t i = 0, empty = n_jumps;

	for (; i < n_jumps && jumps[i] != at; i++)
		empty = jumps[i] ? empty : i;
	if (i < n_jumps)
		return 0;
	if (empty == MOST)
		return -ENOSPC;
	store_relaxed(&jumps[empty], at);
	if (empty == n_jumps)
		store_relaxed(&n_jumps, empty + 1);
	return 0;
}

void fl_before_forget(uintptr_t at)
{
	for (uint32_t i = 0; i < n_jumps; i++)
		if (jumps[i] == at)
			store_relaxed(&jumps[i], 0);
}

bool fl_before_find(uintptr_t pc, struct fl_unwind_found *found)
{
	uint32_t n = load_relaxed(&n_jumps), i = 0;

	while (i < n && load_relaxed(&jumps[i]) != pc)
		i++;
	if (i == n)
		return false;
	*found = (struct fl_unwind_found){ pc, pc + FL_ARCH_PAD_BYTES, &tables[0] };
	return true;
}
