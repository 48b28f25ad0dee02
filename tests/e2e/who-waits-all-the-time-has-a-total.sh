#!/bin/sh
# Threads that wait in one function for all of their time: by its timed calls that comes to a
# little more than the time there was as often as to a little less. It has that time, in either
# case, and neither none nor its CPU time alone.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
no_emulator perf_event_open
cat >"$work/waits.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#define OUT __attribute__((noinline, noclone))
static volatile unsigned spun;
static int seconds;
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
OUT static void reply(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
	spun++;
}
OUT static void request(void)
{
	for (unsigned i = 0; i < 10000; i++)
		spun += i;
	reply();
	spun++;
}
static void *serve(void *unused)
{
	double until = now() + seconds;

	while (now() < until)
		request();
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t one, two;

	seconds = atoi(argv[argc - 1]);
	return pthread_create(&one, NULL, serve, NULL) ||
	       pthread_create(&two, NULL, serve, NULL) ||
	       pthread_join(one, NULL) || pthread_join(two, NULL);
}
END
compile "$work/waits" "$work/waits.c" -O1 -pthread
for i in 1 2 3; do
	label="run $i:"
	record -- "$work/waits" 2
	succeeded
	[ "$(sql "select count(*) from $(rows latency) where name = 'request' and
		total_ns between 3.2e9 and 4.8e9")" = 1 ] ||
		fail "$label request's total: $(sql "select total_ns from $(rows latency)
			where name = 'request'")"
	[ "$(sql "select count(*) from $(rows latency) where name = 'reply' and
		total_ns between 2.4e9 and 4.8e9")" = 1 ] ||
		fail "$label reply's total: $(sql "select total_ns from $(rows latency)
			where name = 'reply'")"
done
