#!/bin/sh
# A directory, a program and a function may have newlines in their names. Such a program is
# recorded as any other; what flick prints of it is a line for each row, and JSON has the
# names as they are.
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC" objcopy
newline='
'
dir="$work/a${newline}b"
program="$dir/the${newline}program"
mkdir "$dir"
cat >"$work/odd.c" <<'END'
#include <unistd.h>
__attribute__((noipa)) int red(int x) { for (int i = 0; i < x % 7; i++) __asm__ volatile(""); return x + 1; }
__attribute__((noipa)) int blue(int x) { for (int i = 0; i < x % 7; i++) __asm__ volatile(""); return x + 1; }
int main(int argc, char **argv)
{
	int sum = 0;

	(void)argv;
	for (int i = 0; i < 1000 || argc > 1; i++, argc > 1 && usleep(1000))
		sum += red(i) + blue(i);
	return sum < 0;
}
END
"$CC" -c -g -O1 "$work/odd.c" -o "$work/plain.o" || fail "$CC"
objcopy --redefine-sym red="r${newline}ed" "$work/plain.o" "$work/odd.o" ||
	skip "objcopy cannot rename it"
"$CC" "$work/odd.o" -o "$program" || fail "$CC"

lines() {	# PATTERN N
	[ "$(cat "$out" "$err" | grep -c "$1")" -eq "$2" ] ||
		fail "$label not $2 lines of $1: $(cat "$out" "$err")"
}

label="record:"
record --all -a latency,graph,counts -- "$program"
succeeded
lines 'cannot\|No such' 0
for format in text csv; do
	label="report, $format:"
	run "$FLICK" report -a latency --format=$format "$data"
	lines '1000.*r\\x0aed\|r\\x0aed.*1000' 1
	lines '1000.*blue\|blue.*1000' 1
	lines '^ed\|^b/the\|^program' 0
done
label="report, json:"
run "$FLICK" report -a latency --format=json "$data"
lines '"function": "r\\u000aed", "calls": 1000,' 1
label="a path:"
record -a paths -- "$program"
succeeded
run "$FLICK" report --path=0 -n 9 "$data"
lines '^r\\x0aed: path 0' 1
lines '^program\|^ed' 0
label="list:"
run "$FLICK" list "$program"
lines ' r\\x0aed$' 1
label="doctor:"
run "$FLICK" doctor "$program"
lines 'a\\x0ab/the\\x0aprogram' 1

"$program" runs &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
label="list -p:"
run "$FLICK" list -p $pid
lines '^/.*a\\x0ab/the\\x0aprogram:$' 1
lines ' r\\x0aed$' 1
label="record -p:"
run "$FLICK" record -p $pid -a counts -d 0.3 -o "$work/attached.data"
succeeded
run "$FLICK" report -a counts --format=json "$work/attached.data"
lines '"function": "r\\u000aed"' 1
label="ctl:"
"$FLICK" record -p $pid --all -o "$work/changed.data" >"$work/recorded" 2>&1 &
recorder=$!
for i in $(seq 100); do
	run "$FLICK" ctl -p $pid stage off 'r?ed'
	[ $status -ne 0 ] || break
	sleep 0.05
done
run "$FLICK" ctl -p $pid diff
lines '^off  *r\\x0aed ' 1
run "$FLICK" ctl -p $pid status
lines 'recording  process .*a\\x0ab/the\\x0aprogram' 1
kill -TERM $recorder
wait $recorder || fail "$label $(cat "$work/recorded")"
