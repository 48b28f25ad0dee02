#!/bin/sh
# A program of one thread is attached to while it is in a system call that signals end: what a
# stop has ended with EINTR is made again, also where the thread cannot be had (it is on a stack
# of its own), for io_uring, and where a socket has a time to wait. A thread that fills a pipe can be had, though no stop finds it
# asleep, and is not stopped without end.
#
# timeout: 120
# waits
. "$(dirname "$0")/lib"
need "$CC"
. "$here/attach-lib"
target in-calls -O1
program=in-calls

label="a stack of its own:"
begin far
run "$FLICK" record -p $pid -d 0.1 -o "$data" -a counts
one_line_error 1 'cannot attach to process .*: its threads run on stacks of the program.s own.*'
is_as_it_was
finish

label="a pipe:"
begin pipe
for i in 1 2 3 4 5; do
	attach -a counts
	is_as_it_was
done
finish

for call in recvmmsg sendmmsg splice sendfile connect fallocate; do
	label="$call:"
	begin $call
	for i in 1 2 3; do
		attach -a counts
		is_as_it_was
	done
	finish
done

label="io_uring:"
begin ring
[ "$line" = ready ] || skip "io_uring is not to be had"
for i in 1 2 3 4 5; do
	attach -a counts
	is_as_it_was
done
finish
