#!/bin/sh
# A debugger steps through a program, an instruction at a time: it comes through each probe, as
# the kernel ends a restartable sequence at each of these steps; nothing that it calls is told
# twice or not at all; and when it is let go it is traced by nobody.
. "$(dirname "$0")/lib"
no_emulator ptrace
[ "$(uname -m)" = x86_64 ] || skip "it is so on x86-64"
need "$CC" sqlite3

gets_on() {	# OPTION...
	label="$how $*:"
	record "$@" -- "$work/stepped"
	[ $status -ne 77 ] || skip "it cannot be traced here"
	[ "$status" -eq 0 ] || fail "$label status $status: $(tail -n 3 "$err")"
}

for how in "-O1" "-O1 $sites"; do
	# shellcheck disable=SC2086
	target stepped $how
	gets_on -a counts
	exact counts
	gets_on --all
	exact latency
	gets_on
	gets_on -a paths
	got=$(sql "select sum(calls) from $(rows paths) where name = 'leaf'")
	grep -qx "count leaf $got" "$out" || fail "$label $got paths of leaf: $(cat "$out")"
done
