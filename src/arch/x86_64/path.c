/*
 * path.c - code that stands in a body where it keeps a path's sum, or counts a path
 * (probe/path.c).
 *
 * The code takes registers that nobody needs there: R, A, B. Where there are none, or flags are
 * needed, they are kept below the red zone, as in access.c. S is the owner: the address where
 * the call's way back lies. A has it where %rsp is another one.
 *
 *	ENTER	mov %fs:top,R; test $0xfffff,R; je cold
 *		cmp S,%fs:(R); jbe cold		the last frame's owner must lie above
 *		lea 16(R),R; mov R,%fs:top
 *		movl $set,%fs:8(R); mov S,%fs:(R)
 *
 *	others	mov %fs:top,R; cmp S,%fs:(R); jne cold
 *	ADD	addl $add,%fs:8(R)
 *	AT	movl $set,%fs:8(R)
 *	DONE	movq $0,%fs:(R); subq $16,%fs:top
 *
 *	CUT, LEAVE, ONLY: in a sequence
 *   arm:	lea cs(%rip),R; mov R,%fs:rseq_cs
 *   start:	mov %fs:top,R; cmp S,%fs:(R); jne cold
 *		mov %fs:8(R),A; add $add,A; cmp $n,A; jae cold		not ONLY
 *		mov %fs:fl_tls_slot,R; mov cells(R),R; test R,R; je cold
 *	own cells; sums, and n, are in bytes of these:
 *		cmpl $0,key+cell(R,A); je cold
 *		incq cell(R,A)				the commit
 *	shared:
 *		lea cell(A),B; and $mask,B; shl $4,B; add R,B
 *		cmp A,key+4(B); jne cold
 *		mov probe(%rip),R; cmp R,key(B); jne cold
 *		incq (B)				the commit
 *
 *		mov %fs:top,R; and as AT, or as DONE. The load is left out where one more
 *		register that nobody needs has kept the frame's address all along
 *
 * Where the sum is at home on the call's stack (copy/home.c) there is no frame. Where words of
 * the stack are known that are nobody's, registers are kept in these, and not pushed:
 *
 *	ENTER, AT	movl $set,home(%rsp)
 *	ADD		addl $add,home(%rsp); or, to keep flags, mov, lea, mov by R
 *	CUT, LEAVE	as above, but mov home(%rsp),A; then for CUT movl $set,home(%rsp)
 *
 * Behind all instructions of the body:
 *
 *	signature			where an interrupted sequence goes on: not at its
 *					start, so that a thread that is stepped gets on
 * cold: what was kept comes back; a call as of aside.c; jmp behind the code above
 *
 * A cell's key is not 0 once the cell has been counted in: the first time is cold.
 */
#include "put.h"

enum { OWNER = 0, SUM = 8, FRAME = 16, ABORT = 7, ADDL = 0x81, MOVL = 0xc7 };

static bool counts_path(const struct fl_path_code *c)
{
	return c->what == FL_PATH_CUT || c->what == FL_PATH_LEAVE || c->what == FL_PATH_ONLY;
}

static void put_to_cold(struct x86_put *w, const struct fl_path_code *c, uint8_t condition)
{
	x86_put_if(w, condition, c->cold + (counts_path(c) ? ABORT : 0));
}

/* ---- registers ----------------------------------------------------------------------- */

/* Does the code do something with the frame behind the count? */
static bool goes_on_behind(const struct fl_path_code *c)
{
	return c->what == FL_PATH_CUT || c->what == FL_PATH_LEAVE;
}

static bool is_taken(const struct fl_path_code *c, unsigned int reg, unsigned int n)
{
	while (n--)
		if (c->reg[n] == reg)
			return true;
	return false;
}

/* Must the code keep flags? Where the sum is at home only code that counts changes flags that
 * somebody needs. */
static bool keeps_flags(const struct fl_path_code *c)
{
	return !c->flags_dead && (!c->at_home || counts_path(c));
}

static unsigned int registers_for(const struct fl_path_code *c)
{
	if (counts_path(c) && c->probe)
		return 3;
	if (c->at_home && !counts_path(c))
		return c->what == FL_PATH_ADD && !c->flags_dead;
	return 2;
}

/* Flags that are kept are in %rax. */
static void choose_registers(struct fl_path_code *c)
{
	uint32_t never = 1u << X86_SP | 1u << X86_BP | (keeps_flags(c) ? 1u << X86_AX : 0);
	unsigned int n = 0, wanted = registers_for(c);

	c->saved = 0;
	for (unsigned int r = FL_ARCH_REGS; r-- && n < wanted;)
		if (c->dead >> r & 1 && !(never >> r & 1))
			c->reg[n++] = (uint8_t)r;
	for (unsigned int r = FL_ARCH_REGS; r-- && n < wanted;) {
		if ((c->dead | never) >> r & 1)
			continue;
		c->reg[n++] = (uint8_t)r;
		c->saved |= (fl_regs)(1u << r);
	}
	if (keeps_flags(c) && !(c->dead >> X86_AX & 1))
		c->saved |= 1u << X86_AX;
	if (c->at_home && c->what != FL_PATH_ONLY)
		return;
	if (c->what == FL_PATH_ONLY || (!counts_path(c) && !c->height &&
					!(c->saved & ~(1u << c->reg[1]))))
		c->saved &= (fl_regs)~(1u << c->reg[1]);	/* A is not used */
	c->frame = c->reg[0];
	for (unsigned int r = FL_ARCH_REGS; r-- && goes_on_behind(c) && c->frame == c->reg[0];)
		if (c->dead >> r & 1 && !(never >> r & 1) && !is_taken(c, r, wanted))
			c->frame = (uint8_t)r;
}

static bool has_words(const struct fl_path_code *c)
{
	uint32_t n = 0;

	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		n += c->saved >> r & 1;
	return n <= c->n_spare;
}

/* Move each saved register to its word, or from it. */
static void put_words(struct x86_put *w, const struct fl_path_code *c, uint8_t op)
{
	uint32_t n = 0;

	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		if (c->saved >> r & 1)
			x86_put_wide(w, op, r, X86_SP, c->spare[n++]);
}

static void put_kept(struct x86_put *w, const struct fl_path_code *c)
{
	if (has_words(c)) {
		put_words(w, c, X86_STORE);
	} else {
		x86_put_past_red_zone(w);
		for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
			if (c->saved >> r & 1)
				x86_put_push(w, r);
	}
	if (keeps_flags(c))
		x86_put_flags_kept(w);
}

static void put_restored(struct x86_put *w, const struct fl_path_code *c)
{
	if (keeps_flags(c))
		x86_put_flags_back(w);
	if (has_words(c)) {
		put_words(w, c, X86_LOAD);
		return;
	}
	for (unsigned int r = FL_ARCH_REGS; r--;)
		if (c->saved >> r & 1)
			x86_put_pop(w, r);
	x86_put_before_red_zone(w);
}

/* ---- whose it is --------------------------------------------------------------------- */

/* Returns the register that has the owner. */
static unsigned int put_owner(struct x86_put *w, const struct fl_path_code *c)
{
	bool by_fp = c->height & 1;
	int32_t height = c->height - by_fp + (by_fp ? 0 : w->kept);

	if (!height && !by_fp)
		return X86_SP;
	x86_put_at_32(w, x86_rex_w_of(c->reg[1], 0), X86_LEA, c->reg[1],
		      by_fp ? X86_BP : X86_SP, height);
	return c->reg[1];
}

/* op reg, %fs:disp(FRAME), of 64 bits */
static void put_by_frame(struct x86_put *w, const struct fl_path_code *c, uint8_t op,
			 unsigned int reg, int disp)
{
	X86_PUT(w, 0x64);
	x86_put_wide(w, op, reg, c->frame, disp);
}

/* op reg, sum(FRAME), of 32 bits */
static void put_with_sum(struct x86_put *w, const struct fl_path_code *c, uint8_t op,
			 unsigned int reg)
{
	X86_PUT(w, 0x64);
	x86_put_at(w, x86_rex_of(reg, c->frame), op, reg, c->frame, SUM);
}

static void put_mine(struct x86_put *w, const struct fl_path_code *c)
{
	unsigned int owner;

	x86_put_fs(w, X86_LOAD, c->frame, c->top_at);
	owner = put_owner(w, c);
	put_by_frame(w, c, 0x39, owner, OWNER);			/* cmp */
	put_to_cold(w, c, X86_UNEQUAL);
}

/* The sum becomes n, or n more: by movl, or by addl. */
static void put_sum_by_number(struct x86_put *w, const struct fl_path_code *c, uint8_t op,
			      uint32_t n)
{
	put_with_sum(w, c, op, 0);
	x86_put_32(w, (int32_t)n);
}

static void put_gone(struct x86_put *w, const struct fl_path_code *c)
{
	put_by_frame(w, c, 0xc7, 0, OWNER);			/* movq */
	x86_put_32(w, 0);
	X86_PUT(w, 0x64, 0x48, 0x83, 0x2c, 0x25);		/* subq $16,%fs:top */
	x86_put_32(w, c->top_at);
	X86_PUT(w, FRAME);
}

static void put_enter(struct x86_put *w, const struct fl_path_code *c)
{
	unsigned int r = c->frame, owner;

	x86_put_fs(w, X86_LOAD, r, c->top_at);
	X86_PUT(w, x86_rex_of(0, r), 0xf7, (uint8_t)(0xc0 | (r & 7)));	/* test */
	x86_put_32(w, FL_PATH_FRAMES - 1);
	put_to_cold(w, c, X86_EQUAL);
	owner = put_owner(w, c);
	put_by_frame(w, c, 0x39, owner, OWNER);			/* cmp */
	put_to_cold(w, c, X86_AT_MOST);
	x86_put_wide(w, X86_LEA, r, r, FRAME);
	x86_put_fs(w, X86_STORE, r, c->top_at);
	put_sum_by_number(w, c, MOVL, c->set);
	put_by_frame(w, c, X86_STORE, owner, OWNER);
}

/* ---- at home ------------------------------------------------------------------------- */

/* Where the sum is, from the stack pointer on, which pushes may have moved. */
static int32_t home_of(const struct x86_put *w, const struct fl_path_code *c)
{
	return c->height + w->kept;
}

static void put_home_by_number(struct x86_put *w, const struct fl_path_code *c, uint8_t op,
			       uint32_t n)
{
	X86_PUT(w, op, 0x84, 0x24);
	x86_put_32(w, home_of(w, c));
	x86_put_32(w, (int32_t)n);
}

static void put_at_home(struct x86_put *w, const struct fl_path_code *c)
{
	unsigned int r = c->reg[0];

	switch (c->what) {
	case FL_PATH_ENTER: case FL_PATH_AT: case FL_PATH_CUT:
		put_home_by_number(w, c, MOVL, c->set);
		return;
	case FL_PATH_ADD:
		if (c->flags_dead) {
			put_home_by_number(w, c, ADDL, c->add);
			return;
		}
		x86_put_at_32(w, x86_rex_of(r, X86_SP), X86_LOAD, r, X86_SP, home_of(w, c));
		x86_put_at_32(w, x86_rex_of(r, r), X86_LEA, r, r, (int32_t)c->add);
		x86_put_at_32(w, x86_rex_of(r, X86_SP), X86_STORE, r, X86_SP, home_of(w, c));
		return;
	default:
		return;
	}
}

/* ---- what counts --------------------------------------------------------------------- */

/* op disp(R,A), or disp(R); wide: X86_REX_W, or 0 */
static void put_in_cell(struct x86_put *w, const struct fl_path_code *c, uint8_t wide,
			uint8_t op, uint8_t reg, int64_t disp)
{
	unsigned int r = c->reg[0], a = c->what == FL_PATH_ONLY ? X86_SP : c->reg[1];

	X86_PUT(w, (uint8_t)(x86_rex_of(0, r) | wide | (a & 8 ? X86_REX_X : 0)), op,
		(uint8_t)(0x84 | reg << 3), (uint8_t)((a & 7) << 3 | (r & 7)));
	x86_put_32(w, disp);
}

/* Put the path's number in A. The sum may be no path's number (probe/path.c). */
static void put_its_number(struct x86_put *w, const struct fl_path_code *c)
{
	unsigned int a = c->reg[1];
	uint8_t rex = x86_rex_of(0, a);

	if (c->at_home)
		x86_put_at_32(w, x86_rex_of(a, X86_SP), X86_LOAD, a, X86_SP, home_of(w, c));
	else
		put_with_sum(w, c, X86_LOAD, a);
	if (c->add) {
		X86_PUT(w, rex, 0x81, (uint8_t)(0xc0 | (a & 7)));	/* add */
		x86_put_32(w, (int32_t)c->add);
	}
	X86_PUT(w, rex, 0x81, (uint8_t)(0xf8 | (a & 7)));		/* cmp */
	x86_put_32(w, (int32_t)c->n_paths);
	put_to_cold(w, c, X86_AT_LEAST);
}

/* The cells begin at R; later R has the probe's id. B has the cell's address. */
static void put_shared(struct x86_put *w, const struct fl_path_code *c)
{
	unsigned int r = c->reg[0], a = c->reg[1], b = c->reg[2];

	x86_put_at_32(w, x86_rex_of(b, a), X86_LEA, b, a, (int32_t)c->cell);
	X86_PUT(w, x86_rex_of(0, b), 0x81, (uint8_t)(0xe0 | (b & 7)));		/* and */
	x86_put_32(w, FL_PATH_CELLS - 1);
	X86_PUT(w, x86_rex_w_of(0, b), 0xc1, (uint8_t)(0xe0 | (b & 7)), 4);	/* shl */
	x86_put_both(w, 0x01, r, b);						/* add */
	x86_put_at_32(w, x86_rex_of(a, b), 0x39, a, b, FL_PATH_CELL_KEY + 4);	/* cmp */
	put_to_cold(w, c, X86_UNEQUAL);
	X86_PUT(w, x86_rex_of(r, 0), X86_LOAD, (uint8_t)((r & 7) << 3 | X86_BP));
	x86_put_rel(w, c->probe, 0);
	x86_put_at_32(w, x86_rex_of(r, b), 0x39, r, b, FL_PATH_CELL_KEY);	/* cmp */
	put_to_cold(w, c, X86_UNEQUAL);
	x86_put_wide(w, 0xff, 0, b, 0);						/* incq */
}

static void put_counted(struct x86_put *w, struct fl_path_code *c)
{
	unsigned int r = c->reg[0];
	int64_t cell = (int64_t)(c->cell + (c->what == FL_PATH_ONLY ? c->add : 0)) *
		       FL_PATH_CELL_BYTES;

	x86_put_lea(w, r, c->cs);
	x86_put_fs(w, X86_STORE, r, fl_arch_has_rseq() ? fl_rseq_at : 0);
	c->start = (uint16_t)w->n;
	if (c->what != FL_PATH_ONLY && !c->at_home)
		put_mine(w, c);
	if (c->what != FL_PATH_ONLY)
		put_its_number(w, c);
	x86_put_fs(w, X86_LOAD, r, fl_arch_tls_slot_at());
	x86_put_wide(w, X86_LOAD, r, r, FL_POINTEE_CELLS);
	x86_put_both(w, 0x85, r, r);						/* test */
	put_to_cold(w, c, X86_EQUAL);
	if (c->probe) {
		put_shared(w, c);
	} else {
		put_in_cell(w, c, 0, 0x83, 7, cell + FL_PATH_CELL_KEY);		/* cmpl */
		X86_PUT(w, 0);
		put_to_cold(w, c, X86_EQUAL);
		put_in_cell(w, c, X86_REX_W, 0xff, 0, cell);			/* incq */
	}
	c->end = (uint16_t)w->n;
}

/* All that is done with the frame, except the count. */
static void put_in_frame(struct x86_put *w, const struct fl_path_code *c)
{
	if (c->what == FL_PATH_ENTER)
		put_enter(w, c);
	else if (!counts_path(c))
		put_mine(w, c);
	if (goes_on_behind(c) && c->frame == c->reg[0])
		x86_put_fs(w, X86_LOAD, c->frame, c->top_at);
	if (c->what == FL_PATH_CUT || c->what == FL_PATH_AT)
		put_sum_by_number(w, c, MOVL, c->set);
	else if (c->what == FL_PATH_LEAVE || c->what == FL_PATH_DONE)
		put_gone(w, c);
	else if (c->what == FL_PATH_ADD)
		put_sum_by_number(w, c, ADDL, c->add);
}

size_t fl_arch_put_path(unsigned char *out, struct fl_path_code *c)
{
	struct x86_put w = { .out = out, .to = c->to, .depths = c->depths };

	choose_registers(c);
	put_kept(&w, c);
	if (counts_path(c))
		put_counted(&w, c);
	if (c->at_home)
		put_at_home(&w, c);
	else if (c->what != FL_PATH_ONLY)
		put_in_frame(&w, c);
	c->kept = w.kept;
	put_restored(&w, c);
	c->n = w.n;
	c->n_depths = w.n_depths;
	return w.is_far ? 0 : w.n;
}

size_t fl_arch_put_path_cold(unsigned char *out, uintptr_t to, struct fl_path_code *c,
			     uintptr_t data, uintptr_t word)
{
	struct x86_put w = { .out = out, .to = to, .kept = c->kept, .depths = c->depths };
	size_t aside;

	if (counts_path(c)) {
		X86_PUT(&w, X86_SIGNATURE);
		c->abort = w.n;
	}
	put_restored(&w, c);
	aside = fl_arch_put_aside(out + w.n, to + w.n, data, word);
	w.is_far |= !aside;
	w.n += FL_ARCH_ASIDE_DOWN;
	x86_put_grown(&w, FL_ARCH_ASIDE_DEPTH);
	w.n += FL_ARCH_ASIDE_BYTES - FL_ARCH_ASIDE_DOWN;
	x86_put_grown(&w, -FL_ARCH_ASIDE_DEPTH);
	x86_put_jmp(&w, c->to + c->n);
	c->n_depths = w.n_depths;
	return w.is_far ? 0 : w.n;
}

_Static_assert(sizeof(struct x86_sequence) == FL_ARCH_CS_BYTES, "");

void fl_arch_lay_path_cs(unsigned char *out, const struct fl_path_code *c, uintptr_t cold)
{
	const struct x86_sequence cs = {
		.start = c->to + c->start, .length = c->end - c->start,
		.abort = cold + c->abort,
	};

	if (counts_path(c))
		__builtin_memcpy(out, &cs, sizeof cs);
}
