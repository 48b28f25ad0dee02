#!/bin/sh
# --demangle: by default the way to a function and its own name, in full where that of
# another would be the same; on a terminal long ones are cut. A pattern is any of these.
. "$(dirname "$0")/lib"
need "$CC" sqlite3 script
target overloads -O1 $sites
long=a_name_that_is_wider_than_most_terminals::a_function_of_it_whose_name_is_long
record -a counts,tree -- "$work/overloads"
succeeded

has() {	# NAME...: lines of the output end with these
	for name; do
		awk -v name="$name" 'length($0) >= length(name) &&
			substr($0, length($0) - length(name) + 1) == name { n++ }
			END { exit !n }' "$out" || fail "$label no line ends with: $name"
	done
}

label=report:
run "$FLICK" report "$data"
succeeded
has '  shapes::box::operator[]' '  shapes::area(int)' '  shapes::area(long)' '  alone' \
	"  shapes::$long"
label="report --demangle=full:"
run "$FLICK" report --demangle=full "$data"
has '  shapes::box<double>::operator[](int)' '  alone(int)'
label="report --demangle=no:"
run "$FLICK" report --demangle=no "$data"
has '  _ZN6shapes3boxIdEixEi' '  _ZL5alonei'
for format in csv json; do
	label="report --format=$format:"
	run "$FLICK" report --format=$format "$data"
	grep -Eq "(^|\")shapes::$long[\",]" "$out" || fail "$label no long name"
	grep -q 'shapes::area(long)' "$out" || fail "$label overloads are one"
done
label=dump:
run "$FLICK" dump "$data"
grep -q 'main;shapes::box::operator\[\] ' "$out" || fail "$label no simple name"
run "$FLICK" dump --demangle=no "$data"
grep -q 'main;_ZN6shapes3boxIdEixEi ' "$out" || fail "$label no linker's name"
label=list:
run "$FLICK" list "$work/overloads"
has ' shapes::box::operator[]' ' shapes::area(int)' ' alone'
run "$FLICK" list --demangle=full "$work/overloads"
has ' shapes::box<double>::operator[](int)' ' alone(int)'
label=diff:
cp -r "$data" "$work/before"
record -a counts -U 'shapes::area(long)' -- "$work/overloads"
succeeded
run "$FLICK" report --format=csv --diff "$work/before" "$data"
succeeded
[ "$(grep -c 'shapes::area' "$out")" = 2 ] || fail "$label overloads are one"
grep -q '^1,,-1,shapes::area(long)' "$out" || fail "$label shapes::area(long) is not gone"

for how in wrong ''; do
	label="--demangle=$how:"
	run "$FLICK" report --demangle="$how" "$data"
	one_line_error 2 'simple, full or no'
done

# Patterns: simple, full, the linker's; names with brackets of their own.
for pattern in 'shapes::box::operator[]' 'shapes::box<double>::operator[](int)' \
	_ZN6shapes3boxIdEixEi '*::operator[]' 'overloads!*::operator[]'; do
	label="-P $pattern:"
	record -a counts -P "$pattern" -- "$work/overloads"
	succeeded
	[ "$(sql "select linkage from functions")" = _ZN6shapes3boxIdEixEi ] ||
		fail "$label $(sql "select name from functions")"
done
record --trace -- "$work/overloads"
succeeded
for pattern in 'shapes::box::operator[]' 'shapes::box<double>::operator[](int)' \
	_ZN6shapes3boxIdEixEi 'overloads!*::operator[]'; do
	label="replay -F $pattern:"
	for how in simple full no; do
		run "$FLICK" replay -f none --demangle=$how -F "$pattern" "$data"
		succeeded
		[ "$(grep -c 'box' "$out")" = 1 ] || fail "$label --demangle=$how: not one call"
	done
done
label="replay of no such module:"
run "$FLICK" replay -F 'other!alone' "$data"
one_line_error 1 'this recording has no module .other.; did you mean .overloads!alone.'
run "$FLICK" replay -F alon "$data"
one_line_error 1 '\*alon\*. matches 1: alone'
label="list of another module:"
run "$FLICK" list "$work/overloads" 'other!alon'
one_line_error 1 'has no module .other.; there is overloads'
label="-P shapes::area:"
record -a counts -P shapes::area -- "$work/overloads"
[ "$(sql "select count(*) from functions")" = 2 ] || fail "$label not both overloads"
label=count:
run "$FLICK" count shapes::box::operator[] alone -- "$work/overloads"
has ' 1'
grep -Eq '^shapes::box::operator\[\] +1$' "$out" || fail "$label no simple name"
run "$FLICK" count --demangle=full alone -- "$work/overloads"
grep -Eq '^alone\(int\) +1$' "$out" || fail "$label no full name"

# On a terminal; a name keeps some columns, however few there are.
on_terminal() {	# COLUMNS ARGS...
	columns=$1
	shift
	label="$columns columns, $1:"
	PAGER=cat TERM=xterm script -qec "stty cols $columns; '$FLICK' $*" /dev/null </dev/null |
		tr -d '\r' >"$out"
}
record -a counts -- "$work/overloads"
for command in "report '$data'" "count '*' -- '$work/overloads'" \
	"list '$work/overloads'"; do
	on_terminal 60 "$command"
	grep -q '\.\.\.' "$out" || fail "$label nothing is cut"
	widest=$(grep -v '^[a-z]*: ' "$out" | awk '{ if (length > n) n = length } END { print n }')
	[ "$widest" = 60 ] || fail "$label $widest columns"
	on_terminal 300 "$command"
	grep -q "shapes::$long" "$out" || fail "$label cut"
	on_terminal 10 "$command"
	grep -q 'shapes::a_nam\.\.\.' "$out" || fail "$label nothing is left of a name"
done
