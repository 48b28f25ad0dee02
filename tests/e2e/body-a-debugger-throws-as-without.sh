#!/bin/sh
# A stripped program of twenty thousand functions that lives by exceptions, gdb, says what it
# says without flick, while all of them are in second bodies.
# timeout: 200
. "$(dirname "$0")/lib"
no_emulator programs
need sqlite3 gdb
export TRUTH_THREADS= FLICK_BODIES=1

debug() {	# COMMAND...: gdb, with mistakes that it throws and catches
	"$@" -nx -batch -ex 'print nosuch' -ex 'print 1+1' -ex 'info line nothing' \
		-ex 'list nofile.c:1' -ex 'break nowhere_at_all' -ex 'print $_siginfo' \
		-ex 'python gdb.parse_and_eval("zzz")' -ex 'x/2i main' "$work/threads"
}

said() {
	cat "$out"
	grep -vE '^(flick|cost|events):' "$err"
}

target threads -O2
debug run gdb
said >"$work/alone"
grep -q nosuch "$work/alone" || fail "gdb throws nothing"
for how in "-a counts" ""; do
	label="$how:"
	debug record $how -- gdb
	succeeded
	said | cmp -s "$work/alone" - || fail "$label gdb says something else"
	conserved
	n=$(sql "select count(*) from $(rows latency) where calls" 2>/dev/null || say 0)
	[ "$how" ] || [ "$n" -gt 1000 ] || fail "$label only $n functions were called"
done
