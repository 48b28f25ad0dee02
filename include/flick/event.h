/*
 * flick/event.h - what one event looks like in memory.
 *
 * A record is two 64-bit words, written by the thread that met a probe into
 * its own ring. The time is the whole TSC, so nothing wraps and a reader needs
 * no context; the stack pointer tells frames of one function apart under
 * recursion, longjmp and exceptions. Version 1.
 */
#ifndef FLICK_EVENT_H
#define FLICK_EVENT_H

#include <stdint.h>

#define FLICK_EVENT_VERSION 1

struct flick_record {
	uint64_t tsc;		/* TSC ticks; 0 in records without time */
	uint32_t probe;		/* dense id; its kind is in the site table */
	uint32_t sp;		/* low 32 bits of the stack pointer, bytes */
};

#endif
