#!/bin/sh
# One more recording into the same directory: the one before stays as DIR.old.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O2 $sites

calls() {	# DIRECTORY
	run "$FLICK" report --format=csv "$1"
	succeeded
	grep -c , "$out"
}

record -a counts -- "$work/recursion"
succeeded
all=$(calls "$data")
for dir in "$data" "$data/"; do
	run "$FLICK" record -a counts -P fib -o "$dir" -- "$work/recursion"
	succeeded
	[ "$(calls "$data")" -eq 2 ] || fail "$dir: not the new results"
	[ "$(calls "$data.old")" -eq "$all" ] || fail "$dir: the old ones are gone"
	all=2
done
label="a recording that fails:"
run "$FLICK" record -a counts -P nonsense -o "$data" -- "$work/recursion"
[ "$status" -eq 1 ] || fail "$label status $status"
[ "$(calls "$data")" -eq 2 ] || fail "$label it took the results along"
