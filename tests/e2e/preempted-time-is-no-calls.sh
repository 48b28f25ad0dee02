#!/bin/sh
# Threads that share one processor: by default a call has none of the time in which its thread
# was preempted, but the time that it slept; and the report says so. Where the kernel does not
# tell of it, or that would cost too much, the report says nothing of it.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target deny -O2
target crowd -O2 -pthread $sites

told() {	# FUNCTION COLUMN
	sql "select $2 from $(rows latency) where name = '$1'"
}

# COLUMN of FUNCTION is LEAST to MOST percent of so many nanoseconds.
within() {
	got=$(told "$1" "$2")
	awk -v got="${got:-0}" -v least="$3" -v most="$4" -v of="$5" 'BEGIN {
		exit !(got >= of * least / 100 && got <= of * most / 100) }' ||
		fail "$label $1 has ${got:-no} ns of $2, not $3 to $4 % of $5"
}

printed() {
	awk -v what="$1" '$1 == what { print $3 }' "$out"
}

says() {
	run "$FLICK" report "$data"
	succeeded
	grep -q 'elapsed time, without what the scheduler took' "$out"
}

for threads in 1 2; do
	label="$threads threads:"
	record -- "$work/crowd" $threads 700
	succeeded
	grep -q '^cost: unknown' "$err" && skip "the system gives no samples"
	ran=$(printed ran) calls=$(printed calls) slept=$(printed slept)
	within leaf avg_ns 90 110 $((ran / calls))
	within leaf total_ns 90 110 "$ran"
	within nap total_ns 40 1000000 "$slept"
	within nap total_ns 0 300 "$(printed napped)"
	within nap max_ns 100 1000000 2000000
	says || fail "$label the report does not say what is left out"
done

cat >"$work/held.c" <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile int tells;
__attribute__((noinline)) void hold(void)
{
	for (;;)
		tells++;
}
static void *run(void *x)
{
	hold();
	return x;
}
int main(void)
{
	pthread_t t;
	struct timespec ran;
	for (int i = 0; i < 4; i++)
		pthread_create(&t, 0, run, 0);
	sleep(1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ran);
	printf("ran hold %lld\n", ran.tv_sec * 1000000000LL + ran.tv_nsec);
	fflush(stdout);
	_exit(0);
}
EOF
compile "$work/held" "$work/held.c" -O1 $sites
label="calls that have not ended:"
record --target-cpu 0 -- "$work/held"
succeeded
within hold total_ns 50 160 "$(printed ran)"

cat >"$work/pass.c" <<'EOF'
#include <pthread.h>
#include <unistd.h>
static int there[2], back[2];
static int pass(int from, int to)
{
	char c = 0;
	return write(to, &c, 1) == 1 && read(from, &c, 1) == 1;
}
static void *run(void *x)
{
	char c;
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	return x;
}
int main(void)
{
	pthread_t t;
	int n = 0;
	if (pipe(there) || pipe(back) || pthread_create(&t, 0, run, 0))
		return 1;
	while (n < 50000 && pass(back[0], there[1]))
		n++;
	close(there[1]);
	pthread_join(t, 0);
	return n < 50000;
}
EOF
compile "$work/pass" "$work/pass.c" -O1 -pthread $sites
label="many switches:"
record --target-cpu 0 -- "$work/pass"
succeeded
[ "$(sql "select value from session where key = 'preempted'")" = in ] || fail "$label they are told of"
! says || fail "$label the report says what is not so"

label="no samples:"
run "$work/deny" perf "$FLICK" record -o "$data" -- "$work/crowd" 2 300
succeeded
! says || fail "$label the report says what is not so"
