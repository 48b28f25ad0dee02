#!/bin/sh
# `flick report --path` of a results.db that somebody has changed: columns that are not there or
# hold something else, rows that name no function, texts and nothing where numbers are expected.
# It says so in a line, or shows what is left, and no number is taken for a place.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "paths are told on x86-64"
need sqlite3
target paths -O1
"$FLICK" record -a paths -o "$data" "$work/paths" >"$out" 2>"$err" || fail "record"
good=$work/good
cp -r "$data" "$good"
number=$(sql "select path from paths order by calls desc limit 1")

report() {	# WHAT SQL
	label="$1:"
	rm -rf "$data"
	cp -r "$good" "$data"
	sqlite3 "$data/results.db" "$2" || fail "$label sqlite3"
	run "$FLICK" report --path "$number" "$data"
}

refused() {	# STATUS PATTERN WHAT SQL
	report "$3" "$4"
	one_line_error "$1" "$2"
}

no_column='--path is of a recording of paths'
refused 2 "$no_column" "functions that are counts" \
	"update columns set type = 'count' where result = 'paths' and name = 'function'"
for column in function path calls; do
	refused 2 "$no_column" "no $column" "update columns set name = 'other'
		where result = 'paths' and name = '$column'; alter table paths rename $column to other"
done
for function in "(select max(id) + 1 from functions)" 4294967295 4611686018427387904 NULL; do
	refused 1 "no path $number was gone|damaged" "function $function" \
		"update paths set function = $function"
done
for wrong in "function = 'f'" "path = 'p'" "path = NULL" "calls = 'c'" "calls = NULL" \
	"calls = -1" "calls = x'00ff'"; do
	report "$wrong" "update paths set $wrong"
	[ "$status" -le 1 ] || fail "$label status $status"
done
label="some rows are well:"
report "one of no function" "insert into paths(function, calls, path)
	values(NULL, 2000000000, $number)"
[ "$status" -eq 0 ] || fail "$label status $status"
grep -q ": path $number, " "$out" || fail "$label none is shown"
