#!/bin/sh
# Under gdb, with a breakpoint in a function that has probes: it is hit at each
# call, no other SIGTRAP is seen, and the calls are counted. Where the breakpoint
# stands on the place of a probe, the probe is refused with a reason.
. "$(dirname "$0")/lib"
no_emulator ptrace
need sqlite3 gdb "$CC"
run gdb -q -batch -ex run --args /bin/true
grep -q 'exited normally' "$out" || skip "gdb cannot trace a process here"
cat >"$work/script" <<'END'
set pagination off
set confirm off
set breakpoint pending on
set follow-fork-mode child
handle SIGTRAP stop print
break leaf
ignore 1 1000000
run
info breakpoints
END

mkfifo "$work/ended"
debugged() {	# OPTIONS
	label="$kind $1:"
	rm -rf "$data"
	# gdb ends with the target; the recorder, which it let go at the fork, may
	# still be writing: all who can write to the pipe must have ended.
	cat "$work/ended" &
	run gdb -q -batch -x "$work/script" --args "$FLICK" record $1 -o "$data" \
		-- "$work/threads" 3 500 9>"$work/ended"
	wait $!
	grep -q 'SIGTRAP' "$out" && fail "$label the debugger stopped elsewhere"
	calls=$(awk '$1 == "count" && $2 == "leaf" { print $3 }' "$out")
	hits=$(sed -n 's/.*breakpoint already hit \([0-9]*\) times.*/\1/p' "$out")
	[ "${calls:-0}" -gt 0 ] || fail "$label the target did not run"
	[ "$hits" = "$calls" ] || fail "$label $hits hits of $calls calls"
}

check() {
	debugged "$1"
	exact "$2"
	lossless
}
kind=$sites
target threads -O2 $kind
exhaustively check
debugged ""			# sampling switches all the while
conserved

kind=-fpatchable-function-entry=5
target threads -O2 $kind
debugged "-a counts --why"
grep -q 'no probe at .*leaf' "$err" || fail "$label no reason is given"
sed -i '/^count leaf/d; /^thread/d' "$out"
exact
lossless
