/*
 * make.h - private to copy/: the bodies of one module, while they are built (make.c).
 */
#ifndef FL_COPY_MAKE_H
#define FL_COPY_MAKE_H

#include "copy/build.h"

/* The body of an extent of the outline. */
struct fl_built {
	struct fl_copy copy;
	uint64_t datum;			/* explains `refusal` */
	int refusal;
	uint32_t state;			/* make.c */
	bool is_named;			/* place.c's */
};

/* Bodies are wanted of functions of this module, which is mapped at [lo, hi). The outline must
 * stay until fl_make_end(). 0 or -ENOMEM. */
int fl_make_begin(const struct fl_outline *, uintptr_t lo, uintptr_t hi, uint32_t module);
/* Bodies that are asked for from here on call glue in [lo, hi). */
void fl_make_lead(uintptr_t lo, uintptr_t hi);
/* Before the first body: `at` is a point, an instruction at which there may be a probe.
 * Ascending. */
void fl_make_point(uintptr_t at);
/* Before the first body: the function's body will be asked for. In the order of asking. */
void fl_make_want(uintptr_t function);
/* The body of extent `i`, or why there is none. It is built now, if it has not been built. */
const struct fl_built *fl_make_body(size_t i);
/* The body of extent `i`; NULL: none was built. */
struct fl_built *fl_make_built(size_t i);
/* The block that has the address, and where the byte that is executed there is written;
 * NULL: none. */
struct fl_ground_block *fl_make_block(uintptr_t at);
unsigned char *fl_make_write(uintptr_t at);
/* Stop: nobody builds any more. End: the bodies become executable. 0 or -errno. */
void fl_make_stop(void);
int fl_make_end(void);

#endif
