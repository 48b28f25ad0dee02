#!/bin/sh
# The reader dies, or leaves a daemon behind: a call of any function executes from
# then on not one instruction of flick's, but at a place that was never armed the few
# of a function that returns at once. No page of text stays writable.
# waits
. "$(dirname "$0")/lib"
x86_target orphan
need "$CC"
target orphan -O2 $sites -fcf-protection=none

ends_alone() {	# HOW OPTIONS
	label="$1, $2:"
	rm -rf "$data" "$out"
	"$FLICK" record $2 -o "$data" -- "$work/orphan" "$1" >"$out" 2>"$err" &
	wait $!
	for i in $(seq 150); do
		grep -q '^done' "$out" && break
		sleep 0.1
	done
	grep -q '^done' "$out" || fail "$label it does not end"
	if grep '^wrong:' "$out" >"$work/wrong"; then
		fail "$label $(cat "$out")"
	fi
}

for how in "" "-K 1000000" "-a counts" "-a latency --all" "-a graph --rate=1%" \
	"-a graph --rate=99%" "-P unrelated"; do
	ends_alone kill "$how"
done
ends_alone kill "-a counts --text=alias"
for how in "" "-a counts" "-a latency --all"; do
	ends_alone kill "-f $how"
	ends_alone stay "-f -d 0.5 $how"
done
