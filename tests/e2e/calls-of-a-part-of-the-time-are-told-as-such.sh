#!/bin/sh
# A function that `flick ctl` switches off, or on, while the program runs: its samples are of all of
# the time, its calls of a part. The average stays that of a call, and the report says it. So
# with a session beside the recording. What stays as it was has no mark.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
cat >"$work/three.c" <<'END'
#include <stdio.h>
#include <time.h>
#define PART __attribute__((noipa)) void
enum { TURNS = 2000 };
PART first(void) { for (volatile int i = 0; i < TURNS; i++) { } }
PART second(void) { for (volatile int i = 0; i < TURNS; i++) { } }
PART third(void) { for (volatile int i = 0; i < TURNS; i++) { } }
__attribute__((no_instrument_function)) int main(void)
{
	printf("ready\n");
	fflush(stdout);
	while (clock() < 2 * CLOCKS_PER_SEC)
		for (int i = 0; i < 100; i++) {
			first();
			second();
			third();
		}
	return 0;
}
END

ctl() {
	"$FLICK" ctl -p "$target" "$@" >"$work/said" 2>&1 || fail "$label ctl $*: $(cat "$work/said")"
}

begin() {	# OPTION...
	rm -rf "$data" "$work/from"
	mkfifo "$work/from"
	"$FLICK" record -o "$data" "$@" -- "$work/three" >"$work/from" 2>"$err" &
	recorder=$!
	exec 9<"$work/from"
	read -r ready <&9
	target=$(program_of $recorder three) || fail "$label no target"
	until "$FLICK" ctl -p "$target" status >"$work/said" 2>&1 && ! grep -q 'is on yet' "$work/said"; do
		kill -0 $recorder 2>/dev/null || fail "$label $(cat "$err")"
		sleep 0.01
	done
}

# half a second of the two
meanwhile() {
	sleep 0.5
}

finish() {
	wait $recorder || fail "$label $(cat "$err")"
	exec 9<&-
	run "$FLICK" report "$data"
	succeeded
	cp "$out" "$work/report"
}

tell() {
	sql "select $1 from $(rows latency) where name = '$2'"
}

# It has as many samples as `second`, and fewer calls; a call takes as long.
is_part() {	# FUNCTION
	[ "$(tell switched "$1")" = 1 ] || fail "$label $1 is not told as switched"
	[ "$(tell switched second)" = 0 ] || fail "$label second was not switched"
	awk -v calls="$(tell calls "$1")" -v all="$(tell calls second)" -v avg="$(tell avg_ns "$1")" \
		-v like="$(tell avg_ns second)" -v total="$(tell total_ns "$1")" \
		-v self="$(tell self_ns "$1")" 'BEGIN {
			print calls, all, avg, like, total, self
			exit !(calls > 0 && calls < all && avg > like * 0.4 &&
				avg < like * 2.5 && total >= self && self > 2e8) }' >"$out" ||
		fail "$label calls of it and second, averages, total and self: $(cat "$out")"
	grep -q " >~*$(tell calls "$1") .* $1\$" "$work/report" || fail "$label $1 has no mark"
	! grep -q " >.* second\$" "$work/report" || fail "$label second has a mark"
	grep -q '^ *>  *flick ctl switched its probes' "$work/report" || fail "$label it is not said"
}

for how in "$sites" ""; do
	# shellcheck disable=SC2086
	compile "$work/three" "$work/three.c" -O1 $how
	label="off, $how:"
	begin
	meanwhile
	ctl stage off first
	ctl commit
	finish
	is_part first
	label="on, $how:"
	begin -P second -P first
	meanwhile
	ctl stage on third
	ctl commit
	finish
	is_part third
done
label="a session:"
begin -P second
"$FLICK" ctl -p "$target" session new mine third >"$work/said" 2>&1 9<&- &
owner=$!
until grep -q third "$work/said" || "$FLICK" ctl -p "$target" session list | grep -q '^1 beside'; do
	sleep 0.01
done
meanwhile
kill -INT $owner
wait $owner
finish
is_part third
label="its exits alone, and nothing:"
begin
ctl stage on 'second count'
ctl commit
ctl stage off first
ctl abort
finish
[ "$(sql "select sum(switched) from latency")" = 0 ] || fail "$label it is told all the same"
! grep -q 'flick ctl' "$work/report" || fail "$label it is said all the same"
