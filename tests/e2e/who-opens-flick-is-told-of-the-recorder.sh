#!/bin/sh
# A program that would switch its own probes by a libflick of its own, and is recorded: it is
# told so, goes on, and every call of its is recorded; and the recorder says it.
. "$(dirname "$0")/lib"
BUILD=${BUILD:-$top/build}

libraries=$BUILD/libflick.a target reopen -O2 $sites -I"$top/include"
for how in "-a counts" "--all -a latency" "--all --follow -a latency"; do
	label="$how:"
	record $how -- "$work/reopen" record
	succeeded
	grep -q 'own probes (flick.h)' "$err" || fail "$label it is not said"
	table=counts
	[ "${how%latency}" = "$how" ] || table=latency
	exact $table
done
