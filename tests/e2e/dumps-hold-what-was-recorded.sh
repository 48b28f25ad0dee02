#!/bin/sh
# Folded stacks add up to the tree's time, with or without a trace; Chrome's JSON has every call
# once, with its time as measured, but for the ns or two that slices are moved by to nest. Without
# what probes took it has less: how much less of a short call goes with the processor, as slices
# that nest have one clock, which stands still where probes took less than they are known to.
# A trace keeps every event.
. "$(dirname "$0")/lib"
no_emulator times
need sqlite3 "$CC"
for t in recursion longjmp threads; do
	label="$t:"
	target $t -O1 $sites
	record --trace -a tree,counts,latency -- "$work/$t"
	succeeded
	exact counts
	lossless

	run "$FLICK" dump --format=folded "$data"
	succeeded
	! grep -q "$ending" "$err" || fail "$label it records nothing, and has an account"
	got=$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$out")
	want=$(sql "select sum(self_ns) from tree")
	[ "$got" = "$want" ] || fail "$label folded adds up to $got, not $want"
	bad=$(awk '!/^[^ ].* [0-9]+$/' "$out")
	[ -z "$bad" ] || fail "$label no folded stack: $bad"

	for raw in '' --raw; do
		run "$FLICK" dump --format=chrome -o "$work/chrome.json" $raw "$data"
		succeeded
		bad=$(sql "with e as (select json_extract(value, '\$.name') as name,
				json_extract(value, '\$.ph') as ph,
				json_extract(value, '\$.dur') as us
				from json_each(readfile('$work/chrome.json'),
				'\$.traceEvents')),
			calls as (select name, sum(ph in ('X', 'i')) as n,
				sum(ph = 'X') as ended, sum(us) * 1000 as ns
				from e where ph <> 'M' group by name)
			select r.name, r.calls, n, ended, ns, avg_ns, raw_avg_ns from
				$(rows latency) r left join calls c on c.name = r.name
			where n is not r.calls or ended <> r.calls - r.unknown or
				(ended > 0 and ns / ended - raw_avg_ns > 3 + raw_avg_ns / 20) or
				('$raw' <> '' and ended > 0 and
				raw_avg_ns - ns / ended > 3 + raw_avg_ns / 20) or
				('$raw' = '' and r.name = 'main' and
				ns > 3 + avg_ns + (raw_avg_ns - avg_ns) / 2)")
		[ -z "$bad" ] || fail "$label chrome $raw: $bad"
	done
	[ "$(sql "select count(distinct json_extract(value, '\$.tid')) from
		json_each(readfile('$work/chrome.json'), '\$.traceEvents')")" = \
		"$(sql "select count(*) from threads")" ] || fail "$label other threads"
done

# Times count from the start of the recording, through every exec.
label=exec:
target exec -O1 $sites
record --trace -- "$work/exec" 3
succeeded
exact latency
run "$FLICK" dump --format=chrome -o "$work/chrome.json" "$data"
succeeded
starts=$(sql "select count(distinct json_extract(value, '\$.ts')) from
	json_each(readfile('$work/chrome.json'), '\$.traceEvents') where
	json_extract(value, '\$.name') = 'main' and json_extract(value, '\$.ts') > 0")
[ "$starts" = 4 ] || fail "$label $starts images begin at a time of their own, not 4"

# Without a tree the trace gives one.
label=trace:
target recursion -O1 $sites
# As measured: what takes no time without its probes has no width.
record --trace --raw -- "$work/recursion"
succeeded
[ "$(sql "select value from session where key = 'mode'")" = exhaustive ] ||
	fail "$label sampled"
run "$FLICK" dump "$data"
succeeded
grep -q '^main;even;odd;even;odd ' "$out" || fail "$label no tree"
run "$FLICK" dump --format=flame "$data"
succeeded
grep -q '</svg>' "$out" || fail "$label no flame"

# The earlier trace goes with its results, and none is left behind.
label=earlier:
run "$FLICK" record -o "$data" -a tree -- "$work/recursion"
succeeded
[ ! -e "$data/trace.zst" ] || fail "$label another recording's trace"
run "$FLICK" dump --format=chrome "$data"
one_line_error 1 'record with --trace'
run "$FLICK" dump --format=chrome "$data.old"
succeeded
record -a counts -- "$work/recursion"
run "$FLICK" dump "$data"
one_line_error 1 'record with -a tree or --trace'

# What cannot be written takes no file's place, and the reason is the true one.
label=nothing:
echo earlier >"$work/kept"
for format in folded flame chrome; do
	run "$FLICK" dump --format=$format -o "$work/kept" "$data"
	one_line_error 1 'record with'
	[ "$(cat "$work/kept")" = earlier ] || fail "$label $format took the file's place"
done
damaged() {	# WHAT SQL PATTERN FORMATS...
	label="$1:"
	rm -rf "$work/damaged"
	cp -r "$data.old" "$work/damaged"
	sqlite3 "$work/damaged/results.db" "$2" || fail "$label sqlite3"
	pattern=$3
	shift 3
	for format; do
		run "$FLICK" dump --format=$format -o "$work/kept" "$work/damaged"
		one_line_error 1 "$pattern"
		[ "$(cat "$work/kept")" = earlier ] || fail "$label $format took the file's place"
	done
}
run "$FLICK" record --trace -a tree -o "$data" -- "$work/recursion"
succeeded
record -a counts -- "$work/recursion"
run "$FLICK" record --trace -a tree -o "$data.old" -- "$work/recursion"
succeeded
again='damaged: record again'
damaged "a type" "update columns set type = 'nx' where name = 'self_ns'" "$again" folded flame
damaged "no parents" "update columns set type = 'count' where type = 'parent'" "$again" folded flame
damaged "no time" "update columns set name = 'elf_ns' where name = 'self_ns'" "$again" folded flame
damaged "no number" "update columns set type = 'text' where name = 'calls'" "$again" folded flame
damaged "circles" "update tree set parent = id" "$again" folded flame
damaged "empty" "delete from tree" 'its call tree is empty' folded flame
for tick in nan inf 0 -1 1e; do
	damaged "tick $tick" "update session set value = '$tick' where key = 'ns_per_tick'" \
		"$again" chrome
done
damaged "start" "update session set value = 'x' where key = 'start_tsc'" "$again" chrome
damaged "losses" "update session set value = '-1' where key = 'lost'" "$again" folded chrome
label="the trace's reason:"
rm -rf "$work/damaged"
run "$FLICK" record --trace -o "$work/damaged" -- "$work/recursion"
succeeded
echo no >"$work/damaged/trace.zst"
run "$FLICK" dump -o "$work/kept" "$work/damaged"
one_line_error 1 'not a trace of flick'
[ "$(cat "$work/kept")" = earlier ] || fail "$label took the file's place"

# Names need not be UTF-8; JSON is.
label=names:
rm -rf "$work/names"
cp -r "$data.old" "$work/names"
sqlite3 "$work/names/results.db" "update functions set name = cast(x'66f6' as text)
	where name = 'fib'" || fail "$label sqlite3"
for command in "dump --format=chrome" "report --format=json" "dump --format=flame"; do
	run "$FLICK" $command "$work/names"
	succeeded
	iconv -f utf-8 -t utf-8 "$out" >/dev/null 2>&1 || fail "$label $command is no UTF-8"
	grep -q "$(printf 'f\357\277\275')" "$out" || fail "$label $command: no f"
done

label=usage:
run "$FLICK" dump --format=flam "$data"
one_line_error 2 '--format is folded, flame or chrome, not .flam'
run "$FLICK" dump "$data" "$data"
one_line_error 2 'more than one directory'
run "$FLICK" dump -o /dev/full --format=chrome "$data.old"
one_line_error 1 'space'
run "$FLICK" dump -o "$work/none/x" "$data.old"
one_line_error 1 'no such file'
