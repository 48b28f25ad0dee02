#!/bin/sh
# selftest.sh - flick selftest for minutes: 10^9 flips, 10^8 words, 10^6 wide
# switches at least, and nothing torn, lost or stray.
#
# timeout: 1800
# alone
#
# FLICK_TORTURE_S: seconds of the run over all tests, 220 when not set. What is
# then missing of the counts, on a slow machine, is made up for test by test.
set -u

# selftest SECONDS TEST: one run; its counts to $TMP/counts.
selftest()
{
	echo "== $2, $1 s"
	"$FLICK" selftest --seconds "$1" ${2:+--test "$2"} >"$TMP/out" 2>&1
	status=$?
	cat "$TMP/out"
	sed -n 's/^switched: //p' "$TMP/out" >>"$TMP/counts"
	[ $status -eq 0 ] || exit 1
}

# How many switches of tactic $1 there have been.
switched()
{
	tr ',' '\n' <"$TMP/counts" | awk -v t="$1" '$1 == t { n += $2 } END { printf "%.0f\n", n }'
}

# reach TACTIC COUNT TEST
reach()
{
	turns=0
	while [ "$(switched "$1")" -lt "$2" ]; do
		turns=$((turns + 1))
		[ $turns -le 20 ] || { echo "too slow: $(switched "$1") $1"; exit 1; }
		selftest 30 "$3"
	done
}

selftest "${FLICK_TORTURE_S:-220}" ""
reach flip 1000000000 flip
reach word 100000000 word
reach wide 1000000 set
echo "in all: $(switched flip) flips, $(switched word) words," \
	"$(switched line) lines, $(switched wide) wide"
