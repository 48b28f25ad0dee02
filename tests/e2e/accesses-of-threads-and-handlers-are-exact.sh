#!/bin/sh
# timeout: 180
# record -a cache of a program whose threads access memory a known number of times, and whose
# handlers do, wherever a signal finds them: as many are told, in words and in records. With
# the reader killed meanwhile the program's own sums are right.
. "$(dirname "$0")/lib"
need "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"
library tells -I"$top/include"
target hits -O2 -pthread

told() {
	"$FLICK" report -a cache --format=csv "$data" >"$work/csv" 2>"$work/said" ||
		fail "$label report: $(cat "$work/said")"
	tr -d '"' <"$work/csv" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["function"] == "hit" || $column["function"] == "put" {
			print $column["function"], $column["accesses"], $column["stores"]
		}' | sort >"$work/got"
}

# A small ring: chunks end often, and threads wait for room.
for how in "-a cache" "-a cache --buffer 16" "-a cache --all --buffer 16" \
	"-a cache,$work/tells.so:/dev/null --buffer 16"; do
	label="$how:"
	record $how -P hit -P put -- "$work/hits" 3000
	succeeded
	sort "$out" >"$work/true"
	awk '$1 == "put" && $2 > 1000 { some = 1 } END { exit !some }' "$work/true" ||
		fail "$label few handlers ran: $(cat "$work/true")"
	told
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label true <, told >: $(cat "$work/diff")"
	grep -q ' 0 lost' "$err" || fail "$label $(tail -n 1 "$err")"
done

label="reader killed:"
rm -rf "$data"
"$FLICK" record -a cache -P hit -P put -o "$data" -- "$work/hits" 3000000 >"$out" 2>"$err" &
reader=$!
child=$(child_of $reader)
for i in $(seq 200); do
	! grep -q '^begun' "$err" || break
	sleep 0.05
done
grep -q '^begun' "$err" || fail "$label the program does not run"
kill -KILL $reader || fail "$label it had ended"
wait $reader 2>/dev/null
for i in $(seq 600); do
	! grep -q '^put' "$out" || break
	[ -d "/proc/$child" ] || break
	sleep 0.1
done
kill -KILL "$child" 2>/dev/null
grep -q '^put' "$out" || fail "$label it did not end by itself"
! grep '^wrong' "$out" || fail "$label its sums are wrong"
