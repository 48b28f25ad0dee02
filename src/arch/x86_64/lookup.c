/*
 * lookup.c - an indirect jump of a body: does it lead into what the body stands for?
 *
 * Nothing is assumed to be dead: every register, the flags, and the 128 bytes below the
 * stack pointer are what they were when the body goes on. All that is kept lies above
 * %rsp at any moment, so a signal's handler does no harm.
 *
 *	lea -128(%rsp),%rsp		the red zone
 *	push %rax; push %rcx
 *	lahf; seto %al; push %rax	the flags
 *	mov 16(%rsp),%rax		as it was: the operand may ask for it
 *	mov OPERAND,%rax		144 + 8 are added to what is relative to %rsp
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
 *	mov 8(%rsp),%rcx
 *	notrack jmp *(%rsp)
 *   next:
 *	add %rcx,%rax			unless it is the last
 *   outside:
 *	pop %rax; add $127,%al; sahf
 *	pop %rcx; pop %rax
 *	lea 128(%rsp),%rsp
 *
 * landing:
 *	mov 16(%rsp),%rax
 *	lea 152(%rsp),%rsp
 *	jmp the instruction
 *
 * lahf and sahf know all flags but OF: 127 + 1 overflows, 127 + 0 does not (HW15).
 */
#include "arch/arch.h"
#include "emit.h"

enum { KEPT = FL_ARCH_LOOKUP_KEPT,	/* bytes between our %rsp and the original's */
       REX = 0x40, REX_W = 8, REX_B = 1, AX = 0, SP = 4 };

struct emitter {
	unsigned char *out;
	uintptr_t to;			/* where out[0] will stand */
	size_t n;
	bool is_far;			/* something was out of reach */
	struct fl_depth *depths;
	size_t n_depths;
};

#define PUT(w, ...) \
	emit(w, (const unsigned char[]){ __VA_ARGS__ }, \
	    sizeof((const unsigned char[]){ __VA_ARGS__ }))

static void emit(struct emitter *w, const unsigned char *bytes, size_t n)
{
	__builtin_memcpy(w->out + w->n, bytes, n);
	w->n += n;
}

/* lea address(%rip),%rcx */
static void put_lea_rcx(struct emitter *w, uintptr_t address)
{
	PUT(w, 0x48, 0x8d, 0x0d, 0, 0, 0, 0);
	if (!x86_rel32(w->out + w->n - 4, w->to + w->n, address))
		w->is_far = true;
}

/* From here on there is so much below the original's %rsp. */
static void note_depth(struct emitter *w, uint16_t depth)
{
	w->depths[w->n_depths++] = (struct fl_depth){ (uint16_t)w->n, depth };
}

static void put_saved(struct emitter *w)
{
	PUT(w, 0x48, 0x8d, 0x64, 0x24, 0x80);	/* lea -128(%rsp),%rsp */
	note_depth(w, 128);
	PUT(w, 0x50);				/* push %rax */
	note_depth(w, 136);
	PUT(w, 0x51);				/* push %rcx */
	note_depth(w, 144);
	PUT(w, 0x9f, 0x0f, 0x90, 0xc0, 0x50);	/* lahf; seto %al; push %rax */
	note_depth(w, KEPT);
	PUT(w, 0x48, 0x8b, 0x44, 0x24, 0x10);	/* mov 16(%rsp),%rax */
}

static void put_outside(struct emitter *w)
{
	PUT(w, 0x58);				/* pop %rax */
	note_depth(w, 144);
	PUT(w, 0x04, 0x7f, 0x9e, 0x59);		/* add $127,%al; sahf; pop %rcx */
	note_depth(w, 136);
	PUT(w, 0x58);				/* pop %rax */
	note_depth(w, 128);
	PUT(w, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0);	/* lea 128(%rsp),%rsp */
	note_depth(w, 0);
}

/* mov mem,%rax; `mem` begins at the jump's ModRM, `n` bytes. False: relative to %esp. */
static bool put_load(struct emitter *w, const struct fl_lookup *l, size_t opcode_at,
		     uint8_t rex)
{
	const unsigned char *m = l->code + opcode_at + 1;
	size_t n = l->len - opcode_at - 1;
	bool is_stack = (m[0] & 7) == SP && (m[1] & 7) == SP && !(rex & REX_B);
	int32_t disp = 0;

	for (size_t k = 0; k < opcode_at; k++) {
		if (l->code[k] == X86_ADDR32 && is_stack)
			return false;
		if (l->code[k] == 0x64 || l->code[k] == 0x65 || l->code[k] == X86_ADDR32)
			PUT(w, l->code[k]);
	}
	PUT(w, REX | REX_W | rex, 0x8b);
	if (!is_stack) {
		PUT(w, m[0] & 0xc7);
		emit(w, m + 1, n - 1);
		return true;
	}
	if (m[0] >> 6 == 1)
		disp = (int8_t)m[2];
	else if (m[0] >> 6 == 2)
		__builtin_memcpy(&disp, m + 2, sizeof disp);
	disp += KEPT;
	PUT(w, 0x80 | SP, m[1]);		/* a displacement of 32 bits */
	emit(w, (const unsigned char *)&disp, sizeof disp);
	return disp >= KEPT - (1 << 30);
}

/* What the jump would jump to, in %rax. */
static bool put_target(struct emitter *w, const struct fl_lookup *l)
{
	struct fl_insn i;
	uint8_t rex = 0, modrm;

	fl_arch_decode(&i, l->code, l->len, 0);
	if (i.len != l->len || i.cls != FL_INSN_JUMP || l->code[i.opcode_at] != 0xff)
		return false;			/* through a slot it leaves */
	if (i.opcode_at && (l->code[i.opcode_at - 1] & 0xf0) == REX)
		rex = l->code[i.opcode_at - 1] & 3;
	modrm = l->code[i.opcode_at + 1];
	if ((modrm & 0x38) != 0x20)
		return false;			/* far */
	if (modrm < 0xc0)
		return put_load(w, l, i.opcode_at, rex);
	if (!(rex & REX_B) && (modrm & 7) == SP)
		return false;
	if ((rex & REX_B) || (modrm & 7) != AX)
		PUT(w, REX | REX_W | (rex & REX_B), 0x8b, 0xc0 | (modrm & 7));
	return true;
}

/* Returns where the branch to `outside` is. */
static size_t put_part(struct emitter *w, const struct fl_looked *p)
{
	size_t next, outside;

	put_lea_rcx(w, p->start);
	PUT(w, 0x48, 0x29, 0xc8);		/* sub %rcx,%rax */
	PUT(w, 0x48, 0x3d, 0, 0, 0, 0);		/* cmp $bytes,%rax */
	__builtin_memcpy(w->out + w->n - 4, &p->bytes, 4);
	next = w->n;
	PUT(w, 0x73, 0);			/* jae next */
	put_lea_rcx(w, p->table);
	PUT(w, 0x48, 0x63, 0x04, 0x81);		/* movslq (%rcx,%rax,4),%rax */
	PUT(w, 0x85, 0xc0);			/* test %eax,%eax */
	outside = w->n;
	PUT(w, 0x0f, 0x84, 0, 0, 0, 0);		/* je outside */
	PUT(w, 0x48, 0x01, 0xc8);		/* add %rcx,%rax */
	PUT(w, 0x48, 0x8b, 0x0c, 0x24);		/* mov (%rsp),%rcx */
	PUT(w, 0x48, 0x89, 0x04, 0x24);		/* mov %rax,(%rsp) */
	PUT(w, 0x89, 0xc8);			/* mov %ecx,%eax */
	PUT(w, 0x04, 0x7f, 0x9e);		/* add $127,%al; sahf */
	PUT(w, 0x48, 0x8b, 0x4c, 0x24, 0x08);	/* mov 8(%rsp),%rcx */
	PUT(w, 0x3e, 0xff, 0x24, 0x24);		/* notrack jmp *(%rsp) */
	w->out[next + 1] = (unsigned char)(w->n - (next + 2));
	return outside;
}

size_t fl_arch_put_lookup(unsigned char *out, struct fl_lookup *l)
{
	struct emitter w = { .out = out, .to = l->to, .depths = l->depths };
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
			PUT(&w, 0x48, 0x01, 0xc8);	/* add %rcx,%rax */
	}
	for (uint32_t k = 0; k < l->n_parts; k++) {
		uint32_t d = (uint32_t)(w.n - (outside[k] + 6));

		__builtin_memcpy(out + outside[k] + 2, &d, sizeof d);
	}
	put_outside(&w);
	return w.is_far ? 0 : w.n;
}

size_t fl_arch_put_landing(unsigned char *out, uintptr_t to, uintptr_t target)
{
	struct emitter w = { .out = out, .to = to };

	PUT(&w, 0x48, 0x8b, 0x44, 0x24, 0x10);	/* mov 16(%rsp),%rax */
	PUT(&w, 0x48, 0x8d, 0xa4, 0x24, 0x98, 0, 0, 0);	/* lea 152(%rsp),%rsp */
	if (!x86_branch(out + w.n, X86_JMP, to + w.n, target))
		return 0;
	return FL_ARCH_LANDED_BYTES;
}
