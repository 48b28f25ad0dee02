#!/bin/sh
# timeout: 180
# Each path through a function has been told as often as the program itself says that it was
# gone: with loops, tables of jumps, recursion, tail calls, what is left by longjmp, handlers on
# a stack of their own. Numbers are names, so what is compared is how often. A function that
# calls setjmp has none, and it is said (FLE_TWICE).
. "$(dirname "$0")/lib"

paths_of() {	# FUNCTION
	"$FLICK" report "$data" | awk -v f="$1" '$3 == f { print $1 }' | sort -n
}

told_as_gone() {	# FLAGS...
	target paths "$@"
	"$work/paths" >"$work/alone" || fail "$* alone: it does not run"
	"$FLICK" record -a paths --why -o "$data" "$work/paths" >"$out" 2>"$err" ||
		fail "$*: record"
	cmp -s "$work/alone" "$out" || fail "$*: it does something else when it is recorded"
	for f in three loop table recurse tail leaves; do
		awk -v f=$f '$1 == "path" && $2 == f { print $3 }' "$out" | sort -n >"$work/gone"
		[ -s "$work/gone" ] || fail "$*: $f was not called"
		paths_of $f >"$work/told"
		diff "$work/gone" "$work/told" >"$work/diff" ||
			fail "$* $f: gone <, told >: $(cat "$work/diff")"
	done
	grep -q 'may return more than once.*(catches)' "$err" ||
		fail "$*: what calls setjmp is not refused: $(cat "$err")"
}
told_as_gone -O1
told_as_gone -O2 -fno-inline -fno-optimize-sibling-calls -fno-unroll-loops
told_as_gone -O1 -fno-omit-frame-pointer -fno-stack-protector

# Not with what it has no records for.
"$FLICK" record -a paths,counts -o "$data" true 2>"$err" && fail "with counts"
grep -q 'cannot be used with others' "$err" || fail "with counts: no reason"
"$FLICK" record -a paths --trace -o "$data" true 2>"$err" && fail "with --trace"
grep -q 'events' "$err" || fail "with --trace: no reason"
exit 0
