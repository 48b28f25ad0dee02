#!/bin/sh
# qemu-user gives its environment to what it runs, so the agent is loaded there again, in the
# process that is recorded already: it stays away, and the emulator is recorded. What is executed in
# the emulator's place by exec is an image of its own.
#
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator programs
qemu=qemu-$(uname -m)
need "$qemu" "$CC"
compile "$work/hull" "$top/bench/programs/hull.c" -O2 $sites -lm

expect=$("$qemu" "$work/hull" 3000 2 2>/dev/null)
for how in "" "--follow" "--all" "-a counts" "-a paths"; do
	label="$how:"
	record $how -- "$qemu" "$work/hull" 3000 2
	[ "$(cat "$out")" = "$expect" ] || fail "$label it printed something else"
	! grep -q 'exited with\|was ended\|cannot record' "$err" || fail "$label $(cat "$err")"
	! "$FLICK" report "$data" | grep -q keep_outside || fail "$label the program's functions"
done

record -a counts -- "$qemu" "$(command -v env)" "$work/hull" 3000 2
[ "$(cat "$out")" = "$expect" ] || fail "by exec: it printed something else"
"$FLICK" report "$data" | grep -q keep_outside || fail "by exec: no calls of it"
