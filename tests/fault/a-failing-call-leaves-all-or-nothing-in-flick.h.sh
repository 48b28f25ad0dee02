#!/bin/sh
# A program opens flick.h, switches, loads a library, closes; each system call
# that flick makes meanwhile fails once. The target itself compares text, results
# and descriptors (targets/fault.c); here are counted mappings.
# timeout: 600
. "$(dirname "$0")/sweep"
need "$CC"
libraries=
library text-lib -O1 $sites
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
target fault -O1 $sites -I"$top/include"
glue=8		# mappings more, of a module that was found in two steps

mappings() {
	sed -n 's/^mappings \([0-9]*\), 0 writable and executable$/\1/p' "$out"
}

by_mprotect() {
	FLICK_TEXT=mprotect run "$work/fault" "$work/text-lib.so"
}

by_alias() {
	FLICK_TEXT=alias run "$work/fault" "$work/text-lib.so"
}

judge() {
	succeeded
	[ ! -s "$work/said" ] || fail "$label it says $(head -n 1 "$work/said")"
	n_mappings=$(mappings)
	[ "${n_mappings:-9999}" -le $((usual + glue)) ] ||
		fail "$label leaked, $n_mappings mappings, not $usual"
	if grep -q '^refused: ' "$out"; then
		became=nothing
	elif grep -q ' probes, 0 refused$' "$out"; then
		became=complete
	else
		became=part
	fi
}

for try in by_mprotect by_alias; do
	label="$try:"
	$try
	succeeded
	usual=$(mappings)
	[ -n "$usual" ] || fail "$label no count of mappings"
	sweep $try $calls
done
verdict
