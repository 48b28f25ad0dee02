#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
: >"$work/file"
for dir in "$work/file" "$work/file/under" /dev/null/x /proc/flick.data \
	"$work/no/such/place"; do
	label="-o $dir:"
	run "$FLICK" record -o "$dir" -- "$work/recursion"
	one_line_error 1 "${dir##*/}"
	! grep -q '^count' "$out" || fail "$label the program ran for nothing"
done
