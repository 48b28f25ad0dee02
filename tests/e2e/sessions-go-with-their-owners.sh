#!/bin/sh
# flick ctl session: what several sessions want of one program is recorded while any of them
# wants it. One goes with the command that began it, however that ends: killed at any moment,
# dropped by another one, or with the recording; the others lose no call, and what somebody has
# staged stays so. What is loaded meanwhile is theirs, too. The program does a step when it is told to, so each call is on one side of a
# change.
#
# timeout: 120
# waits
. "$(dirname "$0")/lib"
. "$(dirname "$0")/steps-lib"
need sqlite3

calls() {	# TABLE NAME N
	got=$(sql "select coalesce(sum(calls), 0) from $(rows "$1") where name = '$2'")
	[ "$got" = "$3" ] || fail "$label: $2 has $got calls, not $3"
}

overlap() {	# TABLE
	step c 10
	begin x a
	x=$owner
	step c 100
	begin y '[ab]'
	y=$owner
	ctl session list
	grep -q '^x .* of 1 function: a$' "$out" && grep -q '^y .* of 2 functions' "$out" ||
		fail "$label: list: $(cat "$out")"
	step c 1000
	ends KILL $x				# y wants it yet
	step c 10000
	ctl stage on b
	ctl commit
	step c 5
	ctl session drop y
	! wait $y || fail "$label: y ends well"
	grep -q 'has been dropped' "$work/y.said" || fail "$label: y is not told"
	step c 20				# b is the recording's own now
	ctl stage on a
	begin z a
	step c 3
	ends HUP $owner
	step c 100000				# off again, and still staged
	ctl diff
	grep -q '^on *a ' "$out" || fail "$label: what was staged is gone"
	ctl commit
	step c 7
	begin w b
	ctl stage off b
	ctl commit
	sleep 6					# an owner says nothing for as long as it likes
	step c 40				# w wants it yet
	ends TERM $owner
	step c 500000
	ctl session list
	grep -q '^0 beside' "$out" || fail "$label: list: $(cat "$out")"
	finish
	calls "$1" a $((100 + 1000 + 10000 + 5 + 3 + 7 + 40 + 500000))
	calls "$1" b $((1000 + 10000 + 5 + 20 + 3 + 100000 + 7 + 40))
	calls "$1" c $((10 + 100 + 1000 + 10000 + 5 + 20 + 3 + 100000 + 7 + 40 + 500000))
}

# await_sessions N	beside the recording's own, in a while
await_sessions() {
	for try in $(seq 200); do
		ctl session list
		grep -q "^$1 beside" "$out" && return
		sleep 0.02
	done
	fail "$label: not $1 sessions: $(cat "$out" "$work"/n*.out 2>/dev/null)"
}

# later TABLE	What is loaded while a session wants it is its own from the first call to its
# end, and nobody's else.
later() {
	begin x '[bh]*'
	x=$owner
	step "load $work/comes-back.so"
	step h 100
	ctl session list
	grep -q '^x .* of 2 functions: ' "$out" || fail "$label: list: $(cat "$out")"
	ends KILL $x
	step h 1000
	begin y 'h*t'
	step h 10
	ends KILL $owner
	step unload			# it is loaded again while a session wants it
	begin z 'h*'
	step "load $work/comes-back.so"
	step h 3
	ends KILL $owner
	step h 100000
	step unload
	step "load $work/other.so"
	step h 10000
	step unload			# nobody has ever wanted what is in it
	begin v 'h*'
	step "load $work/other.so"
	step h 4
	ends KILL $owner
	step h 1000000
	step c 5
	finish
	calls "$1" hot 117
	calls "$1" c 5
}

target steps -O1 $sites -ldl
library comes-back -O1 $sites -DLIBRARY
cp "$work/comes-back.so" "$work/other.so"
program=$work/steps
label=all
start --all -P c
overlap latency
label=later
start --all -P c
later latency
label=later-counted
start -a counts -P c
later counts
label=counted
start -a counts -P c
overlap counts
label=counts
start -P c -P main
begin y a
y=$owner
begin x a count				# y has it timed
step c 1000
ends KILL $y
step c 10000
ctl session list
grep -q '^x .*: a (counted)$' "$out" || fail "$label: list: $(cat "$out")"
finish
calls latency a 11000
[ "$(sql "select sampled > 0 from $(rows latency) where name = 'a'")" = 1 ] ||
	fail "$label: a is not timed: $(sql "select * from $(rows latency)")"
label=counted-alone
start -P c
begin x a count
step c 10000
finish
[ "$(sql "select calls, coalesce(sampled, 0) from $(rows latency) where name = 'a'")" = "10000 0" ] ||
	fail "$label: a is timed: $(sql "select * from $(rows latency)")"
target steps -O1
label=bodies
start -P c
overlap latency

# Killed before it is answered, while it is, or later: nothing is left of it.
label=killed
start -a counts -P c
begin stays b
for i in $(seq 40); do
	"$FLICK" ctl -p "$target" session new "s$i" a >/dev/null 2>&1 8>&- 9<&- &
	[ $((i % 4)) -eq 0 ] || sleep 0.00$((i % 10))
	kill -KILL $!
	wait $! 2>/dev/null
done
await_sessions 1
begin last a				# behind what was asked before
ends KILL $owner
ctl stage off c				# and the program follows
ctl commit
step c 1000
refused 'already' session new stays a
refused 'letters' session new 'a/b' a
refused 'no function with a probe' session new other nothing_of_the_kind
refused 'no session' session drop other
refused 'takes' session new
refused 'takes' session over
refused 'status, list, session' bogus
finish
calls counts a 0
calls counts b 1000
calls counts c 0

# Who comes while another one begins waits for that.
label=crowd
start -P c
rm -f "$work"/n*.out
for i in $(seq 12); do
	"$FLICK" ctl -p "$target" session new "n$i" '[ab]' >"$work/n$i.out" 2>&1 8>&- 9<&- &
done
await_sessions 12
finish

label=alone
start --trace
refused 'trace' session new x a
finish
