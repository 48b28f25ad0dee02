/*
 * glue.h - private to arch/aarch64/: what a plan knows of a glue.
 */
#ifndef FL_A64_GLUE_H
#define FL_A64_GLUE_H

/* Where a glue that is jumped to and called from keeps a return. */
enum { A64_GLUE_RET = 28 };

#endif
