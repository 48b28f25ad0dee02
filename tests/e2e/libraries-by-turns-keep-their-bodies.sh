#!/bin/sh
# Libraries that are loaded by turns at one place get their bodies back, each its own: what is
# made for them is made once, also where two have no build id. What replaces another one's file
# is told from it.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target by-turns -O2
for i in 1 2 3; do
	[ $i -eq 1 ] && id=--build-id || id=--build-id=none
	library by-turns-lib -O2 -DJUMPS -DTURN=$i -Wl,$id
	mv "$work/by-turns-lib.so" "$work/turn$i.so"
done

by_turns() {	# OPTION...
	record --wait "$@" -- "$work/by-turns" 300 "$work/turn1.so" "$work/turn2.so" "$work/turn3.so"
	succeeded
	conserved
}

once_each() {	# TABLE SUM: of each library in turn
	n=$(sql "select count(*) from modules where path like '%/turn_.so'")
	[ "$n" -le 6 ] || fail "$label $n modules for three libraries"
	n=$(sql "select group_concat(n) from (select sum(calls) n from $1 t
		join functions f on f.id = t.function where f.name = 'turn' group by f.module)")
	[ "$n" = "$2" ] || fail "$label calls of turn: $n"
}

label="counts:"
by_turns -a counts
once_each counts 100,100,100
label="--all:"
by_turns --all
once_each latency 100,100,100
label="one file:"
export PLACE="$work/place.so"
by_turns -a counts
[ "$(sql "select sum(calls) from counts_named where function = 'turn'")" = 300 ] ||
	fail "$label not all calls"
three_places() {
	n=$(sql "select count(*) from modules where path like '%/place.so'")
	[ "$n" -le 3 ] || fail "$label $n modules for three libraries"
}
three_places
label="one file, --all:"			# exits are in bodies, too
by_turns --all
three_places
