#!/bin/sh
# A program whose processor checks alignment (the flag AC) is recorded in every way, by bodies and by
# what the compiler left: no access of flick's in its threads is checked, not that of a thread's first probe,
# of a first call, of a full chunk or of a timed call. The program finds the flag as it has set it.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "there is no such flag"
need "$CC" sqlite3

for how in -O1 "-O1 $sites -Wl,-z,now" "-O1 -fpatchable-function-entry=5"; do
	# shellcheck disable=SC2086
	target aligned $how
	for opt in "" "--sync=signal" "-a paths" "-a cache,tree" "-a counts" "--rate=5%"; do
		case $how$opt in *patchable*cache*) continue ;; esac
		label="$how, $opt:"
		# shellcheck disable=SC2086
		record $opt -- "$work/aligned"
		succeeded
		[ "$opt" != "-a counts" ] || exact
	done
done
