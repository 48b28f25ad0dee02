#!/bin/sh
# SIGKILL of one of eight children at each point of what they share: taking a
# row, adding sites, asking the reader. The others go on, and the counts of all
# are exact.
. "$(dirname "$0")/lib"
no_emulator forks
need sqlite3 "$CC"
agent=${BUILD:-$top/build}/tests/libflick-kill-at.so
[ -f "$agent" ] || skip "no $agent; make check makes it"
target family -O2 $sites
library family-lib -O2 $sites
export FLICK_LIB="$agent" FLICK_KILL_ONCE="$work/once" FLICK_KILL_AT

kill_at() {	# POINT CASE
	FLICK_KILL_AT=$1
	label="$2 at $1:"
	rm -f "$FLICK_KILL_ONCE"
	limit=30 record -f -a counts -- "$work/family" "$2" 8
	succeeded
	[ ! -e "$FLICK_KILL_ONCE" ] || fail "$label nobody came there"
	exact
	lossless
}

for point in processes.joined processes.locked table.written table.published \
	processes.unlock agent.asked; do
	kill_at $point load-or-die
	[ $point = agent.asked ] || kill_at $point spawn-or-die
done
