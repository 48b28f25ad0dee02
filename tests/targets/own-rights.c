/*
 * own-rights: a thread takes the right to write from the program's own code and gives it
 * back, each 50 us, and stores there while it has it. Another one is in the middle of
 * mprotect() as often as it can, for a page of data. What cannot be is said, and ends it. By
 * SIGUSR1 all memory is locked, and how much that is in KiB printed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static uintptr_t lo, hi;
static volatile sig_atomic_t is_asked;
volatile long sink;

__attribute__((noipa)) void leaf(void)
{
	sink++;
}

__attribute__((noipa)) void work(void)
{
	for (int i = 0; i < 20; i++)
		leaf();
}

static void find_code(void)
{
	uintptr_t from, to, own = (uintptr_t)find_code;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[600];

	while (fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && own >= from && own < to) {
			lo = from;
			hi = to;
		}
	fclose(f);
}

static void need(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

/* Behind the last function of the page, or so it is hoped: the byte stays as it is. */
static void *toggle(void *arg)
{
	const struct timespec pause = { .tv_nsec = 50000 };
	volatile char *last = (char *)hi - 1;

	for (;;) {
		need(mprotect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC), "rwx");
		*last = *last;
		nanosleep(&pause, NULL);
		*last = *last;
		need(mprotect((void *)lo, hi - lo, PROT_READ | PROT_EXEC), "r-x");
		nanosleep(&pause, NULL);
	}
	return arg;
}

/* The kernel's answer is the program's: each error, too. */
static void *ask(void *page)
{
	for (;;) {
		need(mprotect(page, 4096, PROT_READ), "r--");
		need(mprotect(page, 4096, PROT_READ | PROT_WRITE), "rw-");
		*(volatile char *)page = 1;
		need(mprotect((char *)page + 1, 4096, PROT_READ) != -1, "unaligned");
	}
}

static void note(int sig)
{
	(void)sig;
	is_asked = 1;
}

static void lock_all(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib;

	is_asked = 0;
	need(mlockall(MCL_CURRENT), "mlockall");
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "VmLck: %ld", &kib) == 1)
			printf("locked %ld\n", kib);
	fclose(f);
	munlockall();
	fflush(stdout);
}

int main(void)
{
	pthread_t t[2];

	find_code();
	signal(SIGUSR1, note);
	pthread_create(&t[0], NULL, toggle, NULL);
	pthread_create(&t[1], NULL, ask, aligned_alloc(4096, 4096));
	puts("ready");
	fflush(stdout);
	for (;;) {
		work();
		if (is_asked)
			lock_all();
	}
}
