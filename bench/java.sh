#!/bin/sh
# java.sh - the peer: Java's VolatileCallSite, switched while it is called.
#
#	peer.java.one.hot              one setTarget() while another core calls
#	peer.java.throughput.RATE, .swap.RATE, .balance.RATE
#	                               as in throughput.c, between a target and
#	                               one that does nothing, and between two
#	peer.java.called.*             the same where the compiler cannot inline
#	                               the target, see peers/Toggle.java
set -eu
. "$(dirname "$0")/lib.sh"

hz=$(calc "${TSC_MHZ:-$(awk -F: '/cpu MHz/ { print $2 + 0; exit }' \
	/proc/cpuinfo)} * 1e6")

run_java() {	# HOW: inlined or called
	timeout 120 java -XX:+UseSerialGC -cp "$out/java" Toggle "$hz" "$1" \
		>"$scratch/$1" 2>"$scratch/log"
}

# What Toggle prints, `NAME NUMBER`, to the series NAME under a prefix.
take() {	# HOW PREFIX
	while read -r name number; do
		add "$2.$name" "$number"
	done <"$scratch/$1"
}

median() {	# NAME
	sort -g "$scratch/$1" | awk '{ v[NR] = $1 }
		END { printf "%.0f", v[int((NR + 1) / 2)] }'
}

report_rate() {	# PREFIX PART RATE SWITCHES_A_SECOND SERIES UNIT
	reached=$(median "$1.reached.$2.$3")
	reason=
	if [ "$reached" -lt $(($4 * 95 / 100)) ]; then
		reason="$reached switches a second is the most it reaches, with $(median "$1.$2.$3") % of calls left"
	fi
	report "$1.$5.$3" "$6" "$reason" "$reached"
}

report_all() {	# PREFIX
	report "$1.one.hot" ticks
	for rate in 1k:1000 10k:10000 100k:100000 1m:1000000; do
		name=${rate%:*} n=${rate#*:}
		report_rate "$1" throughput $name $n throughput '% of calls'
		report_rate "$1" swap $name $n swap '% of calls'
		report_rate "$1" swap $name $n balance times
	done
}

for how in inlined called; do
	prefix=peer.java
	[ $how = inlined ] || prefix=peer.java.$how
	if run_java $how; then
		take $how $prefix
		report_all $prefix
	else
		echo "java $how: $(last_line "$scratch/log")" >&2
	fi
done
