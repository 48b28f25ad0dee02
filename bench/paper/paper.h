/*
 * paper.h - the yardstick: paper 1's own protocols, as it prints them.
 *
 * Chamith et al., "Living on the edge" (PLDI 2016), Figure 3: word patching
 * (section 5), its asynchronous form (section 5.1), call toggling (section 6).
 * Written from the paper's text. Used by benches only; flick itself has none
 * of this. A place is five bytes of one instruction; the pages are writable.
 */
#ifndef PAPER_H
#define PAPER_H

#include <stdbool.h>
#include <stdint.h>

#define PAPER_LINE 64		/* bytes of a cache line */
#define PAPER_INT3 0xcc

/* The paper's stores are plain: one may wait in the store buffer while T_max
 * runs out. FENCED puts a full fence behind each store before each wait. */
enum paper_stores { PAPER_PRINTED, PAPER_FENCED };

/* Install the trap handler and set T_max in ticks. False when that fails. */
bool paper_open(uint64_t wait_ticks, enum paper_stores);
extern uint64_t paper_wait_ticks;	/* constant after paper_open() */
extern enum paper_stores paper_stores;	/* the same */

/* Figure 4. `value` is the eight bytes to stand at `address`. False when
 * another thread patches this place. */
bool paper_patch(void *address, uint64_t value);

/* Figures 6 and 7. At most PAPER_PATCHES places in a process's life. */
enum { PAPER_PATCHES = 1 << 15 };
bool paper_start_patch(void *address, uint64_t value);
bool paper_finish_patch(void *address);

/* Section 6. `address` held a call when paper_call_open() looked at it. The
 * offset is what follows the E8. False when it is out of reach, or when this
 * split cannot do what is asked. */
bool paper_call_open(void *near);	/* place the trampoline of the 1|4 split */
bool paper_activate_call(void *address, uint32_t offset);
bool paper_deactivate_call(void *address);

/* Do `len` bytes at `address` lie in two cache lines? */
static inline bool paper_straddles(const void *address, unsigned int len)
{
	return (uintptr_t)address % PAPER_LINE + len > PAPER_LINE;
}

#endif
