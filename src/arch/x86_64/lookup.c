/*
 * lookup.c - an indirect jump of a body: does it lead into what the body stands for?
 *
 * Nothing is assumed to be dead: when the body goes on, every register, the flags, and the
 * 128 bytes below the stack pointer are what they were. All that is kept lies above %rsp
 * at any moment, so a signal's handler does no harm.
 *
 *	lea -128(%rsp),%rsp		the red zone
 *	push %rax; push %rcx
 *	lahf; seto %al; push %rax	the flags
 *	mov 16(%rsp),%rax		%rax as it was: the operand may use it
 *	mov OPERAND,%rax		144 + 8 are added to an address relative to %rsp
 *   for each part:
 *	lea part(%rip),%rcx
 *	sub %rcx,%rax
 *	cmp $bytes,%rax; jae next	of the last part: outside
 *	lea table(%rip),%rcx
 *	movzwl (%rcx,%rax,2),%eax	or movslq (%rcx,%rax,4),%rax
 *	test %eax,%eax; je outside	no instruction begins there
 *	lea (%rax,%rax,4),%rax		or add %rcx,%rax
 *	lea landings-10(%rip),%rcx
 *	lea (%rcx,%rax,2),%rax
 *	jmp inside			unless this part is the last
 *   next:
 *	add %rcx,%rax			likewise
 *   inside:
 *	mov (%rsp),%rcx; mov %rax,(%rsp)	the landing, in place of the flags
 *	mov %ecx,%eax; add $127,%al; sahf
 *	mov 8(%rsp),%rcx; mov 16(%rsp),%rax
 *	lea 120(%rsp),%rsp
 *	notrack jmp *-120(%rsp)
 *   outside:
 *	pop %rax; add $127,%al; sahf
 *	pop %rcx; pop %rax
 *	lea 128(%rsp),%rsp
 *
 * landing:
 *	lea 32(%rsp),%rsp
 *	jmp the instruction
 *
 * There is a landing for each instruction of the function, and a row of a table for each byte,
 * so these are as short as they can be. The jump has given back what a displacement of one byte
 * gives back. What it reads lies below %rsp then, but no further than a red zone reaches, so a
 * signal's handler leaves it alone.
 */
#include "put.h"

enum {
	KEPT = 152,			/* bytes between our %rsp and the original's */
	BACK = KEPT - FL_ARCH_LOOKUP_KEPT	/* what the jump gives back of them */
};
_Static_assert(BACK < 128 && FL_ARCH_LOOKUP_KEPT < 128, "displacements of one byte");

static void put_saved(struct x86_put *w)
{
	x86_put_past_red_zone(w);
	x86_put_push(w, X86_AX);
	x86_put_push(w, X86_CX);
	x86_put_flags_kept(w);
	x86_put_push(w, X86_AX);
	x86_put_wide(w, X86_LOAD, X86_AX, X86_SP, 16);
}

/* mov mem,%rax; `mem` is what begins at the jump's ModRM. False: it is relative to %esp, or its
 * displacement is too large. */
static bool put_load(struct x86_put *w, const struct fl_lookup *l, size_t opcode_at,
		     uint8_t rex)
{
	const unsigned char *m = l->code + opcode_at + 1;
	size_t n = l->len - opcode_at - 1;
	bool is_stack = (m[0] & 7) == X86_SP && (m[1] & 7) == X86_SP && !(rex & X86_REX_B);
	int32_t disp = 0;

	for (size_t k = 0; k < opcode_at; k++) {
		if (l->code[k] == X86_ADDR32 && is_stack)
			return false;
		if (l->code[k] == 0x64 || l->code[k] == 0x65 || l->code[k] == X86_ADDR32)
			X86_PUT(w, l->code[k]);
	}
	X86_PUT(w, X86_REX | X86_REX_W | rex, 0x8b);
	if (!is_stack) {
		X86_PUT(w, m[0] & 0xc7);
		x86_put_bytes(w, m + 1, n - 1);
		return true;
	}
	if (m[0] >> 6 == 1)
		disp = (int8_t)m[2];
	else if (m[0] >> 6 == 2)
		__builtin_memcpy(&disp, m + 2, sizeof disp);
	disp += KEPT;
	X86_PUT(w, 0x80 | X86_SP, m[1]);		/* a displacement of 32 bits */
	x86_put_32(w, disp);
	return disp >= KEPT - (1 << 30);
}

/* Put the address that the jump would jump to in %rax. */
static bool put_target(struct x86_put *w, const struct fl_lookup *l)
{
	struct fl_insn i;
	uint8_t rex = 0, modrm;

	fl_arch_decode(&i, l->code, l->len, 0);
	if (i.len != l->len || i.cls != FL_INSN_JUMP || l->code[i.opcode_at] != 0xff)
		return false;			/* a jump through a slot leaves */
	if (i.opcode_at && (l->code[i.opcode_at - 1] & 0xf0) == X86_REX)
		rex = l->code[i.opcode_at - 1] & 3;
	modrm = l->code[i.opcode_at + 1];
	if ((modrm & 0x38) != 0x20)
		return false;			/* far */
	if (modrm < 0xc0)
		return put_load(w, l, i.opcode_at, rex);
	if (!(rex & X86_REX_B) && (modrm & 7) == X86_SP)
		return false;
	if ((rex & X86_REX_B) || (modrm & 7) != X86_AX)
		X86_PUT(w, X86_REX | X86_REX_W | (rex & X86_REX_B), 0x8b, 0xc0 | (modrm & 7));
	return true;
}

/* Jumps that lead on to one address. */
struct ahead {
	size_t end[FL_LOOKED_PARTS + 1];	/* behind each */
	uint32_t n;
};

/* `condition`: a short jump's opcode; here the jump is a long one. */
static void put_ahead(struct x86_put *w, struct ahead *a, uint8_t condition)
{
	X86_PUT(w, 0x0f, (uint8_t)(condition + 0x10), 0, 0, 0, 0);
	a->end[a->n++] = w->n;
}

static void lead_here(struct x86_put *w, const struct ahead *a)
{
	for (uint32_t k = 0; k < a->n; k++) {
		uint32_t d = (uint32_t)(w->n - a->end[k]);

		__builtin_memcpy(w->out + a->end[k] - sizeof d, &d, sizeof d);
	}
}

/* From the offset in the part to the landing, in %rax; or go outside. */
static void put_find(struct x86_put *w, const struct fl_lookup *l, const struct fl_looked *p,
		     struct ahead *outside)
{
	_Static_assert(FL_ARCH_LANDED_BYTES == 2 * 5, "a number is multiplied by that");
	x86_put_lea(w, X86_CX, p->table);
	if (l->has_numbers)
		X86_PUT(w, 0x0f, 0xb7, 0x04, 0x41);	/* movzwl (%rcx,%rax,2),%eax */
	else
		X86_PUT(w, 0x48, 0x63, 0x04, 0x81);	/* movslq (%rcx,%rax,4),%rax */
	X86_PUT(w, 0x85, 0xc0);				/* test %eax,%eax */
	put_ahead(w, outside, X86_EQUAL);
	if (!l->has_numbers) {
		X86_PUT(w, 0x48, 0x01, 0xc8);		/* add %rcx,%rax */
		return;
	}
	X86_PUT(w, 0x48, 0x8d, 0x04, 0x80);		/* lea (%rax,%rax,4),%rax */
	x86_put_lea(w, X86_CX, l->landings - FL_ARCH_LANDED_BYTES);
	X86_PUT(w, 0x48, 0x8d, 0x04, 0x41);		/* lea (%rcx,%rax,2),%rax */
}

/* The jump to the landing in %rax, with all else as it was. */
static void put_inside(struct x86_put *w)
{
	X86_PUT(w, 0x48, 0x8b, 0x0c, 0x24);		/* mov (%rsp),%rcx */
	X86_PUT(w, 0x48, 0x89, 0x04, 0x24);		/* mov %rax,(%rsp) */
	X86_PUT(w, 0x89, 0xc8);				/* mov %ecx,%eax */
	x86_put_flags_back(w);
	x86_put_wide(w, X86_LOAD, X86_CX, X86_SP, 8);
	x86_put_wide(w, X86_LOAD, X86_AX, X86_SP, 16);
	X86_PUT(w, 0x48, 0x8d, 0x64, 0x24, BACK);	/* lea BACK(%rsp),%rsp */
	x86_put_grown(w, -BACK);
	X86_PUT(w, 0x3e, 0xff, 0x64, 0x24, (uint8_t)-BACK);	/* notrack jmp *-BACK(%rsp) */
	x86_put_grown(w, BACK);
}

static void put_parts(struct x86_put *w, const struct fl_lookup *l)
{
	struct ahead inside = { .n = 0 }, outside = { .n = 0 };

	for (uint32_t k = 0; k < l->n_parts; k++) {
		bool is_last = k + 1 == l->n_parts;
		struct ahead next = { .n = 0 };

		x86_put_lea(w, X86_CX, l->part[k].start);
		X86_PUT(w, 0x48, 0x29, 0xc8);		/* sub %rcx,%rax */
		X86_PUT(w, 0x48, 0x3d);			/* cmp $bytes,%rax */
		x86_put_32(w, l->part[k].bytes);
		put_ahead(w, is_last ? &outside : &next, X86_AT_LEAST);
		put_find(w, l, &l->part[k], &outside);
		if (is_last)
			break;
		X86_PUT(w, X86_JMP, 0, 0, 0, 0);	/* jmp inside */
		inside.end[inside.n++] = w->n;
		lead_here(w, &next);
		X86_PUT(w, 0x48, 0x01, 0xc8);		/* add %rcx,%rax */
	}
	lead_here(w, &inside);
	put_inside(w);
	lead_here(w, &outside);
}

size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *l)
{
	struct x86_put w = { .out = out, .to = l->to, .depths = l->depths };

	if (!l->n_parts || l->n_parts > FL_LOOKED_PARTS)
		return 0;
	put_saved(&w);
	if (!put_target(&w, l))
		return 0;
	put_parts(&w, l);
	x86_put_pop(&w, X86_AX);
	x86_put_flags_back(&w);
	x86_put_pop(&w, X86_CX);
	x86_put_pop(&w, X86_AX);
	x86_put_before_red_zone(&w);
	return w.is_far ? 0 : w.n;
}

size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target)
{
	static const unsigned char give_back[FL_ARCH_LANDED_UP] = {
		0x48, 0x8d, 0x64, 0x24, FL_ARCH_LOOKUP_KEPT,	/* lea 32(%rsp),%rsp */
	};

	__builtin_memcpy(out, give_back, sizeof give_back);
	if (!x86_branch(out + sizeof give_back, X86_JMP, to + sizeof give_back, target))
		return 0;
	return FL_ARCH_LANDED_BYTES;
}
