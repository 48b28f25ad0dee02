#!/bin/sh
# A library's function that was inlined in a program has no body there: its address is the
# library's, and its name is found there, wherever that lies. Whatever names says the same.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
target inlined-library -O2 $sites
program=$work/inlined-library

names() {	# of functions with calls
	sql "select name, sum(calls) from $(rows "$1") where calls > 0 group by name order by 1"
}

# As linked into the program, where each has a body.
label=static:
compile "$work/whole" "$targets/inlined-library.cc" -O2 $sites -static-libstdc++
record -a counts -- "$work/whole"
succeeded
names counts >"$work/whole.names"
label=shared:
record -a counts -- "$program"
succeeded
names counts >"$work/shared.names"
inlined="m.path like '%/libstdc++.so%'"
n=$(sql "select count(*) from functions f join modules m on m.id = f.module where $inlined")
[ "$n" -gt 10 ] || fail "$label only $n functions of the library"
! grep '!0x' "$work/shared.names" || fail "$label a function has no name"
diff "$work/whole.names" "$work/shared.names" >"$out" || fail "$label not those of the static one"

name=$(sql "select f.name from counts c join functions f on f.id = c.function
	join modules m on m.id = f.module where calls > 0 and $inlined order by calls desc limit 1")
calls=$(grep -F "$name " "$work/shared.names" | head -n 1)
calls=${calls##* }
label="-P $name:"
for pattern in "$name" "libstdc++*!$name" "inlined-library!$name"; do
	record -a counts -P "$pattern" -- "$program"
	succeeded
	[ "$(sql "select name, calls from $(rows counts) where calls > 0")" = "$name $calls" ] ||
		fail "$label $pattern: $(sql "select name, calls from $(rows counts)")"
done
record -a counts -U "libstdc++*!*" -- "$program"
succeeded
[ "$(sql "select count(*) from functions f join modules m on m.id = f.module where $inlined")" = 0 ] ||
	fail "$label -U libstdc++*!* leaves some"
run "$FLICK" count --demangle=full "$name" -- "$program"
succeeded
grep -qF "$name" "$out" || fail "count does not say $name"

# On AArch64 a pointer that is loaded by way of a page from elsewhere is known by its call.
label=list:
record -a counts -- "$program"
sql "select distinct name from functions f join sites s on s.function = f.id
	where s.wanted order by 1" | sort >"$work/recorded"
run "$FLICK" list --json --demangle=full "$program"
succeeded
sed -n 's/.*"function": "\(.*\)", "tactic.*/\1/p' "$out" | sort -u >"$work/listed"
comm -23 "$work/recorded" "$work/listed" >"$work/missing"
[ "$(uname -m)" != x86_64 ] || ! [ -s "$work/missing" ] ||
	fail "$label without $(head -n 3 "$work/missing")"

! emulated programs || exit 0
# Each process has the library elsewhere; the sites are the same.
label=--follow:
n=$(sql "select count(*) from sites where wanted")
record $compilers -a counts --follow -- sh -c "'$program'; '$program'; '$program'"
succeeded
[ "$(sql "select count(*) from sites where wanted and provider = 'cyg'")" -eq "$n" ] ||
	fail "$label $(sql "select count(*) from sites where wanted") sites, not $n"
names counts >"$work/got"
! grep '!0x' "$work/got" || fail "$label a function has no name"
awk '{ n = $NF; sub(/ [0-9]+$/, ""); print $0, 3 * n }' "$work/shared.names" |
	diff - "$work/got" >"$out" || fail "$label not three times as many calls"
