#!/bin/sh
# timeout: 300
# bzip2 (Debian's source, -O2 -fno-inline): every function's calls are those
# that callgrind sees of the same binary on the same input.
. "$(dirname "$0")/../real/lib"
need sqlite3 valgrind
bzip2=$(program bzip2-noinline) || { say "$bzip2"; exit 77; }
size=${FLICK_CALLGRIND_BYTES:-500000}
libraries "$size"
limit=3000
run valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
	"$bzip2" -c "$input"
[ "$status" -eq 0 ] || skip "callgrind cannot run this program"
cp "$out" "$work/plain"
awk -f "$top/tests/real/callgrind-calls" "$work/callgrind" |
	LC_ALL=C sort >"$work/all"

for how in "-a counts" "-a latency --all"; do
	label="$how:"
	table=$(echo "$how" | cut -d' ' -f2)
	record $how -- "$bzip2" -c "$input"
	[ "$status" -eq 0 ] || fail "$label status $status"
	cmp -s "$work/plain" "$out" || { : >"$out"; fail "$label output differs"; }
	lossless
	sql "select name, sum(calls) from $(rows "$table") where calls > 0
		group by name" | LC_ALL=C sort >"$work/got"
	# Of what callgrind saw, the program's own functions, called at all: those of libraries
	# that samples met have no probes.
	sql "select distinct name from functions where id in (select function from sites)" |
		LC_ALL=C sort >"$work/own"
	LC_ALL=C join "$work/own" "$work/all" >"$work/true"
	: >"$out"
	[ "$(wc -l <"$work/true")" -gt 30 ] || fail "$label too few functions"
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label callgrind <, flick >: $(head -n 10 "$work/diff")"
done
