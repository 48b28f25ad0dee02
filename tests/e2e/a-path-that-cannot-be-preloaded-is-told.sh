#!/bin/sh
# The loader takes blanks and colons in LD_PRELOAD for ends: then the program is not run.
. "$(dirname "$0")/lib"
for name in "a blank" a:colon; do
	mkdir "$work/$name"
	cp "$(dirname "$FLICK")"/libflick.so* "$work/$name/"
	label="$name:"
	FLICK_LIB="$work/$name/libflick.so.0" record -- sh -c 'echo ran'
	succeeded 1
	! grep -q ran "$out" || fail "$label the program was run"
	grep -q 'a blank or a colon' "$err" || fail "$label nothing is said"
done
