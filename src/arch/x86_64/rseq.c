/*
 * rseq.c - where a thread names the restartable sequence that it is in.
 */
#include "arch/arch.h"

/* Offset of rseq_cs from the thread pointer; 0 when there is no rseq. */
intptr_t fl_rseq_at;

/* glibc 2.35 and later register rseq for every thread and say where it is. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
enum { RSEQ_CS_AT = 8 };

void fl_arch_rseq_open(void)
{
	if (&__rseq_size && __rseq_size)
		store_relaxed(&fl_rseq_at, __rseq_offset + RSEQ_CS_AT);
}

bool fl_arch_has_rseq(void)
{
	return fl_rseq_at != 0;
}

bool fl_arch_can_flip_unless(void)
{
	return fl_arch_has_rseq();
}
