#!/bin/sh
# A timer's handler calls backtrace() wherever the program stands: in a body that tells accesses
# or paths, in glue, in flick's routines below it, in what these call. Callers have their frames
# by the frame pointer, so who unwinds needs that as it was. Now and then the handler leaves all
# calls at once, so that what tells paths has to begin anew, which it does in C. Each backtrace
# leads to where the program began.
#
# timeout: 120
. "$(dirname "$0")/lib"
need "$CC"

cat >"$work/back.c" <<'END'
#include <execinfo.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#define BODY __attribute__((noinline, noclone))
static volatile sig_atomic_t n, incomplete;
static void *outermost;
static sigjmp_buf out;

static void on_timer(int sig)
{
	void *at[64];
	int depth = backtrace(at, 64);

	(void)sig;
	n++;
	incomplete += depth < 1 || at[depth - 1] != outermost;
	if (n % 4 == 0)
		siglongjmp(out, 1);
}

BODY static long leaf(const long *p, long k)
{
	return k & 1 ? p[k & 7] + p[(k + 1) & 7] : p[k & 3];
}

/* Its frame is as large as it is told, so it lies by the frame pointer. */
BODY static long caller(long k)
{
	long words[(k & 7) + 8], sum = 0;

	memset(words, 0, sizeof(words));
	for (long i = 0; i < 100; i++)
		sum += leaf(words, i);
	return sum;
}

int main(void)
{
	const struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };
	volatile long sum = 0;
	void *first[64];

	outermost = first[backtrace(first, 64) - 1];	/* and loads what it needs */
	sigaction(SIGALRM, &sa, NULL);
	sigsetjmp(out, 1);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; n < 2000; i++)
		sum += caller(i);
	printf("ok, incomplete %d\n", (int)incomplete);
	return 0;
}
END
compile "$work/back" "$work/back.c" -O2
compile "$work/sites" "$work/back.c" -O2 $sites
complete() {	# PROGRAM OPTIONS...
	program=$1
	shift
	label="record $*, $program:"
	record "$@" -- "$work/$program"
	succeeded
	grep -q '^ok' "$out" || fail "$label it prints $(cat "$out")"
	emulated windows || [ "$(uname -m)" != x86_64 ] || grep -q 'incomplete 0$' "$out" ||
		fail "$label $(cat "$out")"
}
for how in "-a counts" "--all -a latency" "-a paths" "-a cache" ""; do
	# shellcheck disable=SC2086
	complete back $how
done
complete sites -a counts
complete sites --all -a latency
