/*
 * access.c - code that stands in a body before some instructions, and tells which memory these
 * access. Each access becomes a word, or a record, in the thread's own ring.
 *
 * Every register is live, and so is what lies below the stack pointer; where flags are live
 * they are kept, too. Three registers that no address needs are put on the stack: A, B, C.
 *
 *	cmpb $0,gate(%rip); je past	is it told at all?
 *	lea -128(%rsp),%rsp		the red zone
 *	push A; push B; push C
 *   arm:
 *	lea cs(%rip),A
 *	mov A,%fs:rseq_cs		arms the sequence
 *   start:
 *	mov %fs:fl_tls_slot,A
 *	mov (A),A			the slot, or 0
 *	test A,A; je cold
 *	mov ptr(A),B
 *	add $8 * n,B
 *	cmp limit(A),B; ja cold
 *   of each word:
 *	movabs $place + displacement,C	relative to %rsp: what is on the stack now is added
 *	add BASE,C
 *	lea (C,INDEX,scale),C
 *	mov C,8 * (k - n)(B)		accesses near one another, in a row, have one word
 *	...
 *	mov B,ptr(A)			the commit: x86-TSO keeps it behind the records (HW5)
 *   out:
 *	pop C; pop B; pop A
 *	lea 128(%rsp),%rsp
 *   past:
 *
 * Behind all instructions of the body:
 *
 *	signature			where an interrupted sequence goes on:
 *	jmp arm
 * cold: push $n
 *	call *make_room			keeps all registers; ZF: there will be no room
 *	jne arm
 *	jmp out
 *
 * Where a place's number is too large for a word, or the address is of 32 bits, each access of
 * the group has a record of 16 bytes:
 *	lea ADDRESS,C
 *	mov C,16 * (k - n)(B)
 *	movabs $place and kind,C
 *	mov C,16 * (k - n) + 8(B)
 *
 * Each access of an instruction that repeats has a record, which says also how often. Flags
 * are kept by pushf there, because the direction is among them.
 *	lea ADDRESS,C
 *	mov C,16 * (k - n)(B)
 *	movzbl 1(%rsp),C; and $4,C	the direction
 *	shl $12,C
 *	mov C,16 * (k - n) + 6(B)	two bytes, which no address needs
 *	mov %rcx,C; shr $32,C
 *	and $1023,C; add $what,C
 *	or C,16 * (k - n) + 6(B)
 *	mov %rcx,C; shl $32,C
 *	add $place and kind,C
 *	mov C,16 * (k - n) + 8(B)
 *
 * Flags that are live are kept by lahf and seto, where no address needs %rax (lookup.c);
 * else by pushf, which takes much longer.
 */
#include "flick/event.h"
#include "put.h"

enum { A = 0, B = 1, C = 2, RECORD = 16, WORD = 8, COLD = 12,
       ADD = 0xc0, AND = 0xe0, SHL = 0xe0, SHR = 0xe8,	/* ModRM of register 0 */
       DIRECTION = 4, MORE_COUNT = 1023, ABOVE_ADDRESS = 6 };

/* What is told in one go, and the registers that the code uses for it. */
struct told_group {
	struct fl_tell *tell;
	unsigned int reg[3];
	bool by_ax;			/* flags are kept in %rax */
};

/* ---- registers ------------------------------------------------------------------ */

/* op reg, disp(base), of two bytes. */
static void put_at_16(struct x86_put *w, uint8_t op, unsigned int reg, unsigned int base,
		      int disp)
{
	X86_PUT(w, 0x66);
	x86_put_at(w, x86_rex_of(reg, base), op, reg, base, disp);
}

static uint32_t used_by(const struct fl_tell *t)
{
	uint32_t used = 1u << X86_SP | 1u << FL_NO_REG;

	for (uint32_t k = 0; k < t->n; k++) {
		used |= 1u << t->of[k].operand.base | 1u << t->of[k].operand.index;
		used |= t->of[k].operand.repeats ? 1u << X86_CX : 0;
	}
	return used;
}

/* The first ones are those that no unwinder asks for. Never %rbp: a handler that calls
 * backtrace() would go astray where the function, or a caller, has its frame by %rbp. */
static const uint8_t borrowed[] = { X86_AX, X86_CX, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15 };

/* False: addresses need too many registers. */
static bool choose_registers(struct told_group *g)
{
	uint32_t used = used_by(g->tell);
	unsigned int n = 0;

	g->by_ax = g->tell->keeps_flags && !(used >> X86_AX & 1) &&
		   !g->tell->of[0].operand.repeats;
	if (g->by_ax)
		used |= 1u << X86_AX;
	for (unsigned int k = 0; k < sizeof borrowed && n < 3u - g->by_ax; k++)
		if (!(used >> borrowed[k] & 1))
			g->reg[n++] = borrowed[k];
	if (g->by_ax)
		g->reg[n++] = X86_AX;
	return n == 3;
}

/* How many words, or records. */
static uint32_t count_told(const struct fl_tell *t)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < t->n; k++)
		n += !t->by_word || !t->of[k].is_with;
	return n;
}

/* ---- an address ----------------------------------------------------------------- */

static void put_sum(struct x86_put *w, const struct told_group *g, const struct fl_operand *o,
		    int64_t target)
{
	bool is_short = target == (int8_t)target, has_sib = o->index != FL_NO_REG ||
		(o->base & 7) == X86_SP;
	uint8_t mod = o->base == FL_NO_REG ? 0 : is_short ? 0x40 : 0x80;
	uint8_t base = o->base == FL_NO_REG ? X86_BP : o->base;
	uint8_t index = o->index == FL_NO_REG ? X86_SP : o->index;
	unsigned int c = g->reg[C];

	if (o->is_32)
		X86_PUT(w, X86_ADDR32);
	X86_PUT(w, (uint8_t)(x86_rex_w_of(c, base) | (index & 8 ? X86_REX_X : 0)), X86_LEA,
		(uint8_t)(mod | (c & 7) << 3 | (has_sib ? X86_SP : base & 7)));
	if (has_sib)
		X86_PUT(w, (uint8_t)(o->shift << 6 | (index & 7) << 3 | (base & 7)));
	if (mod == 0x40)
		X86_PUT(w, (uint8_t)target);
	else
		x86_put_32(w, target);
}

/* movabs $v,C */
static void put_constant(struct x86_put *w, const struct told_group *g, uint64_t v)
{
	unsigned int c = g->reg[C];

	X86_PUT(w, x86_rex_w_of(0, c), (uint8_t)(0xb8 | (c & 7)));
	x86_put_64(w, v);
}

/* The operand's address into C. */
static void put_address(struct x86_put *w, const struct told_group *g,
			const struct fl_operand *o)
{
	if (o->base == FL_NO_REG && o->index == FL_NO_REG)
		put_constant(w, g, (uint64_t)o->target);
	else
		put_sum(w, g, o, o->target + (o->base == X86_SP ? w->kept : 0));
	if (o->is_fs)
		x86_put_fs(w, 0x03, g->reg[C], 0);	/* add %fs:0,C */
}

/* C += index << shift */
static void put_plus(struct x86_put *w, const struct told_group *g, unsigned int index,
		     unsigned int shift)
{
	unsigned int c = g->reg[C];

	if (!shift)
		x86_put_both(w, 0x01, index, c);
	else		/* lea 0(C,index,scale),C */
		X86_PUT(w, (uint8_t)(x86_rex_w_of(c, c) | (index & 8 ? X86_REX_X : 0)), X86_LEA,
			(uint8_t)(0x40 | (c & 7) << 3 | X86_SP),
			(uint8_t)(shift << 6 | (index & 7) << 3 | (c & 7)), 0);
}

/* Number `at` of the group's words. */
static void put_word(struct x86_put *w, const struct told_group *g,
		     const struct fl_tellable *t, uint32_t at)
{
	const struct fl_operand *o = &t->operand;
	int behind = (int)count_told(g->tell) - (int)at;

	put_constant(w, g, t->word + (uint64_t)o->target - t->below +
		     (o->base == X86_SP ? w->kept : 0));
	if (o->base != FL_NO_REG)
		put_plus(w, g, o->base, 0);
	if (o->index != FL_NO_REG)
		put_plus(w, g, o->index, o->shift);
	if (o->is_fs)
		x86_put_fs(w, 0x03, g->reg[C], 0);	/* add %fs:0,C */
	x86_put_wide(w, X86_STORE, g->reg[C], g->reg[B], -WORD * behind);
}

static void put_record(struct x86_put *w, const struct told_group *g, uint32_t k)
{
	const struct fl_tellable *t = &g->tell->of[k];
	int at = RECORD * ((int)k - (int)g->tell->n);
	unsigned int c = g->reg[C];

	put_address(w, g, &t->operand);
	x86_put_wide(w, X86_STORE, c, g->reg[B], at);
	put_constant(w, g, t->word);
	x86_put_wide(w, X86_STORE, c, g->reg[B], at + 8);
}

/* C = %rcx >> 32, or << 32. */
static void put_half_of_count(struct x86_put *w, const struct told_group *g, uint8_t shift)
{
	unsigned int c = g->reg[C];

	x86_put_both(w, X86_STORE, X86_CX, c);
	X86_PUT(w, x86_rex_w_of(0, c), 0xc1, (uint8_t)(shift | (c & 7)), 32);
}

/* op $v,C: and, add. */
static void put_with_constant(struct x86_put *w, const struct told_group *g, uint8_t op,
			      uint32_t v)
{
	X86_PUT(w, x86_rex_w_of(0, g->reg[C]), 0x81, (uint8_t)(op | (g->reg[C] & 7)));
	x86_put_32(w, (int32_t)v);
}

static void put_direction(struct x86_put *w, const struct told_group *g)
{
	unsigned int c = g->reg[C];

	X86_PUT(w, x86_rex_w_of(c, 0), 0x0f, 0xb6, (uint8_t)(0x44 | (c & 7) << 3), 0x24, 1);
	put_with_constant(w, g, AND, DIRECTION);
	X86_PUT(w, x86_rex_w_of(0, c), 0xc1, (uint8_t)(SHL | (c & 7)),
		FLICK_STRING_DOWN - FLICK_STRING_MORE - 2);
}

/* The bits of the record above the address and the count. */
static uint32_t string_bits(const struct fl_tell *t, uint32_t k)
{
	const struct fl_operand *o = &t->of[k].operand;
	uint32_t bits = (uint32_t)__builtin_ctz(o->size)
			<< (FLICK_STRING_SIZE - FLICK_STRING_MORE);

	if (o->what & FL_OPERAND_STORE)
		bits |= 1u << (FLICK_STRING_STORE - FLICK_STRING_MORE);
	if (k + 1 < t->n)
		bits |= 1u << (FLICK_STRING_WITH_NEXT - FLICK_STRING_MORE);
	return bits;
}

static void put_repeated(struct x86_put *w, const struct told_group *g, uint32_t k)
{
	const struct fl_tellable *t = &g->tell->of[k];
	int at = RECORD * ((int)k - (int)g->tell->n);
	unsigned int b = g->reg[B], c = g->reg[C];

	put_address(w, g, &t->operand);
	x86_put_wide(w, X86_STORE, c, b, at);
	put_direction(w, g);
	put_at_16(w, X86_STORE, c, b, at + ABOVE_ADDRESS);
	put_half_of_count(w, g, SHR);
	put_with_constant(w, g, AND, MORE_COUNT);
	put_with_constant(w, g, ADD, string_bits(g->tell, k));
	put_at_16(w, 0x09, c, b, at + ABOVE_ADDRESS);
	put_half_of_count(w, g, SHL);
	put_with_constant(w, g, ADD, (uint32_t)t->word);
	x86_put_wide(w, X86_STORE, c, b, at + 8);
}

/* ---- the whole ------------------------------------------------------------------ */

/* The branch whose displacement is at `branch` leads to what is put next. */
static void lead_here(struct x86_put *w, size_t branch)
{
	int32_t d = (int32_t)(w->n - (branch + 4));

	__builtin_memcpy(w->out + branch, &d, sizeof d);
}

/* Returns where the displacement is of the branch past the code that tells. */
static size_t put_gate(struct x86_put *w, const struct told_group *g)
{
	X86_PUT(w, 0x80, 0x3d);			/* cmpb $0,gate(%rip) */
	x86_put_rel(w, g->tell->gate, 1);
	X86_PUT(w, 0);
	x86_put_if(w, X86_EQUAL, w->to + w->n);
	return w->n - 4;
}

static void put_kept(struct x86_put *w, const struct told_group *g)
{
	x86_put_past_red_zone(w);
	for (int k = A; k <= C; k++)
		x86_put_push(w, g->reg[k]);
	if (!g->tell->keeps_flags)
		return;
	if (g->by_ax) {
		x86_put_flags_kept(w);
		x86_put_push(w, X86_AX);
	} else {
		X86_PUT(w, 0x9c);		/* pushf */
		x86_put_grown(w, 8);
	}
}

static void put_restored(struct x86_put *w, const struct told_group *g)
{
	if (g->tell->keeps_flags && g->by_ax) {
		x86_put_pop(w, X86_AX);
		x86_put_flags_back(w);
	} else if (g->tell->keeps_flags) {
		X86_PUT(w, 0x9d);		/* popf */
		x86_put_grown(w, -8);
	}
	for (int k = C; k >= A; k--)
		x86_put_pop(w, g->reg[k]);
	x86_put_before_red_zone(w);
}

static void put_to_cold(struct x86_put *w, const struct told_group *g, uint8_t condition)
{
	x86_put_if(w, condition, g->tell->cold + COLD);
}

static void put_sequence(struct x86_put *w, const struct told_group *g)
{
	struct fl_tell *t = g->tell;
	unsigned int a = g->reg[A], b = g->reg[B];

	t->arm = (uint16_t)w->n;
	x86_put_lea(w, a, t->cs);
	x86_put_fs(w, X86_STORE, a, fl_arch_has_rseq() ? fl_rseq_at : 0);
	t->start = (uint16_t)w->n;
	x86_put_fs(w, X86_LOAD, a, fl_arch_tls_slot_at());
	x86_put_wide(w, X86_LOAD, a, a, 0);
	x86_put_both(w, 0x85, a, a);				/* test */
	put_to_cold(w, g, X86_EQUAL);
	x86_put_wide(w, X86_LOAD, b, a, FL_SLOT_PTR);
	X86_PUT(w, x86_rex_w_of(0, b), 0x81, (uint8_t)(ADD | (b & 7)));	/* add $n,B */
	x86_put_32(w, (t->by_word ? WORD : RECORD) * (int32_t)count_told(t));
	x86_put_wide(w, 0x3b, b, a, FL_SLOT_LIMIT);
	put_to_cold(w, g, X86_ABOVE);
	for (uint32_t k = 0, at = 0; k < t->n; k++) {
		if (!t->by_word)
			(t->of[k].operand.repeats ? put_repeated : put_record)(w, g, k);
		else if (!t->of[k].is_with)
			put_word(w, g, &t->of[k], at++);
	}
	x86_put_wide(w, X86_STORE, b, a, FL_SLOT_PTR);
	t->end = (uint16_t)w->n;
}

size_t fl_arch_put_tell(unsigned char *out, struct fl_tell *t)
{
	struct x86_put w = { .out = out, .to = t->to, .depths = t->depths };
	struct told_group g = { .tell = t };
	size_t past;

	if (!choose_registers(&g))
		return 0;
	if (t->keeps_flags)
		put_kept(&w, &g);
	past = put_gate(&w, &g);
	if (!t->keeps_flags)
		put_kept(&w, &g);
	put_sequence(&w, &g);
	if (t->keeps_flags)
		lead_here(&w, past);
	t->out = (uint16_t)w.n;
	t->kept = w.kept;
	put_restored(&w, &g);
	if (!t->keeps_flags)
		lead_here(&w, past);
	t->n_depths = w.n_depths;
	return w.is_far ? 0 : w.n;
}

size_t fl_arch_put_cold(unsigned char *out, uintptr_t to, struct fl_tell *t, uintptr_t word)
{
	struct x86_put w = { .out = out, .to = to };

	X86_PUT(&w, X86_SIGNATURE);
	t->abort = w.n;
	x86_put_jmp(&w, t->to + t->arm);
	X86_PUT(&w, 0x6a, (uint8_t)count_told(t));	/* push $n */
	t->pushed = w.n;
	X86_PUT(&w, 0xff, 0x15);			/* call *make_room(%rip) */
	x86_put_rel(&w, word, 0);
	x86_put_if(&w, X86_UNEQUAL, t->to + t->arm);
	x86_put_jmp(&w, t->to + t->out);
	return w.is_far ? 0 : w.n;
}

_Static_assert(sizeof(struct x86_sequence) == FL_ARCH_CS_BYTES, "");

void fl_arch_lay_cs(unsigned char *out, const struct fl_tell *t, uintptr_t cold)
{
	const struct x86_sequence cs = {
		.start = t->to + t->start, .length = t->end - t->start,
		.abort = cold + t->abort,
	};

	__builtin_memcpy(out, &cs, sizeof cs);
}
