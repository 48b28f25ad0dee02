#!/bin/sh
# Where the few calls that were timed were not like the rest, their average times all
# calls may be more than the time there was: that is no total. Others keep theirs. Threads
# that came and went were there as long as they lived, and those that never called a
# function were not there for its calls.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/first.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) static void first_are_long(int us)
{
	if (us)
		usleep(us);
}
__attribute__((noinline)) static void all_are_alike(void)
{
	usleep(1000);
}
static void *sleep_beside(void *unused)
{
	usleep(800000);
	return unused;
}
static void *live(void *unused)
{
	all_are_alike();
	return unused;
}
int main(int argc, char **argv)
{
	int short_ones = argc > 2 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t, beside[8];
	int n = argc > 3 ? atoi(argv[3]) : 0;

	for (int i = 0; i < n; i++)
		pthread_create(&beside[i], NULL, sleep_beside, NULL);
	for (int i = 0; i < 10; i++)
		first_are_long(3000);
	for (int i = 0; i < short_ones; i++)
		first_are_long(0);
	for (int i = 0; i < 10; i++)
		all_are_alike();
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, live, NULL) == 0)
			pthread_join(t, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(beside[i], NULL);
	if (threads)
		usleep(1000000);
	return 0;
}
END
compile "$work/first" "$work/first.c" -O2 -pthread $sites
record -- "$work/first" 60000 100
succeeded
total() {
	sql "select coalesce(total_ns, 'none') from $(rows latency) where name = '$1'"
}
[ "$(total first_are_long)" = none ] || fail "a total of $(total first_are_long) ns"
record -- "$work/first" 1000000 0
succeeded
[ "$(total first_are_long)" = none ] || fail "a total of $(total first_are_long) ns"
[ "$(total all_are_alike)" -ge 10000000 ] || fail "$(total all_are_alike) ns of ten times 1 ms"
record -- "$work/first" 6000 0 8
succeeded
[ "$(total first_are_long)" = none ] ||
	fail "a total of $(total first_are_long) ns, of one thread of 0.8 s"
run "$FLICK" report "$data"
succeeded
grep -Eq '^ +- .* first_are_long$' "$out" || fail "the report shows one"

# A thread that came late was not there before.
cat >"$work/late.c" <<'END'
#include <pthread.h>
#include <unistd.h>
__attribute__((noinline)) static void first_are_long(int us)
{
	if (us)
		usleep(us);
}
static void *live(void *unused)
{
	for (int i = 0; i < 400; i++)
		first_are_long(i < 10 ? 3000 : 0);
	return unused;
}
int main(void)
{
	pthread_t t;

	usleep(600000);
	pthread_create(&t, NULL, live, NULL);
	pthread_join(t, NULL);
	return 0;
}
END
compile "$work/late" "$work/late.c" -O2 -pthread $sites
target deny -O2
run "$work/deny" perf "$FLICK" record -o "$data" -- "$work/late"
succeeded
told=$(total first_are_long)
[ "$told" = none ] || [ "$told" -lt 100000000 ] ||
	fail "a total of $told ns, of a thread of some 40 ms that no samples tell of"

# In a process tree: of four processes of that program, not of another one beside them.
cp "$work/first" "$work/other"
record --follow -- sh -c "$work/other 0 0 8 &
	for i in 1 2 3 4; do $work/first 600 0 0; done; wait"
succeeded
told=$(sql "select coalesce(max(total_ns), 'none') from latency t
	join functions f on f.id = t.function join modules m on m.id = f.module
	where f.name = 'first_are_long' and m.path like '%/first'")
[ "$told" = none ] || [ "$told" -lt 700000000 ] || fail "a total of $told ns, of four of 0.1 s"

# Its agent works for longer than the program runs, and that is no time that there was. Nor is an
# average shown by which the calls would have taken longer. With samples, and without.
for way in "" "$work/deny perf"; do
	[ -x /usr/bin/python3 ] || continue
	label="a short run of a large program, $way:"
	rm -rf "$data"
	run $way "$FLICK" record -o "$data" -- /usr/bin/python3 -S -c 'x = {}
for i in range(300000): x[i] = str(i)'
	succeeded
	whole=$(sql "select max(total_ns) from $(rows latency) where calls = 1")
	bad=$(sql "select name, calls, total_ns, avg_ns from $(rows latency) where
		max(coalesce(total_ns, 0), iif(coalesce(sum_ns, total_ns) is null,
		coalesce(avg_ns * calls, 0), 0)) > 1.25 * $whole")
	[ -z "$bad" ] || fail "$label the whole took $whole ns: $bad"
done
