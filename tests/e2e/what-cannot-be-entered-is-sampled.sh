#!/bin/sh
# A program that nothing can be loaded into, as it is linked statically or for musl: by default
# samples tell where its time goes, from its first instruction on, and who called; it is run
# as alone, without what flick sets for others. Who asks for more, or where the system gives
# no samples, is told so in a line before the program runs. So is one that runs already.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
no_emulator perf_event_open
cat >"$work/closed.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
__attribute__((noinline)) static void spin(long n)
{
	while (n--)
		__asm__ volatile("");
}
__attribute__((noinline)) void thrice(void)
{
	spin(600000000);
	__asm__ volatile("");
}
__attribute__((noinline)) void once(void)
{
	spin(200000000);
	__asm__ volatile("");
}
static void *beside(void *unused)
{
	once();
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 1 && !fork())
		execv(argv[1], argv + 1);

	for (char **e = environ; *e; e++)
		if (!strncmp(*e, "LD_PRELOAD=", 11) || !strncmp(*e, "FLICK_SHM=", 10))
			puts(*e);
	pthread_create(&t, NULL, beside, NULL);
	thrice();
	pthread_join(t, NULL);
	puts("done");
	return 7;
}
END

# A part of all self times, percent.
part() {	# FUNCTION COLUMN
	sql "select coalesce(100 * sum(case when name = '$1' then $2 end) / sum(self_ns), 0)
		from $(rows latency)"
}

is_sampled() {
	[ "$status" -eq 7 ] || fail "$label status $status"
	[ "$(cat "$out")" = done ] || fail "$label it printed something else"
	[ "$(grep -c 'samples alone tell' "$err")" -eq 1 ] || fail "$label it is not said"
	[ "$(part spin self_ns)" -ge 95 ] || fail "$label spin has $(part spin self_ns) %"
	[ "$(sql "select sum(calls is not null) from latency")" -eq 0 ] || fail "$label calls"
}

compile "$work/closed" "$work/closed.c" -O1 -static-pie -pthread
label="static:"
run "$FLICK" record -o "$data" --exit-code -- "$work/closed"
is_sampled
for of in "thrice 65 85" "once 15 35"; do
	set -- $of
	[ "$(part $1 total_ns)" -ge $2 ] && [ "$(part $1 total_ns)" -le $3 ] ||
		fail "$label $1 has $(part $1 total_ns) %"
done
run "$FLICK" report --callers spin "$data"
succeeded
grep -q thrice "$out" && grep -q once "$out" || fail "$label the callers"

for how in "-a counts" --all "-P thrice" "--trigger thrice>5ms --last 2s"; do
	label="static, $how:"
	record $how -- "$work/closed"
	one_line_error 1 'linked statically'
	! grep -q done "$out" || fail "$label it ran"
done

# In a tree what it starts may have probes.
compile "$work/open" "$work/closed.c" -O1 -pthread
tree() {	# PROGRAM...
	run "$FLICK" record --follow -o "$data" --exit-code -- "$@"
	[ "$status" -eq 7 ] || fail "$label status $status"
	[ "$(grep -c '^done$' "$out")" -eq $# ] || fail "$label it printed something else"
	[ "$(part spin self_ns)" -ge 95 ] || fail "$label spin has $(part spin self_ns) %"
}
label="static, in a tree:"
tree "$work/closed" "$work/closed"
grep -q '^flick: neither .*closed nor what it started .*; samples alone tell' "$err" ||
	fail "$label it is not said"
[ "$(sql "select group_concat(runs) from programs where program != '[unknown]'")" = 2 ] ||
	fail "$label $(sql "select * from programs")"
label="static, what it starts is not:"
tree "$work/closed" "$work/open"
! grep -q 'samples alone tell' "$err" || fail "$label what it starts has probes"
[ "$(sql "select sum(calls) from $(rows latency) where name = 'thrice'")" = 1 ] ||
	fail "$label calls of what it starts are not counted"
n=$(sql "select sum(self_ns) / 1e6 from latency")
user=$(sql "select value / 1e6 from session where key = 'user_ns'")
awk "BEGIN { exit !($n > 0.9 * $user) }" || fail "$label $n of $user ms have samples"

label="static, it runs already:"
"$work/closed" >"$work/own" &
run "$FLICK" record -p $! -o "$data"
succeeded
[ "$(part spin self_ns)" -ge 95 ] || fail "$label spin has $(part spin self_ns) %"
wait $!
[ $? -eq 7 ] && [ "$(cat "$work/own")" = done ] || fail "$label it noticed"

label="static, for a while:"
"$work/closed" >"$work/own" &
run "$FLICK" record -p $! -d 0.1 -o "$data"
succeeded
kill -0 $! || fail "$label it was waited for"
wait $!
[ $? -eq 7 ] || fail "$label it noticed"

label="static, for a moment:"
echo 'int main(void) { return 0; }' >"$work/moment.c"
compile "$work/moment" "$work/moment.c" -O1 -static
record -- "$work/moment"
succeeded
run "$FLICK" report "$data"
grep -q '^no function had a probe, and samples .*too few' "$out" || fail "$label $(cat "$out")"

if command -v musl-gcc >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	label="musl:"
	musl-gcc -O1 -o "$work/musl" "$work/closed.c" -pthread || fail "musl-gcc"
	run "$FLICK" record -o "$data" --exit-code -- "$work/musl"
	is_sampled
	record --all -- "$work/musl"
	one_line_error 1 'C library musl'
	label="musl, in a tree:"
	cp "$work/musl" "$work/child"
	run "$FLICK" record --follow -o "$data" -- sh -c "'$work/child'; echo \$?"
	[ "$(tail -n 2 "$out" | tr '\n' ' ')" = "done 7 " ] || fail "$label it noticed"
fi

label="no samples:"
target deny -O1
"$work/deny" perf true || skip "no filters"
for how in "" --follow; do
	run "$work/deny" perf "$FLICK" record $how -o "$data" -- "$work/closed"
	one_line_error 1 'gives no samples'
done
! grep -q done "$out" || fail "$label it ran"
