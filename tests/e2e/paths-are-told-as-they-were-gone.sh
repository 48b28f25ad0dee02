#!/bin/sh
# timeout: 180
# Each path through a function has been told as often as the program itself says that it was
# gone: with loops, tables of jumps, recursion, tail calls, what is left by longjmp, handlers on
# a stack of their own. Numbers are names, so what is compared is how often. A function that
# calls setjmp has none, and it is said (FLE_TWICE).
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"

paths_of() {	# FUNCTION
	"$FLICK" report "$data" | awk -v f="$1" '$NF == f { print $1 }' | sort -n
}

told_as_gone() {	# FLAGS...
	target paths "$@"
	"$work/paths" >"$work/alone" || fail "$* alone: it does not run"
	"$FLICK" record -a paths --why -o "$data" "$work/paths" >"$out" 2>"$err" ||
		fail "$*: record"
	cmp -s "$work/alone" "$out" || fail "$*: it does something else when it is recorded"
	for f in three loop table recurse tail leaves faults divides divides_real indexes falls; do
		awk -v f=$f '$1 == "path" && $2 == f { print $3 }' "$out" | sort -n >"$work/gone"
		[ -s "$work/gone" ] || fail "$*: $f was not called"
		paths_of $f >"$work/told"
		diff "$work/gone" "$work/told" >"$work/diff" ||
			fail "$* $f: gone <, told >: $(cat "$work/diff")"
	done
	grep -q 'may return more than once.*(catches[,)]' "$err" ||
		fail "$*: what calls setjmp is not refused: $(cat "$err")"
}
told_as_gone -O1
told_as_gone -O2 -fno-inline -fno-optimize-sibling-calls -fno-unroll-loops
told_as_gone -O1 -fno-omit-frame-pointer -fno-stack-protector

# A path of the report is the one that `list` has, with its share of all; of who has it most often,
# and of others where they are asked for.
"$FLICK" report -f calls,share,path,function "$data" >"$work/rows" 2>"$err" || fail "report"
awk '$NF == "three" { print $3; exit }' "$work/rows" >"$work/number"
number=$(cat "$work/number")
"$FLICK" report --path "$number" -n 100 "$data" >"$work/shown" 2>"$err" || fail "report --path"
"$FLICK" list --path "$number" "$work/paths" three >"$work/listed" 2>"$err" || fail "list --path"
awk '/^three: path/ { on = 1; next } on && /^$/ { exit } on' "$work/shown" >"$work/of-three"
[ -s "$work/listed" ] && cmp -s "$work/listed" "$work/of-three" ||
	fail "report --path is not list --path: $(diff "$work/listed" "$work/of-three" | head -n 5)"
# Its instructions are objdump's; of the same one the two may differ in a suffix.
objdump -d --no-show-raw-insn "$work/paths" |
	sed -n 's/^ *\([0-9a-f]*\):\t\([a-z0-9]*\).*/\1 \2/p' >"$work/objdump"
other=$(awk 'NR == FNR { is[$1] = $2; next } /^0x/ {
		n++
		sub(/^0x0*/, "")
		for (i = 2; i <= NF && $i ~ /^[0-9a-f][0-9a-f]$/; i++)
			;
		if (!($1 in is) || index($i, is[$1]) != 1)
			print
	} END { if (!n) print "none" }' "$work/objdump" "$work/listed")
[ -z "$other" ] || fail "these are other instructions than objdump's: $other"
"$FLICK" report --path "$number" "$data" 2>/dev/null | head -n 1 >"$work/first"
awk -v n="$number" '$3 == n { printf "%s: path %s, %s calls, %s %% of all\n", $4, n, $1, $2; exit }' \
	"$work/rows" >"$work/most"
cmp -s "$work/first" "$work/most" || fail "the first is not the most frequent: $(cat "$work/first")"
awk '$1 + 0 > 0 { n += $2 } END { exit !(n > 99 && n < 101) }' "$work/rows" ||
	fail "shares are not of all paths"
"$FLICK" report --path 2000000000 "$data" 2>"$err" && fail "a path that was not gone"
grep -q 'no path 2000000000 was gone' "$err" || fail "no reason"

# A path that ends in a call which does not return has no instruction behind that.
cat >"$work/ends.c" <<'END'
#include <stdlib.h>
__attribute__((noipa)) void ends(void) { exit(3); }
int main(void) { ends(); }
END
"$CC" -O1 -o "$work/ends" "$work/ends.c" || fail "cannot be compiled"
"$FLICK" record -a paths -P ends -o "$data" "$work/ends" >"$out" 2>"$err" || fail "ends: record"
[ "$(paths_of ends)" = 1 ] || fail "ends was gone once: $(paths_of ends)"
"$FLICK" report --path 0 "$data" >"$work/listed" 2>"$err" || fail "ends: report --path"
grep -q '^0x.* e8 ' "$work/listed" || fail "the call is not in the path: $(cat "$work/listed")"
! grep -E '^0x[0-9a-f]+ *$' "$work/listed" >"$work/empty" ||
	fail "an address without an instruction is in a path: $(cat "$work/empty")"

# Not with what it has no records for.
"$FLICK" record -a paths,counts -o "$data" true 2>"$err" && fail "with counts"
grep -q 'cannot be used with others' "$err" || fail "with counts: no reason"
"$FLICK" record -a paths --trace -o "$data" true 2>"$err" && fail "with --trace"
grep -q 'events' "$err" || fail "with --trace: no reason"
exit 0
