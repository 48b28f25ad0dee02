/*
 * cfi-check.c - may libdw read these tables? It believes them: a register's number is how much
 * memory it takes, and each state that is remembered is a copy.
 *
 * Tables are the target's own. libdw gets a copy that has one way to an entry: by a table as
 * all linkers make it, whose length it does not look at. What stands in no such table it does
 * not execute. Entries there that ask for much are taken out of the copy. Many may be one and
 * the same, so what is read in all is bounded, too.
 */
#include <dwarf.h>
#include <elf.h>
#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "cli/cfi-check.h"

/* Of one entry's instructions: bytes, states within one another, a register's number. */
enum { MOST_BYTES = 1 << 16, MOST_STATES = 64, MOST_REGISTER = 255 };

struct bytes {
	const unsigned char *p, *end;
	bool is_short;
};

static uint32_t word_of_entry(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void step_over(struct bytes *b, uint64_t n)
{
	b->is_short |= n > (uint64_t)(b->end - b->p);
	b->p = b->is_short ? b->end : b->p + n;
}

static uint64_t number(struct bytes *b)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; b->p < b->end && shift < 63; shift += 7) {
		v |= (uint64_t)(*b->p & 0x7f) << shift;
		if (!(*b->p++ & 0x80))
			return v;
	}
	b->is_short = true;
	return 0;
}

/* Operands: r a register, n a number, b a block with its length, 1 2 4 so many bytes. */
static const char *const forms[DW_CFA_low_user + 0x14] = {
	[DW_CFA_nop] = "", [DW_CFA_advance_loc1] = "1", [DW_CFA_advance_loc2] = "2",
	[DW_CFA_advance_loc4] = "4", [DW_CFA_offset_extended] = "rn",
	[DW_CFA_restore_extended] = "r", [DW_CFA_undefined] = "r", [DW_CFA_same_value] = "r",
	[DW_CFA_register] = "rr", [DW_CFA_remember_state] = "", [DW_CFA_restore_state] = "",
	[DW_CFA_def_cfa] = "rn", [DW_CFA_def_cfa_register] = "r",
	[DW_CFA_def_cfa_offset] = "n", [DW_CFA_def_cfa_expression] = "b",
	[DW_CFA_expression] = "rb", [DW_CFA_offset_extended_sf] = "rn",
	[DW_CFA_def_cfa_sf] = "rn", [DW_CFA_def_cfa_offset_sf] = "n",
	[DW_CFA_val_offset] = "rn", [DW_CFA_val_offset_sf] = "rn",
	[DW_CFA_val_expression] = "rb",
	[DW_CFA_GNU_window_save] = "",	/* AArch64: the return address is signed, or is not */
	[DW_CFA_GNU_args_size] = "n", [DW_CFA_GNU_negative_offset_extended] = "rn",
};

static bool is_operand_modest(struct bytes *b, char form)
{
	if (form == 'r')
		return number(b) <= MOST_REGISTER;
	if (form == 'n')
		number(b);
	else
		step_over(b, form == 'b' ? number(b) : (uint64_t)(form - '0'));
	return true;
}

static bool are_rows_modest(struct bytes b)
{
	uint32_t states = 0;

	if (b.is_short || b.end - b.p > MOST_BYTES)
		return false;
	while (b.p < b.end) {
		uint8_t op = *b.p++;
		const char *form = op >= DW_CFA_advance_loc ?
				   (op >> 6) == 2 ? "n" : "" :
				   op < ARRAY_LEN(forms) ? forms[op] : NULL;

		states += op == DW_CFA_remember_state;
		states -= op == DW_CFA_restore_state && states;
		for (; form && *form; form++)
			if (!is_operand_modest(&b, *form))
				return false;
		if (!form || b.is_short || states > MOST_STATES)
			return false;
	}
	return true;
}

/* ---- entries ------------------------------------------------------------------------- */

struct entries {
	const unsigned char *frames;	/* .eh_frame, and what stands behind it */
	size_t n;
	uint64_t cie;			/* 1 + where the last one stands; 0: none yet */
	size_t head;			/* bytes in front of its FDEs' augmentation */
	uint64_t left;			/* bytes that may be read yet */
};

/* The bytes of the entry there, behind its length. */
static bool entry_at(struct entries *e, uint64_t at, struct bytes *b)
{
	uint32_t n;

	if (at > e->n || e->n - at < 12)
		return false;
	n = word_of_entry(e->frames + at);
	*b = (struct bytes){ .p = e->frames + at + 4 };
	if (n < 8 || n > e->n - at - 4 || n > e->left)
		return false;
	b->end = b->p + n;
	e->left -= n;
	return true;
}

static size_t width_by(uint8_t encoding)
{
	static const uint8_t of[8] = { 8, 0, 2, 4, 8 };

	return of[encoding & 7];
}

/* As compilers make them: "zPLR" and "S", "B", of which "R" is how addresses are told. */
static bool read_cie_head(struct entries *e, struct bytes *b)
{
	const unsigned char *nul = b->end - b->p < 9 ? NULL :
				   memchr(b->p + 5, '\0', (size_t)(b->end - b->p) - 5);
	const char *a = (const char *)b->p + 5;
	struct bytes data;
	uint64_t n;

	if (!nul || word_of_entry(b->p) || *a != 'z')
		return false;
	e->head = 8 + 2 * 8;
	b->p = nul + 1;
	number(b);
	number(b);
	number(b);			/* of version 1 a byte, below 128 */
	n = number(b);
	data = *b;
	for (step_over(b, n); *++a && !b->is_short;) {
		uint8_t how = data.p < b->p ? *data.p : 0;

		if (*a != 'P' && *a != 'L' && *a != 'R' && *a != 'S' && *a != 'B')
			return false;
		if (*a == 'R')
			e->head = 8 + 2 * width_by(how);
		if (*a != 'S' && *a != 'B')
			step_over(&data, 1 + (*a == 'P' ? width_by(how) : 0));
	}
	return !b->is_short && !data.is_short && e->head > 8;
}

static bool is_entry_modest(struct entries *e, uint64_t at)
{
	struct bytes fde, cie;
	uint64_t cie_at;

	if (!entry_at(e, at, &fde) || word_of_entry(fde.p) > at + 4)
		return false;
	cie_at = at + 4 - word_of_entry(fde.p);
	if (e->cie != cie_at + 1) {
		e->cie = 0;
		if (!entry_at(e, cie_at, &cie) || !read_cie_head(e, &cie) ||
		    !are_rows_modest(cie))
			return false;
		e->cie = cie_at + 1;
	}
	step_over(&fde, e->head - 4);
	step_over(&fde, number(&fde));
	return are_rows_modest(fde);
}

/* ---- the table ------------------------------------------------------------------------- */

struct table {
	uint8_t version, frames_how, count_how, entries_how;
	int32_t frames;			/* from here on */
	uint32_t n;
	struct { int32_t at, fde; } of[];	/* from the table on */
};

static const Elf64_Phdr *find_table(const char *bytes, size_t n)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)bytes;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(eh + 1);

	for (size_t i = 0; n >= sizeof(*eh) && i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_GNU_EH_FRAME && ph[i].p_offset <= n &&
		    ph[i].p_filesz <= n - ph[i].p_offset)
			return &ph[i];
	return NULL;
}

/* Those of TIMES as many bytes as there are: a CIE is read again where another one's FDE stood
 * before. */
enum { TIMES = 4 };

/* One that leads behind the end leads nowhere. */
bool fl_cfi_make_modest(char *bytes, size_t n)
{
	const Elf64_Phdr *ph = find_table(bytes, n);
	struct table *t = ph ? (struct table *)(bytes + ph->p_offset) : NULL;
	uint64_t frames;

	if (!t || (uintptr_t)t % _Alignof(struct table) || ph->p_filesz < sizeof(*t) ||
	    t->version != 1 ||
	    t->frames_how != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
	    t->count_how != DW_EH_PE_udata4 ||
	    t->entries_how != (DW_EH_PE_datarel | DW_EH_PE_sdata4) || !t->n ||
	    t->n > (ph->p_filesz - sizeof(*t)) / sizeof(*t->of))
		return false;
	frames = ph->p_offset + offsetof(struct table, frames) + (uint64_t)(int64_t)t->frames;
	if (frames >= n)
		return false;
	struct entries e = { .frames = (unsigned char *)bytes + frames, .n = n - frames,
			     .left = TIMES * (uint64_t)n };

	for (uint32_t i = 0; i < t->n; i++) {
		uint64_t at = ph->p_offset + (uint64_t)(int64_t)t->of[i].fde - frames;

		if (!is_entry_modest(&e, at))
			t->of[i].fde = (int32_t)(n - ph->p_offset);
	}
	return true;
}
