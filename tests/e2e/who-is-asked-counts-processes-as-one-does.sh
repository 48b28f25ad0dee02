#!/bin/sh
# flick ctl: a process of another pid namespace may have the same number, and its recorder the same
# directory of sockets. The one is not asked for the other, and none takes the other's place.
. "$(dirname "$0")/lib"
need "$CC" unshare nsenter pgrep
. "$here/attach-lib"
[ "$(id -u)" -eq 0 ] || skip "only root makes a pid namespace"
unshare -pf --mount-proc true 2>/dev/null || skip "nobody can make a pid namespace here"
ctl() {	# STATUS COMMAND...
	want=$1
	shift
	"$@" >"$out" 2>"$work/said"
	[ $? -eq "$want" ] || fail "$* is not $want: $(cat "$work/said")"
}

# Each is the first process of its namespace.
for k in 1 2; do
	mkfifo "$work/begun$k"
	unshare -pf --mount-proc "$work/attached" >"$work/begun$k" 2>&1 &
	eval "outer$k=$!"
	read -r line <"$work/begun$k"
	eval "inner$k=\$(pgrep -P \$outer$k -x attached)"
done
trap 'kill -KILL $inner1 $inner2 2>/dev/null; rm -rf "$work"' EXIT
record_in() {	# PID DIRECTORY
	nsenter -t $1 -a "$FLICK" record -p 1 -a counts -P work -o "$2" >"$work/told" 2>&1 &
	recorder=$!
	until nsenter -t $1 -a "$FLICK" ctl -p 1 status >"$out" 2>&1 &&
		! grep -q 'is on yet' "$out"; do
		kill -0 $recorder || fail "it is not recorded: $(cat "$work/told")"
		sleep 0.01
	done
}
record_in $inner1 "$work/first"
first=$recorder
ctl 1 "$FLICK" ctl -p 1 status
grep -q 'nobody who may be asked records process 1' "$work/said" || fail "$(cat "$work/said")"
ctl 1 nsenter -t $inner2 -a "$FLICK" ctl -p 1 status

# A second one there has no socket of its own, and leaves the first one's.
nsenter -t $inner2 -a "$FLICK" record -p 1 -d 0.2 -a counts -P work -o "$work/second" \
	>"$work/told" 2>&1 || fail "the second one: $(cat "$work/told")"
ctl 0 nsenter -t $inner1 -a "$FLICK" ctl -p 1 status
kill -TERM $(pgrep -P $first -x flick)
wait $first || fail "the first recording has failed"
