#!/bin/sh
# An agent of the test build ends its process where it waits for a lock while it holds
# one of the same rank or a higher one (os/lock.c). It runs what brings all of them
# together: libraries that come and go, calls that no scan names, forks of a family,
# windows, samples, text in two mappings, a reader that dies.
. "$(dirname "$0")/lib"
x86_target orphan
need sqlite3 "$CC"
FLICK_LIB=${BUILD:-$top/build}/tests/libflick-kill-at.so
[ -f "$FLICK_LIB" ] || skip "no $FLICK_LIB; make check makes it"
export FLICK_LIB
target dlopen -O2 $sites
library dlopen-lib -O2 $sites
target own-malloc -O2 $sites
target family -O2 $sites
library family-lib -O2 $sites
target busy-fork -O2 $sites
target orphan -O2 $sites

lasts() {	# OPTIONS -- PROGRAM ...
	label="$*:"
	record --exit-code "$@"
	succeeded
	conserved
}

for how in "-a counts" "-K 1 --epoch 1" "-a graph --rate=30%" "-a counts --text=alias"; do
	lasts $how -- "$work/dlopen" "$work/dlopen-lib.so" 10
	lasts $how -- "$work/own-malloc" "$work/dlopen-lib.so" 20
	lasts $how -- "$work/busy-fork"
done
for case in busy load handler nested; do
	lasts -f -a counts -- "$work/family" $case 8
done
for how in "-a counts" "-f"; do
	label="orphan, $how:"
	"$FLICK" record $how -o "$data" -- "$work/orphan" kill >"$out" 2>"$err" &
	wait $!
	for i in $(seq 100); do
		grep -q '^done' "$out" && break
		sleep 0.1
	done
	grep -q '^done' "$out" || fail "$label it does not end"
	rm -rf "$data"
done
