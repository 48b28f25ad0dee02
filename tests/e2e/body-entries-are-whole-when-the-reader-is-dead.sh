#!/bin/sh
# SIGKILL of the recorder: entries of second bodies get their old bytes back under running
# threads, some of which stand in there, so that the program costs no more than without. It
# goes on, in bodies and out of them, and finds nothing changed; so do children of its.
# timeout: 200
. "$(dirname "$0")/lib"
need sqlite3 "$CC" pgrep
. "$here/attach-lib"
compile "$work/attached" "$targets/attached.c" -O2

start() {	# OPTIONS...
	label="$*:"
	launch "$@"
}

# Of its own code; where modules come and go flick listens on.
differs() {
	"$work/same-text" $pid | grep -q "^$work/attached"
}

is_whole() {
	for i in $(seq 100); do
		differs || return 0
		[ -e /proc/$pid/exe ] || fail "$label the program is gone"
		sleep 0.05
	done
	fail "$label an entry is not as it was: $("$work/same-text" $pid)"
}

# It is no child of ours.
fine() {
	kill -TERM $pid
	read -r line <&8
	exec 8<&-
	[ "$line" = fine ] || fail "$label the program found: $line"
}

for how in "-a counts" "--all" "" "--rate=30%"; do
	for after in 0 0.05 0.3; do
		start $how
		differs || fail "$label nothing is changed"
		sleep $after
		kill -KILL $recorder
		wait $recorder 2>/dev/null
		is_whole
		fine
	done
done
