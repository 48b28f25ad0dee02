#!/bin/sh
# A cold part without a symbol, which a switch's table alone leads to, looks like a function. It is
# none: no jump stands over its first bytes, where that table leads, by distances or by addresses.
. "$(dirname "$0")/lib"
x86_target tabled
need sqlite3
export TRUTH_THREADS= FLICK_BODIES=1

for flags in "-fPIE -pie" "-DFAR -fno-pie -no-pie"; do
	target tabled -O2 $flags
	for how in "-a counts" "-a latency --all" "-a tree" ""; do
		label="$flags $how:"
		record $how -- "$work/tabled"
		succeeded
		case $how in
		*counts) exact ;;
		*latency*) exact latency ;;
		*tree) exact tree ;;
		esac
		lossless
	done
done
