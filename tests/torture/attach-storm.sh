#!/bin/sh
# attach-storm.sh - a program whose four threads allocate, load and unload a library, throw and
# fork all the time is recorded again and again, second bodies and all, and notices nothing.
#
#	FLICK_TORTURE=long for 1,000 times
#
#	storm: N times, N turns | refused 0 differs 0
#
# What stands right of the bar must be zero: attaches that failed or hung, and times when code
# was not the files' behind it.
#
# timeout: 1200
# alone
. "$(dirname "$0")/../e2e/lib"
need "$CC"
times=12
[ "${FLICK_TORTURE:-}" != long ] || times=1000
compile "$work/same-text" "$targets/same-text.c" -O2
compile "$work/storm" "$targets/storm.cc" -O1
compile "$work/storm-lib.so" "$targets/storm-lib.c" -O1 -shared -fPIC
"$work/storm" "$work/storm-lib.so" >"$work/said" 2>&1 &
pid=$!
while ! grep -q ready "$work/said"; do
	kill -0 $pid || fail "it does not run"
done
refused=0 differs=0

# Whoever waited beside it ends a moment later.
is_same() {
	for i in $(seq 40); do
		"$work/same-text" $pid >"$out" 2>&1 && return
		sleep 0.05
	done
	false
}

for n in $(seq $times); do
	case $((n % 4)) in
	0) how="-a counts -P storm!*" ;;
	1) how="--all -P work" ;;
	2) how="-a counts -P work -P dive" ;;
	3) how="-P storm!*" ;;
	esac
	rm -rf "$data"
	limit=30 run "$FLICK" record -p $pid -d 0.02 -o "$data" $how
	[ $status -eq 0 ] || { refused=$((refused + 1)); say "$n, $how: $(tail -n 1 "$err")"; }
	[ -e /proc/$pid/exe ] || fail "attach $n, $how: it is gone: $(cat "$work/said")"
	[ $((n % 10)) -ne 0 ] || is_same || differs=$((differs + 1))
done
kill -TERM $pid
wait $pid
status=$?
turns=$(sed -n 's/ turns//p' "$work/said")
say "storm: $times times, $turns turns | refused $refused differs $differs"
[ $status -eq 0 ] || fail "the program found: $(cat "$work/said")"
[ "$refused$differs" = 00 ] || fail "right of the bar is not zero"
[ "$turns" -gt 100 ] || fail "it did next to nothing"
