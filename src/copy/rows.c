/*
 * rows.c - how registers are found in a body: the original's program, with other distances.
 *
 * A program of call frame instructions says, from instruction to instruction, where the
 * caller's registers are. A body has the same instructions in the same order, so its
 * program is the same, except for the distances. Hides where a body has moved the stack
 * pointer: there the frame's address gets a row of its own, if the table tells it from the
 * stack pointer. And a landing pad finds the stack pointer where the original has it: what was
 * pushed counts as arguments (DW_CFA_GNU_args_size), which who lands takes off. A thread that
 * is cancelled there needs it.
 */
#include "arch/arch.h"
#include "copy/unwind.h"

enum {				/* DW_CFA_*, as they are written */
	ADVANCE = 0x40, ADVANCE1 = 0x02, ADVANCE2 = 0x03, ADVANCE4 = 0x04
};

enum { REMEMBERED = 16 };

/* How the frame's address is told. `push`: was added to the offset that was written last. */
struct cfa {
	uint64_t reg, offset;
	uint32_t push;
	bool is_expression;
};

struct rewrite {
	const struct fl_fde *fde;	/* for a CIE's program only its CIE counts */
	const struct fl_unwind_piece *piece;	/* NULL: the program is a CIE's */
	struct fl_in in;
	struct fl_out *out;
	uintptr_t at;			/* in the original */
	uint32_t row;			/* the next one of the piece */
	uint32_t offset;		/* in the piece: up to there rules are written */
	uint32_t push;			/* at that offset */
	bool is_behind;			/* the piece has ended */
	struct cfa cfa;
	bool has_pads;
	uint64_t args;			/* bytes, in the original */
	uint32_t args_push;		/* was added when they were written last */
	uint32_t n_remembered;
	struct cfa *remembered;		/* REMEMBERED of them, of which n_remembered are set */
};

/* ---- where ------------------------------------------------------------------------ */

static void put_advance(struct rewrite *w, uint32_t offset)
{
	uint32_t by = offset - w->offset;
	unsigned int width = by < 1 << 8 ? 1 : by < 1 << 16 ? 2 : 4;

	w->offset = offset;
	if (by && by < 64) {
		fl_out_u8(w->out, (uint8_t)(ADVANCE | by));
	} else if (by) {
		fl_out_u8(w->out, width == 1 ? ADVANCE1 :
			  width == 2 ? ADVANCE2 : ADVANCE4);
		fl_out_fixed(w->out, by, width);
	}
}

/* A push moves the frame's offset only where the frame is told from the stack pointer. */
static uint32_t moved_by(const struct rewrite *w)
{
	return w->cfa.reg == FL_ARCH_DWARF_SP && !w->cfa.is_expression ? w->push : 0;
}

/* Write the frame's address, if an unwinder would find another one without that. Its register
 * is the one that what was copied has said. */
static void put_cfa(struct rewrite *w)
{
	if (w->cfa.push == moved_by(w))
		return;
	w->cfa.push = moved_by(w);
	fl_out_u8(w->out, FL_CFA_DEF_OFFSET);
	fl_out_uleb(w->out, w->cfa.offset + w->cfa.push);
}

static void put_args(struct rewrite *w)
{
	if (!w->has_pads || w->args_push == w->push)
		return;
	w->args_push = w->push;
	fl_out_u8(w->out, FL_CFA_ARGS_SIZE);
	fl_out_uleb(w->out, w->args + w->push);
}

static void enter(struct rewrite *w, uint32_t offset, uint32_t push)
{
	w->push = push;
	if (w->cfa.push == moved_by(w) && (!w->has_pads || w->args_push == push))
		return;
	put_advance(w, offset);
	put_cfa(w);
	put_args(w);
}

static void enter_row(struct rewrite *w, const struct fl_unwind_row *r)
{
	enter(w, r->offset, r->push);
}

/* ---- landings of look-ups ----------------------------------------------------------- */

static void enter_landing(struct rewrite *w, uint32_t row)
{
	enter(w, row * FL_ARCH_LANDED_BYTES, FL_ARCH_LOOKUP_KEPT);
}

/* Enter the landing, if that was not done yet, and go on to its second half. */
static void pass_landing(struct rewrite *w, uint32_t row)
{
	enter_landing(w, row);
	enter(w, row * FL_ARCH_LANDED_BYTES + FL_ARCH_LANDED_UP, 0);
}

/* Pass the landings up to row `end`. All have the same length, and the frame's address is told
 * in the same way all along. So what is written for the second one, which is come to as all
 * that follow are, is right for these, too: a large switch has thousands. */
static void pass_landings(struct rewrite *w, uint32_t end)
{
	uint32_t row = w->row, n = 1;		/* n: are written from `same` on */
	unsigned char *same;
	size_t bytes;

	if (row < end)
		pass_landing(w, row++);
	same = w->out->p;
	if (row < end)
		pass_landing(w, row++);
	bytes = (size_t)(w->out->p - same);
	if (!bytes || row >= end)
		return;
	w->offset = (end - 1) * FL_ARCH_LANDED_BYTES + FL_ARCH_LANDED_UP;
	for (uint32_t more; row < end; row += more, n += more) {
		more = n < end - row ? n : end - row;
		fl_out_bytes(w->out, same, more * bytes);
	}
}

/* Go on to the landing of the step at `at`, or of the next one behind it. */
static void go_to_landing(struct rewrite *w, uintptr_t at)
{
	const struct fl_unwind_piece *p = w->piece;
	uint32_t row = (uint32_t)fl_rows_from(p->steps, p->n, sizeof *p->steps, at - 1);

	pass_landings(w, row);
	w->row = row;
	w->is_behind = row == p->n;
	if (w->is_behind)
		return;
	put_advance(w, row * FL_ARCH_LANDED_BYTES);
	enter_landing(w, row);
}

/* ---- other rows ------------------------------------------------------------------- */

/* The first row from the next one on whose instruction is at `at` or behind. Rows on the way
 * are passed. Nearly all have the same push as the row before: for these nothing is written. */
static uint32_t pass_rows(struct rewrite *w, uintptr_t at)
{
	const struct fl_unwind_piece *p = w->piece;
	uint32_t row = w->row;

	for (; row < p->n && p->rows[row].at < at; row++)
		if (p->rows[row].push != w->push)
			enter_row(w, &p->rows[row]);
	return row;
}

/* Go on to the code that stands for the original's instruction at `at`, or for the next one
 * that the piece has. */
static void go_to(struct rewrite *w, uintptr_t at)
{
	const struct fl_unwind_piece *p = w->piece;
	uint32_t row;

	if (!p || at < w->at) {
		w->in.is_bad = true;
		return;
	}
	w->at = at;
	if (p->kind == FL_PIECE_LANDINGS) {
		go_to_landing(w, at);
		return;
	}
	row = pass_rows(w, at);
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

/* Note what a call frame instruction says about the frame's address, and of arguments. */
static void note_cfa(struct rewrite *w, const struct fl_cfi_insn *i)
{
	switch (i->op) {
	case FL_CFA_REMEMBER:
		if (w->n_remembered == REMEMBERED)
			w->in.is_bad = true;
		else
			w->remembered[w->n_remembered++] = w->cfa;
		return;
	case FL_CFA_RESTORE_STATE:
		if (w->n_remembered)
			w->cfa = w->remembered[--w->n_remembered];
		else
			w->in.is_bad = true;
		return;
	case FL_CFA_DEF:
		w->cfa = (struct cfa){ .reg = i->reg, .offset = i->value };
		return;
	case FL_CFA_DEF_REGISTER:
		w->cfa.reg = i->reg;
		w->cfa.is_expression = false;
		return;
	case FL_CFA_DEF_OFFSET:
		w->cfa.offset = i->value;
		w->cfa.push = 0;
		return;
	case FL_CFA_DEF_EXPRESSION:
		w->cfa = (struct cfa){ .is_expression = true };
		return;
	case FL_CFA_ARGS_SIZE:
		w->args = i->value;
		w->args_push = 0;
		return;
	}
}

/* True: the call frame instruction only advances; the next ones hold from *to on. */
static bool goes_on(struct rewrite *w, const struct fl_cfi_insn *i, uintptr_t *to)
{
	switch (i->op) {
	case FL_CFA_ADVANCE:
		w->in.is_bad |= __builtin_add_overflow(w->at, i->value, to);
		return true;
	case FL_CFA_SET_LOC:
		*to = i->value;
		return true;
	}
	return false;
}

/* Copy all call frame instructions except advances, which are written anew. */
static int rewrite_all(struct rewrite *w, const struct fl_in *program)
{
	struct fl_cfi_insn i;
	uintptr_t to;

	w->in = *program;
	while (!w->is_behind && fl_cfi_next(&w->in, w->fde, &i)) {
		if (goes_on(w, &i, &to)) {
			go_to(w, to);
			continue;
		}
		note_cfa(w, &i);
		fl_out_bytes(w->out, i.bytes, (size_t)(w->in.p - i.bytes));
		put_cfa(w);
		put_args(w);
	}
	return w->in.is_bad ? FLE_UNWIND : 0;
}

int fl_cie_rows_write(struct fl_out *o, const struct fl_fde *fde)
{
	struct cfa remembered[REMEMBERED];
	struct rewrite w = { .fde = fde, .out = o, .remembered = remembered };

	return rewrite_all(&w, &fde->cie.program);
}

int fl_rows_write(struct fl_out *o, const struct fl_fde *fde,
		  const struct fl_unwind_piece *piece)
{
	struct fl_out nowhere = { 0 };
	struct cfa remembered[REMEMBERED];
	struct rewrite w = { .fde = fde, .out = &nowhere, .remembered = remembered };
	int err = rewrite_all(&w, &fde->cie.program);

	if (err)
		return err;
	w.out = o;
	w.piece = piece;
	w.has_pads = fde->lsda && piece->kind != FL_PIECE_LANDINGS;
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
	struct cfa remembered[REMEMBERED];
	struct rewrite w = { .fde = fde, .out = &nowhere, .remembered = remembered };
	uintptr_t to = fde->start;
	struct fl_cfi_insn i;

	*f = (struct fl_rows_frame){ .offset = FL_HEIGHT_UNKNOWN };
	if (rewrite_all(&w, &fde->cie.program))
		return;
	w.in = fde->program;
	w.at = fde->start;
	while (to <= at && fl_cfi_next(&w.in, fde, &i)) {
		w.at = to;
		if (!goes_on(&w, &i, &to))
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
