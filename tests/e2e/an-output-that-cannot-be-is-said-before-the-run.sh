#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
: >"$work/file"
for dir in "$work/file" "$work/file/under" /dev/null/x /proc/flick.data \
	"$work/no/such/place"; do
	label="-o $dir:"
	run "$FLICK" record -o "$dir" -- "$work/recursion"
	one_line_error 1 "${dir##*/}"
	! grep -q '^count' "$out" || fail "$label the program ran for nothing"
done

# SQLite takes a name of 511 characters, with those of all directories around it.
label="a long name:"
long=$work/$(printf '%0200d/%0200d/%0200d' 1 2 3)
mkdir -p "$long" && cd "$long" || fail "no such directory"
run "$FLICK" record -o here -- "$work/recursion"
one_line_error 1 'here: .*SQLite takes no more than 511'
! grep -q '^count' "$out" || fail "$label the program ran for nothing"

# The kernel ends who passes this limit by a signal, if he does not ignore that.
label="a limit of 512 bytes:"
cd "$work" || fail "no such directory"
(
	ulimit -f 1			# blocks of 512 bytes in sh, of 1024 in bash
	"$FLICK" record -o "$data" -- "$work/recursion" 2>&1
	echo "status $?"
) | cat >"$out"
grep -qx 'status 1' "$out" && [ "$(grep -c '^flick: cannot write results: ' "$out")" = 1 ] ||
	fail "$label $(cat "$out")"
! grep -q '^count' "$out" || fail "$label the program ran for nothing"
