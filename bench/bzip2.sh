#!/bin/sh
# bzip2.sh - a real program, recorded: bzip2 -O2 on 30 MB of shared libraries.
#
#	record.bzip2         flick, exhaustive latency of every function
#	peer.uftrace.bzip2   uftrace record of the same binary
#	bzip2.instrumented   the binary with -finstrument-functions, used by nobody
#
# NAME is wall time over the instrumented binary run alone; NAME.o2 over the
# one compiled without -finstrument-functions; NAME.cpu and NAME.o2.cpu are
# user + system time, of the reader too: factors. A run counts only when it wrote
# the bytes that the plain one wrote.
set -eu
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/programs.sh"

rounds=${FLICK_ROUNDS:-5}

give_up() {	# REASON
	for name in record.bzip2 peer.uftrace.bzip2; do
		skip $name "$1"
	done
	exit 0
}

run_record() {
	timed_run bzip2 huge $on_other "$build/flick" record -a latency --all \
		-o "$scratch/flick.data" -- "$probed" ||
		{ record_reason="flick: $why"; return 0; }
	add_factors record.bzip2
}

run_uftrace() {
	timed_run bzip2 huge $on_other uftrace record -d "$scratch/uftrace.data" \
		"$probed" || { uftrace_reason="uftrace: $why"; return 0; }
	add_factors peer.uftrace.bzip2
	add peer.uftrace.bzip2.mb \
		"$(calc "$(du -sb "$scratch/uftrace.data" | cut -f 1) / 1e6")"
}

record_reason= uftrace_reason=
[ -x "$build/flick" ] || record_reason="no $build/flick"
command -v uftrace >/dev/null || uftrace_reason="uftrace is not installed"
ready bzip2 && libraries 30000000 || give_up "$why"
baselines bzip2 huge || give_up "bzip2 failed: $why"	# warm

round=0
while [ $round -lt $rounds ]; do
	baselines bzip2 huge || give_up "bzip2 failed: $why"
	add bzip2.instrumented "$(calc "$probed_wall / $plain_wall")"
	for tool in record uftrace; do
		eval "reason=\$${tool}_reason"
		[ "$reason" ] && continue
		rm -rf "$scratch"/*.data
		run_$tool
	done
	round=$((round + 1))
done

for what in '' .cpu .o2 .o2.cpu; do
	report record.bzip2$what x "$record_reason"
	report peer.uftrace.bzip2$what x "$uftrace_reason"
done
report peer.uftrace.bzip2.mb MB "$uftrace_reason"
report bzip2.instrumented x
