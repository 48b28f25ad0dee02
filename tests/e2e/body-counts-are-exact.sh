#!/bin/sh
# A program as compilers make it, without sites for tools: every call of every function is
# counted, and told with its time, whatever the function is made of.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3
export TRUTH_THREADS= FLICK_BODIES=1

check() {	# TARGET FLAGS...
	t=$1
	shift
	target $t "$@"
	for how in "-a counts" "-a latency --all" "-a graph,tree"; do
		every 2 || continue
		label="$CC $t $* $how:"
		record $how -- "$work/$t"
		succeeded
		case $how in
		*counts) exact ;;
		*latency*) exact latency ;;
		*) exact tree ;;
		esac
		lossless
	done
}

for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for level in -O0 -O2 -O3 -Os; do
		check bodies $level
	done
	check bodies -O2 -fno-plt $landing_pads
	check bodies -O2 -fno-pie -no-pie -fomit-frame-pointer
	check recursion -O2
done
