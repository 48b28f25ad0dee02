#!/bin/sh
# Functions that are wanted while eight threads run through their first instructions get their
# second bodies then, and are let go again: each thread calls one as often as the other, and
# so they are told.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator names
. "$(dirname "$0")/steps-lib"
need sqlite3

target steps -O0
program=$work/steps

for how in "-a counts" "-a latency --all"; do
	label="$how:"
	start $how -P c
	for i in 1 2 3 4 5 6 7 8; do
		step loop
	done
	ctl stage on a
	ctl stage on b
	ctl commit
	grep -q '^generation 1: [1-9]' "$out" || fail "$label $(cat "$out")"
	step c 1000
	for i in 1 2 3 4 5; do
		ctl stage off '[ab]'
		ctl commit
		ctl stage on '[ab]'
		ctl commit
		step c 100
	done
	say quit >&8
	exec 8>&- 9<&-
	wait "$recorder" || fail "$label record: $(cat "$err")"
	table=${how#-a } table=${table% --all}
	sql "select name, sum(calls) from $(rows "$table") group by name" >"$work/got"
	# at each change a thread may be between the two
	awk '{ n[$1] = $2 } END { d = n["a"] - n["b"]
		exit !(n["c"] == 1500 && n["a"] > 1500 && d * d <= 96 * 96) }' "$work/got" ||
		fail "$label $(tr '\n' ' ' <"$work/got")"
done
