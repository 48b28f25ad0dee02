#!/bin/sh
# perf probe, bpftrace and their like have the kernel put a trap at a function's entry (a uprobe): into
# every private mapping of its file, also those by which flick reads it. That function has no second
# body, the trap is met as often as it is called, and the program runs as without.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" nm
[ "$(id -u)" = 0 ] || skip "only root makes uprobes"
tracing=/sys/kernel/tracing
[ -w $tracing/uprobe_events ] || skip "there is no $tracing"
target threads -O2
at=$(nm "$work/threads" | awk '$3 == "twig" { print $1 }')
event=flick_test_$$
end_event() {
	echo 0 >"$tracing/events/$event/twig/enable"
	echo "-:$event/twig" >>$tracing/uprobe_events
}
echo "p:$event/twig $work/threads:0x$at" 2>"$work/no" >>$tracing/uprobe_events ||
	skip "no uprobe can be made: $(cat "$work/no")"
trap 'end_event 2>/dev/null; rm -rf "$work"' EXIT
echo 1 >"$tracing/events/$event/twig/enable" || skip "it cannot be switched on"

TRUTH_THREADS= record -a counts -- "$work/threads" 1 300
succeeded
called=$(awk '$2 == "twig" { print $3 }' "$out")
met=$(awk -v f="$work/threads" '$1 == f && $2 == "twig" { print $3 }' $tracing/uprobe_profile)
[ -n "$met" ] && [ "$met" -ge "$called" ] || fail "the trap was met $met times, of $called"
sed -i '/^count twig/d' "$out"
exact
n=$(sql "select count(*) from sites s join functions f on f.id = s.function
	where f.name = 'twig' and s.kind = 'entry' and s.refusal")
[ "$n" -eq 1 ] || fail "the function with a trap is not refused"
