#!/bin/sh
# FLICK_FAULT that cannot be understood: one line, and nothing is run.
. "$(dirname "$0")/../e2e/lib"
need "$CC"
target threads -O2 $sites
for spec in nonsense:1 mmap mmap: mmap:0 mmap:x mmap:1x mmap:1++ 'mmap:1 open' \
	"$(seq -f 'mmap:%g' 17 | tr '\n' ' ')"; do
	label="FLICK_FAULT='$spec':"
	FLICK_FAULT=$spec run "$FLICK" record -o "$data" "$work/threads"
	[ $status -eq 1 ] || fail "$label status $status"
	[ "$(grep -c . "$err")" -eq 1 ] || fail "$label not one line"
	grep -q '^flick: FLICK_FAULT takes ' "$err" || fail "$label it says nothing of it"
	[ ! -s "$out" ] || fail "$label the program ran"
done
label="blanks:"
FLICK_FAULT=' mmap:1000000, ' run "$FLICK" record -o "$data" "$work/threads"
succeeded
label="a program of its own:"
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
target fault -O1 $sites -I"$top/include"
library text-lib -O1 $sites
FLICK_FAULT=nonsense run "$work/fault" "$work/text-lib.so"
succeeded
grep -q '^refused: an option is unknown' "$out" || fail "$label flick_open() took it"
