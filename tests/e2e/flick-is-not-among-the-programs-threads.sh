#!/bin/sh
# What waits for flick is no thread of the program's and no child: it counts as many
# of either as without, may unshare() and setns() what wants a single thread, and a
# new image finds nobody in the old one. With --rate there is one thread more, and
# `flick doctor` says so.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC"
target apart -O2 $sites
cp "$work/apart" "$work/another"

same() {	# MODE... : in each way of recording
	run "$work/apart" "$@"
	cp "$out" "$work/plain"
	for how in "" "-a counts" "-a latency --all" "--follow"; do
		label="$* $how:"
		record --exit-code $how -- "$work/apart" "$@"
		succeeded
		cmp -s "$out" "$work/plain" || fail "$label $(diff "$work/plain" "$out")"
	done
}
same see
grep -q '^threads 1$' "$out" || fail "a plain run has more than one thread"
same namespaces
same exec "$work/another"

label="--rate:"
record --rate=50% -- "$work/apart" see
succeeded
grep -q '^threads 2$' "$out" || fail "$label there is no thread to tell of"
run "$FLICK" doctor
grep -q '^watch .*outside .*--rate' "$out" || fail "$label doctor does not tell"
