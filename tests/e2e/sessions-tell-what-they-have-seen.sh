#!/bin/sh
# flick ctl session: what one has seen, of the functions that it wants, is told when its command is
# asked to end, when the recording ends, and whenever somebody asks: each call behind its begin,
# none before, whoever else records the function and however the recording was begun. The program
# does a step when it is told to, so each call is on one side of each of these.
#
# timeout: 120
. "$(dirname "$0")/lib"
. "$(dirname "$0")/steps-lib"
need sqlite3

# tells FILE NAME N	of NAME it has N calls; no row: none
tells() {
	got=$(awk -v name="$2" '$NF == name {		# a time is two words, or a dash
		print $(NF == 2 ? 1 : $1 == "-" ? 2 : 3) }' "$1")
	[ "${got:-0}" = "$3" ] || fail "$label: $2 has '$got' calls, not $3: $(cat "$1")"
}

shows() {	# SESSION NAME N
	ctl session result "$1"
	tells "$out" "$2" "$3"
}

seen() {
	step c 10
	begin x a
	x=$owner
	shows x a 0
	step c 100
	shows x a 100
	shows x b 0
	begin y '[ab]'
	y=$owner
	step c 1000
	shows x a 1100
	shows y a 1000
	shows y b 1000
	kill -INT $y
	wait $y || fail "$label: y ends with $?: $(cat "$work/y.said")"
	tells "$work/y.out" a 1000
	tells "$work/y.out" b 1000
	step c 10000
	refused 'no session `y`' session result y
	begin z b
	kill -STOP $recorder			# nobody answers between the two
	kill -TERM $owner
	while grep -q '^S[a-z]*Pnd:.*[1-9a-f]' /proc/$owner/status; do
		sleep 0.01
	done
	kill -TERM $owner			# as timeout does
	kill -CONT $recorder
	wait $owner || fail "$label: z ends with $?: $(cat "$work/z.said")"
	grep -q 'no call of its functions was recorded' "$work/z.out" || fail "$label: z tells '$(cat "$work/z.out")'"
	step c 5
	begin w c
	w=$owner
	step c 7
	ctl session drop x
	! wait $x || fail "$label: x ends well"
	step c 2
	finish
	wait $w || fail "$label: w ends with $?: $(cat "$work/w.said")"
	tells "$work/w.out" c 9
}

target steps -O1 $sites
program=$work/steps
label=all
start --all -P c
seen
label=beside
start --all
seen
label=readers
start --all --readers 2
begin y c
step c 30
shows y c 30
for n in 1 2 3 4; do
	step "thread 10"		# half of these threads are the other one's
	shows y c $((30 + n * 10))
done
finish
label=counted
start -a counts -P c
seen
label=sampled
start -P c
seen
# Of calls that were timed there are quantiles, and every call has all that is asked for.
label=quantiles
start
refused 'with --all' session new w -a graph c
refused 'percentage' session new w --budget=200 c
refused 'percentage' session new w --budget c
begin y -a latency c
begin x --budget=5% a
ctl session list
grep -q '^x .*(budget 5 %)$' "$out" || fail "$label: $(cat "$out")"
step c 100000
ctl session result y
grep -q 'Calls.*Avg.*P50.*P99' "$out" || fail "$label: $(cat "$out")"
awk '$NF == "c" && $3 ~ /^~?[0-9]/ && $6 ~ /^[0-9.]+$/ && $8 > 0 { ok = 1 } END { exit !ok }' "$out" ||
	fail "$label: $(cat "$out")"
finish
# Its times are those of the recording.
label=times
start --all -P main
begin y 'c'
step c 100000
finish
wait $owner
told=$(awk '$NF == "c" { print $1 * ($2 == "s" ? 1e9 : $2 == "ms" ? 1e6 : 1e3) }' "$work/y.out")
total=$(sql "select total_ns from $(rows latency) where name = 'c'")
awk -v a="$told" -v b="$total" 'BEGIN { exit !(a > b * 0.98 && a < b * 1.02) }' ||
	fail "$label: $told ns in all, the recording has $total: $(cat "$work/y.out")"
# What another one's probes take in its calls is no time of theirs: alone, and beside all.
ns_of() {	# FILE NAME: its average
	awk -v name="$2" '$NF == name { print $4 * ($5 == "s" ? 1e9 : $5 == "ms" ? 1e6 : $5 == "us" ? 1e3 : 1) }' "$1"
}
is_alike() {
	awk -v a="$alone" -v b="$beside" -v raw="$raw" 'BEGIN { exit !(b < a + (raw - a) / 2) }'
}
# Beside others on the machine one of the two may be slower.
for try in 1 2 3 4; do
	label=alone
	start --all -P main
	begin y c
	step c 200000
	ctl session result y
	alone=$(ns_of "$out" c)
	finish
	label=beside
	start --all
	begin y c
	step c 200000
	ctl session result y
	beside=$(ns_of "$out" c)
	finish
	raw=$(sql "select raw_avg_ns from $(rows latency) where name = 'c'")
	is_alike && break
done
is_alike || fail "$label: c takes $beside ns, alone $alone, with all probes $raw"

# Analyses of its own, of its functions alone: who called is the nearest of these.
label=analyses
start --all -P main
begin y -a counts,graph,tree '[abc]'
begin z -a graph '[ab]'
step c 100
ctl session result y
for line in 'counts:' 'graph:' 'tree:' '100 *c *a$' '100 *c *b$'; do
	grep -q -e "$line" "$out" || fail "$label: no '$line': $(cat "$out")"
done
ctl session result z
grep -q '100 *[-?(].*  *a$' "$out" && ! grep -q '  *c ' "$out" ||
	fail "$label: who calls a? $(cat "$out")"
finish

label=own
start --all
refused 'no such analysis\|not an analysis\|is no analysis' session new w -a nonsense c
refused 'flick record -p' session new w -a ./mine.so c
refused 'calls alone' session new w -a paths c
refused 'has no budget' session new w --budget=1 c
refused 'a session takes' session new w --rate=1 c
refused 'session takes' session end
refused 'session takes' session result
refused 'no session' session result nobody
finish
