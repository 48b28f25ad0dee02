#!/bin/sh
# attach.sh - redis-server as Debian builds it is recorded, second bodies and all, again and
# again while it is under load, and serves on.
#
#	FLICK_TORTURE=long for 200 times
#
#	attach: N times, N requests | failed 0 differs 0 threads 0
#
# What stands right of the bar must be zero: requests that failed, times when code was not the
# files' behind it, and when a thread of flick's was left.
#
# timeout: 900
# alone
. "$(dirname "$0")/../e2e/lib"
need redis-check-rdb redis-benchmark redis-cli "$CC"
times=5
[ "${FLICK_TORTURE:-}" != long ] || times=200
compile "$work/same-text" "$targets/same-text.c" -O2
socket=$work/socket data=$work/data
failed=0 differs=0 left=0

# The one program goes by its name; Debian's package of the other name starts a daemon.
ln -s "$(command -v redis-check-rdb)" "$work/redis-server"
"$work/redis-server" --port 0 --unixsocket "$socket" --save '' --appendonly no >"$work/log" 2>&1 &
pid=$!
for i in $(seq 100); do
	[ -S "$socket" ] && break
	sleep 0.05
done
redis-benchmark -s "$socket" -t set,get -c 8 -l -q >"$work/load" 2>&1 &
load=$!
sleep 0.5

# An allocator begins threads of its own when it meets a new one.
count_threads() {
	now=$(cat /proc/$pid/task/*/comm | grep -vc jemalloc)
}
count_threads
threads=$now

is_behind() {	# who waited beside it ends a moment later
	for i in $(seq 100); do
		count_threads
		"$work/same-text" $pid >"$out" && [ "$now" -eq "$threads" ] && return
		sleep 0.05
	done
	false
}

for n in $(seq $times); do
	rm -rf "$data"
	case $((n % 4)) in
	0) how="--all -P process*" ;;
	1) how="-P call -P process*" ;;
	2) how="-a counts -P dict*" ;;
	3) how="-P aeMain -P aeProcess*" ;;
	esac
	run "$FLICK" record -p $pid -d 0.1 -o "$data" $how
	[ $status -eq 0 ] || fail "attach $n, $how: status $status"
	[ -e /proc/$pid/exe ] || fail "attach $n, $how: redis-server is gone"
	if ! is_behind; then
		"$work/same-text" $pid >"$out" || differs=$((differs + 1))
		[ "$now" -eq "$threads" ] || left=$((left + 1))
	fi
done
kill -0 $load 2>/dev/null || failed=1		# it ends at the first request that fails
requests=$(redis-cli -s "$socket" info stats | sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p')
kill $load
kill $pid
wait $pid || failed=$((failed + 1))
say "attach: $n times, $requests requests | failed $failed differs $differs threads $left"
[ "$failed$differs$left" = 000 ] || fail "right of the bar is not zero"
[ "$requests" -gt 1000 ] || fail "it was under no load"
