#!/bin/sh
# channel-plants.sh - torture/channel sees each fault that is planted in it.
#
# timeout: 600
set -u
cd "$ROOT" || exit 1
bad=0

plant()
{
	"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -w -Isrc -Iinclude -DFL_PLANT_"$1" \
		-o "$TMP/plant" tests/torture/channel.c "$BUILD/tested.a" \
		${LINK:-} -lZydis -lpthread -ldl || exit 1
	if "$TMP/plant" "$2" >"$TMP/out"; then
		echo "not seen: $1"
		bad=1
	fi
	sed "s/^/$1: /" "$TMP/out"
}

[ -f "$BUILD/tested.a" ] || { echo "tested.a is not built"; exit 77; }
plant COMMIT_FIRST kill
plant SIGNAL_HOLE signals
plant NO_DISTANCE order
plant MARK_LAST threads
plant SPLIT_PAIR pairs
exit $bad
