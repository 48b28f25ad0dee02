#!/bin/sh
# timeout: 180
# Paths are counted exactly where there are more than cells for them, by threads that have a slot
# one after the other, by handlers and by fork's children in these; and of who is killed.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"

counted() {	# LABEL STATUS ARGUMENTS...
	label=$1 expected=$2
	shift 2
	"$FLICK" record -a paths --follow --exit-code -o "$data" "$work/path-cells" "$@" >"$out" 2>"$err"
	status=$?
	[ "$status" -eq "$expected" ] || fail "$label: $status"
	"$FLICK" report --format=csv -f function,calls,path "$data" | tr -d '"\r' >"$work/csv"
	for f in many few handled forked; do
		awk -F, -v f=$f '$1 == f { n += $2 } END { print "total", f, n + 0 }' "$work/csv"
	done >"$work/told"
	grep '^total' "$out" >"$work/gone"
	diff "$work/gone" "$work/told" >"$work/diff" ||
		fail "$label: gone <, told >: $(cat "$work/diff")"
	each=$(sed -n 's/^each //p' "$out")
	awk -F, -v each="$each" '$1 == "many" { n++; bad += $2 != each }
		END { exit !(n == 131072 && !bad) }' "$work/csv" ||
		fail "$label: not each path of many() $each times"
	grep -q ' 0 lost' "$err" || fail "$label: some are lost"
}
target path-cells -O1 -fno-toplevel-reorder -pthread
counted "to its end" 0
counted "killed" 137 killed
exit 0
