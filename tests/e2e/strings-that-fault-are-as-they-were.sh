#!/bin/sh
# record -a cache: strings under rep that fault are as they were alone, registers and all; of each
# function as many accesses are told as its instructions say, and none of what is nowhere.
. "$(dirname "$0")/lib"
need "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"
target strings -O1 -no-pie -fno-stack-protector -fcf-protection=none
run "$work/strings"
[ "$status" -eq 0 ] || fail "it fails alone: $(cat "$err")"
grep -q "down" "$out" || fail "nothing faults"
cp "$out" "$work/alone"

record -a cache -P fill -P fill_down -P load -P compare -- "$work/strings"
succeeded
cmp -s "$work/alone" "$out" || fail "alone: $(cat "$work/alone"), recorded: $(cat "$out")"
"$FLICK" report -a cache --format=csv "$data" >"$work/csv" 2>"$err" || fail report
tr -d '"' <"$work/csv" | awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{ print $column["function"], $column["accesses"], $column["stores"] }
' | sort >"$work/got"

# Each call returns by a load, but those that are left: two of fill, one of fill_down.
filled=$((200 + 200 + 3000 / 64 * 2016 + 3000 % 64 * (3000 % 64 - 1) / 2))
cat >"$work/true" <<EOF
fill $((filled + 3001)) $filled
fill_down 100 100
load 102 0
EOF
diff "$work/true" "$work/got" >"$work/diff" || fail "true <, told >: $(cat "$work/diff")"
