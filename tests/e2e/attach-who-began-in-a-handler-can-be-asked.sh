#!/bin/sh
# A server's child that was forked in a handler stands below it for good: it is attached to where
# the handler began asleep in a system call, which leaves nothing half done. Where it began in the
# C library's code, which may be in the middle of anything, it is not.
#
# timeout: 60
# waits
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"

cat >"$work/below.c" <<'END'
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static volatile unsigned n;
char a[1 << 20], b[1 << 20];
static void on_end(int sig) { (void)sig; ended = 1; }
void work(void) { ++n; }

/* As a server that forks where it is told to. */
static void serve(int sig)
{
	(void)sig;
	puts("begun");
	fflush(stdout);
	while (!ended) {
		work();
		poll(NULL, 0, 1);
	}
	puts("fine");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	(void)argv;
	signal(SIGALRM, serve);
	signal(SIGTERM, on_end);
	ualarm(100000, 0);
	for (;;)
		if (argc > 1)
			memmove(a, b, sizeof(a));
		else
			poll(NULL, 0, -1);
}
END
compile "$work/attached" "$work/below.c" -O2 $sites
label="asleep:"
begin
attach -a counts
[ "$(sql "select calls > 10 from counts_named where function = 'work'")" = 1 ] ||
	fail "$label no calls"
is_as_it_was
finish
label="in the C library:"
begin busy
run "$FLICK" record -p $pid -d 0.3 -o "$data" -a counts
one_line_error 1 'no thread of it stands where it could be asked'
is_as_it_was
finish
