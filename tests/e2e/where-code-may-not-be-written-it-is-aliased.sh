#!/bin/sh
# Where the system denies writable code alias is taken by itself, and where it
# denies memory files, too, one line says so; so does doctor.
. "$(dirname "$0")/lib"
no_emulator alias
need sqlite3 "$CC"
target deny -O2
target threads -O2 $sites
"$work/deny" both true || skip "PR_SET_MDWE or seccomp is not to be had"

refused() {	# WHAT PATTERN OPTIONS...
	what=$1 pattern=$2
	shift 2
	label="no $what, $*:"
	rm -rf "$data"
	run "$work/deny" $what "$FLICK" record -o "$data" "$@" -- "$work/threads"
	[ $status -eq 1 ] || fail "$label status $status"
	grep -q "$pattern" "$err" || fail "$label it does not say why"
	[ ! -s "$out" ] || fail "$label the program ran"
}

works() {	# WHAT OPTIONS...
	what=$1
	shift
	label="no $what, $*:"
	rm -rf "$data"
	run "$work/deny" $what "$FLICK" record -o "$data" -a counts "$@" -- "$work/threads"
	succeeded
	exact
	lossless
}

works wx
works wx --text=alias
refused wx "does not let code be made writable" --text=mprotect
run "$work/deny" wx "$FLICK" doctor
[ $status -eq 0 ] || fail "doctor: status $status"
grep -q '^text  *ok: alias' "$out" || fail "doctor does not say alias"

# The region is a memory file, too: only a program of its own can do without.
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
run "$work/deny" both "$FLICK" doctor
[ $status -eq 1 ] || fail "doctor without both: status $status"
grep -q '^text  *no:' "$out" || fail "doctor does not say no"
