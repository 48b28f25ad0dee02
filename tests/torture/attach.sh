#!/bin/sh
# attach.sh [redis|redis_sites|nginx] - a server as Debian builds it is recorded, second bodies
# and all, again and again while it is under load, and serves on as before.
#
#	FLICK_TORTURE=long for 200 times; attach-nginx.sh is this of nginx,
#	attach-redis-sites.sh of redis with the compiler's sites
#
# Of five times one is flick live, and one a recording that flick ctl changes while it runs.
#
#	attach: N times, N requests | failed 0 differs 0 threads 0
#	attach: requests/s before N, between N (PERCENT), after N (PERCENT)
#
# What stands right of the bar must be zero: requests that failed, times when code was not the
# files' behind it, and when a thread of flick's was left. Rates are medians of windows of half
# a second in which it is not recorded. A machine is seldom so quiet that they are the same
# within 2 %: less than 85 % fails.
#
# timeout: 900
# alone
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../real/lib"
. "$here/../e2e/steps-lib"
. "$here/../e2e/lib-live"
program=${program:-${1:-redis}}
times=5 windows=4
[ "${FLICK_TORTURE:-}" != long ] || times=200 windows=20
need "$CC"
compile "$work/same-text" "$targets/same-text.c" -O2
socket=$work/socket
failed=0 differs=0 left=0
server= load= recorder=
trap 'mux kill-server 2>/dev/null; kill $recorder $load $server 2>/dev/null; rm -rf "$work"' EXIT

await_socket() {
	for i in $(seq 200); do
		[ -S "$socket" ] && return
		sleep 0.05
	done
	fail "$program does not listen: $(cat "$work/log")"
}

# ---- redis: the one program goes by its name, as Debian's package of the other name starts a
# daemon. Its load ends at the first request that fails.

redis_begin() {
	need redis-check-rdb redis-benchmark redis-cli
	ln -s "${executable:-$(command -v redis-check-rdb)}" "$work/redis-server"
	"$work/redis-server" --port 0 --unixsocket "$socket" --save '' --appendonly no \
		>"$work/log" 2>&1 &
	pid=$! server=$!
	await_socket
	redis-benchmark -s "$socket" -t set,get -c 8 -l -q >"$work/load" 2>&1 &
	load=$!
}

redis_served() {
	redis-cli -s "$socket" info stats |
		sed -n 's/^total_commands_processed:\([0-9]*\).*/\1/p'
}

redis_how() {
	on=setGenericCommand
	case $1 in
	0) how="--all -P process*" off=processCommand ;;
	1) how="-P call -P process*" off=call ;;
	2) how="-a counts -P dict*" off=dictFind ;;
	3) how="-P aeMain -P aeProcess*" off=aeProcessEvents ;;
	esac
}

# Of Debian's source, which has to be had, with the compiler's sites.
redis_sites_begin() {
	executable=$(program redis) || { say "$executable"; exit 77; }
	redis_begin
}

redis_sites_served() {
	redis_served
}

redis_sites_how() {
	redis_how "$1"
}

# ---- nginx: its one worker is recorded. A connection ends after a thousand requests.

nginx_begin() {
	PATH=$PATH:/usr/sbin
	need nginx
	compile "$work/http-load" "$targets/http-load.c" -O2
	mkdir "$work/www"
	printf 'as it is' >"$work/www/file"
	cat >"$work/nginx.conf" <<-END
	daemon off;
	user $(id -un) $(id -gn);
	worker_processes 1;
	pid $work/nginx.pid;
	error_log $work/log;
	events { worker_connections 64; }
	http {
		access_log off;
		client_body_temp_path $work/temp;
		proxy_temp_path $work/temp;
		fastcgi_temp_path $work/temp;
		uwsgi_temp_path $work/temp;
		scgi_temp_path $work/temp;
		server { listen unix:$socket; root $work/www; }
	}
	END
	nginx -e "$work/log" -c "$work/nginx.conf" >"$work/said" 2>&1 &
	server=$!
	await_socket
	pid=$(pgrep -P $server) || fail "nginx has no worker: $(cat "$work/log" "$work/said")"
	"$work/http-load" "$socket" /file 'as it is' 8 >"$work/load" 2>&1 &
	load=$!
}

nginx_served() {
	tail -n 1 "$work/load"
}

nginx_how() {
	on=ngx_http_write_filter
	case $1 in
	0) how="--all -P ngx_http_process*" off=ngx_http_process_request ;;
	1) how="-P ngx_http_*" off=ngx_http_finalize_request ;;
	2) how="-a counts -P ngx_*" off=ngx_palloc ;;
	3) how="-P ngx_palloc -P ngx_event_*" off=ngx_palloc ;;
	esac
}

# ---- who comes to it ---------------------------------------------------------------

recorded() {
	run "$FLICK" record -p $pid -d 0.1 -o "$data" $how
	[ $status -eq 0 ] || fail "$label status $status"
}

# Code of a function that was not recorded from the beginning is changed while threads run, which
# not every function allows: $on does.
change() {	# OFF ON
	ctl stage off "$1"
	ctl stage on "$2"
	ctl commit
}

# One that is recorded goes off for another, and comes back. Then somebody has a session until it
# has seen a call: it ends before the recording or with it.
changed() {
	attach $how
	change $off $on
	change $on $off
	begin mine "$on"
	seen=no
	for i in $(seq 200); do
		ctl session result mine
		! grep -q "$on" "$out" || { seen=yes; break; }
		sleep 0.05
	done
	[ $seen = yes ] || fail "$label the session sees nothing of $on"
	if [ $((n % 2)) -eq 0 ]; then
		detach
		wait $owner || fail "$label the session: $(cat "$work/mine.said")"
	else
		ends INT $owner
		detach
	fi
	recorder=
}

# All functions are shown. One is looked for, as rows change places, and goes off and on again.
viewed() {
	enter "clear; '$FLICK' live -d 0.3 -p $pid; echo status \$?; echo below"
	see '^>on  '
	press /
	enter "$on"
	see "^>on .* $on\$"
	press Space
	see "^>off .* $on\$"
	press Space
	see "^>on .* $on\$"
	press q
	see '^below$'
	grep -qx 'status 0' "$out" || fail "$label not status 0"
}

# ---- all --------------------------------------------------------------------------

# An allocator begins threads of its own when it meets a new one.
count_threads() {
	now=$(cat /proc/$pid/task/*/comm | grep -vc jemalloc)
}

is_behind() {	# who waited beside it ends a moment later
	for i in $(seq 100); do
		count_threads
		"$work/same-text" $pid >"$out" && [ "$now" -eq "$threads" ] && return
		sleep 0.05
	done
	false
}

# Served in a half second, a second, goes to FILE.
window() {	# FILE
	from=$(date +%s%N) n=$(${program}_served)
	sleep 0.5
	n=$(($(${program}_served) - n))
	say $((n * 1000000 / (($(date +%s%N) - from) / 1000))) >>"$1"
}

median() {	# FILE
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

${program}_begin
target=$pid
screen 80 24
sleep 0.5
count_threads
threads=$now
for n in $(seq $windows); do
	window "$work/before"
done
for n in $(seq $times); do
	rm -rf "$data"
	${program}_how $((n % 4))
	label="attach $n, $how:"
	case $((n % 5)) in
	1) changed ;;
	3) viewed ;;
	*) recorded ;;
	esac
	[ -e /proc/$pid/exe ] || fail "$label $program is gone: $(tail "$work/log")"
	if ! is_behind; then
		"$work/same-text" $pid >"$out" || differs=$((differs + 1))
		[ "$now" -eq "$threads" ] || left=$((left + 1))
	fi
	[ $((n * windows % times)) -ge $windows ] || window "$work/between"
done
for n in $(seq $windows); do
	window "$work/after"
done
kill -0 $load 2>/dev/null || failed=1
requests=$(${program}_served)
kill $load
kill $server
wait $server || failed=$((failed + 1))
say "attach: $times times, $requests requests | failed $failed differs $differs threads $left"
before=$(median "$work/before") between=$(median "$work/between") after=$(median "$work/after")
say "attach: requests/s before $before, between $between ($((between * 100 / before)) %)," \
	"after $after ($((after * 100 / before)) %)"
[ "$failed$differs$left" = 000 ] || fail "right of the bar is not zero: $(tail -n 1 "$work/load")"
[ "$requests" -gt 1000 ] || fail "it was under no load"
[ $((between * 100)) -ge $((before * 85)) ] && [ $((after * 100)) -ge $((before * 85)) ] ||
	fail "it serves less than before"
