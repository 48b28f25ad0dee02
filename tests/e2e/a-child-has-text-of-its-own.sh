#!/bin/sh
# What parent and child of a fork switch is their own; a child of a bare clone,
# of which flick cannot know, keeps the code it was born with.
. "$(dirname "$0")/lib"
need "$CC"
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
for flags in "$sites" -fpatchable-function-entry=5; do
	target text -O1 $flags -I"$top/include"
	for how in mprotect $(aliased); do
		for case in fork clone; do
			label="$flags $how $case:"
			FLICK_TEXT=$how run "$work/text" $case
			succeeded
		done
	done
done
