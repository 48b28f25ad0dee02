#!/bin/sh
# A default recording has a call tree and a flame graph, from the stacks of its samples: who
# called is above whom it called, as wide as it took, and over all of it each function has its
# self time, to the nanosecond. Where the stack of a sample is cut, other samples tell. Where
# there are no such samples one line says why.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"

share() {	# OF-ALL PATTERN: percent of the folded lines that match
	awk -v of="$1" -v pattern="$2" '{ all += $NF } $0 ~ pattern { got += $NF }
		END { printf "%.1f", 100 * got / (all ? all : 1) }' "$work/folded"
}

# Of 1,000 samples chance has a part off by 1.6 points, or less.
near() {	# WHAT WANTED PATTERN
	got=$(share all "$3")
	awk -v got="$got" -v want="$2" 'BEGIN { exit !(got > want - 7 && got < want + 7) }' ||
		fail "$label $1: $got percent, not $2"
}

# Of all but the program itself, samples tell as well.
check() {
	run "$FLICK" dump -o "$work/folded" "$data"
	succeeded
	near "left()" 50 '(^|;)all;left;work '
	near "right()" 25 '(^|;)all;right;work '
	near "down()" 12.5 '(^|;)all;down;down;down;down;down;down;work '
	near "wide()" 12.5 '(^|;)main;rest;above;wide;(wide;)?work '
	near "the thread" 43.8 '(^|;)start_thread;all;.*work '
	near "main()" 43.8 '(^|;)main;all;.*work '
	bad=$(grep -v '^\[\.\.\.\]' "$work/folded" | grep -Ev '^(_start|clone3?|__clone|thread_start)[; ]')
	[ -z "$bad" ] || fail "$label these are no roots: $bad"
	got=$(share all '^[[]')
	awk -v got="$got" 'BEGIN { exit got > 2 }' || fail "$label $got percent are unknown"

	bad=$(sql "select f.name, sum(s.self_ns), l.self_ns from functions f
		left join stacks s on s.function = f.id left join latency l on l.function = f.id
		group by f.id having ifnull(sum(s.self_ns), 0) <> ifnull(l.self_ns, 0)")
	[ -z "$bad" ] || fail "$label other self times: $bad"
	bad=$(sql "select s.id from stacks s where total_ns <> self_ns + (select
		ifnull(sum(total_ns), 0) from stacks c where c.parent = s.id) or samples <>
		self_samples + (select ifnull(sum(samples), 0) from stacks c where c.parent = s.id)")
	[ -z "$bad" ] || fail "$label the sum is another below: $bad"
	[ "$(sql "select sum(self_samples) from stacks")" = "$(sql "select value from session
		where key = 'pc_samples'")" ] || fail "$label samples are missing"
	awk -v n="$(sql "select value from session where key = 'stacks_completed'")" \
		'BEGIN { exit n < 20 }' || fail "$label no chain was completed"
}

label="second bodies:"
target whose-calls -O1 -pthread
record --budget=10 -- "$work/whose-calls" 15000
succeeded
check

label="report:"
run "$FLICK" report -a stacks "$data"
succeeded
grep -Eq '^ +Total +Total% +Self +Samples +Function$' "$out" || fail "$label columns"
grep -Eq ' of them are cut there' "$out" || fail "$label it does not say that stacks were cut"
sed -n 's/^.\{37\}//p' "$out" | grep -A1 '  all$' | grep -Eq '^ +left$' ||
	fail "$label left() is not the first that all() calls"
all=$(awk 'NR > 4 && /%/ { next } NR > 4 && $NF ~ /^(_start|clone3?|__clone|thread_start|\[...\])$/ {
	sum += $3 } END { print sum }' "$out")
awk -v all="$all" 'BEGIN { exit !(all > 98 && all < 102) }' || fail "$label roots have $all percent"
cp -r "$data" "$work/more"
sqlite3 "$work/more/results.db" "insert into stacks select 99999, null, function, 1, 1, 1, 1
	from stacks where function is not null limit 1"
run "$FLICK" report -a stacks "$work/more"
succeeded
grep -Eq '^  [0-9]+ rows of less than 0.5 % are left out' "$out" || fail "$label all rows"
! grep -q ' 0.001 us ' "$out" || fail "$label a row of a nanosecond"
run "$FLICK" report -a stacks -n 100000 "$work/more"
grep -q ' 0.001 us ' "$out" || fail "$label no row of a nanosecond with -n"

label="callers:"
run "$FLICK" report --callers work "$data"
succeeded
sed -n 's/^.\{27\}//p' "$out" >"$work/tree"
grep -A2 '^  work$' "$work/tree" | tr -s ' \n' ' ' | grep -q '^ work left all $' ||
	fail "$label left() is not the first that called work()"
[ "$(grep -c '^ *down$' "$work/tree")" = 1 ] || fail "$label down() stands below itself"
run "$FLICK" report --callers 'left' --format=csv -f total "$data"
succeeded
one=$(awk -F, 'NR == 2 { print $1 }' "$out")
[ "$one" = "$(sql "select sum(s.total_ns) from stacks s join functions f on f.id = s.function
	where f.name = 'left'")" ] || fail "$label left() has $one"
run "$FLICK" report --callers 'whose*!left' --format=csv -f total "$data"
succeeded
[ "$one" = "$(awk -F, 'NR == 2 { print $1 }' "$out")" ] || fail "$label of a module"
run "$FLICK" report --callers 'other*!left' "$data"
one_line_error 1 'no sample stood in a call of .other[*]!left.$'
run "$FLICK" report --callers nobody "$data"
one_line_error 1 'no sample stood in a call of .nobody.$'
run "$FLICK" report --callers leftt "$data"
one_line_error 1 'no sample stood in a call of .leftt.; did you mean .left.?'
# A function of next to no time is one that was asked for.
sqlite3 "$work/more/results.db" "insert into functions select (select max(id) + 1
	from functions), 'rare', 'rare', module, 0, null, null from functions where name = 'left'; update stacks set function =
	(select max(id) from functions) where id = 99999"
sqlite3 "$work/more/results.db" "update session set value = 7 where key = 'stacks_unknown'"
run "$FLICK" report -a stacks "$work/more"
grep -q '^  7 are below \[...\]' "$out" || fail "$label nothing is below [...]"
run "$FLICK" report --callers rare "$work/more"
grep -q '^  7 of all lack callers: \[...\] stands there' "$out" || fail "$label what is unknown"
succeeded
grep -Eq ' 0.001 us +0.00 +1  rare$' "$out" || fail "$label rare() is not shown"
run "$FLICK" report --callers work -a latency "$data"
one_line_error 2 '--callers shows what samples tell: it cannot be used with --analysis'
run "$FLICK" report --callers work --raw "$data"
grep -q -e '--raw is of calls that were timed; stacks has CPU time' "$err" || fail "$label --raw"
run "$FLICK" record -a stacks -o "$work/none" "$work/whose-calls" 1
one_line_error 2 'recordings without one have it'
run "$FLICK" dump -r 1ms~2ms "$data"
one_line_error 1 'there is no trace; record with --trace'

label="flame:"
run "$FLICK" dump --format=flame "$data"
succeeded
grep -Eq '^<title>|<g class="f"' "$out" || fail "$label no frames"
grep -Eq '^[0-9.]+ +m?s, [0-9.]+ %, [0-9]+ samples</title>' "$out" || fail "$label no samples"

label="two of them:"
cp -r "$data" "$work/before"
run "$FLICK" report -a stacks --diff "$work/before" "$data"
succeeded
grep -Eq '\+0.000 us +.* left$' "$out" || fail "$label no change of left()"
grep -Eq '^  CPU time, from [0-9]+ samples .* before, and [0-9]+ after$' "$out" ||
	fail "$label it does not say of what"

# What was inlined is in no stack, but its samples tell.
label="inlined:"
target whose-calls -O1 -pthread $sites \
	"-DWORK=static inline __attribute__((always_inline))"
record --budget=10 -- "$work/whose-calls" 15000
succeeded
check

# No sample but the few that have more of the stack sees who calls a function with such a frame.
label="wide frames:"
target whose-calls -O1 -pthread -DWIDE=6000
record --budget=10 -- "$work/whose-calls" 30000 alone
succeeded
run "$FLICK" dump -o "$work/folded" "$data"
succeeded
got=$(share all '(^|;)main;rest;above;(wide;)+work ')
awk -v got="$got" 'BEGIN { exit got < 90 }' || fail "$label $got percent are below main()"

# Why there is none.
why() {	# PATTERN
	run "$FLICK" dump --format=flame "$data"
	one_line_error 1 "has no call tree: $1; record with -a tree or --trace"
	run "$FLICK" report -a stacks "$data"
	one_line_error 1 "has no call tree: $1; record with -a tree or --trace"
}
label="without:"
record -- "$work/whose-calls" 1
why 'there were too few samples of stacks'
record -a counts -- "$work/whose-calls" 1
why 'only recordings by default have samples of stacks'
sqlite3 "$data/results.db" "delete from session where key = 'stacks'"
why 'it was recorded by an older flick'

# A call tree of every call goes first.
label="tree:"
record -a tree -- "$work/whose-calls" 10
succeeded
run "$FLICK" dump "$data"
succeeded
grep -Eq '(^|;)all;left;work [0-9]+$' "$out" || fail "$label no tree"
[ -z "$(sql "select name from results where name = 'stacks'")" ] || fail "$label stacks, too"
run "$FLICK" report -a stacks "$data"
one_line_error 1 'has no samples of stacks, but every call: flick report -a tree$'
record --trace -- "$work/whose-calls" 10
run "$FLICK" report -a stacks "$data"
one_line_error 1 'has no samples of stacks, but every call: flick report -a tree -r 0~$'
run "$FLICK" report -a tree -r 0~ "$data"
succeeded
grep -q '   work$' "$out" || fail "$label no tree of a trace"
