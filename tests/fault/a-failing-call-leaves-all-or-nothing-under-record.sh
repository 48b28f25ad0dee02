#!/bin/sh
# flick record; each system call that flick makes in the target fails once. The
# program's output is as without flick, or it has not begun and one line says
# why; what is recorded is exact, or its probes are refused.
# timeout: 600
. "$(dirname "$0")/sweep"
need sqlite3 "$CC"
TRUTH_THREADS=
library text-lib -O1 $sites
target faulted -O1 $sites
run "$work/faulted" "$work/text-lib.so"
[ "$status" -eq 11 ] || fail "without flick: status $status"
cp "$out" "$work/plain"

by_mprotect() {
	TRUTH_THREADS= record --text=mprotect -a counts -- "$work/faulted" "$work/text-lib.so"
}

by_alias() {
	TRUTH_THREADS= record --text=alias -a counts -- "$work/faulted" "$work/text-lib.so"
}

# The program ran: as it would have, and was recorded.
judge_run() {
	succeeded 11
	cmp -s "$out" "$work/plain" || fail "$label other output"
	lossless
	if grep -q ', 0 refused$' "$work/said"; then
		# Without its path the program's functions have no names.
		[ $call = readlink ] || exact
		became=complete
	else
		became=part
	fi
}

judge() {
	if grep -q '^events: ' "$work/said"; then
		judge_run
		return
	fi
	[ "$status" -eq 1 ] || fail "$label status $status"
	[ "$(grep -c '^flick: ' "$work/said")" -eq 1 ] || fail "$label not one line"
	[ ! -s "$out" ] || cmp -s "$out" "$work/plain" || fail "$label other output"
	became=nothing
}

sweep by_mprotect $calls
sweep by_alias mmap write memfd_create ftruncate
verdict
