/*
 * glue.h - private to arch/aarch64/: what a plan, and a thread, know of a glue.
 */
#ifndef FL_A64_GLUE_H
#define FL_A64_GLUE_H

/* A glue, or veneer, has a return at this offset. */
enum { A64_GLUE_RET = 28 };

/* Offsets from the thread pointer: where a thread names its restartable sequence, and where it
 * finds its slot (rseq.h). */
struct a64_own {
	intptr_t rseq_at, slot_at;
};
/* fl_arch_glue_doing() for threads with these offsets; pure (count.c). Where no sequence can
 * be armed, rseq_at is 0: then the processor must have FL_ARCH_ATOMICS. */
bool a64_glue_counting(const struct fl_doing_glue *, struct a64_own);

#endif
