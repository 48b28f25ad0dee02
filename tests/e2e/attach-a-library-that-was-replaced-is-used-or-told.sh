#!/bin/sh
# What an earlier attach has loaded is used again whatever has become of its file: replaced by
# an upgrade, moved, gone. Another version's is told in one line, with what to do; so is what
# is too old to say which version it is.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
. "$here/attach-lib"
target attached -O1
library=${FLICK_LIB:-$(dirname "$FLICK")/libflick.so.0}
mkdir "$work/lib"
cp -L "$library" "$work/lib/libflick.so.0"
export FLICK_LIB="$work/lib/libflick.so.0"

is_counted() {
	for=0.2 attach -a counts -P work
	sql "select calls > 100 from $(rows counts) where name = 'work'" >"$work/got"
	[ "$(cat "$work/got")" = 1 ] || fail "$label no calls"
	grep -q deleted "$err" && fail "$label $(cat "$err")"
	is_as_it_was
}

begin 3
label="the first:"
is_counted
label="replaced:"
cp "$work/lib/libflick.so.0" "$work/lib/new"
mv "$work/lib/new" "$work/lib/libflick.so.0"
grep -q 'libflick.so.0 (deleted)' /proc/$pid/maps || fail "$label it is not"
is_counted
label="once more:"
is_counted
[ "$(grep -c 'r-xp.*/libflick' /proc/$pid/maps)" -eq 1 ] || fail "it is loaded twice"
label=
finish
begin 3
label="to be moved:"
is_counted
label="moved:"
mv "$work/lib/libflick.so.0" "$work/lib/old"
cp "$work/lib/old" "$work/lib/libflick.so.0"
is_counted
[ "$(grep -c "r-xp.*$work/lib/" /proc/$pid/maps)" -eq 1 ] || fail "it is loaded twice"
label=
finish

# They do nothing in the program but be there.
mkdir "$work/other" "$work/silent"
echo 'const unsigned flick_speaks[2] = { 1, 4096 };' >"$work/other.c"
echo 'int flick_recorders;' >"$work/silent.c"
for which in other silent; do
	compile "$work/$which/libflick.so.0" "$work/$which.c" -O1 -shared -fPIC
	LD_PRELOAD=$work/$which/libflick.so.0 begin 3
	run "$FLICK" record -p $pid -d 0.1 -o "$work/none.data"
	[ $status -eq 1 ] || fail "$which: status $status"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$which: $(cat "$err")"
	grep -q "process $pid has another version's libflick.so in it.*restart the program" "$err" ||
		fail "$which: $(cat "$err")"
	finish
done
