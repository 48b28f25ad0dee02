/*
 * layout.h - where routines find what they need, for assembly; checked in channel/slot.h.
 */
#ifndef FL_ARCH_LAYOUT_H
#define FL_ARCH_LAYOUT_H

/* In a thread's slot. Counters are words, by probe id. */
#define FL_SLOT_PTR		0
#define FL_SLOT_LIMIT		8
#define FL_SLOT_N_COUNTERS	24
#define FL_SLOT_CELLS		40
#define FL_SLOT_COUNTERS	4096
/* What one count adds to the upper half of its word. */
#define FL_COUNT_ONE_HIGH	0x200000
/* In fl_timed, whose first word is where the innermost timed call stands. */
#define FL_TIMED_LOOSE		8
/* How many cells of paths the functions share, in a slot: a power of two. A cell is a record:
 * a count, then what is counted. */
#define FL_PATH_CELLS		0x10000
#define FL_PATH_CELL_BYTES	16
#define FL_PATH_CELL_KEY	8
/* Behind the shared cells are so many that belong to one path each, for good. */
#define FL_PATH_OWN_CELLS	0x1000000
/* Behind the pointer to a thread's slot: where the thread's cells are, or 0. */
#define FL_POINTEE_CELLS	8
/* ... and the words that the port lays there for its glue (FL_ARCH_LAY_POINTEE). */
#define FL_POINTEE_OWN		16
/* A thread's frames of paths lie in so many bytes, from a multiple of this number on above the
 * thread pointer; fl_path says where the last frame is. */
#define FL_PATH_FRAMES		0x100000
#define FL_PATH_OWNER		0
#define FL_PATH_SUM		8

#endif
