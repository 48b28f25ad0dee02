#!/bin/sh
# 12,000 profiling calls that are known by their first calls only, as sites or as
# none: all are recorded, from the second on they cost what others cost, whichever
# was met last, and a library loaded afterwards is scanned as ever.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
rounds=8
target late-sites -O2 $sites
cat >"$work/two.c" <<'END'
__attribute__((noipa)) int two(int x) { return x + 1; }
END
compile "$work/two.so" "$work/two.c" -O2 $sites -shared -fPIC

ticks() {	# of a call, of the dearer end of the table
	awk '$1 == "ticks" { print ($2 > $3 ? $2 : $3) }' "$out"
}

run "$work/late-sites" direct $rounds "$work/two.so"
alone=$(ticks)
for way in direct register; do
	for how in "-a counts" "-a latency --all" "-a latency"; do
		label="$way, $how:"
		record $how -- "$work/late-sites" $way $rounds "$work/two.so"
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
		# A record that is kept costs some 50 ticks, each of both.
		[ "$(ticks)" -lt $((12 * alone + 600)) ] ||
			fail "$label $(ticks) ticks a call, $alone alone"
	done
done
