#!/bin/sh
# A program that would switch its own probes, and is recorded: it is told so, goes on, and
# every call of its is recorded, whether it has libflick.so or brings a libflick of its own;
# and the recorder says it.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}

for with in "$BUILD/libflick.so -Wl,-rpath,$BUILD" "$BUILD/libflick.a"; do
	for how in "-a counts" "--all -a latency" "--all --follow -a latency"; do
		label="${with%% *} $how:"
		libraries=$with target reopen -O2 $sites -I"$top/include"
		record $how -- "$work/reopen" record
		succeeded
		grep -q 'own probes (flick.h)' "$err" || fail "$label it is not said"
		table=counts
		[ "${how%latency}" = "$how" ] || table=latency
		exact $table
	done
done
