#!/bin/sh
# Threads of flick's build bodies before the program runs, but where system calls are filtered. A
# filter may end a process that begins a thread; or say in the kernel's place that each signal
# to a thread was sent, and then those that have built seem to be there for ever.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target deny -O2
"$work/deny" signals true || skip "seccomp is not to be had"

awk 'BEGIN {
	for (i = 0; i < 600; i++)
		print "__attribute__((noinline)) int f" i "(int x)",
		      "{ volatile int a = x; return a ^ " i "; }"
	print "int main(void) { int s = 0;"
	for (i = 0; i < 600; i++)
		print "s += f" i "(s);"
	print "return s & 0; }"
}' >"$work/wide.c"
"$CC" -O1 -o "$work/wide" "$work/wide.c" || fail "no target"

all_calls() {
	succeeded
	lossless
	[ "$(sql 'select sum(calls) from counts_named where function like "f%"')" -eq 600 ] ||
		fail "$label its calls are not all there"
}

label="signals:"
run timeout -k 1 20 "$work/deny" signals "$FLICK" record -o "$data" -a counts -- "$work/wide"
all_calls
label="threads:"
run timeout -k 1 20 "$FLICK" record -o "$data" -a counts --wait -f -- \
	"$work/deny" threads "$work/wide"
all_calls
