#!/bin/sh
# XRay's runtime patches sleds that flick has armed, while threads run through them: XRay
# sees each call it would see, what it has not touched goes on being recorded, and one line says
# so. So it is after flick_close().
. "$(dirname "$0")/lib"
no_emulator xray
need sqlite3 clang
CC=clang
target xray-patch -O1 -fxray-instrument -fxray-instruction-threshold=1
orders="patch
patch unpatch patch
one unpatch one patch"

says() {	# PATTERN
	n=$(grep -c 'its own code' "$err")
	[ "$n" = 1 ] || fail "$label $n lines tell of it"
	grep -q "$1" "$err" || fail "$label the line does not say: $1"
}

say "$orders" | while read -r order; do
	run "$work/xray-patch" $order
	grep '^seen' "$out" >"$work/plain"
	for options in "-a counts" "-a latency --all" "" "-K 1 --epoch=10" "--rate=50%" \
		"--text=alias -a counts" "--sync=signal -a counts"; do
		label="$options, $order:"
		record $options -- "$work/xray-patch" $order
		succeeded
		grep '^seen' "$out" | cmp -s - "$work/plain" || fail "$label XRay misses calls"
		says 'has patched its own code'
		[ "$options" != "-a counts" ] || exact
	done
done || exit 1

label="patched by XRay before main:"
XRAY_OPTIONS=patch_premain=true record -a counts -- "$work/xray-patch" unpatch
succeeded
says 'has patched its own code'

label="flick.h:"
libraries="-L$(dirname "$FLICK") -lflick -Wl,-rpath,$(dirname "$FLICK")"
target xray-patch -O1 -fxray-instrument -fxray-instruction-threshold=1 -DSELF -I"$top/include"
say "$orders" | while read -r order; do
	run "$work/xray-patch" $order
	succeeded
done
