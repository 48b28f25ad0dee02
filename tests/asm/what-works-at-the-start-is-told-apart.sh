#!/bin/sh
# Samples in what reads code and builds bodies are the agent's work, not a probe's: whatever in
# the agent is called by that alone has its code in the section of that work, too.
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$top/build/guest" || exit 1

objects=$(find . -name '*.o')
# shellcheck disable=SC2086
{
	readelf -SW $objects | awk '$1 == "File:" { o = $2 } / fl_start_work / { print "placed", o }'
	nm -A $objects | awk '{ o = $1; sub(/:.*/, "", o) }
		$(NF - 1) == "U" { print "uses", o, $NF }
		$(NF - 1) ~ /^[TDBRWVC]$/ { print "defines", o, $NF }'
} >"$work/facts"
# The program calls what the library exports.
nm -D --defined-only ../libflick.so | awk '{ sub(/@.*/, "", $3); print "exported", $3 }' \
	>>"$work/facts"
awk '$1 == "placed" { placed[$2]; n++ }
	$1 == "defines" { of[$3] = $2 }
	$1 == "uses" { from[++m] = $2; what[m] = $3 }
	$1 == "exported" { name[$2] }
	END {
		for (e in name)
			elsewhere[of[e]]
		for (i = 1; i <= m; i++) {
			o = of[what[i]]
			if (o == "" || o == from[i] || o in placed)
				continue
			used[o]
			if (!(from[i] in placed))
				elsewhere[o]
		}
		for (o in used)
			if (!(o in elsewhere))
				print o
		if (n < 50)
			print "only " n + 0 " objects have that section"
	}' "$work/facts" >"$work/wrong"
if [ -s "$work/wrong" ]; then
	echo "FAIL: called by the agent's work alone, and not told apart (AT_START in the Makefile):"
	cat "$work/wrong"
	exit 1
fi
