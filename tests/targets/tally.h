/*
 * tally.h - a running truth by thread, in a file that outlives the target.
 *
 * Four 64-bit words a thread: its id, calls of `step` begun and returned, and 1
 * once it has made its last. Between these calls it makes no other that has a
 * site, so wherever it is stopped, its events are begun + returned, or one more
 * (the entry that is not yet counted, or the exit of a call not yet returned).
 */
#ifndef TALLY_H
#define TALLY_H

#include <fcntl.h>
#include <sys/mman.h>
#include "truth.h"

#define TALLIES 64

struct tally {
	unsigned long tid, begun, returned, done;
};

/* Another image of the process goes on in the same file. */
QUIET static struct tally *tally_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, TALLIES * sizeof(struct tally)))
		exit(2);
	p = mmap(NULL, TALLIES * sizeof(struct tally), PROT_READ | PROT_WRITE,
		 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		exit(2);
	return (struct tally *)p;
}

QUIET static void tally_mine(struct tally *t)
{
	t->tid = (unsigned long)syscall(SYS_gettid);
}

BODY static long step(struct tally *t)
{
	__atomic_store_n(&t->begun, t->begun + 1, __ATOMIC_RELAXED);
	return (long)t->begun;
}

QUIET static void tally_step(struct tally *t)
{
	KEEP(step(t));
	__atomic_store_n(&t->returned, t->returned + 1, __ATOMIC_RELAXED);
}

QUIET static void tally_done(struct tally *t)
{
	__atomic_store_n(&t->done, 1, __ATOMIC_RELAXED);
}

QUIET static unsigned long tally_returned(const struct tally *t)
{
	return __atomic_load_n(&t->returned, __ATOMIC_RELAXED);
}

QUIET static void tally_print(const struct tally *t)
{
	unsigned long sum = 0;

	for (int i = 0; i < TALLIES; i++)
		sum += t[i].begun;
	printf("count step %lu\n", sum);
	fflush(stdout);
}

#endif
