#!/bin/sh
# After flick_close() every byte of code and every mapping of it is what it was:
# by mprotect and by alias, threads running, a library loaded and unloaded; and
# so are the bytes of a program whose recorder was killed.
. "$(dirname "$0")/lib"
need "$CC"

check() {	# FLAGS...
	libraries=
	library text-lib -O1 "$@"
	libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
	target text -O1 "$@" -I"$top/include"
	for how in mprotect alias; do
		label="$CC $* $how:"
		FLICK_TEXT=$how run "$work/text" close "$work/text-lib.so"
		succeeded
	done
}

check $sites
if command -v clang >/dev/null; then
	CC=clang
	check $sites
	check -fxray-instrument -fxray-instruction-threshold=1
	CC=gcc
fi

outlive() {
	label="recorder killed, $1:"
	"$FLICK" record --text=$1 -a counts -o "$data" -- "$work/text" outlive \
		>"$out" 2>"$err" &
	reader=$!
	for i in $(seq 600); do
		grep -q '^ready' "$out" && break
		sleep 0.1
	done
	kill -KILL $reader
	wait $reader 2>/dev/null
	for i in $(seq 300); do
		grep -q '^restored' "$out" && return
		sleep 0.1
	done
	fail "$label the text is not the file's"
}

target text -O1 $sites -I"$top/include"
outlive mprotect
outlive alias
