#!/bin/sh
# Of four images of a program, one behind the other, all calls are there, and of
# their sites the last one's.
. "$(dirname "$0")/lib"
no_emulator exec
need sqlite3 "$CC"
target exec -O2 $sites

check() {
	label="$1:"
	record $1 -- "$work/exec" 3
	accounted "$2"
	n=$(sql "select sum(state = 'gone') || ' of ' || count(*) from sites")
	[ "${n% of*}" -eq $((3 * ${n#*of } / 4)) ] || fail "$label $n sites are gone"
}
exhaustively check
