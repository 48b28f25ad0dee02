#!/bin/sh
# By every analysis, and twice as many events as calls: entries and exits.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target threads -O2 $sites
calls=$("$work/threads" 8 20000 | awk '/^count/ { n += $3 } END { print n }')
for how in "-a counts" "-a latency --all"; do
	label="$how:"
	record $how -- "$work/threads" 8 20000
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
done
got=$(sql "select sum(delivered) from threads")
[ "$got" -eq $((2 * calls)) ] || fail "$got events of $calls calls"
got=$(sql "select count(*) from threads where delivered > 0")
[ "$got" -eq 9 ] || fail "$got threads, not 9"
