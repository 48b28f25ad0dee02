#!/bin/sh
# A program that is compiled for ThreadSanitizer cannot be attached to: its malloc() crashes in a
# thread that the sanitizer does not know. It is told so, by gcc's (a library) and by clang's
# (part of the program), and runs on.
#
# timeout: 60
. "$(dirname "$0")/lib"
need "$CC"
. "$here/attach-lib"
program=in-calls
tried=0
for cc in gcc clang; do
	label="$cc:"
	command -v $cc >"$work/which" || continue
	$cc -O1 -g -fsanitize=thread -o "$work/in-calls" "$targets/in-calls.c" 2>"$err" ||
		continue
	begin pipe
	[ "$line" = ready ] || continue
	tried=1
	run "$FLICK" record -p $pid -d 0.1 -o "$data" -a counts
	one_line_error 1 'process .* is compiled for ThreadSanitizer, which bears no thread .*'
	is_as_it_was
	finish
done
[ $tried = 1 ] || skip "no compiler has ThreadSanitizer"
