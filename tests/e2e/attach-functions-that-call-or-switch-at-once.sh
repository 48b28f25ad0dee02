#!/bin/sh
# Threads that are in functions whose first instructions call, or which jump by tables, when a
# jump is put there. Where no thread can come back among the bytes that it takes the function
# has its probe (what is called returns behind them, the stack stands at another height where
# jumps are made); where one can it is refused, and the program goes on, with each attach.
. "$(dirname "$0")/lib"
x86_target covered
need sqlite3 "$CC"
. "$here/attach-lib"
compile "$work/covered" "$targets/covered.c" -O1 -pthread
program=covered

begin
for i in 1 2 3 4; do
	label="attach $i:"
	attach --all -P calls -P switches -P stay
	sql "select name from $(rows latency) where calls > 0 order by name" >"$work/got"
	[ "$(tr '\n' ' ' <"$work/got")" = "calls stay switches " ] ||
		fail "$label $(tr '\n' ' ' <"$work/got"): $(cat "$err")"
	is_as_it_was
	for=0.1 attach --why --all -P calls_soon -P comes_back -P stay
	for name in calls_soon comes_back; do
		grep -q "own code may come back into its first bytes.*$name" "$out" "$err" ||
			fail "$label $name is not refused: $(cat "$err")"
	done
	is_as_it_was
done
finish
