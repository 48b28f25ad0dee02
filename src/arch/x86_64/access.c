/*
 * access.c - what stands in a body before some instructions: it tells memory that these
 * access, in the thread's own ring: a word for each, or a record.
 *
 * Every register is live, and what lies below the stack pointer; where flags are live, they
 * are kept, too. Three registers that no address needs are put on the stack: A, B, C.
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
 *	movabs $place + displacement,C	what is relative to %rsp is moved by what lies below
 *	add BASE,C
 *	lea (C,INDEX,scale),C
 *	mov C,8 * (k - n)(B)		near ones in a row have one word
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
 *	call *make_room			keeps all registers; ZF: there will be none
 *	jne arm
 *	jmp out
 *
 * Where a place has too large a number for a word, or the address is of 32 bits, each access of
 * the group has a record of 16 bytes:
 *	lea ADDRESS,C
 *	mov C,16 * (k - n)(B)
 *	movabs $place and kind,C
 *	mov C,16 * (k - n) + 8(B)
 *
 * Each access of an instruction that repeats has a record that says how often, too. Flags are
 * kept by pushf, as the direction is one.
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
#include "arch/arch.h"
#include "emit.h"
#include "flick/event.h"

enum { RED_ZONE = 128, REX = 0x40, REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1, AX = 0,
       CX = 1, SP = 4, BP = 5, A = 0, B = 1, C = 2, RECORD = 16, WORD = 8, COLD = 12,
       ADD = 0xc0, AND = 0xe0, SHL = 0xe0, SHR = 0xe8,	/* ModRM of register 0 */
       DIRECTION = 4, MORE_COUNT = 1023, ABOVE_ADDRESS = 6 };

struct putter {
	unsigned char *out;
	uintptr_t to;
	size_t n;
	bool is_far;
	struct fl_tell *tell;
	unsigned int reg[3];
	bool by_ax;			/* flags are kept in %rax */
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

static void put_64(struct putter *w, uint64_t v)
{
	put_bytes(w, (const unsigned char *)&v, sizeof v);
}

/* `behind` bytes follow the displacement. */
static void put_rel(struct putter *w, uintptr_t address, size_t behind)
{
	put_32(w, (int64_t)(address - (w->to + w->n + 4 + behind)));
}

static void note_grown(struct putter *w, int by)
{
	w->kept = (uint16_t)(w->kept + by);
	w->tell->depths[w->tell->n_depths++] =
		(struct fl_depth){ (uint16_t)w->n, w->kept };
}

/* ---- registers ------------------------------------------------------------------ */

static uint8_t rex_of(unsigned int reg, unsigned int base)
{
	return (uint8_t)(REX | REX_W | (reg & 8 ? REX_R : 0) | (base & 8 ? REX_B : 0));
}

/* op reg, disp(base), with the shortest displacement. */
static void put_with_rex(struct putter *w, uint8_t rex, uint8_t op, unsigned int reg,
			 unsigned int base, int disp)
{
	bool is_short = disp == (int8_t)disp;

	PUT(w, rex, op,
	    (uint8_t)((is_short ? 0x40 : 0x80) | (reg & 7) << 3 | (base & 7)));
	if ((base & 7) == SP)
		PUT(w, 0x24);
	if (is_short)
		PUT(w, (uint8_t)disp);
	else
		put_32(w, disp);
}

static void put_at(struct putter *w, uint8_t op, unsigned int reg, unsigned int base, int disp)
{
	put_with_rex(w, rex_of(reg, base), op, reg, base, disp);
}

/* Of two bytes. */
static void put_at_16(struct putter *w, uint8_t op, unsigned int reg, unsigned int base,
		      int disp)
{
	PUT(w, 0x66);
	put_with_rex(w, (uint8_t)(rex_of(reg, base) & ~REX_W), op, reg, base, disp);
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

static uint32_t used_by(const struct fl_tell *t)
{
	uint32_t used = 1u << SP | 1u << FL_NO_REG;

	for (uint32_t k = 0; k < t->n; k++) {
		used |= 1u << t->of[k].operand.base | 1u << t->of[k].operand.index;
		used |= t->of[k].operand.repeats ? 1u << CX : 0;
	}
	return used;
}

/* Those first that an unwinder looks for nowhere. Never %rbp: where a frame is by it, in the
 * function or in a caller, a handler that calls backtrace() would go astray. */
static const uint8_t borrowed[] = { AX, CX, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15 };

/* False: addresses need too many. */
static bool choose_registers(struct putter *w)
{
	uint32_t used = used_by(w->tell);
	unsigned int n = 0;

	w->by_ax = w->tell->keeps_flags && !(used >> AX & 1) &&
		   !w->tell->of[0].operand.repeats;
	if (w->by_ax)
		used |= 1u << AX;
	for (unsigned int k = 0; k < sizeof borrowed && n < 3u - w->by_ax; k++)
		if (!(used >> borrowed[k] & 1))
			w->reg[n++] = borrowed[k];
	if (w->by_ax)
		w->reg[n++] = AX;
	return n == 3;
}

/* Words or records. */
static uint32_t count_told(const struct fl_tell *t)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < t->n; k++)
		n += !t->by_word || !t->of[k].is_with;
	return n;
}

/* ---- an address ----------------------------------------------------------------- */

static void put_sum(struct putter *w, const struct fl_operand *o, int64_t target)
{
	bool is_short = target == (int8_t)target, has_sib = o->index != FL_NO_REG ||
		(o->base & 7) == SP;
	uint8_t mod = o->base == FL_NO_REG ? 0 : is_short ? 0x40 : 0x80;
	uint8_t base = o->base == FL_NO_REG ? BP : o->base;
	uint8_t index = o->index == FL_NO_REG ? SP : o->index;
	unsigned int c = w->reg[C];

	if (o->is_32)
		PUT(w, X86_ADDR32);
	PUT(w, (uint8_t)(rex_of(c, base) | (index & 8 ? REX_X : 0)), X86_LEA,
	    (uint8_t)(mod | (c & 7) << 3 | (has_sib ? SP : base & 7)));
	if (has_sib)
		PUT(w, (uint8_t)(o->shift << 6 | (index & 7) << 3 | (base & 7)));
	if (mod == 0x40)
		PUT(w, (uint8_t)target);
	else
		put_32(w, target);
}

/* Into C. */
static void put_constant(struct putter *w, uint64_t v)
{
	unsigned int c = w->reg[C];

	PUT(w, (uint8_t)(REX | REX_W | (c & 8 ? REX_B : 0)), (uint8_t)(0xb8 | (c & 7)));
	put_64(w, v);
}

/* Into C. */
static void put_address(struct putter *w, const struct fl_operand *o)
{
	if (o->base == FL_NO_REG && o->index == FL_NO_REG)
		put_constant(w, (uint64_t)o->target);
	else
		put_sum(w, o, o->target + (o->base == SP ? w->kept : 0));
	if (o->is_fs)
		put_fs(w, 0x03, w->reg[C], 0);	/* add %fs:0,C */
}

/* C += reg */
static void put_plus(struct putter *w, unsigned int reg)
{
	unsigned int c = w->reg[C];

	PUT(w, rex_of(reg, c), 0x01, (uint8_t)(0xc0 | (reg & 7) << 3 | (c & 7)));
}

/* lea 0(C,index,scale),C */
static void put_plus_scaled(struct putter *w, unsigned int index, unsigned int shift)
{
	unsigned int c = w->reg[C];

	PUT(w, (uint8_t)(rex_of(c, c) | (index & 8 ? REX_X : 0)), X86_LEA,
	    (uint8_t)(0x40 | (c & 7) << 3 | SP),
	    (uint8_t)(shift << 6 | (index & 7) << 3 | (c & 7)), 0);
}

/* Number `at` of the group's. */
static void put_word(struct putter *w, const struct fl_tellable *t, uint32_t at)
{
	const struct fl_operand *o = &t->operand;

	put_constant(w, t->word + (uint64_t)o->target - t->below +
		     (o->base == SP ? w->kept : 0));
	if (o->base != FL_NO_REG)
		put_plus(w, o->base);
	if (o->index != FL_NO_REG && o->shift)
		put_plus_scaled(w, o->index, o->shift);
	else if (o->index != FL_NO_REG)
		put_plus(w, o->index);
	if (o->is_fs)
		put_fs(w, 0x03, w->reg[C], 0);	/* add %fs:0,C */
	put_at(w, 0x89, w->reg[C], w->reg[B], WORD * ((int)at - (int)count_told(w->tell)));
}

static void put_words(struct putter *w)
{
	uint32_t at = 0;

	for (uint32_t k = 0; k < w->tell->n; k++)
		if (!w->tell->of[k].is_with)
			put_word(w, &w->tell->of[k], at++);
}

static void put_record(struct putter *w, uint32_t k)
{
	const struct fl_tellable *t = &w->tell->of[k];
	int at = RECORD * ((int)k - (int)w->tell->n);
	unsigned int c = w->reg[C];

	put_address(w, &t->operand);
	put_at(w, 0x89, c, w->reg[B], at);
	put_constant(w, t->word);
	put_at(w, 0x89, c, w->reg[B], at + 8);
}

/* C = %rcx >> 32, or << 32. */
static void put_half_of_count(struct putter *w, uint8_t shift)
{
	unsigned int c = w->reg[C];

	PUT(w, rex_of(CX, c), 0x89, (uint8_t)(0xc0 | CX << 3 | (c & 7)));
	PUT(w, rex_of(0, c), 0xc1, (uint8_t)(shift | (c & 7)), 32);
}

/* op $v,C: and, add. */
static void put_with_constant(struct putter *w, uint8_t op, uint32_t v)
{
	PUT(w, rex_of(0, w->reg[C]), 0x81, (uint8_t)(op | (w->reg[C] & 7)));
	put_32(w, (int32_t)v);
}

static void put_direction(struct putter *w)
{
	unsigned int c = w->reg[C];

	PUT(w, rex_of(c, 0), 0x0f, 0xb6, (uint8_t)(0x44 | (c & 7) << 3), 0x24, 1);
	put_with_constant(w, AND, DIRECTION);
	PUT(w, rex_of(0, c), 0xc1, (uint8_t)(SHL | (c & 7)),
	    FLICK_STRING_DOWN - FLICK_STRING_MORE - 2);
}

/* What is above the address and the count. */
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

static void put_repeated(struct putter *w, uint32_t k)
{
	const struct fl_tellable *t = &w->tell->of[k];
	int at = RECORD * ((int)k - (int)w->tell->n);
	unsigned int b = w->reg[B], c = w->reg[C];

	put_address(w, &t->operand);
	put_at(w, 0x89, c, b, at);
	put_direction(w);
	put_at_16(w, 0x89, c, b, at + ABOVE_ADDRESS);
	put_half_of_count(w, SHR);
	put_with_constant(w, AND, MORE_COUNT);
	put_with_constant(w, ADD, string_bits(w->tell, k));
	put_at_16(w, 0x09, c, b, at + ABOVE_ADDRESS);
	put_half_of_count(w, SHL);
	put_with_constant(w, ADD, (uint32_t)t->word);
	put_at(w, 0x89, c, b, at + 8);
}

/* ---- the whole ------------------------------------------------------------------ */

/* je, ja; 0x0f CC rel32: where the displacement is. */
static size_t put_branch(struct putter *w, uint8_t condition)
{
	PUT(w, 0x0f, condition, 0, 0, 0, 0);
	return w->n - 4;
}

static void lead_here(struct putter *w, size_t branch)
{
	int32_t d = (int32_t)(w->n - (branch + 4));

	__builtin_memcpy(w->out + branch, &d, sizeof d);
}

static size_t put_gate(struct putter *w)
{
	PUT(w, 0x80, 0x3d);			/* cmpb $0,gate(%rip) */
	put_rel(w, w->tell->gate, 1);
	PUT(w, 0);
	return put_branch(w, 0x84);
}

static void put_kept(struct putter *w)
{
	PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80);	/* lea -128(%rsp),%rsp */
	note_grown(w, RED_ZONE);
	for (int k = A; k <= C; k++)
		put_push(w, w->reg[k]);
	if (!w->tell->keeps_flags)
		return;
	if (w->by_ax)
		PUT(w, 0x9f, 0x0f, 0x90, 0xc0, 0x50);	/* lahf; seto %al; push %rax */
	else
		PUT(w, 0x9c);			/* pushf */
	note_grown(w, 8);
}

static void put_restored(struct putter *w)
{
	if (w->tell->keeps_flags && w->by_ax) {
		PUT(w, 0x58);			/* pop %rax */
		note_grown(w, -8);
		PUT(w, 0x04, 0x7f, 0x9e);	/* add $127,%al; sahf */
	} else if (w->tell->keeps_flags) {
		PUT(w, 0x9d);			/* popf */
		note_grown(w, -8);
	}
	for (int k = C; k >= A; k--)
		put_pop(w, w->reg[k]);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);	/* lea 128(%rsp),%rsp */
	note_grown(w, -RED_ZONE);
}

static void put_to_cold(struct putter *w, uint8_t condition)
{
	PUT(w, 0x0f, condition);
	put_rel(w, w->tell->cold + COLD, 0);
}

static void put_sequence(struct putter *w)
{
	struct fl_tell *t = w->tell;
	unsigned int a = w->reg[A], b = w->reg[B];

	t->arm = (uint16_t)w->n;
	PUT(w, rex_of(a, 0), X86_LEA, (uint8_t)((a & 7) << 3 | BP));	/* lea cs(%rip),A */
	put_rel(w, t->cs, 0);
	put_fs(w, 0x89, a, fl_arch_has_rseq() ? fl_rseq_at : 0);
	t->start = (uint16_t)w->n;
	put_fs(w, 0x8b, a, fl_arch_tls_slot_at());
	put_at(w, 0x8b, a, a, 0);
	PUT(w, (uint8_t)(rex_of(a, a)), 0x85, (uint8_t)(0xc0 | (a & 7) * 9));
	put_to_cold(w, 0x84);
	put_at(w, 0x8b, b, a, FL_SLOT_PTR);
	PUT(w, rex_of(0, b), 0x81, (uint8_t)(0xc0 | (b & 7)));		/* add $n,B */
	put_32(w, (t->by_word ? WORD : RECORD) * (int32_t)count_told(t));
	put_at(w, 0x3b, b, a, FL_SLOT_LIMIT);
	put_to_cold(w, 0x87);
	for (uint32_t k = 0; !t->by_word && k < t->n; k++)
		(t->of[k].operand.repeats ? put_repeated : put_record)(w, k);
	if (t->by_word)
		put_words(w);
	put_at(w, 0x89, b, a, FL_SLOT_PTR);
	t->end = (uint16_t)w->n;
}

size_t fl_arch_put_tell(unsigned char *out, struct fl_tell *t)
{
	struct putter w = { .out = out, .to = t->to, .tell = t };
	size_t past;

	t->n_depths = 0;
	if (!choose_registers(&w))
		return 0;
	if (t->keeps_flags)
		put_kept(&w);
	past = put_gate(&w);
	if (!t->keeps_flags)
		put_kept(&w);
	put_sequence(&w);
	if (t->keeps_flags)
		lead_here(&w, past);
	t->out = (uint16_t)w.n;
	t->kept = w.kept;
	put_restored(&w);
	if (!t->keeps_flags)
		lead_here(&w, past);
	return w.is_far ? 0 : w.n;
}

/* ud1 says that no code falls into it; see rseq.h. */
size_t fl_arch_put_cold(unsigned char *out, uintptr_t to, struct fl_tell *t, uintptr_t word)
{
	static const unsigned char signature[] = { 0x0f, 0xb9, 0x3d, 0x53, 0x30, 0x05, 0x53 };
	struct putter w = { .out = out, .to = to, .tell = t, .kept = t->kept };

	put_bytes(&w, signature, sizeof signature);
	t->abort = w.n;
	PUT(&w, X86_JMP);
	put_rel(&w, t->to + t->arm, 0);
	PUT(&w, 0x6a, (uint8_t)count_told(t));	/* push $n */
	t->pushed = w.n;
	PUT(&w, 0xff, 0x15);			/* call *make_room(%rip) */
	put_rel(&w, word, 0);
	PUT(&w, 0x0f, 0x85);			/* jne arm */
	put_rel(&w, t->to + t->arm, 0);
	PUT(&w, X86_JMP);
	put_rel(&w, t->to + t->out, 0);
	return w.is_far ? 0 : w.n;
}

struct descriptor {			/* struct rseq_cs of the kernel's */
	uint32_t version, flags;
	uint64_t start, length, abort;
};
_Static_assert(sizeof(struct descriptor) == FL_ARCH_CS_BYTES, "");

void fl_arch_lay_cs(unsigned char *out, const struct fl_tell *t, uintptr_t cold)
{
	const struct descriptor cs = {
		.start = t->to + t->start, .length = t->end - t->start,
		.abort = cold + t->abort,
	};

	__builtin_memcpy(out, &cs, sizeof cs);
}
