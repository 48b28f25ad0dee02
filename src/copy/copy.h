/* copy.h - step 4 of 7: second bodies of functions. next: channel.h */
#ifndef FL_COPY_H
#define FL_COPY_H

#include "base/base.h"
#include "probe/probe.h"

/* Builds second bodies for probes (place.c). */
extern const struct fl_builder fl_copy_builder;
/* Bytes that have been mapped for bodies in this process so far (area.c). */
size_t fl_copy_bytes(void);
/* Bodies tell no accesses any more (gate.c). */
void fl_copy_hush(void);

/* ---- paths, for readers of their numbers (blocks.c) --------------------------------- */

struct fl_shape;
struct fl_shape_step;
/* Called for each step of the path; at last with NULL, and the address of the step where the
 * path went on, or 0: out of the function. */
typedef void fl_path_each(void *arg, const struct fl_shape_step *, uintptr_t to);
/* Bytes of memory that a walk needs, aligned to 8. */
size_t fl_path_memory(const struct fl_shape *);
/* Walk the path of that number through the function. 0; -ENOENT: no path has the number;
 * -E2BIG: the function has too many paths to number them. */
int fl_path_walk(const struct fl_shape *, uint32_t number, void *memory, fl_path_each *,
		 void *arg);

/* ---- unwinding through bodies (unwind.c) ------------------------------------------ */

/* Where unwinders find what they need for a program counter in a body. */
struct fl_unwind_found {
	uintptr_t lo, hi;		/* code that the table is for, as if of one module */
	const void *table;		/* as .eh_frame_hdr is */
};
/* False: no body is there. Any thread, any time, no lock; from a handler, too. */
bool fl_unwind_find(uintptr_t pc, struct fl_unwind_found *);
/* Where a call that returns to `pc` in a body would return to in its function; `pc` itself
 * where no body is. Also of any other place in a body: its instruction of the function. Any
 * thread, any time, no lock. */
uintptr_t fl_unwind_origin(uintptr_t pc);
/* Likewise by a table that was copied from another process, of which nothing is believed: its
 * `n` bytes stand at `table`, and places are as far away from there as they are in that process
 * from its table. `pc` itself: nothing tells. */
uintptr_t fl_unwind_origin_by(const void *table, size_t n, uintptr_t pc);
/* From now on unwinders ask us (agent/find.c). Called before the first body. */
void fl_unwind_serve(void);

#endif
