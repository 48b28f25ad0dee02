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
 *	cmp $bytes,%rax; jae next
 *	lea table(%rip),%rcx
 *	movslq (%rcx,%rax,4),%rax
 *	test %eax,%eax; je outside	no instruction begins there
 *	add %rcx,%rax
 *	mov (%rsp),%rcx; mov %rax,(%rsp)	the landing, in place of the flags
 *	mov %ecx,%eax; add $127,%al; sahf
 *	mov 8(%rsp),%rcx; mov 16(%rsp),%rax
 *	notrack jmp *(%rsp)
 *   next:
 *	add %rcx,%rax			unless this part is the last
 *   outside:
 *	pop %rax; add $127,%al; sahf
 *	pop %rcx; pop %rax
 *	lea 128(%rsp),%rsp
 *
 * landing:
 *	lea 152(%rsp),%rsp
 *	jmp the instruction
 *
 * There is a landing for each instruction of the function, so that is as short as it can be.
 */
#include "put.h"

enum { KEPT = FL_ARCH_LOOKUP_KEPT };	/* bytes between our %rsp and the original's */

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

/* Returns where the branch to `outside` is. */
static size_t put_part(struct x86_put *w, const struct fl_looked *p)
{
	size_t next, outside;

	x86_put_lea(w, X86_CX, p->start);
	X86_PUT(w, 0x48, 0x29, 0xc8);			/* sub %rcx,%rax */
	X86_PUT(w, 0x48, 0x3d, 0, 0, 0, 0);		/* cmp $bytes,%rax */
	__builtin_memcpy(w->out + w->n - 4, &p->bytes, 4);
	next = w->n;
	X86_PUT(w, 0x73, 0);				/* jae next */
	x86_put_lea(w, X86_CX, p->table);
	X86_PUT(w, 0x48, 0x63, 0x04, 0x81);		/* movslq (%rcx,%rax,4),%rax */
	X86_PUT(w, 0x85, 0xc0);				/* test %eax,%eax */
	outside = w->n;
	X86_PUT(w, 0x0f, 0x84, 0, 0, 0, 0);		/* je outside */
	X86_PUT(w, 0x48, 0x01, 0xc8);			/* add %rcx,%rax */
	X86_PUT(w, 0x48, 0x8b, 0x0c, 0x24);		/* mov (%rsp),%rcx */
	X86_PUT(w, 0x48, 0x89, 0x04, 0x24);		/* mov %rax,(%rsp) */
	X86_PUT(w, 0x89, 0xc8);				/* mov %ecx,%eax */
	x86_put_flags_back(w);
	X86_PUT(w, 0x48, 0x8b, 0x4c, 0x24, 0x08);	/* mov 8(%rsp),%rcx */
	X86_PUT(w, 0x48, 0x8b, 0x44, 0x24, 0x10);	/* mov 16(%rsp),%rax */
	X86_PUT(w, 0x3e, 0xff, 0x24, 0x24);		/* notrack jmp *(%rsp) */
	w->out[next + 1] = (unsigned char)(w->n - (next + 2));
	return outside;
}

size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *l)
{
	struct x86_put w = { .out = out, .to = l->to, .depths = l->depths };
	size_t outside[FL_LOOKED_PARTS];

	if (!l->n_parts || l->n_parts > FL_LOOKED_PARTS)
		return 0;
	put_saved(&w);
	if (!put_target(&w, l))
		return 0;
	for (uint32_t k = 0; k < l->n_parts; k++) {
		if (l->part[k].bytes > INT32_MAX)
			return 0;
		outside[k] = put_part(&w, &l->part[k]);
		if (k + 1 < l->n_parts)
			X86_PUT(&w, 0x48, 0x01, 0xc8);	/* add %rcx,%rax */
	}
	for (uint32_t k = 0; k < l->n_parts; k++) {
		uint32_t d = (uint32_t)(w.n - (outside[k] + 6));

		__builtin_memcpy(out + outside[k] + 2, &d, sizeof d);
	}
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
		0x48, 0x8d, 0xa4, 0x24, KEPT, 0, 0, 0,	/* lea 152(%rsp),%rsp */
	};

	__builtin_memcpy(out, give_back, sizeof give_back);
	if (!x86_branch(out + sizeof give_back, X86_JMP, to + sizeof give_back, target))
		return 0;
	return FL_ARCH_LANDED_BYTES;
}
