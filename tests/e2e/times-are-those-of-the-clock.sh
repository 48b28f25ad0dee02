#!/bin/sh
# A call lasts as long as the target's own clock says, to 3 %, in every table that
# holds times and in `flick latency`.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target lasting -O2 $sites

# Lines `FUNCTION NS` of $work/said, of those that the target has timed.
right() {
	awk '
		FILENAME == ARGV[1] { if ($1 == "lasted") due[$2] = $3; next }
		$1 in due && ($2 < due[$1] || $2 > 1.03 * due[$1] + 1e6) {
			print $1 ": " $2 " ns, not " due[$1]
		}
		{ seen += $1 in due }
		END { if (seen != 2) print seen + 0 " of 2 functions" }' "$out" "$work/said" \
		>"$work/wrong"
	[ ! -s "$work/wrong" ] || fail "$label $(cat "$work/wrong")"
}

label="record:"
record -a latency,graph,tree --all -- "$work/lasting"
succeeded
exact graph
lossless
for table in latency graph tree; do
	label="$table:"
	sql "select name, sum(total_ns) from $(rows $table) group by name" >"$work/said"
	right
done

label="flick latency:"
run "$FLICK" latency spin doze -- "$work/lasting"
succeeded
awk '/^Function =/ { f = $3 } /^avg =/ { print f, $6 }' "$out" >"$work/said"
right
# Each call lasted 10 ms, or longer on a busy machine.
short=$(awk '$2 == "->" && $3 < 10000000 && $5' "$out")
[ -z "$short" ] || fail "$label $short"
n=$(awk '$1 < 10000000 && $3 > 10000000 && $5' "$out" | wc -l)
[ "$n" -eq 2 ] || fail "$label $n of 2 functions have calls of 10 ms"
