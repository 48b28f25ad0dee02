#!/bin/sh
# Beside times of the program what was measured is kept: `report --raw` shows times with what
# probes took, of results of every call, of samples and of trees; `dump` and `replay`, too.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/tiny.c" <<'END'
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
__attribute__((noipa)) void caller(void)
{
	for (int i = 0; i < 1000; i++)
		leaf();
}
int main(void)
{
	for (int i = 0; i < 100; i++)
		caller();
	return 0;
}
END
compile "$work/tiny" "$work/tiny.c" -O2 $sites

# RESULT COLUMN NAME OPTION...: a cell of it, in ns.
shown() {
	result=$1 column=$2 name=$3
	shift 3
	run "$FLICK" report -a $result --format=csv "$@" "$data"
	succeeded
	awk -F, -v column=$column -v name=$name '
		NR == 1 { for (i = 1; i <= NF; i++) { if ($i == column) c = i; if ($i == "function") f = i } }
		$f == name { print $c; exit }' "$out"
}
# A call of `caller` has a thousand pairs of probes in it, of `leaf` a part of one.
more() {	# RESULT COLUMN NAME NS
	was=$(shown $1 $2 $3) is=$(shown $1 $2 $3 --raw)
	awk -v was="$was" -v is="$is" -v by=$4 'BEGIN { exit !(was != "" && is >= was + by) }' ||
		fail "$label $2 of $3 in $1: $is as measured, $was without probes"
}

label="every call:"
record --trace -a latency,graph,tree -- "$work/tiny"
succeeded
for result in latency graph tree; do
	more $result total_ns caller 500000
done
more graph self_ns caller 300000
more latency avg_ns caller 5000
more latency sum_ns main 500000
[ "$(shown latency p50_ns caller)" = "$(shown latency p50_ns caller --raw)" ] ||
	fail "$label quantiles are kept as measured"
run "$FLICK" report --raw "$data"
succeeded
grep -q 'with what probes took' "$out" || fail "$label nothing says so"
! grep -q raw_ "$out" || fail "$label columns twice"

# It is what a recording that takes nothing out has: `total` of main, by the clock.
label="the clock:"
raw=$(sql "select raw_total_ns from $(rows latency) where name = 'main'")
run "$FLICK" dump --format=chrome --raw "$data"
succeeded
dur=$(sql "select json_extract(value, '\$.dur') * 1000
	from json_each(readfile('$out'), '\$.traceEvents')
	where json_extract(value, '\$.name') = 'main' and json_extract(value, '\$.ph') = 'X'")
awk -v a="$raw" -v b="$dur" 'BEGIN { d = a - b; exit d * d > 4 }' ||
	fail "$label main took $raw ns, in its slice $dur"
sum=$(sql "select sum(raw_self_ns) from $(rows latency)")
awk -v a="$raw" -v b="$sum" 'BEGIN { exit b < a * 0.999 || b > a * 1.001 }' ||
	fail "$label self times add up to $sum, not $raw"
run "$FLICK" dump --raw "$data"
succeeded
folded=$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$out")
[ "$folded" = "$(sql 'select sum(raw_self_ns) from tree')" ] || fail "$label folded: $folded"
last() {
	run "$FLICK" replay --no-pager --tid "$(sql 'select tid from threads')" "$@" "$data"
	succeeded
	tail -1 "$out" | awk '{ print $1 * ($2 == "us" ? 1e3 : $2 == "ms" ? 1e6 : $2 == "s" ? 1e9 : 1) }'
}
awk -v was="$(last)" -v is="$(last --raw)" 'BEGIN { exit !(is >= was + 500000) }' ||
	fail "$label replay: main takes $(last --raw) ns, without probes $(last)"

label="samples:"
record -- "$work/tiny"
succeeded
emulated times || more latency avg_ns caller 3
[ "$(shown latency sum_ns caller)" = "$(shown latency sum_ns caller --raw)" ] ||
	fail "$label calls that were not timed had no probes"

label="no times:"
record -a counts -- "$work/tiny"
succeeded
run "$FLICK" report --raw "$data"
succeeded
grep -q 'counts has no times as they were measured' "$err" || fail "$label nothing says so"
