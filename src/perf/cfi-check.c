/*
 * cfi-check.c - may libdw read these tables? It believes them: a register's number is how much
 * memory it takes, and each state that is remembered is a copy.
 *
 * Tables are the target's own. libdw gets a copy that has one way to an entry: by a table as
 * all linkers make it, whose length libdw does not look at. It executes nothing that is in no
 * such table. Entries there that ask for much are taken out of the copy. Many entries may be
 * one and the same, so what is read in all is bounded, too.
 */
#include <dwarf.h>
#include <elf.h>
#include <stddef.h>

#include "perf/cfi-check.h"
#include "obj/obj.h"

/* The most that one entry's program may have: bytes, states within one another, a register's
 * number. */
enum { MOST_BYTES = 1 << 16, MOST_STATES = 64, MOST_REGISTER = 255 };

struct frames {
	struct fl_module m;		/* .eh_frame, and what stands behind it */
	struct fl_fde fde;		/* read last: its CIE is modest */
	uint64_t left;			/* bytes that may be read yet */
};

static bool are_rows_modest(struct frames *f, struct fl_in program)
{
	uint64_t n = (uint64_t)(program.end - program.p);
	struct fl_cfi_insn i;
	uint32_t states = 0;

	if (n > MOST_BYTES || n > f->left)
		return false;
	f->left -= n;
	while (fl_cfi_next(&program, &f->fde, &i)) {
		states += i.op == FL_CFA_REMEMBER;
		states -= i.op == FL_CFA_RESTORE_STATE && states;
		if (i.reg > MOST_REGISTER || states > MOST_STATES)
			return false;
	}
	return !program.is_bad;
}

static bool is_entry_modest(struct frames *f, uintptr_t at)
{
	uintptr_t cie = f->fde.cie.at;

	if (!fl_fde_read(&f->fde, &f->m, at))
		return false;
	if (f->fde.cie.at == cie || are_rows_modest(f, f->fde.cie.program))
		return are_rows_modest(f, f->fde.program);
	f->fde.cie.at = 0;
	return false;
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

/* So many times the bytes that there are may be read: a CIE is read again where the FDE before
 * was another one's. */
enum { TIMES = 4 };

/* An entry that is taken out leads behind the end, which is nowhere. */
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
	Elf64_Phdr all = { .p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = n - frames };
	struct frames f = { .m = { .bias = (uintptr_t)bytes + frames, .ph = &all, .n_ph = 1 },
			    .left = TIMES * (uint64_t)n };

	for (uint32_t i = 0; i < t->n; i++)
		if (!is_entry_modest(&f, (uintptr_t)t + (uintptr_t)(intptr_t)t->of[i].fde))
			t->of[i].fde = (int32_t)(n - ph->p_offset);
	return true;
}
