#!/bin/sh
# flick ctl: what is staged and committed is recorded from then on, no call earlier and none
# later, however the recording was begun; what is refused changes nothing. The program does a
# step when it is told to, so each call is on one side of a change.
#
# timeout: 120
# waits
. "$(dirname "$0")/lib"
no_emulator names
. "$(dirname "$0")/steps-lib"
need sqlite3

calls() {	# TABLE NAME N
	got=$(sql "select coalesce(sum(calls), 0) from $(rows "$1") where name = '$2'")
	[ "$got" = "$3" ] || fail "$label: $2 has $got calls, not $3"
}

changes() {	# TABLE
	step c 100
	ctl stage off a
	grep -q 'of 1 function staged' "$out" || fail "stage says what"
	step c 10				# nothing has changed
	ctl diff
	grep -q '^off *a ' "$out" || fail "diff"
	ctl commit
	grep -q '^generation 1: [1-9][0-9]* sites* switched in [0-9]* us' "$out" || fail "commit"
	step c 1000
	now 'off' a
	now 'on' b
	ctl stage on a
	now 'off' a				# it is staged
	ctl abort
	step c 10000
	refused 'nothing is staged' commit
	refused 'commit takes nothing behind it' commit now
	refused 'status takes nothing behind it' status please
	printf '# both\n\nstage on a\nstage off b\n' | ctl -
	step c 7
	lines=2 refused 'nothing has changed' "$work/wrong"
	ctl diff
	grep -q 'nothing is staged' "$out" || fail "half of a file is staged"
	step c 30
	ctl stage on b
	ctl commit
	step c 5
	ctl status
	grep -q 'generation 3' "$out" || fail "status"
	finish
	calls "$1" a $((110 + 37 + 5))
	calls "$1" b $((110 + 11000 + 5))
	calls "$1" c $((110 + 11000 + 37 + 5))
}

# now WHAT FUNCTION	it is so just now, as `list` says, and all others in the order on, count, off
now() {
	ctl list
	grep -q "^$1  *$2\$" "$out" || fail "$label $2 is not $1: $(cat "$out")"
	awk '{ print $1 }' "$out" | grep -v '[0-9]' | uniq | tr '\n' ' ' >"$work/order"
	case $(cat "$work/order") in
	"on " | "on off " | "on count " | "on count off " | "on no " | "on off no ") ;;
	*) fail "$label the order is $(cat "$work/order")" ;;
	esac
	n=$(grep -c '^on ' "$out")
	tail -n 1 "$out" | grep -q "^$n on" || fail "$label not $n on: $(tail -n 1 "$out")"
	ctl list "$2*"
	[ "$(grep -c '^[a-z]' "$out")" -ge 1 ] && ! grep -q '^[a-z]* *main' "$out" ||
		fail "$label list $2*: $(cat "$out")"
	ctl status
	grep -q "^functions  $n on" "$out" || fail "$label status: $(cat "$out")"
}

# says_whose FUNCTIONS	these have calls of a part of the run, and rows that no mark tells from others
says_whose() {
	run "$FLICK" report "$data"
	succeeded
	grep -q "^  calls and times of $1 are of a part of the run: flick ctl" "$out" ||
		fail "$label the report does not say of $1: $(cat "$out")"
}

# again TABLE	what is staged while its module is unloaded is so when it is loaded again.
again() {
	step "load $work/comes-back.so"
	step h 1
	step unload
	ctl list hot
	grep -q 'hot (unloaded)' "$out" || fail "$label: unloaded: $(cat "$out")"
	ctl stage on 'h*'
	grep -q 'of 1 function staged, [12] when loaded again$' "$out" ||
		fail "$label: stage says of what is unloaded: $(cat "$out")"
	ctl commit
	step "load $work/comes-back.so"
	step h 10
	step unload
	ctl stage off 'h*'
	ctl stage off a				# beside what is there
	ctl commit
	step "load $work/comes-back.so"
	step h 100
	step c 7
	step unload
	ctl stage on 'h*'
	ctl stage on a
	ctl commit
	step "load $work/comes-back.so"
	step h 1000
	step c 3
	finish
	calls "$1" hot 1010
	calls "$1" a 3
}

target steps -O1 $sites -ldl
library comes-back -O1 $sites -DLIBRARY
program=$work/steps
printf 'stage off a\nstage on no_such_function\n' >"$work/wrong"
label=sampled
start
changes latency
label=counted
start -a counts
changes counts
says_whose 'a, b'
label=all
start --all
changes latency
says_whose 'a, b'
[ "$(sql "select sum(unknown) from latency")" -le 2 ] || fail "calls have no end"
# A call that is open when its function goes off has no end: it does not last until there is one.
label=open
start --all
ctl stage off main
ctl commit
step a 1
finish
[ "$(sql "select calls, unknown, coalesce(total_ns, 0) from $(rows latency) where name = 'main'")" = "1 1 0" ] ||
	fail "main lasts: $(sql "select * from $(rows latency) where name = 'main'")"
# A body is built, and a muted call armed, when it is wanted first.
label=selected
start -P c
step c 10
ctl stage on 'a'
ctl commit
step c 100
finish
calls latency a 100
calls latency c 110
label=again
start -P '[ac]'
again latency
label=again-counted
start -a counts -P '[ac]'
again counts
label=again-all
start --all -P '[ac]'
again latency
# Counted alone: no call has a time.
label=count
start -U a
ctl stage on 'a count'
ctl commit
now count a
step c 100
finish
calls latency a 100
[ "$(sql "select sum(sampled) from $(rows latency) where name = 'a'")" = 0 ] || fail "a is timed"
target steps -O1 -ldl
library comes-back -O1 -DLIBRARY
label=again-bodies
start -P '[ac]'
again latency
label=body
start -P c
step c 10
ctl stage off c
ctl commit
step c 100
ctl stage on c
ctl commit
step c 1000
finish
calls latency c 1010
# What cannot be changed says so, and what is not there.
label=refusals
start -a counts
refused 'counts all' stage on 'a count'
refused 'no function with a probe' stage off nothing_of_the_kind
refused 'stage takes' stage over a
refused 'no session' session drop x
refused 'no function with a probe' list nothing_of_the_kind
refused 'cannot be understood' list '!'
finish
refused 'there is no process' status
# Who records lets go who says nothing for five seconds; a person types as slowly.
label=typed
start
(sleep 6; echo 'stage off a') | ctl -
step a 10
refused 'Is a directory' "$work"
refused 'no line of' /dev/null
finish
calls latency a 0
never() {	# PATTERN OPTION...
	pattern=$1
	shift
	label="$*:"
	start "$@"
	refused "$pattern" stage off a
	refused "$pattern" session new x a
	finish
}
never '(--trace)' --trace
never '(--trigger)' --trigger 'a>1s'
never 'cannot be changed' --follow
never 'cannot be changed' --rate=50%
# Woven into bodies: a call of what is off would be told all the same.
case $(uname -m) in x86_64)
	never 'go on to when they are off' -a paths
	never 'go on to when they are off' -a cache
	never 'go on to when they are off' -a cache-tree ;;
esac
