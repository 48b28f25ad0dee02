#!/bin/sh
# record -p of a program that ends by itself: what recording cost is a share of all CPU time that
# the program had, the kernel's part with it, which no sample of the program counter shows. The
# program has next to nothing else.
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
cat >"$work/reads.c" <<'END'
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t goes;
static char bytes[1 << 20];
static void go(int sig) { (void)sig; goes = 1; }
__attribute__((noipa)) static long work(int fd) { return read(fd, bytes, sizeof(bytes)); }

static double used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	double begin;

	signal(SIGUSR1, go);
	puts("ready");
	fflush(stdout);
	while (!goes)
		usleep(1000);
	begin = used();
	while (used() - begin < 0.8)
		work(fd);
	return 0;
}
END
compile "$work/reads" "$work/reads.c" -O2
mkfifo "$work/begun"
"$work/reads" >"$work/begun" &
pid=$!
read -r line <"$work/begun"
"$FLICK" record -p $pid -a counts -P work -o "$data" >"$out" 2>"$err" &
recorder=$!
while "$FLICK" ctl -p $pid status >"$work/status" 2>&1; grep -q 'is on yet' "$work/status" ||
	! grep -q recording "$work/status"; do
	kill -0 $recorder 2>/dev/null || fail "no recording"
	sleep 0.01
done
kill -USR1 $pid
wait $recorder || fail "record -p: status $?"
wait $pid || fail "the program has failed"
grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
cost=$(sed -n 's/^cost: \([0-9.]*\) % of CPU time.*/\1/p' "$err")
[ "$cost" ] || fail "the cost of 0.8 s is not known"
awk -v c="$cost" 'BEGIN { exit c > 12 }' || fail "a program without calls costs $cost %"
