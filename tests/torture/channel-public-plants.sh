#!/bin/sh
# channel-public-plants.sh - the tortures of flick/channel.h see each planted fault.
#
# timeout: 600
set -u
cd "$ROOT" || exit 1
bad=0

plant()			# TORTURE PLANT [LINE]
{
	"$CC" -std=gnu11 -D_GNU_SOURCE -O2 -w -Isrc -Iinclude -DFL_PLANT_"$2" \
		-o "$TMP/plant" "tests/torture/$1.c" "$BUILD/tested.a" \
		${LINK:-} -lpthread -ldl || exit 1
	# A kill must come at the very moment: another try, then.
	for turn in 1 2 3; do
		FLICK_TORTURE=long timeout 120 "$TMP/plant" ${3:-} >"$TMP/out" || break
		[ $turn -lt 3 ] || { echo "not seen: $2"; bad=1; }
	done
	sed "s/^/$2: /" "$TMP/out"
}

[ -f "$BUILD/tested.a" ] || { echo "tested.a is not built"; exit 77; }
plant channel-public COMMIT_FIRST kill
plant channel-public NO_GUARD signals
plant channel-public NO_DISTANCE order
plant channel-public NO_COPY bursts
plant channel-steps NO_GUARD handler
exit $bad
