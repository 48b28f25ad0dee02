#!/bin/sh
# FLICK_SHM outlives its recorder, in daemons, and its /proc/PID/fd/N becomes
# another process's pipe. A program that starts with it reads nothing there, waits
# for nobody, and runs as without.
. "$(dirname "$0")/lib"
need "$CC" mkfifo
target recursion -O2 $sites
library=$(dirname "$FLICK")/libflick.so
mkfifo "$work/fifo"
exec 7<>"$work/fifo"
inode=$(stat -L -c %i "$work/fifo")

for name in "/proc/$$/fd/7" "/proc/$$/fd/7:$inode" "$work/fifo:$inode" \
	"/proc/$$/fd/7:" "/dev/tty:1" ""; do
	for data in "" theirs; do
		label="FLICK_SHM=$name, pipe holds '$data':"
		[ -z "$data" ] || echo "$data" >&7
		limit=10 run env LD_PRELOAD="$library" FLICK_SHM="$name" "$work/recursion"
		succeeded
		[ -z "$data" ] || read -r got <&7
		[ "$data" = "${got:-}" ] || fail "$label it holds '${got:-}' now"
		got=
	done
done
