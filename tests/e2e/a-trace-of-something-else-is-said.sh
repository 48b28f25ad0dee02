#!/bin/sh
# flick cache: what is no trace, or only in part, and a geometry that is no cache are each
# said in a line. A little trace is counted as it can be by hand.
. "$(dirname "$0")/lib"

simulate() {	# STATUS OPTION...
	wanted=$1
	shift
	label="cache $*:"
	"$FLICK" cache "$@" >"$out" 2>"$err" <"$work/trace"
	status=$?
	[ $status -eq "$wanted" ] || fail "$label status $status, not $wanted"
}
said() {	# TEXT: that is all
	[ "$(wc -l <"$err")" -eq 1 ] || fail "$label not one line"
	grep -qF -- "$1" "$err" || fail "$label it does not say: $1"
}
row() {		# NAME ACCESSES L1 L2
	[ "$(awk -v n="$1" '$1 == n { print $2, $3, $5 }' "$out")" = "$2 $3 $4" ] ||
		fail "$label $1: not $2 $3 $4"
}

# Two lines of one set, in turns; a store in two lines; what is changed where it stands.
cat >"$work/trace" <<'END'
==1== Lackey, an example Valgrind tool
I  04000000,3
 L 1ffe0000,8
 L 1fff0000,8
 L 1ffe0000,8
I  04000003,5
 S 1ffe007c,8
 M 1ffe0080,4
END
simulate 0 --cache=1K,1,64:4K,2,64
[ -s "$err" ] && fail "$label it complains"
row loads 4 3 2
row stores 1 1 1
row all 5 4 3
grep -q fetches "$out" && fail "$label there are fetches"
# The line that both fetches are in has its place in a set that both loads take.
simulate 0 --code=1K,1,64 --cache=1K,1,64:4K,2,64 -
row fetches 2 2 2
row all 7 6 5
simulate 0 --code=1K,1,64 --cache=1K,1,64:4K,2,64 --policy=independent -
row fetches 2 1 1
simulate 0 "$work/trace"
row loads 4 2 2

simulate 2 --cache=1K,3,64
said "--cache=1K,3,64: 1024 bytes in 3 ways with lines of 64 bytes are no cache"
simulate 2 --code=48K,4,64
said "--code=48K,4,64: 49152 bytes in 4 ways"
simulate 2 --cache=1K,2,64:4K,2,128
said "all levels have lines of one size"
simulate 2 --code=1K,1,64:1K,1,64
said "it is \`host\` or SIZE,WAYS,LINE"
simulate 2 --policy=exclusive
said "inclusive or independent"
simulate 1 "$work/nothing"
said "No such file"
simulate 1 "$work"
said "directory"
"$FLICK" cache --cache=host --code=host <"$work/trace" >"$out" 2>"$err" ||
	grep -q "does not say what its caches are\|are no cache" "$err" || fail "$label host"

echo " L 1ffe0000" >>"$work/trace"
echo " L 1ffe0000,0" >>"$work/trace"
simulate 0
said "passed over what is no access (lines: 2)"
echo "I  04000000,3" >"$work/trace"
simulate 1
said "no loads and no stores"
