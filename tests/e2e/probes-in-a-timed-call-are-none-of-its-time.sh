#!/bin/sh
# Times of calls that consist of calls of some ns are those of the program, by default too,
# where few calls are timed and what they call is counted meanwhile: within twice what the
# program's own clock says of it in the same run, or two fifths; of one that calls itself two
# hundred times within four times. --raw has what was measured, which is many times that.
# timeout: 100
. "$(dirname "$0")/lib"
no_emulator times
need sqlite3 "$CC"
target inner-calls -O2 $sites

# NAME COLUMN LEAST MOST: told over what the program says.
within() {
	said=$(awk -v f="$1" '$1 == "lasted" && $2 == f { print $3 }' "$out")
	got=$(sql "select $2 from $(rows latency) where name = '$1'")
	awk -v got="$got" -v said="$said" -v least="$3" -v most="$4" 'BEGIN {
		exit !(said > 0 && got / said >= least && got / said <= most) }' ||
		fail "$1: $2 is $got, the program says $said"
}

# Prices are measured while the program starts, and some forty calls timed: beside others on
# the machine they may be of another moment.
for try in 1 2 3 4 5 6; do
	record -- "$work/inner-calls" 1500
	succeeded
	(
		for n in 1 2; do
			within nest_$n avg_ns 0.4 2
			within nest_$n p50_ns 0.4 2
		done
		within walk avg_ns 0.1 4
		within walk raw_avg_ns 6 1000
	) && exit
done
fail "in no recording of six"
