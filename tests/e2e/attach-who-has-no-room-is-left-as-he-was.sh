#!/bin/sh
# A program that may have no thread more, or no memory, is told of in one line that says which,
# however often it is tried, and has nothing of flick's afterwards: not a mapping. Where a thread
# has begun there, two stay, and are used again.
. "$(dirname "$0")/lib"
need "$CC" prlimit
. "$here/attach-lib"

# maps	how many mappings it has
maps() {
	wc -l <"/proc/$pid/maps"
}

size() {
	awk '/^VmSize/ { print $2 }' "/proc/$pid/status"
}

refused() {	# SENTENCE
	for i in 1 2; do
		before=$(maps)
		run "$FLICK" record -p $pid -d 0.1 -a counts -o "$data"
		[ $status -eq 1 ] || fail "$1: status $status"
		[ "$(wc -l <"$err")" -eq 1 ] || fail "$1: more than a line: $(cat "$err")"
		grep -q -e "$1" "$err" || fail "$1: $(cat "$err")"
		[ "$(maps)" -eq "$before" ] || fail "$1: $(maps) mappings, not $before"
	done
	is_as_it_was
}

begin
room=$(size)
prlimit --pid $pid --as=$(((room + 300) * 1024)):
refused 'no room for more memory'
prlimit --pid $pid --as=$(((room + 3000) * 1024)):
# What was mapped for the call stays, as an allocator may have kept something there: once.
for i in 1 2 3; do
	run "$FLICK" record -p $pid -d 0.1 -a counts -o "$data"
	[ $status -eq 1 ] && grep -q 'no room for its stack' "$err" ||
		fail "no stack: $(cat "$err")"
	[ $i -eq 1 ] || [ "$(size)" -eq "$before" ] ||
		fail "no stack: $(size) KiB, not $before"
	before=$(size)
done
is_as_it_was
prlimit --pid $pid --as=unlimited:
attach -a counts
is_as_it_was
finish

# Who has a deadline begins no thread; of another user than root the limit holds.
begin
if [ "$(id -u)" -ne 0 ]; then
	prlimit --pid $pid --nproc=1
elif ! chrt -d -T 10000000 -D 100000000 -P 100000000 -p 0 $pid 2>/dev/null; then
	finish
	skip "nobody can be given a deadline here"
fi
refused 'no thread more'
[ "$(id -u)" -ne 0 ] || chrt -o -p 0 $pid
finish
