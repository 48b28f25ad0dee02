#!/bin/sh
# Clients that say garbage, half a line or nothing, come by the thousand or do not read what
# they asked for, keep neither the recorder nor the program from anything, nor others from
# being answered. Nobody else's directory is believed, and nobody else is answered.
#
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target steps -O1 $sites
compile "$work/rude" "$targets/rude.c"
export XDG_RUNTIME_DIR="$work/run"
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkfifo "$work/to" "$work/from"
"$FLICK" record -a counts -o "$data" -- "$work/steps" <"$work/to" >"$work/from" 2>"$err" &
recorder=$!
exec 8>"$work/to" 9<"$work/from"
read -r ready <&9
target=$(program_of "$recorder" steps)
socket=$XDG_RUNTIME_DIR/flick/$target
[ -S "$socket" ] || fail "no socket"
[ "$(stat -c %a "$XDG_RUNTIME_DIR/flick")" = 700 ] || fail "others may come in"
rude=
for how in garbage half thousand deaf; do
	"$work/rude" "$socket" $how >"$work/said" 8>&- 9<&- &
	rude="$rude $!"
	until [ -s "$work/said" ]; do
		kill -0 $! 2>/dev/null || break
	done
	label=$how
	run "$FLICK" ctl -p "$target" status
	[ "$status" = 0 ] || fail "$how: nobody else is answered"
	say "a 10" >&8
	read -r ready <&9
done
run "$FLICK" ctl -p "$target" stage off a
succeeded
run "$FLICK" ctl -p "$target" commit
succeeded
say "a 1000" >&8
read -r ready <&9
kill $rude 2>/dev/null
say quit >&8
exec 8>&- 9<&-
wait "$recorder" || fail "record"
[ "$(sql "select calls from $(rows counts) where name = 'a'")" = 40 ] || fail "calls of a"
[ ! -e "$socket" ] || fail "the socket stays"

# A directory that is not the user's own is left alone.
rm -rf "$XDG_RUNTIME_DIR/flick" "$data"
mkdir -m 777 "$XDG_RUNTIME_DIR/flick"
chmod 777 "$XDG_RUNTIME_DIR/flick"
"$FLICK" record -o "$data" "$work/steps" <"$work/to" >"$work/from" 2>"$err" &
recorder=$!
exec 8>"$work/to" 9<"$work/from"
read -r ready <&9
say "a 10" >&8			# it has had time for a socket
read -r ready <&9
sockets=$(ls "$XDG_RUNTIME_DIR/flick")
say quit >&8
exec 8>&- 9<&-
wait "$recorder" || fail "record"
[ -z "$sockets" ] || fail "a socket where anybody may put another"
