#!/bin/sh
# commit.sh - how long a change of what is recorded takes, in the program: commit.c, whose
# threads call all that changes.
#
#	commit.10000    10,000 probes off, or on again
#	commit.one      one
set -eu
. "$(dirname "$0")/lib.sh"

RUNS=50
mkfifo "$scratch/to" "$scratch/from"
"$build/flick" record -a counts -o "$scratch/flick.data" -- "$out/commit" \
	<"$scratch/to" >"$scratch/from" 2>"$scratch/log" &
recorder=$!
exec 8>"$scratch/to" 9<"$scratch/from"
read -r ready <&9
target=$(pgrep -P $recorder -x commit)

# The answer is: generation N: N sites switched in N us
change() {	# NAME PATTERN SITES
	for to in off on; do
		took=$(echo "stage $to $2" | "$build/flick" ctl -p "$target" - 2>&1 |
			sed -n "s/.*: $3 sites* switched in \([0-9]*\) us\$/\1/p")
		[ -z "$took" ] || add "$1" "$took"
	done
}

change warm '[ab]_*' 10000
run=0
while [ $run -lt $RUNS ]; do
	change commit.10000 '[ab]_*' 10000
	change commit.one a_00042 1
	run=$((run + 1))
done
exec 8>&-
wait $recorder || true
report commit.10000 us
report commit.one us
