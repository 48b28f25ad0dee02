/*
 * truth.h - how a target keeps and prints its own truth.
 *
 * A target lists its functions once, `#define FUNCTIONS(X) X(leaf) X(twig)`,
 * and each of them says CALLED(name) in plain code that flick does not see.
 * truth_print() writes a line `count NAME N` for each. A function that is QUIET
 * gets no site from any compiler; what is neither is not counted. Each thread's
 * calls are counted, too: with TRUTH_THREADS=1 in the environment there is a line
 * `thread TID CALLS CUT` for each, where CUT are the calls that the target said
 * will never reach their exit.
 */
#ifndef TRUTH_H
#define TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* BODY: exactly one copy of a function, called as written. */
#if defined(__clang__)
#define BODY __attribute__((noinline, used))
#define QUIET __attribute__((no_instrument_function, \
	patchable_function_entry(0), xray_never_instrument, unused))
#else
#define BODY __attribute__((noipa, used))
#define QUIET __attribute__((no_instrument_function, \
	patchable_function_entry(0), unused))
#endif

/* Keeps a value, and the call that made it, alive. */
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

#ifdef FUNCTIONS
#define TRUTH_COUNTER(name) static unsigned long truth_##name;
FUNCTIONS(TRUTH_COUNTER)

#define TRUTH_THREADS 4096
static struct truth_thread {
	int tid;
	unsigned long calls, cut;
} by_thread_all[TRUTH_THREADS];
static unsigned by_thread_n;
static __thread struct truth_thread *by_thread_mine;

/* A handler may come between: then the thread has two lines, which add up. */
QUIET __attribute__((unused)) static struct truth_thread *by_thread(void)
{
	if (!by_thread_mine) {
		unsigned i = __atomic_fetch_add(&by_thread_n, 1, __ATOMIC_RELAXED);

		if (i >= TRUTH_THREADS)
			abort();
		by_thread_all[i].tid = (int)syscall(SYS_gettid);
		by_thread_mine = &by_thread_all[i];
	}
	return by_thread_mine;
}

#define TRUTH_ADD(counter, n) __atomic_fetch_add(&(counter), n, __ATOMIC_RELAXED)
#ifdef TRUTH_KEEPS_REGISTERS		/* by one instruction, and not by thread */
#define CALLED(name) TRUTH_ADD(truth_##name, 1)
#else
#define CALLED(name) \
	(TRUTH_ADD(truth_##name, 1), TRUTH_ADD(by_thread()->calls, 1))
#endif
/* Of this thread's calls n more will be left without an exit record. */
#define CUT(n) TRUTH_ADD(by_thread()->cut, n)
#define CALLS(name) __atomic_load_n(&truth_##name, __ATOMIC_RELAXED)

/* A function that may be cut off between its probe and its count: the line
 * `about NAME N` allows for one call more. Listed in ABOUT(X). */
#ifdef ABOUT
ABOUT(TRUTH_COUNTER)
#endif

QUIET static void truth_print(void)
{
	const char *tell = getenv("TRUTH_THREADS");

#ifdef ABOUT
#define TRUTH_ABOUT(name) printf("about " #name " %lu\n", CALLS(name));
	ABOUT(TRUTH_ABOUT)
#endif
#define TRUTH_LINE(name) printf("count " #name " %lu\n", CALLS(name));
	FUNCTIONS(TRUTH_LINE)
	for (unsigned i = 0; tell && *tell && i < by_thread_n; i++)
		printf("thread %d %lu %lu\n", by_thread_all[i].tid,
		       by_thread_all[i].calls, by_thread_all[i].cut);
	fflush(stdout);
}
#endif

/* CHECK(x): says what was wrong; truth_failed is main's exit status. */
static int truth_failed __attribute__((unused));
#define CHECK(x) do { \
	if (!(x)) { \
		printf("wrong: %s:%d: %s\n", __FILE__, __LINE__, #x); \
		truth_failed = 1; \
	} \
} while (0)

#endif
