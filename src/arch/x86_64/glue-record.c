/*
 * glue-record.c - a glue that puts its probe's record itself.
 *
 * This glue is the short path of the routine (routines.h, RECORDS). All that the routine has to
 * look up is known by now: the id, and where a thread's slot and rseq area are. While the
 * glue's mask is all ones:
 *
 *	push %rax; push %rdx; push %rcx
 *	lea cs(%rip),%rcx
 *	mov %rcx,%fs:rseq_cs		arms the sequence
 *	[lfence]			its start
 *	rdtsc
 *	shl $32,%rdx
 *	or %rdx,%rax
 *	mov %fs:fl_tls_slot,%rdx
 *	mov (%rdx),%rdx			the slot, or 0
 *	and mask(%rip),%rdx
 *	je cold
 *	mov ptr(%rdx),%rcx
 *	cmp limit(%rdx),%rcx
 *	jae cold
 *	mov %rax,(%rcx)
 *	movl $id,8(%rcx)
 *	lea 24(%rsp),%eax		the stack pointer as the glue found it
 *	mov %eax,12(%rcx)
 *	add $16,%rcx
 *	mov %rcx,ptr(%rdx)		its end: the commit
 *	pop %rcx; pop %rdx; pop %rax
 *	ret
 *	...
 *	signature			where an interrupted sequence goes on:
 * cold: pop %rcx; pop %rdx; pop %rax
 *	[push %r11]			from here on as a plain glue
 *	mov $id,%r11d
 *	jmp *go(%rip)
 * cs:	the sequence's descriptor
 *
 * A thread that was interrupted reads the clock anew. So what a handler has recorded meanwhile
 * is older than the thread's own record, which stands behind it in the ring.
 */
#include "arch/arch.h"
#include "arch/layout.h"
#include "emit.h"

enum {
	POPS = 3, REST_COLD = 7, REST_CS = 32,
	/* operands of `arms` */
	CS = 6, ARM = 15, START = 19,
	/* and of `hot` */
	TLS = 12, MASK = 22, COLD = 28, FULL = 41, ID = 51, END = 69
};

static const unsigned char arms[] = {
	0x50, 0x52, 0x51,				/* push %rax, %rdx, %rcx */
	0x48, 0x8d, 0x0d, 0, 0, 0, 0,			/* lea cs(%rip),%rcx */
	0x64, 0x48, 0x89, 0x0c, 0x25, 0, 0, 0, 0,	/* mov %rcx,%fs:rseq_cs */
};
static const unsigned char fence[] = { 0x0f, 0xae, 0xe8 };	/* lfence */
static const unsigned char reads[] = { 0x0f, 0x31 };		/* rdtsc */
static const unsigned char hot[] = {
	0x48, 0xc1, 0xe2, 0x20,				/* shl $32,%rdx */
	0x48, 0x09, 0xd0,				/* or %rdx,%rax */
	0x64, 0x48, 0x8b, 0x14, 0x25, 0, 0, 0, 0,	/* mov %fs:fl_tls_slot,%rdx */
	0x48, 0x8b, 0x12,				/* mov (%rdx),%rdx */
	0x48, 0x23, 0x15, 0, 0, 0, 0,			/* and mask(%rip),%rdx */
	0x0f, 0x84, 0, 0, 0, 0,				/* je cold */
	0x48, 0x8b, 0x0a,				/* mov ptr(%rdx),%rcx */
	0x48, 0x3b, 0x4a, FL_SLOT_LIMIT,		/* cmp limit(%rdx),%rcx */
	0x0f, 0x83, 0, 0, 0, 0,				/* jae cold */
	0x48, 0x89, 0x01,				/* mov %rax,(%rcx) */
	0xc7, 0x41, 0x08, 0, 0, 0, 0,			/* movl $id,8(%rcx) */
	0x8d, 0x44, 0x24, 8 * POPS,			/* lea 24(%rsp),%eax */
	0x89, 0x41, 0x0c,				/* mov %eax,12(%rcx) */
	0x48, 0x83, 0xc1, 0x10,				/* add $16,%rcx */
	0x48, 0x89, 0x0a,				/* mov %rcx,ptr(%rdx) */
};
static const unsigned char restores[] = { 0x59, 0x5a, 0x58 };
static const unsigned char signature[] = { X86_SIGNATURE };

_Static_assert(sizeof arms == START && sizeof hot == END && FL_SLOT_PTR == 0, "");
_Static_assert(sizeof arms + sizeof fence + sizeof reads + END + sizeof restores + 1 <=
	       FL_ARCH_RECORDING_BYTES, "");

static unsigned char *append(unsigned char *out, const unsigned char *bytes, size_t n)
{
	__builtin_memcpy(out, bytes, n);
	return out + n;
}

static bool is_precise(const struct fl_doing_glue *g)
{
	return g->does == FL_GLUE_RECORDS_PRECISELY;
}

static size_t hot_at(const struct fl_doing_glue *g)
{
	return sizeof arms + (is_precise(g) ? sizeof fence : 0) + sizeof reads;
}

static bool put_hot(const struct fl_doing_glue *g)
{
	unsigned char *out = g->out;
	uintptr_t at = g->at + hot_at(g);
	const int32_t rseq32 = (int32_t)fl_rseq_at, tls32 = (int32_t)fl_arch_tls_slot_at();

	__builtin_memset(out, X86_INT3, FL_ARCH_RECORDING_BYTES);
	out = append(out, arms, sizeof arms);
	if (is_precise(g))
		out = append(out, fence, sizeof fence);
	out = append(out, reads, sizeof reads);
	append(append(append(out, hot, sizeof hot), restores, sizeof restores),
	       (const unsigned char[]){ X86_RET }, 1);
	__builtin_memcpy(g->out + ARM, &rseq32, sizeof rseq32);
	__builtin_memcpy(out + TLS, &tls32, sizeof tls32);
	__builtin_memcpy(out + ID, &g->id, sizeof g->id);
	return x86_rel32(g->out + CS, g->at + CS + 4, g->rest_at + REST_CS) &&
	       x86_rel32(out + MASK, at + MASK + 4, g->mask) &&
	       x86_rel32(out + COLD, at + COLD + 4, g->rest_at + REST_COLD) &&
	       x86_rel32(out + FULL, at + FULL + 4, g->rest_at + REST_COLD);
}

static bool put_rest(const struct fl_doing_glue *g)
{
	const struct x86_sequence cs = {
		.start = g->at + START, .length = hot_at(g) + END - START,
		.abort = g->rest_at + REST_COLD,
	};
	unsigned char *out = g->rest;

	__builtin_memset(out, X86_INT3, FL_ARCH_RECORDING_REST_BYTES);
	__builtin_memcpy(out, signature, sizeof signature);
	append(out + REST_COLD, restores, sizeof restores);
	__builtin_memcpy(out + REST_CS, &cs, sizeof cs);
	return fl_arch_glue(out + REST_COLD + POPS, g->rest_at + REST_COLD + POPS, g->id, g->go,
			    g->keeps ? FL_GLUE_KEEPS : 0);
}

bool x86_glue_recording(const struct fl_doing_glue *g)
{
	return put_hot(g) && put_rest(g);
}
