#!/bin/sh
# However flick live ends, its terminal is as it was: q, Ctrl-C, a signal, the program's
# end, a mistake that is found late, a fault of flick's own. And the program: left alone it
# goes on and its text is the file's; asked to end it ends.
. "$(dirname "$0")/lib"
no_emulator names
. "$(dirname "$0")/lib-live"
target lively -O1 $sites
screen 80 24
enter 'stty -g >before'

# Begins to show the program; its pid and flick's are in $pid and $flick.
show() {
	rm -f "$work/flick.out"
	enter "clear; echo above; '$FLICK' live --provider=cyg $*; echo status \$?; stty -g >after; echo below"
	see ' inner$'
	pid=$(ps -eo pid=,args= | awk -v w="$work" '$2 == "./lively"' | while read -r p rest; do
		[ "$(readlink "/proc/$p/cwd")" != "$work" ] || echo "$p"; done | head -n 1)
	flick=$(ps -o ppid= "$pid" | tr -d ' ')
}

# What was on the screen before is there, what flick said below it, and the shell goes on.
restored() {	# STATUS
	see '^below$'
	grep -q '^above$' "$out" || fail "$label the screen is not the one of before"
	! grep -q 'toggles/s' "$out" || fail "$label the table is still there"
	grep -qx "status $1" "$out" || fail "$label not status $1"
	cmp -s "$work/before" "$work/after" ||
		fail "$label stty: $(cat "$work/before") became $(cat "$work/after")"
	[ "$(mux display -p '#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}')" = "0 1 0" ] ||
		fail "$label modes of the terminal"
}

gone() {
	till=$(($(date +%s) + LIMIT))
	while [ -d "/proc/$1" ]; do
		[ "$(date +%s)" -lt $till ] || fail "$label process $1 does not end"
		sleep 0.05
	done
}

label="q:"
show ./lively
press q
restored 0
see "goes on, without probes; what it writes"
[ "$(wc -l <"$work/flick.out")" = 2 ] || fail "its output: $(cat "$work/flick.out")"
[ -d "/proc/$pid" ] || fail "the program has ended"
before=$(awk '{ print $14 + $15 }' "/proc/$pid/stat")
till=$(($(date +%s) + LIMIT))
while [ "$(awk '{ print $14 + $15 }' "/proc/$pid/stat")" -le "$before" ]; do
	[ "$(date +%s)" -lt $till ] || fail "the program does not go on"
	sleep 0.05
done
kill "$pid"
gone "$pid"

label="Ctrl-C:"
show ./lively
press C-c
restored 0
see 'lively was ended by signal 2'
gone "$pid"

label="SIGTERM:"
show ./lively
kill "$flick"
restored 0
gone "$pid"

label="SIGTERM, which the program ignores:"
show ./lively -1 x
kill "$flick"
restored 0
see 'goes on, without probes'
kill -s INT "$pid"
gone "$pid"

label="the program's end:"
show ./lively 4000
see 'lively has ended; q leaves'
press q
restored 0
see 'lively exited with status 3'
grep -q 'what ./lively wrote is in flick.out' "$out" || fail "where its output is, is not said"

label="a fault of flick's own:"
show ./lively
kill -s SEGV "$flick"
restored 139
kill "$pid"
gone "$pid"

label="a pattern that matches nothing:"
enter clear				# what is there is of the one before
not_see '^below$'
enter "clear; echo above; '$FLICK' live -P innner ./lively; echo status \$?; stty -g >after; echo below"
restored 1
grep -q 'did you mean `inner`' "$out" || fail "it is not said what is wrong"
[ ! -e "$work/flick.out" ] || [ ! -s "$work/flick.out" ] || fail "an empty file is left"
