#!/bin/sh
# attach-storm.sh [storm|python] - a program whose four threads allocate, load and unload a
# library, throw and fork all the time is recorded again and again, second bodies and all, and
# notices nothing.
#
#	FLICK_TORTURE=long for 1,000 times; attach-storm-python.sh is this of an interpreter
#
#	PROGRAM: N times, N turns, N full | refused 0 differs 0
#
# Full: near memory has no room for second bodies of one more selection, which is said.
# What stands right of the bar must be zero: attaches that failed or hung, and times when code
# was not the files' behind it. A program of which a thread hangs does not end, which fails.
#
# timeout: 1200
# alone
. "$(dirname "$0")/../e2e/lib"
need "$CC"
program=${program:-${1:-storm}}
times=12
[ "${FLICK_TORTURE:-}" != long ] || times=1000
compile "$work/same-text" "$targets/same-text.c" -O2
compile "$work/storm-lib.so" "$targets/storm-lib.c" -O1 -shared -fPIC
pid=
trap 'kill -9 $pid 2>/dev/null; rm -rf "$work"' EXIT

storm_begin() {
	compile "$work/storm" "$targets/storm.cc" -O1
	"$work/storm" "$work/storm-lib.so" >"$work/said" 2>&1 &
	pid=$!
}

storm_how() {
	case $1 in
	0) how="-a counts -P storm!*" ;;
	1) how="--all -P work" ;;
	2) how="-a counts -P work -P dive" ;;
	3) how="-P storm!*" ;;
	esac
}

# As Debian builds it: functions with names are those of its interface.
python_begin() {
	need /usr/bin/python3
	/usr/bin/python3 -B "$targets/storm.py" "$work/storm-lib.so" >"$work/said" 2>&1 &
	pid=$!
}

python_how() {
	case $1 in
	0) how="-a counts -P python3*!Py*" ;;
	1) how="--all -P PyImport_*" ;;
	2) how="-a counts -P PyDict_* -P PyErr_* -P PyOS_*" ;;
	3) how="-P python3*!*" ;;
	esac
}

${program}_begin
while ! grep -q ready "$work/said"; do
	kill -0 $pid || fail "it does not run: $(cat "$work/said")"
done
full=0 refused=0 differs=0

# Whoever waited beside it ends a moment later.
is_same() {
	for i in $(seq 40); do
		"$work/same-text" $pid >"$out" 2>&1 && return
		sleep 0.05
	done
	false
}

for n in $(seq $times); do
	${program}_how $((n % 4))
	rm -rf "$data"
	limit=30 run "$FLICK" record -p $pid -d 0.02 -o "$data" $how
	if [ $status -eq 1 ] && grep -q '^flick: none of .* no free memory' "$err"; then
		full=$((full + 1))
	elif [ $status -ne 0 ]; then
		refused=$((refused + 1))
		say "$n, $how: $(tail -n 1 "$err")"
	fi
	[ -e /proc/$pid/exe ] || fail "attach $n, $how: it is gone: $(cat "$work/said")"
	[ $((n % 10)) -ne 0 ] || is_same || differs=$((differs + 1))
done
kill -TERM $pid
for i in $(seq $((600 * ${PATIENCE:-1}))); do
	[ -e /proc/$pid/exe ] || break
	sleep 0.05
done
[ ! -e /proc/$pid/exe ] || fail "it hangs"
wait $pid
status=$?
turns=$(sed -n 's/ turns//p' "$work/said")
say "$program: $times times, $turns turns, $full full | refused $refused differs $differs"
[ $status -eq 0 ] || fail "the program found: $(cat "$work/said")"
[ "$refused$differs" = 00 ] || fail "right of the bar is not zero"
[ "$turns" -gt 100 ] || fail "it did next to nothing"
