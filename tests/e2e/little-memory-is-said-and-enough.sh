#!/bin/sh
# An address space that is limited is shared with the target: less is taken of it,
# which is said in a line, and all calls are recorded. Threads that get no slot
# lose all of theirs, which is told once, everywhere alike. Where the target
# cannot even map that, nothing runs, and that is said.
. "$(dirname "$0")/lib"
no_emulator memory
need sqlite3 "$CC"
target threads -O2 $sites

check() {
	label="$1:"
	record_below "-v 1000000" $1 -- "$work/threads" 3 20000
	accounted "$2"
	one_line_error 0 'ulimit .*threads at a time'
}
exhaustively check

for readers in 1 2; do
	label="more threads than slots, $readers:"
	rm -rf "$data"
	(ulimit -v 300000; MALLOC_ARENA_MAX=1 TRUTH_THREADS=1 \
		exec timeout 60 "$FLICK" record --all --readers $readers -o "$data" -- \
		"$work/threads" 200 30 together) >"$out" 2>"$err" </dev/null
	status=$?
	succeeded 3
	conserved
	sql "select sum(lost_reader + lost_slot + lost_room + lost_site), sum(produced) from threads
		union all select sum(n), (select value from session where key = 'produced')
			from losses
		union all select (select value from session where key = 'lost'),
			sum(produced) from threads" >"$work/sums"
	[ "$(sort -u "$work/sums" | wc -l)" = 1 ] || fail "$label" $(cat "$work/sums")
	[ "$(cut -d' ' -f2 "$work/sums" | head -n 1)" = \
		"$(awk '$1 == "thread" { n += 2 * $3 - $4 } END { print n }' "$out")" ] ||
		fail "$label produced" $(cat "$work/sums")
	[ "$(sql "select produced > 0 from threads where name = '(no slot)'")" = 1 ] ||
		fail "$label all had a slot"
	grep -q "^flick: $(cut -d' ' -f1 "$work/sums" | head -n 1) events lost" "$err" ||
		fail "$label other losses are told than" $(cat "$work/sums")
done

for use in 1 2; do
	label="mmap $use fails:"
	FLICK_FAULT="mmap:$use" record -a counts -- "$work/threads" 1 10
	grep -q '^count' "$out" && fail "$label it ran"
	sed -i '/^flick: FLICK_FAULT/d' "$err"
	one_line_error 1 'cannot record .*memory'
done

# More threads than there are slots: what they did is lost, and that is said.
target many-alive -O2 $sites
for use in "" --all; do
	label="many threads ${use:-sampled}:"
	record_below "-v 300000" $use -- "$work/many-alive" 200
	succeeded 3
	conserved
	[ "$(sql "select sum(lost_slot) from threads")" -gt 0 ] || fail "$label nothing lost"
done
