#!/bin/sh
# timeout: 180
# record -a cache: of each function as many accesses as valgrind's lackey tells of its
# instructions, and as many misses in all as `flick cache` finds in the very same stream.
. "$(dirname "$0")/lib"
x86_target told
need valgrind nm objdump "$CC"
library tells -I"$top/include"
target told -O2 -no-pie -fno-stack-protector -fcf-protection=none
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"

functions="widths chase copy below choose down sum swap compare repeat work"
chosen=$(printf ' -P %s' $functions)

# Addresses of eight digits: text can be compared. One that loads and stores is no store.
run valgrind --tool=lackey --trace-mem=yes --log-file="$work/trace" "$work/told"
[ "$status" -eq 0 ] || skip "valgrind cannot run it: $(tail -n 1 "$err")"
nm -S "$work/told" >"$work/symbols"
objdump -h "$work/told" | awk '$2 == "told" { print $4, $3 }' >"$work/range"
read -r low bytes <"$work/range" || fail "no functions"
for f in $functions; do
	awk -v f="$f" '$4 == f { print "x" substr($1, 9), $2, f }' "$work/symbols"
done | sort >"$work/starts"
[ "$(wc -l <"$work/starts")" -eq 11 ] || fail "functions are missing: $(cat "$work/starts")"
awk '
	function wide(a) { while (length(a) < 8) a = "0" a; return "x" a }
	FNR == NR { at[NR] = $1; name[NR] = $3; n = NR; next }
	/^I/ {
		split($2, p, ",")
		is_in = wide(p[1]) >= at[1] && wide(p[1]) < "x" high
		for (i = n; is_in && at[i] > wide(p[1]); i--) { }
	}
	/^ [LSM]/ && is_in { all[name[i]]++; stores[name[i]] += $1 == "S" }
	END { for (f in all) print f, all[f], stores[f] + 0 }
' high="$(printf %08x $((0x$low + 0x$bytes)))" "$work/starts" "$work/trace" | sort >"$work/true"

for geometry in 32K,4,64:512K,8,64 1K,2,32:2K,4,32:16K,1,32; do
	label="$geometry:"
	# shellcheck disable=SC2086
	record -a "$work/tells.so:$work/told.trace,cache" --cache="$geometry" $chosen -- \
		"$work/told"
	succeeded
	"$FLICK" report -a cache --format=csv "$data" >"$work/csv" 2>"$err" ||
		fail "$label report"
	cp "$work/csv" "$work/of-records"
	# shellcheck disable=SC2086
	record -a cache --cache="$geometry" $chosen -- "$work/told"
	succeeded
	"$FLICK" report -a cache --format=csv "$data" >"$work/of-words" 2>"$err" ||
		fail "$label report of words"
	diff "$work/of-records" "$work/of-words" >"$work/diff" ||
		fail "$label in records <, in words >: $(cat "$work/diff")"
	levels=$(printf %s "$geometry" | awk -F: '{ print NF }')
	tr -d '"' <"$work/csv" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{ print $column["function"], $column["accesses"], $column["stores"] }
	' | sort >"$work/got"
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label lackey <, flick >: $(cat "$work/diff")"
	tr -d '"' <"$work/csv" | awk -F, -v levels="$levels" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{
			all += $column["accesses"]
			for (l = 1; l <= levels; l++)
				misses[l] += $column["l" l "_misses"]
		}
		END {
			printf "%d", all
			for (l = 1; l <= levels; l++)
				printf " %d", misses[l]
			print ""
		}' >"$work/sums"
	awk '{ print " " $2 " " $3 }' "$work/told.trace" >"$work/stream"
	"$FLICK" cache --cache="$geometry" "$work/stream" >"$out" 2>"$err" ||
		fail "$label flick cache"
	awk -v levels="$levels" '$1 == "all" {
		printf "%d", $2
		for (l = 1; l <= levels; l++)
			printf " %d", $(1 + 2 * l)
		print ""
	}' "$out" >"$work/simulated"
	cmp -s "$work/simulated" "$work/sums" ||
		fail "$label of the same stream $(cat "$work/simulated"), told $(cat "$work/sums")"
done
awk '$3 < 10 { few = 1 } END { exit few }' "$work/sums" || fail "too few misses to compare"

# A load and a store of one variable are one word, where nothing is a string.
record -a cache -P widths -- "$work/told"
succeeded
words=$(sed -n 's/^events: \([0-9]*\) produced.*/\1/p' "$err")
all=$(awk '$1 == "widths" { print $2 }' "$work/true")
[ "$words" -gt 0 ] && [ "$words" -lt "$all" ] || fail "$words words of $all accesses"

# One clear line of what is no cache, in front of the name or behind it.
refused() {	# PATTERN OPTION...
	pattern=$1
	shift
	"$FLICK" record "$@" -o "$work/none" "$work/told" >"$out" 2>"$err"
	[ $? -eq 2 ] || fail "$*: no usage error: $(cat "$err")"
	grep -q "$pattern" "$err" || fail "$*: $(cat "$err")"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$*: more than a line"
}
refused "are no cache" -a cache --cache=3K,4,64
refused "it is .host. or" --cache=nope -a cache
refused "no .merge" -a cache-tree --readers=2
exit 0
