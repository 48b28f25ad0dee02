/*
 * frames.c - where functions begin and end, and where exceptions land in them,
 * by the tables for unwinding.
 *
 * Hides .eh_frame_hdr (a sorted table of starts), which of an entry's instructions make
 * a row, and the call sites of .gcc_except_table. Stripped files have these
 * tables, too.
 */
#include <string.h>

#include "arch/arch.h"
#include "obj/obj.h"

struct pair { int32_t start, fde; };	/* distances from the table */

/* Find the pairs of the table at `ph`; false: it is not understood. */
static bool open_table(const struct fl_module *m, const Elf64_Phdr *ph, struct fl_in *pairs)
{
	struct fl_in in = { .p = fl_obj_bytes(m, m->bias + ph->p_vaddr, ph->p_memsz) };
	uint8_t version, frames_how, count_how, pairs_how;
	uint64_t n;

	if (!in.p)
		return false;
	in.end = in.p + ph->p_memsz;
	version = fl_in_u8(&in);
	frames_how = fl_in_u8(&in);
	count_how = fl_in_u8(&in);
	pairs_how = fl_in_u8(&in);
	if (frames_how != FL_PE_OMIT)
		fl_in_value(&in, frames_how);
	n = fl_in_fixed(&in, 4);
	*pairs = fl_in_part(&in, n * sizeof(struct pair));
	return !in.is_bad && version == 1 && count_how == FL_PE_UDATA4 &&
	       pairs_how == (FL_PE_DATAREL | FL_PE_SDATA4);
}

int fl_obj_frames(const struct fl_module *m,
		  int (*each)(void *arg, const struct fl_obj_frame *), void *arg)
{
	struct fl_fde fde = { 0 };
	struct fl_obj_frame f = { 0 };
	uintptr_t table = 0, last = 0;
	struct fl_in pairs = { 0 };
	struct pair pair;
	int n_left = 0, err = 0;

	for (size_t i = 0; i < m->n_ph && !table; i++)
		if (m->ph[i].p_type == PT_GNU_EH_FRAME && open_table(m, &m->ph[i], &pairs))
			table = m->bias + m->ph[i].p_vaddr;
	if (!table)
		return -ENOENT;
	for (; pairs.p < pairs.end && !err; pairs.p += sizeof(pair)) {
		memcpy(&pair, pairs.p, sizeof(pair));
		f.start = table + (uintptr_t)(intptr_t)pair.start;
		f.fde = table + (uintptr_t)(intptr_t)pair.fde;
		if (f.start < last || !fl_fde_read(&fde, m, f.fde) ||
		    fde.start != f.start ||	/* the entry is damaged */
		    __builtin_add_overflow(f.start, fde.end - fde.start, &f.end)) {
			n_left++;
			continue;
		}
		f.lsda = fde.lsda;
		f.most = (size_t)(pairs.end - pairs.p) / sizeof(pair);
		last = f.start;
		err = each(arg, &f);
	}
	return err ? err : n_left;
}

/* ---- the row at the beginning ---------------------------------------------- */

struct row {
	uint64_t reg, offset;		/* the CFA is `offset` above register `reg` */
	bool is_first;
};

/* Read a program to the end of the row that holds at `at`. False: it is not understood. */
static bool read_until(struct row *r, const struct fl_fde *f, struct fl_in program,
		       uintptr_t at)
{
	uintptr_t from = f->start;
	struct fl_cfi_insn i;

	while (fl_cfi_next(&program, f, &i))
		switch (i.op) {
		case FL_CFA_ADVANCE: case FL_CFA_SET_LOC:
			from = i.op == FL_CFA_ADVANCE ? from + i.value : i.value;
			if (from > at)
				return true;
			break;
		case FL_CFA_UNDEFINED:
			r->is_first |= i.reg == FL_ARCH_DWARF_RETURN;
			break;
		case FL_CFA_DEF:
			r->reg = i.reg;
			r->offset = i.value;
			break;
		case FL_CFA_DEF_REGISTER:
			r->reg = i.reg;
			break;
		case FL_CFA_DEF_OFFSET:
			r->offset = i.value;
			break;
		case FL_CFA_DEF_EXPRESSION:
			r->reg = UINT64_MAX;
			break;
		}
	return !program.is_bad;
}

enum fl_obj_begin fl_obj_begins(const struct fl_module *m, uintptr_t fde, uintptr_t at)
{
	struct fl_fde f = { 0 };
	struct row r = { 0 };

	if (!fl_fde_read(&f, m, fde) || !read_until(&r, &f, f.cie.program, at) ||
	    !read_until(&r, &f, f.program, at))
		return FL_OBJ_ODD;
	return f.cie.is_signal ? FL_OBJ_SIGNAL : r.is_first ? FL_OBJ_FIRST :
	       r.reg == FL_ARCH_DWARF_SP && r.offset == FL_ARCH_DWARF_CALLED ?
	       FL_OBJ_CALLED : FL_OBJ_INSIDE;
}

/* ---- landing pads -------------------------------------------------------- */

int fl_obj_pads(const struct fl_module *m, uintptr_t lsda, uintptr_t start, uintptr_t end,
		int (*each)(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad),
		void *arg)
{
	struct fl_call_site s;
	struct fl_lsda l;
	uintptr_t last = start;
	int err = 0;

	if (!fl_lsda_open(&l, m, lsda, start, end) || l.pads != start)
		return FLE_TRUNCATED;		/* no compiler counts pads from elsewhere */
	while (!err && fl_lsda_next(&l, &s)) {
		if (s.from < last || s.from == s.to)
			return FLE_TRUNCATED;
		last = s.to;
		err = s.pad ? each(arg, s.from, s.to, s.pad) : 0;
	}
	return l.sites.is_bad ? FLE_TRUNCATED : err;
}
