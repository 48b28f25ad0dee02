#!/bin/sh
# Exceptions thrown into, from and through second bodies, again, in destructors and across
# threads; threads that are cancelled or end themselves; a backtrace: all is as without
# flick, and every call is counted, those that caught something with their ends, too.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
export TRUTH_THREADS= FLICK_BODIES=1

check() {	# FLAGS...
	target throws "$@"
	run "$work/throws" 20
	[ $status = 0 ] || fail "$CC $*: ends with $status by itself"
	cp "$out" "$work/alone"
	for how in "-a counts" "-a latency --all" ""; do
		every 2 || continue
		label="$CC $* $how:"
		record $how -- "$work/throws" 20
		succeeded
		cmp -s "$work/alone" "$out" || fail "$label says something else:
$(diff "$work/alone" "$out")"
		conserved
		case $how in
		*counts) exact ;;
		*latency*) exact latency ;;
		esac
	done
}

for CC in gcc clang; do
	command -v $CC >/dev/null && command -v "$(cxx)" >/dev/null || continue
	# without optimising clang jumps to behind a function's end after a throw
	[ $CC = clang ] || check -O0
	for level in -O2 "-Os -fno-omit-frame-pointer"; do
		check $level
	done
	check -O2 -static-libgcc -static-libstdc++
	check -O2 $landing_pads -fno-pie -no-pie
done
