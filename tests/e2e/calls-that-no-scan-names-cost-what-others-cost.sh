#!/bin/sh
# 12,000 profiling calls that are known by their first calls only, as sites or as
# none, or where no memory for glue is within reach: all are recorded, from the second
# on they cost what others cost, whichever was met last, and a library loaded
# afterwards is scanned as ever. Of what nobody wants a call costs next to nothing.
. "$(dirname "$0")/lib"
x86_target late-sites
need sqlite3 "$CC"
rounds=8
target late-sites -O2 $sites
cat >"$work/two.c" <<'END'
__attribute__((noipa)) int three(int x) { return x; }
__attribute__((noipa)) int two(int x) { return three(x) + 1; }
END
compile "$work/two.so" "$work/two.c" -O2 $sites -shared -fPIC
cp "$work/two.so" "$work/copy.so"

ticks() {	# of a call, of the dearer end of the table
	awk '$1 == "ticks" { print ($2 > $3 ? $2 : $3) }' "$out"
}

# A record that is kept costs some 50 ticks, each of both.
is_cheap() {	# MOST
	[ "$(ticks)" -lt "$1" ] || fail "$label $(ticks) ticks a call, $alone alone"
}

run "$work/late-sites" direct $rounds "$work/two.so"
alone=$(ticks)
for way in direct register crowded; do
	for how in "-a counts" "-a latency --all" "-a latency"; do
		label="$way, $how:"
		record $how -- "$work/late-sites" $way $rounds "$work/two.so" "$work/copy.so"
		succeeded
		ends_well
		case $how in
		*latency) continue ;;		# samples: each call is recorded while it is on
		esac
		lossless
		exact "$(echo "$how" | cut -d' ' -f2)"
		all=$(awk '$1 == "all" { print $2 }' "$out")
		[ "$(sql "select sum(calls) from $(rows "$(echo "$how" | cut -d' ' -f2)")
			where name like 'direct\_%' escape '\\' or
			name like 'through\_%' escape '\\'")" = "$all" ] ||
			fail "$label not all $all calls"
		is_cheap $((12 * alone + 600))
	done
	label="$way, unwanted:"
	record -P two -- "$work/late-sites" $way $rounds "$work/two.so" "$work/copy.so"
	succeeded
	is_cheap $((4 * alone + 200))
	tail -n 1 "$err" | grep -q '; probes: [24] active, 0 refused' || fail "$label not two"
	record -a counts -P two -- "$work/late-sites" $way 2 "$work/two.so" "$work/copy.so"
	exact
done

# What nobody wants of a library is off, with no memory for glue, too.
label="crowded, three:"
record -a counts -P three -- "$work/late-sites" crowded 2 "$work/two.so" "$work/copy.so"
[ "$(sql "select sum(calls) from $(rows counts) where name = 'three'")" = 7 ] ||
	fail "$label not 7 calls"
label="crowded, three, all sites kept:"
record --trace -P three -- "$work/late-sites" crowded 2 "$work/two.so" "$work/copy.so"
[ "$(sql "select count(distinct state), max(state) from $(rows sites) where name = 'two'
	and state <> 'gone'")" = "1 ready" ] || fail "$label two() is not off"
