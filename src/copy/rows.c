/*
 * rows.c - how registers are found in a body: the original's program, at other places.
 *
 * A program of call frame instructions says, from instruction to instruction, where the
 * caller's registers are. A body has the same instructions in the same order, so its
 * program is the same, but for the distances. Hides what operands each instruction has,
 * and where a body has moved the stack pointer: there the frame's address gets a row of
 * its own, if it is told from the stack pointer.
 */
#include "arch/arch.h"
#include "copy/unwind.h"

enum {				/* DW_CFA_*; of the first three the low six bits are data */
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02, CFA_ADVANCE2 = 0x03, CFA_ADVANCE4 = 0x04, CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b, CFA_DEF_CFA = 0x0c, CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e, CFA_DEF_CFA_EXPRESSION = 0x0f, CFA_DEF_CFA_SIGNED = 0x12,
	CFA_DEF_CFA_OFFSET_SIGNED = 0x13, CFA_ADVANCE8 = 0x1d
};

/* Operands: u, s numbers (LEB128), b a block with its length, 1 2 4 8 so many bytes, a an
 * address as FDEs have it. */
static const char *const operands[CFA_ADVANCE] = {
	[0x00] = "",			/* nop */
	[CFA_SET_LOC] = "a", [CFA_ADVANCE1] = "1", [CFA_ADVANCE2] = "2", [CFA_ADVANCE4] = "4",
	[0x05] = "uu",			/* offset_extended */
	[0x06] = "u", [0x07] = "u",	/* restore_extended, undefined */
	[0x08] = "u",			/* same_value */
	[0x09] = "uu",			/* register */
	[CFA_REMEMBER] = "", [CFA_RESTORE_STATE] = "", [CFA_DEF_CFA] = "uu",
	[CFA_DEF_CFA_REGISTER] = "u", [CFA_DEF_CFA_OFFSET] = "u",
	[CFA_DEF_CFA_EXPRESSION] = "b", [0x10] = "ub",	/* expression */
	[0x11] = "us",			/* offset_extended_sf */
	[CFA_DEF_CFA_SIGNED] = "us", [CFA_DEF_CFA_OFFSET_SIGNED] = "s",
	[0x14] = "uu", [0x15] = "us",	/* val_offset, val_offset_sf */
	[0x16] = "ub",			/* val_expression */
	[CFA_ADVANCE8] = "8",
	[0x2d] = "",			/* AArch64: the return address is signed, or is not */
	[0x2e] = "u",			/* GNU_args_size */
	[0x2f] = "uu",			/* GNU_negative_offset_extended */
};

enum { REMEMBERED = 16 };

/* How the frame's address is told; `push`: what an unwinder has in it besides. */
struct cfa {
	uint64_t reg, offset;
	uint32_t push;
	bool is_expression;
};

struct rewrite {
	const struct fl_fde *fde;	/* of a CIE's program only its CIE */
	const struct fl_unwind_piece *piece;	/* NULL: it is a CIE's */
	struct fl_in in;
	struct fl_out *out;
	uintptr_t at;			/* in the original */
	uint32_t row;			/* of the piece, the next one */
	uint32_t offset;		/* where what is written holds */
	uint32_t push;			/* there */
	bool is_behind;			/* the piece has ended */
	struct cfa cfa, remembered[REMEMBERED];
	uint32_t n_remembered;
};

/* ---- where ------------------------------------------------------------------------ */

static void put_advance(struct rewrite *w, uint32_t offset)
{
	uint32_t by = offset - w->offset;
	unsigned int width = by < 1 << 8 ? 1 : by < 1 << 16 ? 2 : 4;

	w->offset = offset;
	if (by && by < 64) {
		fl_out_u8(w->out, (uint8_t)(CFA_ADVANCE | by));
	} else if (by) {
		fl_out_u8(w->out, width == 1 ? CFA_ADVANCE1 :
			  width == 2 ? CFA_ADVANCE2 : CFA_ADVANCE4);
		fl_out_fixed(w->out, by, width);
	}
}

/* What is pushed counts where the frame is told from the stack pointer. */
static uint32_t moved_by(const struct rewrite *w)
{
	return w->cfa.reg == FL_ARCH_DWARF_SP && !w->cfa.is_expression ? w->push : 0;
}

/* The frame's address, when the unwinder would tell another one. */
static void put_cfa(struct rewrite *w)
{
	if (w->cfa.push == moved_by(w))
		return;
	w->cfa.push = moved_by(w);
	fl_out_u8(w->out, CFA_DEF_CFA);
	fl_out_uleb(w->out, w->cfa.reg);
	fl_out_uleb(w->out, w->cfa.offset + w->cfa.push);
}

static void enter_row(struct rewrite *w, const struct fl_unwind_row *r)
{
	w->push = r->push;
	if (w->cfa.push == moved_by(w))
		return;
	put_advance(w, r->offset);
	put_cfa(w);
}

/* To what stands for the original's instruction at `at`, or is the next one. Nearly all rows on
 * the way have pushed what the one before has, so that nothing is to be said of them. */
static void go_to(struct rewrite *w, uintptr_t at)
{
	const struct fl_unwind_piece *p = w->piece;
	uint32_t row = w->row;

	if (!p || at < w->at) {
		w->in.is_bad = true;
		return;
	}
	w->at = at;
	for (; row < p->n && p->rows[row].at < at; row++)
		if (p->rows[row].push != w->push)
			enter_row(w, &p->rows[row]);
	w->row = row;
	if (row && fl_unwind_is_inside(&p->rows[row - 1], at)) {
		put_advance(w, fl_unwind_offset(&p->rows[row - 1], at));
		return;
	}
	w->is_behind = row == p->n;
	if (w->is_behind)
		return;
	put_advance(w, p->rows[w->row].offset);
	enter_row(w, &p->rows[w->row]);
}

/* ---- what ------------------------------------------------------------------------- */

struct instruction {
	uint8_t op;
	uint64_t value[2];		/* of its operands */
};

static uint64_t read_operand(struct rewrite *w, char kind)
{
	switch (kind) {
	case 'u':
		return fl_in_uleb(&w->in);
	case 's':
		return (uint64_t)fl_in_sleb(&w->in) * (uint64_t)w->fde->cie.data_align;
	case 'b':
		fl_in_take(&w->in, fl_in_uleb(&w->in));
		return 0;
	case 'a':
		return fl_in_pointer(&w->in, w->fde->m, w->fde->cie.pointers);
	}
	return fl_in_fixed(&w->in, (unsigned int)(kind - '0'));
}

static struct instruction read_instruction(struct rewrite *w)
{
	uint8_t byte = (uint8_t)fl_in_fixed(&w->in, 1);
	struct instruction i = { .op = byte & CFA_RESTORE, .value = { byte & 0x3f } };
	const char *kinds;

	if (i.op == CFA_OFFSET)
		i.value[0] = fl_in_uleb(&w->in);
	if (i.op)			/* most are of these */
		return i;
	i.op = byte;
	kinds = operands[byte];
	w->in.is_bad |= !kinds;
	for (unsigned int k = 0; kinds && kinds[k]; k++)
		i.value[k] = read_operand(w, kinds[k]);
	return i;
}

/* What it says of how the frame's address is told. */
static void note_cfa(struct rewrite *w, const struct instruction *i)
{
	switch (i->op) {
	case CFA_REMEMBER:
		if (w->n_remembered == REMEMBERED)
			w->in.is_bad = true;
		else
			w->remembered[w->n_remembered++] = w->cfa;
		return;
	case CFA_RESTORE_STATE:
		if (w->n_remembered)
			w->cfa = w->remembered[--w->n_remembered];
		else
			w->in.is_bad = true;
		return;
	case CFA_DEF_CFA:
	case CFA_DEF_CFA_SIGNED:
		w->cfa = (struct cfa){ .reg = i->value[0], .offset = i->value[1] };
		return;
	case CFA_DEF_CFA_REGISTER:
		w->cfa.reg = i->value[0];
		w->cfa.is_expression = false;
		return;
	case CFA_DEF_CFA_OFFSET:
	case CFA_DEF_CFA_OFFSET_SIGNED:
		w->cfa.offset = i->value[0];
		w->cfa.push = 0;
		return;
	case CFA_DEF_CFA_EXPRESSION:
		w->cfa = (struct cfa){ .is_expression = true };
		return;
	}
}

/* True: it says where what follows holds, and nothing else. */
static bool goes_on(struct rewrite *w, const struct instruction *i, uintptr_t *to)
{
	uint64_t bytes;

	switch (i->op) {
	case CFA_ADVANCE:
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
	case CFA_ADVANCE8:
		if (__builtin_mul_overflow(i->value[0], w->fde->cie.code_align, &bytes) ||
		    bytes > UINTPTR_MAX - w->at)
			w->in.is_bad = true;
		else
			*to = w->at + bytes;
		return true;
	case CFA_SET_LOC:
		*to = i->value[0];
		return true;
	}
	return false;
}

/* One instruction; all but advances are copied. */
static void rewrite_one(struct rewrite *w)
{
	const unsigned char *from = w->in.p;
	struct instruction i = read_instruction(w);
	uintptr_t to;

	if (w->in.is_bad)
		return;
	if (goes_on(w, &i, &to)) {
		if (!w->in.is_bad)
			go_to(w, to);
		return;
	}
	note_cfa(w, &i);
	if (i.op)
		fl_out_bytes(w->out, from, (size_t)(w->in.p - from));
	put_cfa(w);
}

static int rewrite_all(struct rewrite *w, const struct fl_in *program)
{
	w->in = *program;
	while (w->in.p < w->in.end && !w->in.is_bad && !w->is_behind)
		rewrite_one(w);
	return w->in.is_bad ? FLE_UNWIND : 0;
}

int fl_cie_rows_write(struct fl_out *o, const struct fl_fde *fde)
{
	struct rewrite w = { .fde = fde, .out = o };

	return rewrite_all(&w, &fde->cie.program);
}

int fl_rows_write(struct fl_out *o, const struct fl_fde *fde,
		  const struct fl_unwind_piece *piece)
{
	struct fl_out nowhere = { 0 };
	struct rewrite w = { .fde = fde, .out = &nowhere };
	int err = rewrite_all(&w, &fde->cie.program);

	if (err)
		return err;
	w.out = o;
	w.piece = piece;
	w.at = fde->start;
	go_to(&w, fde->start);
	err = rewrite_all(&w, &fde->program);
	if (!err && !w.is_behind)
		go_to(&w, UINTPTR_MAX);
	return err;
}

void fl_rows_frame(const struct fl_fde *fde, uintptr_t at, struct fl_rows_frame *f)
{
	struct fl_out nowhere = { 0 };
	struct rewrite w = { .fde = fde, .out = &nowhere };
	uintptr_t to = fde->start;

	*f = (struct fl_rows_frame){ .offset = FL_HEIGHT_UNKNOWN };
	if (rewrite_all(&w, &fde->cie.program))
		return;
	w.in = fde->program;
	w.at = fde->start;
	while (w.in.p < w.in.end && !w.in.is_bad && to <= at) {
		struct instruction i = read_instruction(&w);

		w.at = to;
		if (!w.in.is_bad && !goes_on(&w, &i, &to))
			note_cfa(&w, &i);
	}
	f->reg = w.cfa.reg;
	f->from = w.at;
	f->to = to > at ? to : fde->end;
	if (!w.in.is_bad && !w.cfa.is_expression)
		f->offset = w.cfa.offset;
}

uint64_t fl_rows_height(const struct fl_fde *fde, uintptr_t at)
{
	struct fl_rows_frame f;

	fl_rows_frame(fde, at, &f);
	return f.reg == FL_ARCH_DWARF_SP ? f.offset : FL_HEIGHT_UNKNOWN;
}
