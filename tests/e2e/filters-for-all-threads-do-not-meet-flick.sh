#!/bin/sh
# A program forbids all of its threads nearly all system calls, in mid-run: by a
# filter that kills, one that denies, and the strict mode. It goes on as without
# flick, and is sampled to its end. Where time is read strict mode ends it: it takes
# the clock away; `flick doctor` says so.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target apart -O2 $sites

calm() {	# MODE OPTIONS
	label="$1, $2:"
	record --exit-code $2 -- "$work/apart" "$1"
	[ "$status" -ne 77 ] || skip "no seccomp here"
	succeeded
	cmp -s "$out" "$work/plain" || fail "$label $(diff "$work/plain" "$out")"
	conserved
}

for mode in killed denied strict; do
	run "$work/apart" $mode
	[ "$status" -ne 77 ] || skip "no seccomp here"
	cp "$out" "$work/plain"
	calm $mode "-a counts"
	[ $mode = strict ] && continue
	calm $mode ""
	[ "$(sql "select max(calls) from $(rows latency) where name = 'leaf'")" -gt 15 ] ||
		fail "$label sampled in the first epoch alone"
	calm $mode "-a latency --all"
	calm $mode "--follow"
done
run "$FLICK" doctor
grep -q '^seccomp .*strict' "$out" || fail "doctor does not tell of the strict mode"
