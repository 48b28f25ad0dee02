#!/bin/sh
# Once there are many samples they take no more than a part of the budget: there are fewer, each
# stands for more time, and self times are what they were. Where threads come one after the
# other, which would live for less than that, or many are there, there are as many as before.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
no_emulator samples
. "$here/attach-lib"
compile "$work/spin" "$targets/spin.c" -O2 -DREST=250000
compile "$work/attach-spins" "$targets/attach-spins.c" -O2 -rdynamic
compile "$work/attach-herd" "$targets/attach-herd.c" -O2 -rdynamic

value() {
	sql "select value from session where key = '$1'"
}

look() {
	periods=$(sql "select sum(self_ns) / 997003 from latency")
	samples=$(value pc_samples)
	[ "$periods" -gt 2600 ] || skip "$periods periods of CPU time are few"
	[ "$samples" -gt 600 ] || fail "$label $samples samples"
}

near() {	# FUNCTION PERCENT MORE-OR-LESS
	got=$(sql "select round(100.0 * self_ns / (select sum(self_ns) from $(rows latency)
			where name not like '[vdso]%' and name not like 'clock_gettime%'), 1)
		from $(rows latency) where name = '$1'")
	awk -v got="${got:-0}" -v want="$2" -v by="$3" 'BEGIN { d = got - want
		exit d < -by || d > by }' || fail "$label $1: $got % of the time, not $2"
}

# What the budget pays is a sample in eight periods.
record -d 0.5 -- "$work/spin"
grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
budget=$(value pc_sample_ns | awk '{ b = 100 * $1 / 997003 * 4 / 7.5
	printf "%.3f", b < 0.1 ? 0.1 : b }')

label="long threads:"
record --budget "$budget" -- "$work/spin"
succeeded
look
[ "$samples" -lt $((periods * 9 / 10)) ] || fail "$label $samples samples of $periods periods"
# What one costs is measured for each recording anew. If it is twice what it was, or half, half as
# many come before there are fewer, or twice as many, and a sample stands for more periods or less.
most=$(value pc_sample_ns | awk -v budget="$budget" -v periods="$periods" '{
	part = 100 * $1 / 997003
	n = part > budget ? 2048 * budget / part : 2048
	apart = part * 4 / budget
	print int(n * 1.2 + periods / (apart > 2 ? apart - 0.5 : 1)) }')
[ "$samples" -lt "$most" ] || fail "$label $samples are more than the budget allows, $most"
near main 71 6
near heavy 17 5
near medium 9 4
near light 3 3
# One thread, which was there for so long.
most=$(sql "select value / 997003 from session where key = 'duration_ns'")
[ "$periods" -le "$most" ] || fail "$label $periods periods, where there were $most"

label="short threads:"
program=attach-spins
begin
for=5 attach --budget "$budget"
look
[ "$samples" -ge $((periods * 9 / 10)) ] || fail "$label $samples samples of $periods periods"
near heavy 60 4
near medium 30 4
near light 10 2.5
finish

label="many threads:"
program=attach-herd
begin
before=$(awk '{ print $14 }' /proc/$pid/stat)
for=7 attach --budget "$budget"
after=$(awk '{ print $14 }' /proc/$pid/stat)
look
[ "$samples" -ge $((periods * 9 / 10)) ] || fail "$label $samples samples of $periods periods"
# In ticks of 10 ms; first() had what was before. The first sample of each is not there.
had=$(((after - before) * 10 - 2600))
[ $had -ge 600 ] || skip "$had ms of CPU time in all threads are few"
ms=$(sql "select self_ns / 1000000 from $(rows latency) where name = 'heavy'")
[ "${ms:-0}" -ge $((had * 3 / 4)) ] || fail "$label $ms ms of $had"
finish
