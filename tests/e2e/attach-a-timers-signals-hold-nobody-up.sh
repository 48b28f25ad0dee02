#!/bin/sh
# A program that gets a timer's signal each 50 us, as one that is profiled does, is attached to
# again and again: its thread is had, however it is met. A timer's signal that is being taken
# may swallow the interrupt of who traces, and then there is always another signal to wait for.
. "$(dirname "$0")/lib"
need "$CC"
. "$here/attach-lib"
cat >"$work/ticks.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <time.h>
static volatile sig_atomic_t is_over, ticks;
volatile long sum;
__attribute__((noinline)) void handled(void)
{
	ticks++;
}
__attribute__((noinline)) void work(void)
{
	sum++;
}
static void on_tick(int sig)
{
	(void)sig;
	handled();
}
static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}
int main(void)
{
	struct itimerspec each = { { 0, 50000 }, { 0, 50000 } };
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	timer_t t;

	signal(SIGPROF, on_tick);
	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	if (timer_create(CLOCK_MONOTONIC, &e, &t) || timer_settime(t, 0, &each, NULL))
		return 1;
	while (!is_over)
		work();
	puts(ticks ? "fine" : "no tick");
	return 0;
}
END
compile "$work/ticks" "$work/ticks.c" -O1 $sites

program=ticks
begin
for i in $(seq 40); do
	label="attach $i:"
	limit=8 for=0.02
	attach -a counts
done
is_as_it_was
finish
