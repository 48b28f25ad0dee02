/*
 * path.c - what stands in a body where it keeps a path's sum, or counts a path (probe/path.c).
 *
 * Registers are taken that nobody needs there: R, A, B; where there are none, or flags are
 * needed, they are kept below the red zone, as in access.c. S is the owner: the stack pointer
 * where the call's way back lies, in A where it is not %rsp.
 *
 *	ENTER	mov %fs:top,R; test $0xfffff,R; je cold
 *		cmp S,%fs:(R); jbe cold		whose it was lies above
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
 *	own cells, of whose bytes sums are, and n:
 *		cmpl $0,key+cell(R,A); je cold
 *		incq cell(R,A)				the commit
 *	shared:
 *		lea cell(A),B; and $mask,B; shl $4,B; add R,B
 *		cmp A,key+4(B); jne cold
 *		mov probe(%rip),R; cmp R,key(B); jne cold
 *		incq (B)				the commit
 *
 *		mov %fs:top,R; and as AT, or as DONE; one more register that nobody needs
 *		has had the frame all along
 *
 * Where the sum is at home on the call's stack (copy/home.c) there is no frame, and words are
 * known that are nobody's, in which registers are kept in place of pushes:
 *
 *	ENTER, AT	movl $set,home(%rsp)
 *	ADD		addl $add,home(%rsp); or, for flags, mov, lea, mov by R
 *	CUT, LEAVE	mov home(%rsp),A is all that is not as above; CUT: movl $set,home(%rsp)
 *
 * Behind all instructions of the body:
 *
 *	signature			where an interrupted sequence goes on, so that who
 *					steps through it gets on:
 * cold: what was kept comes back; a call as of aside.c; jmp behind it
 *
 * The cell's key is not 0 once it has been counted in: the first time is cold.
 */
#include "arch/arch.h"
#include "emit.h"

enum { RED_ZONE = 128, REX = 0x40, REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, AX = 0, SP = 4,
       BP = 5, OWNER = 0, SUM = 8, FRAME = 16, ABORT = 7, X86_STORE = 0x89, X86_LOAD = 0x8b };

struct putter {
	unsigned char *out;
	uintptr_t to;
	size_t n;
	bool is_far;
	struct fl_path_code *code;
	uint16_t kept;
};

#define PUT(w, ...) \
	put_bytes(w, (const unsigned char[]){ __VA_ARGS__ }, \
	       sizeof((const unsigned char[]){ __VA_ARGS__ }))

static void put_bytes(struct putter *w, const unsigned char *bytes, size_t n)
{
	__builtin_memcpy(w->out + w->n, bytes, n);
	w->n += n;
}

static void put_32(struct putter *w, int64_t v)
{
	int32_t v32 = (int32_t)v;

	w->is_far |= v != v32;
	put_bytes(w, (const unsigned char *)&v32, sizeof v32);
}

static void put_rel(struct putter *w, uintptr_t address)
{
	put_32(w, (int64_t)(address - (w->to + w->n + 4)));
}

static bool counts_path(const struct fl_path_code *c)
{
	return c->what == FL_PATH_CUT || c->what == FL_PATH_LEAVE || c->what == FL_PATH_ONLY;
}

static void note_grown(struct putter *w, int by)
{
	w->kept = (uint16_t)(w->kept + by);
	w->code->depths[w->code->n_depths++] =
		(struct fl_depth){ (uint16_t)w->n, w->kept };
}

/* ---- instructions -------------------------------------------------------------------- */

static uint8_t rex_of(unsigned int reg, unsigned int base)
{
	return (uint8_t)(REX | REX_W | (reg & 8 ? REX_R : 0) | (base & 8 ? REX_B : 0));
}

/* op reg, disp(base), the displacement a byte */
static void put_at(struct putter *w, uint8_t op, unsigned int reg, unsigned int base, int disp)
{
	PUT(w, rex_of(reg, base), op, (uint8_t)(0x40 | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == SP)
		PUT(w, 0x24);
	PUT(w, (uint8_t)disp);
}

/* op reg, disp(base), of 32 bits */
static void put_at_32(struct putter *w, uint8_t op, unsigned int reg, unsigned int base,
		      int32_t disp)
{
	PUT(w, (uint8_t)(REX | (reg & 8 ? REX_R : 0) | (base & 8 ? REX_B : 0)), op,
	    (uint8_t)(0x80 | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == SP)
		PUT(w, 0x24);
	put_32(w, disp);
}

static void put_fs_at(struct putter *w, uint8_t op, unsigned int reg, unsigned int base,
		      int disp)
{
	PUT(w, 0x64);
	put_at(w, op, reg, base, disp);
}

/* op %fs:disp, reg */
static void put_fs(struct putter *w, uint8_t op, unsigned int reg, intptr_t disp)
{
	PUT(w, 0x64, rex_of(reg, 0), op, (uint8_t)((reg & 7) << 3 | 4), 0x25);
	put_32(w, disp);
}

static void put_push(struct putter *w, unsigned int reg)
{
	if (reg & 8)
		PUT(w, REX | REX_B);
	PUT(w, (uint8_t)(0x50 | (reg & 7)));
	note_grown(w, 8);
}

static void put_pop(struct putter *w, unsigned int reg)
{
	if (reg & 8)
		PUT(w, REX | REX_B);
	PUT(w, (uint8_t)(0x58 | (reg & 7)));
	note_grown(w, -8);
}

static void put_test(struct putter *w, unsigned int reg)
{
	PUT(w, rex_of(reg, reg), 0x85, (uint8_t)(0xc0 | (reg & 7) * 9));
}

static void put_to_cold(struct putter *w, uint8_t condition)
{
	PUT(w, 0x0f, condition);
	put_rel(w, w->code->cold + (counts_path(w->code) ? ABORT : 0));
}

/* ---- registers ----------------------------------------------------------------------- */

/* Behind the count something is done with the frame. */
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

/* At home only what counts changes flags where somebody needs them. */
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

/* Who keeps flags has them in %rax. */
static void choose_registers(struct fl_path_code *c)
{
	uint32_t never = 1u << SP | 1u << BP | (keeps_flags(c) ? 1u << AX : 0);
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
	if (keeps_flags(c) && !(c->dead >> AX & 1))
		c->saved |= 1u << AX;
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

/* Each to a word, or from it. */
static void put_words(struct putter *w, uint8_t op)
{
	uint32_t n = 0;

	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		if (w->code->saved >> r & 1)
			put_at(w, op, r, SP, w->code->spare[n++]);
}

static void put_pushed(struct putter *w)
{
	PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80);		/* lea -128(%rsp),%rsp */
	note_grown(w, RED_ZONE);
	for (unsigned int r = 0; r < FL_ARCH_REGS; r++)
		if (w->code->saved >> r & 1)
			put_push(w, r);
}

static void put_kept(struct putter *w)
{
	const struct fl_path_code *c = w->code;

	if (has_words(c))
		put_words(w, X86_STORE);
	else
		put_pushed(w);
	if (keeps_flags(c))
		PUT(w, 0x9f, 0x0f, 0x90, 0xc0);		/* lahf; seto %al */
}

static void put_restored(struct putter *w)
{
	const struct fl_path_code *c = w->code;

	if (keeps_flags(c))
		PUT(w, 0x04, 0x7f, 0x9e);		/* add $127,%al; sahf */
	if (has_words(c)) {
		put_words(w, X86_LOAD);
		return;
	}
	for (unsigned int r = FL_ARCH_REGS; r--;)
		if (c->saved >> r & 1)
			put_pop(w, r);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);	/* lea 128(%rsp),%rsp */
	note_grown(w, -RED_ZONE);
}

/* ---- whose it is --------------------------------------------------------------------- */

/* The register that has it. */
static unsigned int put_owner(struct putter *w)
{
	struct fl_path_code *c = w->code;
	bool by_fp = c->height & 1;
	int32_t height = c->height - by_fp + (by_fp ? 0 : w->kept);

	if (!height && !by_fp)
		return SP;
	PUT(w, rex_of(c->reg[1], 0), X86_LEA,
	    (uint8_t)(0x80 | (c->reg[1] & 7) << 3 | (by_fp ? BP : SP)));
	if (!by_fp)
		PUT(w, 0x24);
	put_32(w, height);
	return c->reg[1];
}

static void put_mine(struct putter *w)
{
	unsigned int r = w->code->frame, owner;

	put_fs(w, 0x8b, r, w->code->top_at);
	owner = put_owner(w);
	put_fs_at(w, 0x39, owner, r, OWNER);
	put_to_cold(w, 0x85);
}

static void put_set(struct putter *w)
{
	unsigned int r = w->code->frame;

	PUT(w, 0x64, (uint8_t)(REX | (r & 8 ? REX_B : 0)), 0xc7, (uint8_t)(0x40 | (r & 7)));
	if ((r & 7) == SP)
		PUT(w, 0x24);
	PUT(w, SUM);
	put_32(w, (int32_t)w->code->set);
}

static void put_added(struct putter *w)
{
	unsigned int r = w->code->frame;

	PUT(w, 0x64, (uint8_t)(REX | (r & 8 ? REX_B : 0)), 0x81, (uint8_t)(0x40 | (r & 7)));
	if ((r & 7) == SP)
		PUT(w, 0x24);
	PUT(w, SUM);
	put_32(w, (int32_t)w->code->add);
}

static void put_gone(struct putter *w)
{
	unsigned int r = w->code->frame;

	PUT(w, 0x64, rex_of(0, r), 0xc7, (uint8_t)(0x40 | (r & 7)));
	if ((r & 7) == SP)
		PUT(w, 0x24);
	PUT(w, OWNER, 0, 0, 0, 0);
	PUT(w, 0x64, 0x48, 0x83, 0x2c, 0x25);		/* subq $16,%fs:top */
	put_32(w, w->code->top_at);
	PUT(w, FRAME);
}

static void put_enter(struct putter *w)
{
	unsigned int r = w->code->reg[0], owner;

	put_fs(w, 0x8b, r, w->code->top_at);
	PUT(w, (uint8_t)(REX | (r & 8 ? REX_B : 0)), 0xf7, (uint8_t)(0xc0 | (r & 7)));
	put_32(w, FL_PATH_FRAMES - 1);
	put_to_cold(w, 0x84);
	owner = put_owner(w);
	put_fs_at(w, 0x39, owner, r, OWNER);
	put_to_cold(w, 0x86);
	put_at(w, X86_LEA, r, r, FRAME);
	put_fs(w, 0x89, r, w->code->top_at);
	put_set(w);
	put_fs_at(w, 0x89, owner, r, OWNER);
}

/* ---- at home ------------------------------------------------------------------------- */

/* Where the sum is from what the stack pointer is now, which pushes may have moved. */
static int32_t home_of(const struct putter *w)
{
	return w->code->height + w->kept;
}

/* op home(%rsp), and a number: /reg */
static void put_home_by_number(struct putter *w, uint8_t op, uint8_t reg, uint32_t n)
{
	PUT(w, op, (uint8_t)(0x84 | reg << 3), 0x24);
	put_32(w, home_of(w));
	put_32(w, (int32_t)n);
}

static void put_added_at_home(struct putter *w)
{
	const struct fl_path_code *c = w->code;
	unsigned int r = c->reg[0];

	if (c->flags_dead) {
		put_home_by_number(w, 0x81, 0, c->add);		/* addl */
		return;
	}
	put_at_32(w, X86_LOAD, r, SP, home_of(w));
	PUT(w, (uint8_t)(REX | (r & 8 ? REX_R | REX_B : 0)), X86_LEA,
	    (uint8_t)(0x80 | (r & 7) * 9));
	if ((r & 7) == SP)
		PUT(w, 0x24);
	put_32(w, (int32_t)c->add);
	put_at_32(w, X86_STORE, r, SP, home_of(w));
}

static void put_at_home(struct putter *w)
{
	switch (w->code->what) {
	case FL_PATH_ENTER: case FL_PATH_AT: case FL_PATH_CUT:
		put_home_by_number(w, 0xc7, 0, w->code->set);	/* movl */
		return;
	case FL_PATH_ADD:
		put_added_at_home(w);
		return;
	default:
		return;
	}
}

/* ---- what counts --------------------------------------------------------------------- */

static void put_armed(struct putter *w)
{
	struct fl_path_code *c = w->code;
	unsigned int r = c->reg[0];

	PUT(w, rex_of(r, 0), X86_LEA, (uint8_t)((r & 7) << 3 | BP));	/* lea cs(%rip),R */
	put_rel(w, c->cs);
	put_fs(w, 0x89, r, fl_arch_has_rseq() ? fl_rseq_at : 0);
	c->start = (uint16_t)w->n;
}

/* op disp(R,A), or disp(R); wide: REX_W, or 0 */
static void put_in_cell(struct putter *w, uint8_t wide, uint8_t op, uint8_t reg, int64_t disp)
{
	const struct fl_path_code *c = w->code;
	unsigned int r = c->reg[0], a = c->what == FL_PATH_ONLY ? SP : c->reg[1];

	PUT(w, (uint8_t)(REX | wide | (r & 8 ? REX_B : 0) |
			 (a & 8 ? REX_X : 0)),
	    op, (uint8_t)(0x84 | reg << 3), (uint8_t)((a & 7) << 3 | (r & 7)));
	put_32(w, disp);
}

/* mov %fs:8(R),A */
static void put_sum(struct putter *w)
{
	unsigned int r = w->code->frame, a = w->code->reg[1];

	PUT(w, 0x64, (uint8_t)(REX | (a & 8 ? REX_R : 0) | (r & 8 ? REX_B : 0)), 0x8b,
	    (uint8_t)(0x40 | (a & 7) << 3 | (r & 7)));
	if ((r & 7) == SP)
		PUT(w, 0x24);
	PUT(w, SUM);
}

/* In A. It may be no path's (probe/path.c). */
static void put_its_number(struct putter *w)
{
	const struct fl_path_code *c = w->code;
	unsigned int a = c->reg[1];
	uint8_t rex = (uint8_t)(REX | (a & 8 ? REX_B : 0));

	if (c->at_home)
		put_at_32(w, X86_LOAD, a, SP, home_of(w));
	else
		put_sum(w);
	if (c->add) {
		PUT(w, rex, 0x81, (uint8_t)(0xc0 | (a & 7)));	/* add */
		put_32(w, (int32_t)c->add);
	}
	PUT(w, rex, 0x81, (uint8_t)(0xf8 | (a & 7)));		/* cmp */
	put_32(w, (int32_t)c->n_paths);
	put_to_cold(w, 0x83);
}

static void put_own(struct putter *w)
{
	const struct fl_path_code *c = w->code;
	int64_t at = (int64_t)(c->cell + (c->what == FL_PATH_ONLY ? c->add : 0)) *
		     FL_PATH_CELL_BYTES;

	put_in_cell(w, 0, 0x83, 7, at + FL_PATH_CELL_KEY);		/* cmpl */
	PUT(w, 0);
	put_to_cold(w, 0x84);
	put_in_cell(w, REX_W, 0xff, 0, at);				/* incq */
}

/* The cells are at R, which then has the probe; B has the one. */
static void put_shared(struct putter *w)
{
	const struct fl_path_code *c = w->code;
	unsigned int r = c->reg[0], a = c->reg[1], b = c->reg[2];
	uint8_t rex = (uint8_t)(REX | (b & 8 ? REX_B : 0));

	put_at_32(w, X86_LEA, b, a, (int32_t)c->cell);
	PUT(w, rex, 0x81, (uint8_t)(0xe0 | (b & 7)));			/* and */
	put_32(w, FL_PATH_CELLS - 1);
	PUT(w, rex_of(0, b), 0xc1, (uint8_t)(0xe0 | (b & 7)), 4);	/* shl */
	PUT(w, rex_of(r, b), 0x01, (uint8_t)(0xc0 | (r & 7) << 3 | (b & 7)));	/* add */
	put_at_32(w, 0x39, a, b, FL_PATH_CELL_KEY + 4);
	put_to_cold(w, 0x85);
	PUT(w, (uint8_t)(REX | (r & 8 ? REX_R : 0)), 0x8b, (uint8_t)((r & 7) << 3 | BP));
	put_rel(w, c->probe);
	put_at_32(w, 0x39, r, b, FL_PATH_CELL_KEY);
	put_to_cold(w, 0x85);
	PUT(w, rex_of(0, b), 0xff, (uint8_t)(0x40 | (b & 7)));		/* incq */
	if ((b & 7) == SP)
		PUT(w, 0x24);
	PUT(w, 0);
}

static void put_counted(struct putter *w)
{
	struct fl_path_code *c = w->code;
	unsigned int r = c->reg[0];

	put_armed(w);
	if (c->what != FL_PATH_ONLY && !c->at_home)
		put_mine(w);
	if (c->what != FL_PATH_ONLY)
		put_its_number(w);
	put_fs(w, 0x8b, r, fl_arch_tls_slot_at());
	put_at(w, 0x8b, r, r, FL_POINTEE_CELLS);
	put_test(w, r);
	put_to_cold(w, 0x84);
	if (c->probe)
		put_shared(w);
	else
		put_own(w);
	c->end = (uint16_t)w->n;
}

/* But what counts. */
static void put_in_frame(struct putter *w)
{
	struct fl_path_code *c = w->code;

	if (c->what == FL_PATH_ENTER)
		put_enter(w);
	else if (!counts_path(c))
		put_mine(w);
	if (goes_on_behind(c) && c->frame == c->reg[0])
		put_fs(w, 0x8b, c->frame, c->top_at);
	if (c->what == FL_PATH_CUT || c->what == FL_PATH_AT)
		put_set(w);
	else if (c->what == FL_PATH_LEAVE || c->what == FL_PATH_DONE)
		put_gone(w);
	else if (c->what == FL_PATH_ADD)
		put_added(w);
}

size_t fl_arch_put_path(unsigned char *out, struct fl_path_code *c)
{
	struct putter w = { .out = out, .to = c->to, .code = c };

	c->n_depths = 0;
	choose_registers(c);
	put_kept(&w);
	if (counts_path(c))
		put_counted(&w);
	if (c->at_home)
		put_at_home(&w);
	else if (c->what != FL_PATH_ONLY)
		put_in_frame(&w);
	c->kept = w.kept;
	put_restored(&w);
	c->n = w.n;
	return w.is_far ? 0 : w.n;
}

/* ud1 says that no code falls into it; see rseq.h. */
size_t fl_arch_put_path_cold(unsigned char *out, uintptr_t to, struct fl_path_code *c,
			     uintptr_t data, uintptr_t word)
{
	static const unsigned char signature[] = { 0x0f, 0xb9, 0x3d, 0x53, 0x30, 0x05, 0x53 };
	struct putter w = { .out = out, .to = to, .code = c, .kept = c->kept };
	size_t aside;

	c->n_depths = 0;
	if (counts_path(c)) {
		put_bytes(&w, signature, sizeof signature);
		c->abort = w.n;
	}
	put_restored(&w);
	aside = fl_arch_put_aside(out + w.n, to + w.n, data, word);
	w.is_far |= !aside;
	w.n += FL_ARCH_ASIDE_DOWN;
	note_grown(&w, FL_ARCH_ASIDE_DEPTH);
	w.n += FL_ARCH_ASIDE_BYTES - FL_ARCH_ASIDE_DOWN;
	note_grown(&w, -FL_ARCH_ASIDE_DEPTH);
	PUT(&w, X86_JMP);
	put_rel(&w, c->to + c->n);
	return w.is_far ? 0 : w.n;
}

struct descriptor {			/* struct rseq_cs of the kernel's */
	uint32_t version, flags;
	uint64_t start, length, abort;
};
_Static_assert(sizeof(struct descriptor) == FL_ARCH_CS_BYTES, "");

void fl_arch_lay_path_cs(unsigned char *out, const struct fl_path_code *c, uintptr_t cold)
{
	const struct descriptor cs = {
		.start = c->to + c->start, .length = c->end - c->start,
		.abort = cold + c->abort,
	};

	if (counts_path(c))
		__builtin_memcpy(out, &cs, sizeof cs);
}
