/*
 * nested.h - private to session/: calls of one function in one another (nested.c).
 */
#ifndef FL_NESTED_H
#define FL_NESTED_H

#include "session/samples/profile.h"

struct fl_stood;
/* By the chains of all samples, what each stands for, and whose code each place is: 0 or
 * -ENOMEM. */
int fl_nested_gather(struct fl_profile *, const struct fl_stood *, const double *share,
		     const uint32_t *leaf);
/* How many calls of a function a sample in it stood in, on average; 0: unknown. */
double fl_nested_calls(const struct fl_profile *, uint64_t function);

#endif
