#!/bin/sh
# A second `flick record -p` comes to a program that one records already: each is told what it
# asked for, call by call, while both are there and when one of them has gone, in whatever way.
# The program does a step when it is told to, so each call is on one side of a begin or an end.
#
# timeout: 200
. "$(dirname "$0")/lib"
no_emulator ptrace
. "$(dirname "$0")/steps-lib"
need sqlite3 "$CC"
compile "$work/same-text" "$targets/same-text.c" -O2

regions() {
	grep -c 'memfd:flick' "/proc/$target/maps"
}

# second OPTION...	it records $target, as $second, into $work/two; its probes are on
second() {
	rm -rf "$work/two"
	had=$(regions)
	"$FLICK" record -p "$target" -o "$work/two" "$@" >"$work/two.out" 2>"$work/two.err" \
		8>&- 9<&- &
	second=$!
	for i in $(seq 500); do		# who has brought it in has gone again
		[ "$(regions)" -gt "$had" ] && [ "$(ls "/proc/$target/task" | wc -l)" -eq 1 ] &&
			return
		kill -0 $second 2>/dev/null || break
		sleep 0.01
	done
	fail "$label: the second one does not begin: $(cat "$work/two.err")"
}

# leaves	the second one ends, and has
leaves() {
	kill -TERM $second
	wait $second || fail "$label: the second one: $(cat "$work/two.err")"
}

# killed PID	with nothing that it could do about it
killed() {
	kill -KILL "$1"
	wait "$1" 2>/dev/null
	sleep 0.4			# who watches it looks ten times a second
}

# calls DIRECTORY TABLE NAME N
calls() {
	was=$data
	data=$1
	got=$(sql "select coalesce(sum(calls), 0) from $(rows "$2") where name = '$3'")
	data=$was
	[ "$got" = "$4" ] || fail "$label: $1 has $got calls of $3, not $4"
}

one_line() {	# PATTERN FILE
	grep -q -e "$1" "$2" && [ "$(wc -l <"$2")" -eq 1 ] || fail "$label: $(cat "$2")"
}

# overlap TABLE SECOND-TABLE OPTION...	of the second one
overlap() {
	mine=$1 theirs=$2
	shift 2
	step c 10
	second "$@" -P a -P c
	step c 1000
	ctl stage off b				# the first one's own, meanwhile
	ctl commit
	step c 300
	ctl stage on b
	ctl commit
	leaves
	step c 20000
	calls "$work/two" "$theirs" a 1300
	calls "$work/two" "$theirs" b 0
	calls "$work/two" "$theirs" c 1300
	grep -q '[^0-9]0 lost' "$work/two.err" || fail "$label: $(cat "$work/two.err")"
	second "$@" -P b
	step c 7
	killed $second
	step c 500000
	second "$@" -P b
	step c 40
	leaves
	calls "$work/two" "$theirs" b 40
	calls "$work/two" "$theirs" a 0
	finish
	total=521357
	calls "$data" "$mine" a $total
	calls "$data" "$mine" b $((total - 300))
	calls "$data" "$mine" c $total
}

everything() {
	label="$kind, all"
	start --all
	overlap latency latency
	label="$kind, all and counted"
	start --all
	overlap latency counts -a counts
	label="$kind, sampled"
	start
	overlap latency latency --all
	label="$kind, counted"
	start -a counts
	overlap counts counts -a counts
}

target steps -O1 $sites
program=$work/steps
kind=sites
everything
label="counted and all"
start -a counts
overlap counts latency
target steps -O1
kind=bodies
everything

# A body that was made to count tells no end of a call (FLE_COUNTED).
label="bodies that count"
start -a counts
"$FLICK" record --all -p "$target" -o "$work/two" -P a >"$out" 2>"$work/two.err" 8>&- 9<&- &&
	fail "$label: it has what it cannot have"
grep -q '^flick: the one probe cannot be used: .*-a counts (--wait ' "$work/two.err" ||
	fail "$label: $(cat "$work/two.err")"
step c 5
finish
calls "$data" counts a 5

# The first one dies, and the second one loses nothing; nor when it leaves, and all is as it was.
label="the first one is killed"
for how in started attached; do
	if [ $how = started ]; then
		start -a counts
	else
		mkfifo "$work/to$how" "$work/from$how"
		"$program" <"$work/to$how" >"$work/from$how" &
		target=$!
		exec 8>"$work/to$how" 9<"$work/from$how"
		read -r ready <&9
		"$FLICK" record -p $target -o "$data" -a counts >"$out" 2>"$err" 8>&- 9<&- &
		recorder=$!
		for i in $(seq 500); do
			[ "$(regions)" -gt 0 ] && [ "$(ls "/proc/$target/task" | wc -l)" -eq 1 ] &&
				break
			sleep 0.01
		done
	fi
	step c 3
	second -a counts -P a
	step c 100
	label="a third one, $how"
	! "$FLICK" record -p "$target" -o "$work/three" >"$out" 2>"$work/said" 8>&- 9<&- ||
		fail "$label is let in"
	grep -v 'is recorded by another flick' "$work/said" >"$work/why"	# FLE_TWO
	one_line 'two sessions are at this process' "$work/why"
	label="the first one is killed, $how"
	killed $recorder
	step c 2000
	leaves
	calls "$work/two" counts a 2100
	step c 1
	"$work/same-text" "$target" >"$out" || [ $how = started ] || fail "$label: code is not as it was"
	say quit >&8
	exec 8>&- 9<&-
	wait "$target" 2>/dev/null
done

label="what one recorder alone can say"
start -a counts
for option in --rate=5% --budget=3% '-K 20'; do
	! "$FLICK" record -p "$target" $option >"$out" 2>"$work/said" 8>&- 9<&- ||
		fail "$option is taken"
	one_line 'recorded by another flick' "$work/said"
done
! "$FLICK" record -p "$target" -a cache -o "$work/three" >"$out" 2>"$work/said" 8>&- 9<&- ||
	fail "-a cache is taken"
grep -q 'neither takes -a paths' "$work/said" ||	# FLE_JOINT
	fail "$label: $(cat "$work/said")"
finish
