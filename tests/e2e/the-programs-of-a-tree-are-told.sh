#!/bin/sh
# `flick report -a programs` says which program of a process tree had the time, how often it
# was executed, whose samples stood in a library that all share, too. It comes to all self times.
# `--program` shows the functions of one, and what it did in that library. A recording of one
# program has no such result, and the report says how to have it.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 gcc

cat >"$work/spin.c" <<'C'
#include <stdlib.h>
#include "spin.h"
int main(int argc, char **argv)
{
	(void)argc;
	spin(atoi(argv[1]));
	return 0;
}
C
cat >"$work/spin.h" <<'C'
void spin(int ms);
C
cat >"$work/lib.c" <<'C'
#include <time.h>
#include "spin.h"
static volatile int turns;
void spin(int ms)
{
	clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
	struct timespec begin, t;

	clock_gettime(clock, &begin);
	do {
		for (int i = 0; i < 100000; i++)
			turns++;
		clock_gettime(clock, &t);
	} while ((t.tv_sec - begin.tv_sec) * 1000 + (t.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}
C
gcc -O1 -shared -fPIC -o "$work/libspin.so" "$work/lib.c" &&
	gcc -O1 -o "$work/often" "$work/spin.c" "$work/libspin.so" || fail "it does not compile"
cp "$work/often" "$work/once"
cat >"$work/all" <<SH
LD_LIBRARY_PATH=$work
export LD_LIBRARY_PATH
for i in 1 2 3; do $work/often 100; done
(exec $work/once 300)
(exec $work/once 300) &
wait
SH

of() {	# COLUMN PROGRAM
	sql "select $1 from programs where program like '%/$2'"
}

near() {	# WHAT NUMBER LEAST MOST
	[ "${2:-0}" -ge "$3" ] && [ "${2:-0}" -le "$4" ] || fail "$label $1: $2, not $3 to $4"
}

label=--follow:
record --follow -- dash "$work/all"
succeeded
near "runs of often" "$(of runs often)" 3 3
near "runs of once" "$(of runs once)" 2 2
near "the shell's runs" "$(of runs dash)" 1 1
# Less what the samples and the kernel took.
near "ms of often" "$(of 'self_ns / 1000000' often)" 220 350
near "ms of once" "$(of 'self_ns / 1000000' once)" 480 680
all=$(sql "select sum(self_ns) from programs")
near "self times of functions" "$(sql "select sum(self_ns) from latency")" "$all" "$all"
[ "$(sql 'select program from programs order by self_ns desc limit 1')" = "$work/once" ] ||
	fail "$label it is not once that has most"

run "$FLICK" report -a programs "$data"
succeeded
grep -Eq '^ +Self +Self% +Runs +Program$' "$out" || fail "$label the titles: $(cat "$out")"
grep -q 'CPU time in code of programs and their libraries, from [0-9]* samples' "$out" ||
	fail "$label nothing says what it rests on"
awk '/^ +==/ { getline; print }' "$out" | grep -q ' ms  *6[0-9]\.[0-9]*  *2  */.*/once$' ||
	fail "$label the first row: $(cat "$out")"
run "$FLICK" report -a programs -s runs --format=csv "$data"
succeeded
[ "$(sed -n 's/^[^,]*often,//p' "$out" | cut -d, -f1)" = 3 ] || fail "$label csv: $(cat "$out")"

label=--program:
wrong=$(sql "select count(*) from programs p where self_ns <> (select coalesce(sum(self_ns), 0)
	from program_functions f where f.program = p.program)")
near "programs whose functions have another time" "$wrong" 0 0
twice=$(sql "select count(*) from (select 1 from program_functions group by program, function
	having count(*) > 1)")
near "functions with two rows" "$twice" 0 0
spun() {	# PROGRAM: milliseconds of spin() there, and its share
	"$FLICK" report --program "$1" --format=csv -f self "$data" | tr -d '\r' |
		awk -F, '$2 == "spin" { printf "%d ", $1 / 1e6 }'
	"$FLICK" report --program "$1" "$data" | awk '$NF == "spin" { printf "%d\n", $3 }'
}
set -- $(spun often)
near "ms of spin in often" "$1" 200 350
near "its share" "$2" 80 100
set -- $(spun "$work/onc?")
near "ms of spin in once" "$1" 450 680
run "$FLICK" report --program once "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Function$' "$out" || fail "$label the titles: $(cat "$out")"
grep -q "CPU time in code of once and its libraries, from [0-9]* samples" "$out" ||
	fail "$label nothing says whose time it is"
run "$FLICK" report --program 'o*' "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Program +Function$' "$out" ||
	fail "$label the titles of two: $(cat "$out")"
[ "$(grep -Ec "$work/(once|often) +spin$" "$out")" = 2 ] || fail "$label two: $(cat "$out")"
grep -q '/dash ' "$out" && fail "$label more than was asked for: $(cat "$out")"
run "$FLICK" report --program once -P 'libspin.so!*' -n 1 "$data"
succeeded
tail -n 1 "$out" | grep -q ' spin$' || fail "$label with -P: $(cat "$out")"
run "$FLICK" report --program once --lines "$data"
succeeded
grep -Eq '^ +Self +Self% +Samples +Function +Source$' "$out" || fail "$label lines: $(cat "$out")"
run "$FLICK" report --program oftn "$data"
one_line_error 1 'no program of this recording matches .oftn.; did you mean .often.?'
run "$FLICK" report --program once -a latency "$data"
one_line_error 2 '--program shows what samples tell: it cannot be used with --analysis'
run "$FLICK" report --program once --callers spin "$data"
one_line_error 2 '--callers shows what samples tell: it cannot be used with --program'
run "$FLICK" report --program once --diff "$data" "$data"
one_line_error 2 '--program cannot be used with --diff'

label=--diff:
mv "$data" "$work/before"
cat >"$work/less" <<SH
LD_LIBRARY_PATH=$work
export LD_LIBRARY_PATH
for i in 1 2 3 4; do $work/often 100; done
SH
record --follow -- dash "$work/less"
succeeded
compared() {	# OPTIONS of report
	run "$FLICK" report --diff "$work/before" "$data" "$@"
	succeeded
}
# Over all rows as much as in the recording: SUM COLUMN BEFORE|AFTER
adds_up() {
	got=$(awk -F, -v column="$2" 'NR > 1 { n += $column } END { printf "%.0f", n }' "$work/csv")
	near "$2 of all rows" "$got" "$1" "$1"
}
for result in programs program_functions; do
	compared -a $result --format=csv
	tr -d '\r' <"$out" >"$work/csv"
	adds_up "$(sql "select sum(self_ns) from $result")" 2
	adds_up "$(sql "select sum(samples) from $result")" 5
	adds_up "$(sqlite3 "$work/before/results.db" "select sum(self_ns) from $result")" 1
	adds_up "$(sqlite3 "$work/before/results.db" "select sum(samples) from $result")" 4
done
compared -a programs
grep -Eq '^ +Self before +Self after +Self change +Samples before +Samples after +Samples change  Program$' \
	"$out" || fail "$label the titles: $(cat "$out")"
grep -Eq ' [0-9.]+ ms +- +-[0-9.]+ ms .*/once$' "$out" || fail "$label no once: $(cat "$out")"
head -n 1 "$out" | grep -q 'from [0-9]* samples of the program counter before, and [0-9]* after' ||
	fail "$label nothing says what it rests on"
compared -a programs -s runs
grep -Eq '^ +3 +4 +\+1  .*/often$' "$out" || fail "$label runs: $(cat "$out")"
compared -a programs -s program --format=csv
tr -d '\r' <"$out" | sed '1d; s/.*,//' >"$work/names"
LC_ALL=C sort -c "$work/names" || fail "$label not by name: $(cat "$out")"
compared -a program_functions
grep -Eq "^ +[0-9.]+ ms +[0-9.]+ ms .*  $work/often: spin\$" "$out" ||
	fail "$label spin in often: $(cat "$out")"
run "$FLICK" report --diff "$work/before" "$data" -a programs -s function
one_line_error 2 'no column .function. to compare; there are program, runs, self, samples$'
rm -rf "$data"
mv "$work/before" "$data"

label="damaged:"
sqlite3 "$data/results.db" "alter table program_functions add column raw_program INTEGER;
	insert into columns values('program_functions', 4, 'raw_program', 'ns');
	update program_functions set raw_program = 4096" || fail "$label no raw_program"
run "$FLICK" report --raw -a program_functions "$data"
[ $status -le 2 ] || fail "$label a number shown as a text: status $status"
sqlite3 "$data/results.db" "update program_functions set program = NULL where program like '%/once'"
run "$FLICK" report -a program_functions "$data"
succeeded
run "$FLICK" report --program once "$data"
one_line_error 1 'no program of this recording matches'

label="one program:"
record -- env LD_LIBRARY_PATH="$work" "$work/often" 200
run "$FLICK" report -a programs "$data"
one_line_error 1 'has no result .programs.: record --follow has it'
run "$FLICK" report --program often "$data"
one_line_error 1 'has no result .program_functions.: record --follow has it'
run "$FLICK" record -a programs -o "$data" -- "$work/often" 1
one_line_error 2 'needs no -a: recordings without one, with --follow, have it'
