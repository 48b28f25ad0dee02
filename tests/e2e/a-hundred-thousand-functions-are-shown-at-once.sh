#!/bin/sh
# A report of 100,000 functions with long names takes few times the CPU time that sqlite3 takes to
# print the same rows in the same order, whatever the processor.
. "$(dirname "$0")/lib"
no_emulator times
need sqlite3 "$CC"
target recursion -O1 $sites
record --all -- "$work/recursion"
succeeded
sql "create temp table n as with recursive n(i) as (select 1000 union all select i + 1 from n
		where i < 100999) select i from n;
	insert into functions select (select max(id) from functions) + i - 999,
		'game::world::manager<int, std::less<int>>::update_' || i || '(int)',
		'_ZN4game5world7managerIiSt4lessIiEE11update_' || i || 'Ei', 0, i * 16,
		'/src/world.cc', i from n;
	insert into latency(function, calls, total_ns, self_ns, min_ns, avg_ns, p50_ns, p90_ns,
		p99_ns, max_ns, sum_ns, unknown) select id, id % 977, id * 7919 % 1000003,
		id * 104729 % 1000003, 5, 90, 80, 100, 200, 300, 9000, 0
		from functions where offset >= 16000 and file = '/src/world.cc'"

# cpu COMMAND...	its seconds of CPU time, in $cpu
cpu() {
	("$@" >"$out" 2>"$err" || exit 1; times >"$work/times") || fail "$label it fails"
	cpu=$(awk 'NR == 2 { gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4 }' "$work/times")
}

cpu sqlite3 "$data/results.db" "select * from latency join functions on id = function
	order by self_ns desc"
rows_alone=$cpu
for options in "" "-s self,calls -f all --lines" "-n 20"; do
	label="report $options:"
	cpu "$FLICK" report $options "$data"
	awk -v own="$cpu" -v rows="$rows_alone" 'BEGIN { exit own > 6 * rows }' ||
		fail "$label $cpu s, to print the rows alone takes $rows_alone"
	say "$label $cpu of $rows_alone"
done
run "$FLICK" report "$data"
[ "$(wc -l <"$out")" -gt 100000 ] || fail "they are not all there"
