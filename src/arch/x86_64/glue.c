/*
 * glue.c - what a site's branch leads to.
 *
 * A glue loads its probe's id and goes where a word of data says:
 *
 *	mov $id,%r11d
 *	jmp *go(%rip)
 *
 * Where %r11 may be live the glue puts it on the stack first, and the routine takes it back:
 *
 *	push %r11
 *	mov $id,%r11d
 *	jmp *go(%rip)
 *
 * A glue that counts does so itself while its mask is all ones, in the way of the routine
 * (routines.h, COUNT): the jump and the way to the routine would take longer than the count.
 * Only %r11 and the flags change, so all conventions have the same glue. Where %r11 is live
 * it is put on the stack first, and comes back last.
 *
 *	[push %r11]
 *	lea cs(%rip),%r11
 *	mov %r11,%fs:rseq_cs		arms the sequence
 *	mov %fs:fl_tls_slot,%r11		its start
 *	mov (%r11),%r11			the slot, or 0
 *	and mask(%rip),%r11
 *	je cold
 *	addl $1 << 21,counter(%r11)	its end: the commit
 *	js full				the block is full
 *	[pop %r11]
 *	ret
 *	...
 *	signature			where an interrupted sequence goes on:
 * cold: mov $id,%r11d			as a plain glue
 *	jmp *go(%rip)
 * full: mov $id,%r11d
 *	jmp *full(%rip)
 * cs:	the sequence's descriptor
 *
 * A veneer leads to one of these from where a site's branch reaches:
 *
 *	jmp *1f(%rip); 1: .quad glue
 */
#include "arch/arch.h"
#include "emit.h"

static void put32(unsigned char *out, int64_t v)
{
	int32_t v32 = (int32_t)v;

	__builtin_memcpy(out, &v32, sizeof v32);
}

static bool jump_by(unsigned char *out, uintptr_t at, uintptr_t word)
{
	out[0] = 0xff;				/* jmp *word(%rip) */
	out[1] = 0x25;
	return x86_rel32(out + 2, at + 6, word);
}

/* Twelve bytes. */
static bool load_and_jump(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word)
{
	out[0] = 0x41;				/* mov $id,%r11d */
	out[1] = 0xbb;
	put32(out + 2, id);
	return jump_by(out + 6, at + 6, word);
}

bool fl_arch_glue(unsigned char *out, uintptr_t at, uint32_t id, uintptr_t word,
		  uintptr_t back)
{
	__builtin_memset(out, X86_INT3, FL_ARCH_GLUE_BYTES);
	if (back != FL_GLUE_KEEPS)
		return load_and_jump(out, at, id, word);
	out[0] = 0x41;				/* push %r11 */
	out[1] = 0x53;
	return load_and_jump(out + 2, at + 2, id, word);
}

bool fl_arch_glue_late(unsigned char *out, uintptr_t at, uintptr_t id, uintptr_t word)
{
	__builtin_memset(out, X86_INT3, FL_ARCH_GLUE_BYTES);
	out[0] = 0x44;				/* mov id(%rip),%r11d */
	out[1] = 0x8b;
	out[2] = 0x1d;
	return x86_rel32(out + 3, at + 7, id) && jump_by(out + 7, at + 7, word);
}

/* Behind it all is as if the site's branch had led to the glue. */
size_t fl_arch_put_veneer(unsigned char *out, const struct fl_veneer *v)
{
	enum { JUMP = 6 };

	__builtin_memset(out, X86_INT3, FL_ARCH_VENEER_MAX);
	jump_by(out, v->at, v->at + JUMP);
	__builtin_memcpy(out + JUMP, &v->glue, sizeof v->glue);
	return FL_ARCH_VENEER_MAX;
}

/* ---- a glue that counts ------------------------------------------------------- */

/* Where the operands of `hot` and of `rest` are. */
enum {
	HOT_CS = 3, HOT_ARM = 12, HOT_START = 16, HOT_TLS = 21, HOT_MASK = 31,
	HOT_COLD = 37, HOT_COUNTER = 44, HOT_END = 52, HOT_FULL = 54, HOT_BYTES = 58,
	REST_COLD = 7, REST_FULL = 19, REST_CS = 32
};

static const unsigned char hot[] = {
	0x4c, 0x8d, 0x1d, 0, 0, 0, 0,			/* lea cs(%rip),%r11 */
	0x64, 0x4c, 0x89, 0x1c, 0x25, 0, 0, 0, 0,	/* mov %r11,%fs:rseq_cs */
	0x64, 0x4c, 0x8b, 0x1c, 0x25, 0, 0, 0, 0,	/* mov %fs:fl_tls_slot,%r11 */
	0x4d, 0x8b, 0x1b,				/* mov (%r11),%r11 */
	0x4c, 0x23, 0x1d, 0, 0, 0, 0,			/* and mask(%rip),%r11 */
	0x0f, 0x84, 0, 0, 0, 0,				/* je cold */
	0x41, 0x81, 0x83, 0, 0, 0, 0, 0, 0, 0x20, 0,	/* addl $1 << 21,counter(%r11) */
	0x0f, 0x88, 0, 0, 0, 0,				/* js full */
};
static const unsigned char push_r11[] = { 0x41, 0x53 }, pop_r11[] = { 0x41, 0x5b };
static const unsigned char signature[] = { X86_SIGNATURE };

_Static_assert(sizeof hot == HOT_BYTES, "");
_Static_assert(HOT_BYTES + 5 <= FL_ARCH_COUNTING_BYTES, "a line");
_Static_assert(REST_CS + 32 <= FL_ARCH_COUNTING_REST_BYTES, "another");
_Static_assert(FL_COUNT_ONE >> 32 == 0x200000, "what `hot` adds");

bool fl_arch_glue_can(enum fl_glue_does does)
{
	return does != FL_GLUE_GOES && fl_arch_has_rseq() &&
	       (int32_t)fl_rseq_at == fl_rseq_at &&
	       (int32_t)fl_arch_tls_slot_at() == fl_arch_tls_slot_at();
}

/* How far into the glue `hot` stands. */
static size_t hot_at(const struct fl_doing_glue *g)
{
	return g->keeps ? sizeof push_r11 : 0;
}

static bool put_hot(const struct fl_doing_glue *g)
{
	unsigned char *out = g->out + hot_at(g), *end = out + sizeof hot;
	uintptr_t at = g->at + hot_at(g);

	__builtin_memset(g->out, X86_INT3, FL_ARCH_COUNTING_BYTES);
	__builtin_memcpy(out, hot, sizeof hot);
	if (g->keeps) {
		__builtin_memcpy(g->out, push_r11, sizeof push_r11);
		__builtin_memcpy(end, pop_r11, sizeof pop_r11);
		end += sizeof pop_r11;
	}
	*end = X86_RET;
	put32(out + HOT_ARM, fl_rseq_at);
	put32(out + HOT_TLS, fl_arch_tls_slot_at());
	put32(out + HOT_COUNTER, (int64_t)g->counter + 4);	/* its upper half */
	return x86_rel32(out + HOT_CS, at + HOT_CS + 4, g->rest_at + REST_CS) &&
	       x86_rel32(out + HOT_MASK, at + HOT_MASK + 4, g->mask) &&
	       x86_rel32(out + HOT_COLD, at + HOT_COLD + 4, g->rest_at + REST_COLD) &&
	       x86_rel32(out + HOT_FULL, at + HOT_FULL + 4, g->rest_at + REST_FULL);
}

static bool put_rest(const struct fl_doing_glue *g)
{
	const struct x86_sequence cs = {
		.start = g->at + hot_at(g) + HOT_START, .length = HOT_END - HOT_START,
		.abort = g->rest_at + REST_COLD,
	};
	unsigned char *out = g->rest;

	__builtin_memset(out, X86_INT3, FL_ARCH_COUNTING_REST_BYTES);
	__builtin_memcpy(out, signature, sizeof signature);
	__builtin_memcpy(out + REST_CS, &cs, sizeof cs);
	return load_and_jump(out + REST_COLD, g->rest_at + REST_COLD, g->id, g->go) &&
	       load_and_jump(out + REST_FULL, g->rest_at + REST_FULL, g->id, g->full);
}

bool fl_arch_glue_doing(const struct fl_doing_glue *g)
{
	return g->does == FL_GLUE_COUNTS ? put_hot(g) && put_rest(g) : x86_glue_recording(g);
}

/* ---- for unwinders ------------------------------------------------------------- */

/* Did the glue whose jump is at `jump` load an id that is known by its code? */
static bool loads_id(uintptr_t lo, const unsigned char *jump, uint32_t *id)
{
	enum { LOAD = 6 };

	if ((uintptr_t)jump - lo < LOAD || jump[-LOAD] != 0x41 || jump[1 - LOAD] != 0xbb)
		return false;
	__builtin_memcpy(id, jump + 2 - LOAD, sizeof *id);
	return true;
}

/* A glue ends in a return, above which nothing lies, or in a jump to its routine, which takes
 * back what the glue has put on the stack. What comes before is counted backwards: all of a
 * glue's branches lead to where as much lies on the stack. */
int fl_arch_glue_pushed(uintptr_t lo, uintptr_t hi, uintptr_t at, bool (*keeps)(uint32_t id))
{
	enum { WORD = 8, LAST = 2 };
	int pushed = 0;
	uint32_t id;

	while (hi - at >= LAST) {
		const unsigned char *code = (const unsigned char *)at;
		size_t opcode = *code == 0x41;
		struct fl_insn i;

		if (*code == X86_RET)
			return pushed;
		if (code[0] == 0xff && code[1] == 0x25)
			return pushed + (loads_id(lo, code, &id) && keeps(id) ? WORD : 0);
		if ((code[opcode] & 0xf8) == 0x50)	/* push */
			pushed -= WORD;
		if ((code[opcode] & 0xf8) == 0x58)	/* pop */
			pushed += WORD;
		fl_arch_decode(&i, code, hi - at, at);
		if (!i.len || *code == X86_INT3)
			break;
		at += i.len;
	}
	return -1;
}
