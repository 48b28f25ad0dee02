/*
 * probes.h - the probes of the program a bench runs in, by function.
 *
 * Hides how flick.h tells of what it discovered.
 */
#ifndef PROBES_H
#define PROBES_H

#include <flick.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe {
	uint32_t id;
	uintptr_t function, at;
	bool is_entry;
};

/* Open flick in this process and take in its probes. NULL, and the reason on
 * standard error, when that fails. */
flick *probes_open(void);

/* The entry probe of a function, or NULL. */
const struct probe *probes_entry(const void *function);
const struct probe *probes_exit(const void *function);

/* Do the `len` bytes of the probe's site lie in two cache lines? */
bool probe_straddles(const struct probe *, size_t len);

#endif
