/*
 * rseq.c - where a thread names the restartable sequence that it is in.
 */
#include <sys/auxv.h>

#include "arch/arch.h"
#include "arch/layout.h"
#include "glue.h"

/* Offset of rseq_cs from the thread pointer; 0 when there is no rseq. */
intptr_t fl_rseq_at;

/* rseq.h: what each object of sequences knows of the thread pointer. */
extern struct a64_own a64_own_routines FL_HIDDEN, a64_own_tramp FL_HIDDEN;

/* glibc 2.35 and later register rseq for every thread and say where it is. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
enum { RSEQ_CS_AT = 8 };

static void know(struct a64_own *own)
{
	store_relaxed(&own->slot_at, fl_arch_tls_slot_at());
	store_relaxed(&own->rseq_at, fl_rseq_at);
}

void a64_rseq_use(intptr_t at)
{
	store_relaxed(&fl_rseq_at, at);
	know(&a64_own_routines);
	know(&a64_own_tramp);
}

/* What leads a thread to a sequence is stored after the offsets here. */
void fl_arch_rseq_open(void)
{
	if (&__rseq_size && __rseq_size)
		a64_rseq_use(__rseq_offset + RSEQ_CS_AT);
}

bool fl_arch_has_rseq(void)
{
	return fl_rseq_at != 0;
}

/* For each thread: a word where a glue that is not to count finds no slot (count.c). */
static const uintptr_t nothing[FL_POINTEE_OWN / 8 + FL_ARCH_POINTEE_OWN];
static __thread const uintptr_t *no_slot __attribute__((tls_model("initial-exec"))) = nothing;

intptr_t a64_tls_no_slot_at(void)
{
	return (intptr_t)&no_slot - (intptr_t)__builtin_thread_pointer();
}

static struct a64_own own_now(void)
{
	return (struct a64_own){ fl_rseq_at, fl_arch_tls_slot_at() };
}

bool fl_arch_glue_doing(const struct fl_doing_glue *g)
{
	return a64_glue_counting(g, own_now());
}

static bool has_atomics(void)
{
	return (getauxval(AT_HWCAP) & FL_ARCH_ATOMICS) != 0;
}

/* It counts by a sequence or an atomic. Is all in reach of the few instructions there are? */
bool fl_arch_glue_can(enum fl_glue_does does)
{
	unsigned char out[FL_ARCH_COUNTING_BYTES], rest[FL_ARCH_COUNTING_REST_BYTES];
	uintptr_t at = (uintptr_t)out;

	if (does != FL_GLUE_COUNTS || (!fl_arch_has_rseq() && !has_atomics()))
		return false;
	return a64_glue_counting(&(struct fl_doing_glue){
		.out = out, .at = at, .rest = rest, .rest_at = at, .counter = FL_SLOT_COUNTERS,
		.go = at, .mask = at, .full = at }, own_now());
}
