#!/bin/sh
# With --text=alias no mapping is writable and executable at any time, and what
# is recorded is as exact: every provider, dlopen, fork. By mprotect there are
# such mappings, or this test would see nothing.
. "$(dirname "$0")/lib"
no_emulator alias
need sqlite3 "$CC"
libraries=
library text-lib -O1 $sites
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
target text -O1 $sites -I"$top/include"
label="flick.h alias:"
FLICK_TEXT=alias run "$work/text" wx "$work/text-lib.so"
succeeded
label="flick.h mprotect:"
FLICK_TEXT=mprotect run "$work/text" wx "$work/text-lib.so"
[ $status -ne 0 ] || fail "$label it saw no such mapping"
label="flick.h alias, code made read-only by the program:"
FLICK_TEXT=alias run "$work/text" protect
succeeded
label="flick.h, FLICK_TEXT of forty letters:"
FLICK_TEXT=$(printf '%040d' 0) run "$work/text" protect
[ $status -ne 0 ] || fail "$label it is taken"
libraries=

recorded() {	# COMMAND...
	record --text=alias -a counts -- "$@"
	succeeded
	exact
	lossless
}

for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	label="$CC cyg:"
	target threads -O2 $sites
	recorded "$work/threads"
	label="$CC patchable:"
	target threads -O2 -fpatchable-function-entry=5
	recorded "$work/threads"
	label="$CC dlopen:"
	target dlopen -O2 $sites
	library dlopen-lib -O2 $sites
	recorded "$work/dlopen" "$work/dlopen-lib.so" 100
	label="$CC fork:"
	target fork -O2 $sites
	recorded "$work/fork"
	label="$CC sampling fork:"
	record --text=alias -- "$work/fork"
	succeeded
done
command -v clang >/dev/null || exit 0
label="xray:"
CC=clang target threads -O2 -fxray-instrument -fxray-instruction-threshold=1
recorded "$work/threads"
label="count:"
run "$FLICK" count --text=alias 'leaf*' -- "$work/threads"
succeeded
label="latency:"
run "$FLICK" latency --text=alias 'leaf*' -- "$work/threads"
succeeded
