#!/bin/sh
# timeout: 240
# Of each branch: as often as callgrind saw it taken, so often was a path gone that takes it; and
# of each instruction: as often as it was run, so often one that has it, by what `flick list --path` says of the numbers that record -a paths tells.
. "$(dirname "$0")/lib"
need valgrind "$CC"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"

# `SOURCE TARGET TAKEN` of each conditional branch that was taken, `ADDRESS run TIMES` of each
# instruction, of the functions of the file whose `ADDRESS SIZE` is in "$work/of".
callgrinds() {	# FILE
	awk -v of="$work/of" -v file="$(basename "$(readlink -f "$1")")" '
		function hex(text,    i, n) {
			for (i = 3; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		function is_wanted(at,    i) {
			for (i = 1; i <= n_of; i++)
				if (at >= from[i] && at < to[i])
					return 1
			return 0
		}
		BEGIN {
			while ((getline line <of) > 0) {
				split(line, f, " ")
				from[++n_of] = hex(f[1])
				to[n_of] = from[n_of] + f[2]
			}
		}
		/^ob=/ { sub(/.*\//, ""); is_in = $0 == file || $0 == "ob=???" }	# what is not in .text
		/^calls=/ { getline; next }	# what the callee took
		/^0x/ && is_in && is_wanted(hex($1)) { print $1, "run", $3 }
		/^jcnd=/ {
			split(substr($1, 6), n, "/")
			target = $2
			getline
			if (is_in && n[1] > 0 && is_wanted(hex($1)))
				print $1, target, n[1]
		}' "$work/callgrind" | sum_up
}
sum_up() {
	awk '{ n[$1 " " $2] += $3 } END { for (i in n) printf "%s %d\n", i, n[i] }' | sort
}

# The same, by paths: rows of `CALLS PATH FUNCTION`. Before each path's instructions stand its calls.
paths() {	# FILE
	while read -r calls path function; do
		say "calls $calls"
		"$FLICK" list --path "$path" "$1" "$function" 2>"$err" ||
			fail "path $path of $function: $(cat "$err")"
	done >"$work/paths"
	awk -v except="$work/except" '
		function number(text) { sub(/^0x0*/, "0x", text); return text }
		function hex(text,    i, n) {
			for (i = 3; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		$1 == "calls" { calls = $2; from = ""; next }
		{ to = $1 == "->" ? number($2) : number($1) }
		from != "" && to != next_to && to != "out" { print from, to, calls }
		$1 != "->" {
			# There `rep` is a jump to itself, and run as often; and who
			# leads to a stub for the first time is told twice.
			if ($2 ~ /^e[89]$/ || ($2 ~ /^f[23]$/ &&
					       ($3 " " $4) ~ /^(4[89] )?a[4-7a-f]/))
				print number($1) " " >>except
			print number($1), "run", calls
			bytes = 0
			for (i = 2; i <= NF && $i ~ /^[0-9a-f][0-9a-f]$/; i++)
				bytes++
			from = $2 ~ /^7/ || ($2 == "0f" && $3 ~ /^8/) ? number($1) : ""
			if ($2 ~ /^(2e|3e|f2)$/ && $3 ~ /^7/)
				from = number($1)
			next_to = sprintf("0x%x", hex($1) + bytes)
		}' "$work/paths" | sum_up
}

compare() {	# LABEL FILE PROGRAM...
	label=$1 file=$2
	shift 2
	"$FLICK" record -a paths $chosen -o "$data" "$@" >"$out" 2>"$err" ||
		fail "$label record: $(cat "$err")"
	"$FLICK" report --format=csv -f function,calls,path "$data" >"$work/csv" 2>"$err" ||
		fail "$label report"
	tr -d '"\r' <"$work/csv" | awk -F, 'NR > 1 && $3 != "" { print $2, $3, $1 }' >"$work/rows"
	awk '{ print $3 }' "$work/rows" | sort -u >"$work/names"
	"$FLICK" list "$file" | awk 'NR == FNR { wanted[$1] = 1; next }
		$3 == "body" && $NF in wanted { print $1, $2 }' "$work/names" - >"$work/of"
	[ "$(wc -l <"$work/of")" -eq "$(wc -l <"$work/names")" ] ||
		fail "$label functions are missing in the list"
	run valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --compress-pos=no \
		--compress-strings=no --callgrind-out-file="$work/callgrind" "$@"
	[ "$status" -eq 0 ] || skip "callgrind cannot run it: $(tail -n 1 "$err")"
	: >"$work/except"
	paths "$file" <"$work/rows" >"$work/all"
	grep -v -F -f "$work/except" "$work/all" >"$work/got"
	callgrinds "$file" | grep -v -F -f "$work/except" >"$work/true"
	[ "$(wc -l <"$work/true")" -ge "$least" ] || fail "$label too few branches"
	diff "$work/true" "$work/got" >"$work/diff" ||
		fail "$label callgrind <, paths >: $(head -n 12 "$work/diff")"
}

chosen="-P widths -P chase -P copy -P below -P choose -P down -P sum -P swap" least=5
for level in -O1 -O2 -O3; do
	every 3 || continue
	target told $level -no-pie -fno-stack-protector
	compare "$level:" "$work/told" "$work/told"
done

# What is compressed of Debian's bzip2, whose functions have no names.
bzip2=$(command -v bzip2) || skip "no bzip2"
library=$(ldd "$bzip2" | awk '/libbz2/ { print $3 }')
head -c 20000 "$0" >"$work/input"
cat "$top/README.md" "$top/docs/HACKING.md" | head -c 20000 >>"$work/input"
chosen="-P libbz2*!*" least=150
compare "bzip2:" "$library" "$bzip2" -kc "$work/input"
exit 0
