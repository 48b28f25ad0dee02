#!/bin/sh
# abort, SIGSEGV, SIGKILL from within, _exit, exit: all calls up to it are in.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target crash -O2 $sites
for end in abort segv kill quick exit; do
	for how in "-a counts" "-a latency --all"; do
		label="$end $how:"
		record $how -- "$work/crash" $end
		grep -q '^count leaf 5000' "$out" || fail "$label did not run"
		exact "$(echo "$how" | cut -d' ' -f2)"
		lossless
	done
done
