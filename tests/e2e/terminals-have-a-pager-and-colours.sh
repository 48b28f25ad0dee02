#!/bin/sh
# On a terminal a report goes through $PAGER, as git has it, and has colours; in a pipe
# neither, nor where nobody wants them. What is quit is no failure that hangs.
. "$(dirname "$0")/lib"
need script "$CC" sqlite3
target recursion -O1 $sites
record --trace -- "$work/recursion"
succeeded
sqlite3 "$data/results.db" "update latency set total_ns = 2000000 where calls = 1"
escape=$(printf '\033')
unset PAGER LESS NO_COLOR

screen() {	# ENVIRONMENT... COMMAND: what the terminal shows, to $work/screen
	env TERM=xterm "$@" script -qec "$command" /dev/null >"$work/screen" 2>"$err" </dev/null
}
paged() {
	grep -q '^P:.*Total' "$work/screen"
}
coloured() {
	grep -q "$escape\[1m.*Total" "$work/screen" && grep -q "$escape\[33m2.000 ms" "$work/screen"
}
command="'$FLICK' report '$data'"
screen "PAGER=sed s/^/P:/"
paged || fail "it is not paged"
coloured || fail "no colours"
screen "PAGER=sed s/^/P:/" NO_COLOR=1
paged || fail "NO_COLOR: it is not paged"
! grep -q "$escape" "$work/screen" || fail "NO_COLOR: colours"
screen PAGER=
grep -q 'Total' "$work/screen" || fail "no pager, no report"
screen PAGER=no-such-pager
emulated exec || grep -q 'Total' "$work/screen" ||
	fail "a pager that is not there takes the report away"
screen PAGER=cat TERM=dumb
! grep -q "$escape" "$work/screen" || fail "TERM=dumb: colours"
screen 'PAGER=cat >/dev/null; echo LESS is $LESS'
grep -q 'LESS is FRSX' "$work/screen" || fail "LESS is not set"
screen 'PAGER=cat >/dev/null; echo LESS is $LESS' LESS=S
tr -d '\r' <"$work/screen" | grep -qx 'LESS is S' || fail "LESS is changed"
command="'$FLICK' report --no-pager --color=never '$data'"
screen "PAGER=sed s/^/P:/"
! paged || fail "--no-pager: it is paged"
! grep -q "$escape" "$work/screen" || fail "--color=never: colours"
command="'$FLICK' replay '$data'"
screen "PAGER=sed s/^/P:/"
grep -q "^P:$escape\[1m# DURATION" "$work/screen" || fail "replay: no pager, or no colours"
limit=20 run env TERM=xterm "PAGER=head -n 1" script -qec "$command" /dev/null
tr -d '\r' <"$out" | grep -q '# DURATION' || fail "a pager that ends early shows nothing"

label="quit early:"
target threads -O2 $sites
record --trace -- "$work/threads" 1 20000
succeeded
for command in "'$FLICK' replay '$data'" "'$FLICK' replay --color=always '$data'"; do
	limit=20 run env TERM=xterm "PAGER=head -n 1" script -qec "$command" /dev/null
	succeeded
	[ "$(wc -l <"$out")" -eq 1 ] || fail "$label more than one line"
done
run sh -c "'$FLICK' replay '$data' >/dev/full"
[ "$status" -eq 1 ] || fail "$label what cannot be written is no failure"

export PAGER="sed s/^/P:/" TERM=xterm
run "$FLICK" report "$data"
succeeded
! grep -q "P:\|$escape" "$out" || fail "a pager or colours in a pipe"
run "$FLICK" report --color=always "$data"
grep -q "$escape\[1m.*Total" "$out" || fail "--color=always: no colours"
run "$FLICK" report --color=often "$data"
one_line_error 2 'auto, always or never'
