#!/bin/sh
# Whatever became of the trace's file: a clear line, what was before it, and
# status 1; the dump itself is whole.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O1 $sites
record --trace -- "$work/recursion"
succeeded
trace=$data/trace.zst
cp "$trace" "$work/whole"
size=$(stat -c %s "$trace")

events() {
	sql "select count(*) from json_each(readfile('$work/out'), '\$.traceEvents')
		where json_extract(value, '\$.ph') <> 'M'"
}
run "$FLICK" dump --format=chrome "$data"
succeeded
all=$(events)
last=0
for part in 20 50 90; do
	label="$part %:"
	head -c $((size * part / 100)) "$work/whole" >"$trace"
	run "$FLICK" dump --format=chrome "$data"
	one_line_error 1 'trace.zst: cut short; the first [0-9]+ events are shown'
	n=$(events)
	[ "$n" -ge "$last" ] && [ "$n" -lt "$all" ] || fail "$label $n calls of $all"
	last=$n
	run "$FLICK" dump --format=folded "$data"
	[ "$status" -eq 1 ] || fail "$label folded: status $status"
done
[ "$last" -gt 0 ] || fail "nothing of 90 % is read"

label="nothing is read:"
head -c 1000 "$work/whole" >"$trace"
run "$FLICK" dump --format=folded "$data"
one_line_error 1 'trace.zst: cut short; the first 0 events are shown'

label=noise:
head -c 100000 /dev/urandom >"$trace"
run "$FLICK" dump --format=chrome "$data"
one_line_error 1 'not a trace'
{ head -c 16 "$work/whole"; head -c 10000 /dev/urandom; } >"$trace"
run "$FLICK" dump --format=chrome "$data"
one_line_error 1 'damaged; the first 0 events'
[ "$(events)" = 0 ] || fail "$label events of noise"

# A disk that fills up while the program runs keeps the results, and the trace up
# to there; the program is not held up.
label="full disk:"
mkdir "$work/small"
mount -t tmpfs -o size=120k flick-test "$work/small" 2>/dev/null ||
	skip "cannot mount a small file system here"
trap 'umount "$work/small"; rm -rf "$work"' EXIT
target threads -O1 $sites
data=$work/small/data
run "$FLICK" record --trace -a latency -o "$data" -- "$work/threads"
[ "$status" -eq 1 ] || fail "$label status $status"
grep -Eq 'the trace ends early: .*No space left' "$err" || fail "$label it is not said"
exact latency
run "$FLICK" dump --format=chrome "$data"
one_line_error 1 'cut short'

