#!/bin/sh
# timeout: 180
# Calls that an exception or longjmp() leaves, and coroutines that take turns in two threads, have others'
# paths as they were gone: of their own, what is not known to be whole is told as dropped.
. "$(dirname "$0")/lib"
need "$CC" "$(cxx)"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"

told_as_gone() {	# FLAGS...
	label="$CC $*:"
	target path-leaves "$@"
	"$work/path-leaves" >"$work/alone" || fail "$label alone: it does not run"
	"$FLICK" record -a paths -o "$data" "$work/path-leaves" >"$out" 2>"$err" ||
		fail "$label record"
	cmp -s "$work/alone" "$out" || fail "$label it does something else when it is recorded"
	"$FLICK" report --format=csv -f function,calls,path "$data" | tr -d '"\r' >"$work/csv"
	for f in throws catches calls guard calls_jump work; do
		awk -v f=$f '$1 == "path" && $2 == f { print $3 }' "$out" | sort -n >"$work/gone"
		[ -s "$work/gone" ] || fail "$label $f was not called"
		awk -F, -v f=$f '$1 ~ "(^|~)" f "([(]|$)" && $3 != "" { print $2 }' \
			"$work/csv" | sort -n >"$work/told"
		diff "$work/gone" "$work/told" >"$work/diff" ||
			fail "$label $f: gone <, told >: $(cat "$work/diff")"
	done
	awk '$1 == "ends" { print $3 }' "$out" >"$work/gone"
	awk -F, '$1 ~ /^goes([(]|$)/ { n += $2 } END { print n }' "$work/csv" >"$work/told"
	cmp -s "$work/gone" "$work/told" ||
		fail "$label ends: $(cat "$work/gone"), told: $(cat "$work/told")"
}
for CC in gcc clang; do
	command -v $CC >/dev/null && command -v "$(cxx)" >/dev/null || continue
	told_as_gone -O1 -pthread
	told_as_gone -O2 -fno-inline -fno-optimize-sibling-calls -fno-unroll-loops -pthread
done
exit 0
