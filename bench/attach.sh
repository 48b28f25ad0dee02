#!/bin/sh
# attach.sh - what it takes to come to a program that runs, and what is left behind.
#
#	attach.stop          milliseconds: the longest time by which a thread of a program with
#	                     64 threads and 20,000 functions is late, from before `flick record
#	                     -p` until it has left; each wakes every 2 ms. All functions are wanted
#	attach.stop.alone    the same of as long without flick: what the machine adds
#	attach.total         milliseconds from the command until each function is counted:
#	                     redis-server as Debian builds it, under load, libraries and all
#	attach.total.own     the same, with the functions of the program itself
#	attach.after         percent: calls of a program in half a second after it was left, of
#	                     those before
#
# The programs are compiled without a site for tools: their functions have second bodies.
set -eu
. "$(dirname "$0")/lib.sh"

rounds=${FLICK_ROUNDS:-9}
data=$scratch/flick.data
target= server= load=
stop_all() {
	for p in $target $server $load; do
		kill "$p" 2>/dev/null || :
	done
	rm -rf "$scratch"
}
trap stop_all EXIT
mkfifo "$scratch/to" "$scratch/from"

start() {	# THREADS MICROSECONDS
	"$out/attach" "$@" <"$scratch/to" >"$scratch/from" &
	target=$!
	exec 3>"$scratch/to" 4<"$scratch/from"
	read -r line <&4
	sleep 0.3
}

finish() {
	exec 3>&- 4<&-
	wait "$target" || :
	target=
}

# What it says since it was last asked: $late, $rate.
ask() {
	echo >&3
	read -r late rate <&4
}

attach() {	# PID OPTION...
	pid=$1
	shift
	rm -rf "$data"
	"$build/flick" record -p "$pid" -a counts -d 0.3 -o "$data" "$@" \
		>"$scratch/output" 2>"$scratch/log" || {
		why="flick: $(last_line "$scratch/log")"
		return 1
	}
}

measure_stop() {
	start 64 2000
	ask
	attach "$target" -P 'attach!*' || return 0
	ask
	add attach.stop "$late"
	sleep 0.8
	ask
	add attach.stop.alone "$late"
	finish
}

measure_after() {
	start 1 0
	ask
	sleep 0.5
	ask
	before=$rate
	attach "$target" -P 'attach!*' || return 0
	ask
	sleep 0.5
	ask
	add attach.after "$(calc "100 * $rate / $before")"
	finish
}

# The one program goes by its name; Debian's package of the other name starts a daemon.
begin_redis() {
	ln -sf "$(command -v redis-check-rdb)" "$scratch/redis-server"
	"$scratch/redis-server" --port 0 --unixsocket "$scratch/socket" --save '' \
		--appendonly no >"$scratch/output" 2>&1 &
	server=$!
	sleep 0.3
	redis-benchmark -s "$scratch/socket" -t set,get -c 8 -l -q >"$scratch/load" 2>&1 &
	load=$!
	sleep 0.3
}

end_redis() {
	kill "$load" "$server"
	wait "$load" "$server" 2>/dev/null || :
	load= server=
}

# A server of its own for each: what was attached to before has bodies already.
measure_total() {	# NAME OPTION...
	name=$1
	shift
	begin_redis
	begin=$("$out/attach" now)
	if attach "$server" "$@"; then
		begun=$(sqlite3 "$data/results.db" \
			"select value from session where key = 'begun_ns'")
		add "$name" "$(calc "($begun - $begin) / 1e6")"
	fi
	end_redis
}

why= why_redis=
command -v redis-check-rdb >/dev/null && command -v redis-benchmark >/dev/null ||
	why_redis="redis-tools is not installed"
for round in $(seq "$rounds"); do
	[ "$why" ] || measure_stop
	[ "$why" ] || measure_after
	[ "$why_redis" ] || measure_total attach.total
	[ "$why_redis" ] || measure_total attach.total.own -P 'redis-check-rdb!*'
done
report attach.stop ms "$why"
report attach.stop.alone ms "$why"
report attach.total ms "$why_redis"
report attach.total.own ms "$why_redis"
report attach.after % "$why"
