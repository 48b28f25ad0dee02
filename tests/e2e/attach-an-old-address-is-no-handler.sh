#!/bin/sh
# A program of one thread is attached to although its stack has an address that handlers
# return to: sigaction() leaves one there, and it may stay for ever.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"

cat >"$work/old.c" <<'END'
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static void on_signal(int sig) { (void)sig; }
static volatile sig_atomic_t ended;
static void on_end(int sig) { (void)sig; ended = 1; }
void work(volatile unsigned *n) { ++*n; }

int main(void)
{
	struct { void *handler; unsigned long flags; void *restorer; uint64_t mask; } old;
	volatile uintptr_t stack[64];
	volatile unsigned n = 0;

	signal(SIGUSR1, on_signal);
	signal(SIGTERM, on_end);
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, sizeof(old.mask));
	for (int i = 0; i < 64; i++)
		stack[i] = (uintptr_t)old.restorer;
	puts("begun");
	fflush(stdout);
	while (!ended)
		work(&n);
	puts(stack[n % 64] ? "fine" : "no");
	return 0;
}
END
compile "$work/attached" "$work/old.c" -O2 $sites
begin
attach -a counts
[ "$(sql "select calls > 100 from $(rows counts) where name = 'work'")" = 1 ] ||
	fail "work() was not counted"
is_as_it_was
finish
