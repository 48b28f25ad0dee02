/*
 * flick/event.h - what one record looks like in memory.
 *
 * A record is two 64-bit words, written by the thread that met a probe into its own
 * ring. Most are events: a probe was met. The time is the whole TSC, so nothing wraps
 * and a reader needs no context; the stack pointer tells frames of one function apart
 * under recursion, longjmp and exceptions.
 *
 * The upper bits of `probe` say what a record is (enum flick_type), the lower ones whose.
 * An event's are all zero: a probe is of one kind, and what it is (entry, exit, tail) its
 * row says, struct flick_tag. So an event's `probe` is an index as it stands, and that of
 * any other record is larger than every index.
 *
 * A reader that does not know a type passes over it by its length: one record, and where
 * the type has the bit FLICK_TYPE_LONG as many more as its `sp` says. What is passed over
 * counts as filtered. So a type that is new needs no new version, and version 2 is what
 * gave records a type.
 */
#ifndef FLICK_EVENT_H
#define FLICK_EVENT_H

#include <stdint.h>

#define FLICK_EVENT_VERSION 2

enum { FLICK_PROBE_BITS = 26 };		/* of `probe`: the id; the type stands above */

enum flick_type {
	FLICK_TYPE_EVENT,	/* the probe was met */
	FLICK_TYPE_CALLER,	/* no event: `tsc` is where the call returns to that the entry
				 * in front of it began */
	FLICK_TYPE_SAMPLED,	/* the end of the call that the entry in front of it began;
				 * this call stands for `sp` calls, and so many ticks of it
				 * probes took as that entry's `sp` says */
	FLICK_TYPE_GIVEN_UP,	/* the same of a call that was timed up to here, and not to its
				 * end: its function's exits are off since */
	FLICK_TYPE_ACCESS,	/* no probe: an instruction reads or writes memory. `tsc` is the
				 * first byte's address, `probe` the number of its place, of all
				 * places in the process; `sp` is made of enum flick_access */
	FLICK_TYPE_PATH,	/* no time: a path came to its end, through the function of that
				 * entry. `sp` is its number, or FLICK_PATH_DROPPED; `tsc` says
				 * how often, 0 is once */
	FLICK_TYPE_STRING,	/* accesses in a row, of one instruction that repeats itself:
				 * `probe` as of an access; `sp` is the lower half of how many
				 * there are; `tsc` is made of enum flick_string */
	FLICK_N_TYPES,		/* from here on free: a count, a point are one record each */
	FLICK_TYPE_LONG = 32	/* of 32 to 63 `sp` says how many records follow that belong to
				 * it: arguments */
};

/* What is in `sp` of an access. One that reads and writes the same bytes is told once, as
 * both. An access may lie in two lines or pages: where it ends its size says. */
enum flick_access {
	FLICK_ACCESS_SIZE = 0xffff,	/* in bytes; 0 is none */
	FLICK_ACCESS_STORE = 1 << 16,
	FLICK_ACCESS_LOAD = 1 << 17
};

/* In `tsc` of a string: the first access's address, FLICK_STRING_ADDRESS, and from these bits
 * on what else is to be known. Each next access is by its size above the one before, or below.
 * Of two strings of one instruction accesses alternate: a record with FLICK_STRING_WITH_NEXT
 * has the other one's behind it. A string that faulted is told as if it had not. */
#define FLICK_STRING_ADDRESS ((UINT64_C(1) << 48) - 1)
enum flick_string {
	FLICK_STRING_MORE = 48,		/* 10 bits: how many there are, from bit 32 on */
	FLICK_STRING_SIZE = 58,		/* 2 bits: an access is of 1, 2, 4 or 8 bytes */
	FLICK_STRING_STORE = 60,	/* it writes; else it reads */
	FLICK_STRING_WITH_NEXT = 61,
	FLICK_STRING_DOWN = 62
};

/* A path came to its end whose begin, or a part of it, is not known. */
#define FLICK_PATH_DROPPED UINT32_MAX

struct flick_record {
	uint64_t tsc;		/* TSC ticks; 0 in events without time */
	uint32_t probe;		/* dense id, and the type */
	uint32_t sp;		/* low 32 bits of the stack pointer, bytes */
};

#endif
