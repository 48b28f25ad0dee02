#!/bin/sh
# What a running program loads while it is recorded (flick record -p) has probes from its first call
# to the last one before it is unloaded, with and without the compiler's sites, and none behind
# the recording; who attaches again finds what was loaded before. Its code is as it was then.
#
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator ptrace
. "$(dirname "$0")/steps-lib"
need sqlite3 "$CC"
compile "$work/same-text" "$targets/same-text.c" -O2

calls() {	# NAME N
	got=$(sql "select coalesce(sum(calls), 0) from $(rows "$table") where name = '$1'")
	[ "$got" = "$2" ] || fail "$label $how: $1 has $got calls, not $2"
}

# Who waited beside it ends a moment later.
is_as_it_was() {
	for i in $(seq 100); do
		"$work/same-text" $target >"$work/differs" && return
		sleep 0.05
	done
	fail "$label $how: its code is not as it was: $(cat "$work/differs")"
}

meanwhile() {	# TABLE OPTION...
	table=$1 how="$*"
	shift
	start_alone
	attach "$@" -P c -P hot --wait
	step c 10
	step "load $work/comes-back.so"
	step h 100
	step unload
	step "load $work/other.so"
	step h 1000
	detach
	calls c 10
	calls hot 1100
	is_as_it_was
	step h 5
	attach "$@" -P c -P hot
	step h 20
	step unload
	step "load $work/comes-back.so"
	step h 300
	step c 4
	detach
	calls hot 320
	calls c 4
	is_as_it_was
	step h 7
	say quit >&8
	exec 8>&- 9<&-
	wait $target || fail "$label $how: the program ends with $?"
}

for label in bodies sites; do
	flags=$([ $label = sites ] && say "$sites")
	target steps -O1 $flags -ldl
	library comes-back -O1 $flags -DLIBRARY
	cp "$work/comes-back.so" "$work/other.so"
	program=$work/steps
	meanwhile counts -a counts
	meanwhile latency --all
	meanwhile latency
done
