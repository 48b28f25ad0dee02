#!/bin/sh
# Two `flick record` on one process, and SIGKILL of one of them at each step of what the process
# does for the second: to let it in, to ask it, to arm, to let it go. The other one's counts are
# exact, and who comes behind is let in, or told why not.
#
# The process itself kills, at that point, and goes on when that one is dead; so nothing of a
# race is left to chance. Calls are made meanwhile.
#
# timeout: 300
. "$(dirname "$0")/lib"
no_emulator ptrace
. "$(dirname "$0")/steps-lib"
need sqlite3 "$CC"
FLICK_LIB=$BUILD/tests/libflick-kill-at.so
[ -f "$FLICK_LIB" ] || skip "no $FLICK_LIB; make check makes it"
FLICK_KILL_OTHER=$work/kill
export FLICK_LIB FLICK_KILL_OTHER
target steps -O1 $sites
program=$work/steps
coming='joint.opened joint.begun agent.asked joint.answered joint.armed joint.wanted joint.told'
coming="$coming joint.there"
going='joint.leaving joint.closed joint.left'

# second [POINT]	it counts $wanted, as $second, into $work/two; it is killed at POINT
wanted='-P a -P b'
second() {
	rm -rf "$work/two"
	sh -c '[ -z "$1" ] || echo "$1 $$" >"$2"; shift 2
		exec "$@"' sh "${1:-}" "$FLICK_KILL_OTHER" "$FLICK" record -p "$target" -a counts \
		$wanted -o "$work/two" >"$work/two.out" 2>"$work/two.err" 8>&- 9<&- &
	second=$!
}

# until COMMAND...	it is so within some seconds
until_() {
	for i in $(seq 1000); do
		"$@" && return
		sleep 0.01
	done
	fail "$label: not so after ten seconds: $*: $(cat "$work/two.err")"
}

is_killed() {
	[ ! -e "$FLICK_KILL_OTHER" ]
}

# The second one's thread has come and gone, and so it is in.
is_in() {
	[ "$(grep -c 'memfd:flick' "/proc/$target/maps")" -gt "$had" ] &&
		[ "$(ls "/proc/$target/task" | wc -l)" -eq 1 ]
}

comes() {
	had=$(grep -c 'memfd:flick' "/proc/$target/maps")
	second "$@"
}

leaves() {
	kill -TERM $second
	wait $second || fail "$label: the second one: $(cat "$work/two.err")"
	grep -q '[^0-9]0 lost' "$work/two.err" || fail "$label: $(cat "$work/two.err")"
}

# calls DIRECTORY NAME N
calls() {
	was=$data
	data=$1
	got=$(sql "select coalesce(sum(calls), 0) from $(rows counts) where name = '$2'")
	data=$was
	[ "$got" = "$3" ] || fail "$label: $1 has $got calls of $2, not $3"
}

# after_a_second	the first one has gone on, and takes another second one
after_a_second() {
	until_ is_let_go
	wanted='-P a'
	comes
	until_ is_in
	step c 50
	leaves
	wanted='-P a -P b'
	calls "$work/two" a 50
	calls "$work/two" b 0
	step c 3
	finish
	calls "$data" a 0
	calls "$data" b "$1"
	calls "$data" c "$1"
}

# Nobody comes in who would be a third one.
is_let_go() {
	[ "$(ls "/proc/$target/task" | wc -l)" -eq 1 ] && ! is_wanted_twice
}

is_wanted_twice() {
	"$FLICK" record -p "$target" -d 0.01 -a counts -P b -o "$work/three" >"$out" 2>&1 \
		8>&- 9<&- && return 1
	grep -q 'two sessions are at this process' "$out" || fail "$label: $(cat "$out")"
}

both_are_in() {
	start -a counts -P b -P c
	comes
	until_ is_in
	step c 10
}

for point in $coming; do
	label="the second one at $point"
	start -a counts -P b -P c
	step c 10
	say c 2000 >&8				# meanwhile
	comes $point
	until_ is_killed
	wait $second 2>/dev/null
	read -r done_ <&9
	step c 100
	after_a_second 2163
done
for point in $going; do
	label="the second one at $point"
	both_are_in
	echo "$point $second" >"$FLICK_KILL_OTHER"
	say c 2000 >&8
	kill -TERM $second
	until_ is_killed
	wait $second 2>/dev/null
	read -r done_ <&9
	after_a_second 2063
done
# first_dies POINT	the second one, which comes, goes on alone
first_dies() {
	start -a counts -P b -P c
	step c 10
	echo "$1 $recorder" >"$FLICK_KILL_OTHER"
	comes
	until_ is_killed
	wait $recorder 2>/dev/null
	until_ is_in
	step c 1000
	leaves
	calls "$work/two" a 1000
	calls "$work/two" b 1000
	calls "$work/two" c 0
	step c 5
	say quit >&8
	exec 8>&- 9<&-
}

for point in $coming; do
	label="the first one at $point"
	first_dies $point
done
# What watches sees that the first one is dead before the second one has joined.
label="the first one at joint.opened, seen at once"
export FLICK_LATE_AT=joint.opened
first_dies joint.opened
unset FLICK_LATE_AT
for point in $going; do
	label="the first one at $point"
	both_are_in
	echo "$point $recorder" >"$FLICK_KILL_OTHER"
	leaves
	is_killed || fail "$label: nobody came there"
	wait $recorder 2>/dev/null
	calls "$work/two" a 10
	step c 1000
	say quit >&8
	exec 8>&- 9<&-
done
