#!/bin/sh
# A program whose stubs are recorded notices nothing: one that ran before and is left, its code
# as in its files; one whose recorder switches all of them under its threads, or is killed; one
# that unwinds from any instruction of a stub, whose probe is off.
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC" pgrep
[ "$(uname -m)" = x86_64 ] || skip "stubs of this CPU have no probes"
. "$here/attach-lib"
target attached -O1 -fno-builtin

for n in 0 7; do
	label="attach, $n threads more:"
	begin $n
	attach -a counts -P 'plt:*'
	[ "$(sql "select calls > 100 from $(rows counts) where name = 'malloc@plt'")" = 1 ] ||
		fail "$label malloc is not counted"
	is_as_it_was
	finish
done

# start: the program under a recorder of its stubs
start() {
	rm -rf "$data"
	mkfifo "$work/begun"
	"$FLICK" record -a counts -P 'plt:*' -o "$data" -- "$work/attached" 7 \
		>"$work/begun" 2>"$err" &
	recorder=$!
	exec 8<"$work/begun"
	rm "$work/begun"
	read -r line <&8
	pid=$(pgrep -P $recorder -x attached) || fail "$label no target"
}

# Whoever is its parent.
told() {
	kill -TERM $pid
	read -r line <&8
	exec 8<&-
	[ "$line" = fine ] || fail "$label the program found: $line"
}

label="switched:"
start
for i in 1 2 3 4 5 6 7 8 9 10; do
	for how in off on; do
		"$FLICK" ctl -p $pid stage $how 'plt:*' >"$out" 2>&1 || fail "$label stage $how"
		"$FLICK" ctl -p $pid commit >"$out" 2>&1 || fail "$label commit"
	done
done
told
wait $recorder || fail "$label status $?"
lossless

for text in mprotect alias; do
	label="killed, $text:"
	export FLICK_TEXT=$text
	start
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	told
done
unset FLICK_TEXT

label="unwound:"
target stub-frames -O1 -fno-builtin -Wl,-z,lazy
rm -rf "$data"
mkfifo "$work/to" "$work/from"
"$FLICK" record -a counts -P 'plt:stub-frames!*' -o "$data" -- "$work/stub-frames" \
	<"$work/to" >"$work/from" 2>"$err" &
recorder=$!
exec 8>"$work/to" 9<"$work/from"
read -r line <&9
pid=$(pgrep -P $recorder -x stub-frames) || fail "$label no target"
for how in "stage off plt:*" commit; do		# in glue nobody finds a caller
	"$FLICK" ctl -p $pid $how >"$out" 2>&1 || fail "$label $how"
done
say go >&8
read -r line <&9
exec 8>&- 9<&-
wait $recorder || fail "$label status $?"
[ "$line" = "lost 0" ] || fail "$label callers are $line times"
