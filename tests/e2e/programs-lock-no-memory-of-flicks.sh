#!/bin/sh
# mlockall(): the program has its own memory locked and no gigabytes of flick's, may lock as
# much as without, and gets the same answers.
. "$(dirname "$0")/lib"
no_emulator memory
need sqlite3 "$CC"
target lock-memory -O1 $sites

check() {	# [nobody | root DIRECTORY]
	run "$work/lock-memory" "$@"
	cp "$out" "$work/plain"
	for options in "-a counts" "" "-a latency --all" "--rate=30%" "-a paths"; do
		label="$options $*:"
		limit=20 TRUTH_THREADS= record $options -- "$work/lock-memory" "$@"
		succeeded
		cmp -s "$work/plain" "$out" ||
			fail "$label $(diff "$work/plain" "$out" | head -n 5)"
	done
}

check
chmod 755 "$work"
if [ "$(id -u)" = 0 ]; then
	check nobody
	check root "$work"
fi
