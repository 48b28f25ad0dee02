#!/bin/sh
# A library whose file is written over while it is unloaded, in its place and with the build id
# that it had, has the functions that it has by then, each time.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target by-turns -O2
for i in 1 2; do
	[ $i = 1 ] && has= || has=-DOTHER
	# shellcheck disable=SC2086
	library by-turns-lib -O2 $has -DTURN=$i -Wl,--build-id=0x12345678
	mv "$work/by-turns-lib.so" "$work/turn$i.so"
done
cp "$work/turn1.so" "$work/place.so"
export COPY="$work/place.so"
record --wait -a counts -- "$work/by-turns" 20 "$work/turn1.so" "$work/turn2.so"
succeeded
conserved
# What was written over has no names any more.
n=$(sql "select sum(calls) from counts_named where function = 'turn' or function like '%!0x%'")
[ "$n" = 30 ] || fail "$n calls of 20 of turn and 10 of other"
