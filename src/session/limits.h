/*
 * limits.h - private to session/: what the system limits (limits.c).
 */
#ifndef FL_LIMITS_H
#define FL_LIMITS_H

#include "session/session.h"

/* Wish for as much as the system's limits allow, and say what that leaves
 * (limits.c). */
void fl_limits_fit(struct fl_shm_options *);
/* The most memory that flick itself keeps, in bytes: as asked for, or, for 0, half of the
 * machine's. is_spent: does flick keep more by now? */
uint64_t fl_limits_memory(uint32_t mib);
bool fl_limits_is_spent(uint64_t bytes);

#endif
