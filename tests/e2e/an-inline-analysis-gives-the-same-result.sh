#!/bin/sh
# bench/analysis/inline.c, the sequential twin that the benches compare with,
# gives flick's own result for each analysis; and rows that differ are refused.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
twin=$top/bench/analysis
compile "$work/inline.so" "$twin/inline.c" -O2 -std=gnu11 -D_GNU_SOURCE -fPIC -shared \
	-fvisibility=hidden -I"$top/src" -I"$top/include" \
	"$top"/src/analysis/*.c "$top"/src/base/*.c
# What the benches preload is a library without sites of a compiler's: none of the program's.
compile "$work/steady.so" "$top/bench/programs/steady.c" "$top/bench/bench.c" -O2 -std=gnu11 \
	-D_GNU_SOURCE -fPIC -shared -I"$top/bench" -lm
for p in nbody hull blackscholes; do
	compile "$work/$p" "$top/bench/programs/$p.c" -O2 $sites
done

inline_rows() {	# ANALYSIS PROGRAM ARGS...
	analysis=$1
	shift
	run env LD_PRELOAD="$work/inline.so" FLICK_SHM="$analysis:$work/inline.rows" "$@"
	succeeded
}

flick_rows() {	# ANALYSIS PROGRAM ARGS...
	analysis=$1
	shift
	LD_PRELOAD=$work/steady.so STEADY=${1##*/} record -a "$analysis" --all --provider cyg -- "$@"
	succeeded
	lossless
	sh "$twin/rows" "$data" "$analysis" >"$work/flick.rows"
}

for a in counts graph tree latency; do
	for p in "nbody 60 2" "hull 3000 2" "blackscholes 200 3"; do
		label="$a of $p:"
		inline_rows $a "$work"/$p
		flick_rows $a "$work"/$p
		why=$(sh "$twin/same" $a "$work/inline.rows" "$work/flick.rows") ||
			fail "$label $why"
		sed '$s/[0-9] \(.*\)$/9 \1/; $s/$/7/' "$work/flick.rows" >"$work/wrong.rows"
		sh "$twin/same" $a "$work/inline.rows" "$work/wrong.rows" >/dev/null &&
			fail "$label a difference is not seen"
	done
done
: >"$work/empty.rows"
sh "$twin/same" graph "$work/empty.rows" "$work/empty.rows" >/dev/null &&
	fail "no rows at all are the same"
exit 0
