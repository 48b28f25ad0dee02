#!/bin/sh
# flick live -p: a program that runs already is shown, its functions are switched, and
# however flick is left the program's code is the file's again and no thread of flick's is
# there. record -p --trigger keeps what came before, and lets it go.
# timeout: 240
. "$(dirname "$0")/lib"
need tmux sqlite3 "$CC"
. "$here/attach-lib"
begin 0
. "$here/lib-live"
trap 'mux kill-server 2>/dev/null; kill -9 $pid 2>/dev/null; rm -rf "$work"' EXIT
screen 80 24

show() {
	enter "clear; echo above; '$FLICK' live -d 0.3 -p $pid; echo status \$?; echo below"
	see '^>on  *[1-9]'
}

left() {
	see '^below$'
	grep -q '^above$' "$out" || fail "$label the screen is not the one of before"
	grep -qx 'status 0' "$out" || fail "$label not status 0"
	is_as_it_was
}

label="q:"
show
press Space
see '^1 function off: '
see '^>off  *0 '
press Space
see '^>on  *[1-9]'
press o
see 'output is not kept'
press x q
left

label="Ctrl-C:"
show
press C-c
left

label="SIGTERM:"
show
kill "$(ps -eo pid=,args= | awk -v p="$pid" '/[f]lick live/ && $NF == p && $2 ~ /flick$/ { print $1 }')"
left
finish

label="its end:"
begin 0
show
finish
see 'has ended; q leaves'
press q
see '^below$'

label="mistakes:"
enter "clear; '$FLICK' live -p 1 ./attached; echo status \$?"
see '^status 2$'
enter "clear; '$FLICK' live -p 4194300; echo status \$?"
see '^status 1$'
