#!/bin/sh
# Where a path's sum is kept on the stack, and where registers are that it takes, nobody else has
# something: words that are touched by an address, a copy, an index, by who is called, or as they
# are; and each path is told as often as it was gone.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"

target homes -O1
"$work/homes" >"$work/alone" || fail "alone: it does not run"
"$FLICK" record -a paths -o "$data" "$work/homes" >"$out" 2>"$err" || fail "record"
cmp -s "$work/alone" "$out" ||
	fail "it finds something else when it is recorded: $(diff "$work/alone" "$out")"
"$FLICK" report "$data" >"$work/told" 2>"$err" || fail "report"
for f in all_words most_words by_address by_copy around_call beside_call around_taker \
	around_putter; do
	awk -v f=$f '$1 == "path" && $2 == f { print $3 }' "$out" | sort -n >"$work/gone"
	[ -s "$work/gone" ] || fail "$f was not called"
	awk -v f=$f '$NF == f { print $1 }' "$work/told" | sort -n >"$work/of-f"
	diff "$work/gone" "$work/of-f" >"$work/diff" ||
		fail "$f: gone <, told >: $(cat "$work/diff")"
done
exit 0
