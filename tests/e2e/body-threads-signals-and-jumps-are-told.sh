#!/bin/sh
# Second bodies under threads, signals in the middle of them, longjmp out of and into them,
# cancelled threads, and stacks that change: the program finds nothing wrong, and every
# call is counted.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
export TRUTH_THREADS= FLICK_BODIES=1

check() {	# TARGET ARGUMENTS...
	t=$1
	shift
	target $t -O2 -fno-optimize-sibling-calls	# or recursion is a loop
	for how in "-a counts" "-a latency --all" ""; do
		label="$t $how:"
		record $how -- "$work/$t" "$@"
		succeeded
		conserved
		case $how in
		*counts) told counts ;;
		*latency*) told latency ;;
		esac
	done
}

told() {
	sed -i '/^count main/d' "$out"	# may ask who calls: dlopen()
	! grep -q '^count' "$out" || exact "$1"
}

check threads 8 20000
for t in recursion longjmp exceptions signals sigaltstack cancel contexts; do
	check $t
done
check sigmask
[ "$(uname -m)" != x86_64 ] || check sigtrap

# Cores are asked to synchronise by a signal, or stopped.
target threads -O2
for sync in signal stop; do
	[ $sync = signal ] || ! emulated ptrace || continue
	label="--sync=$sync:"
	record -a counts --sync=$sync -- "$work/threads"
	succeeded
	exact
	lossless
done
