#!/bin/sh
# bench/cost: every part is there, and is the difference that it says it is. Which part
# is how large is a machine's own affair, and not asked here.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "bench/events.c is code of x86-64"
need "$CC"
compile "$work/hull" "$top/bench/programs/hull.c" -O2 $sites -lm
cat >"$work/ways.c" <<'END_OF_C'
#include <stdlib.h>
#include <unistd.h>

/* Calls `work` 100 times and once more for each byte of its input. */
__attribute__((noinline)) void work(volatile int *x)
{
	++*x;
}

int main(int argc, char **argv)
{
	volatile int x = 0;
	char byte;

	for (int i = 0; i < 100; i++)
		work(&x);
	while (read(0, &byte, 1) == 1)
		work(&x);
	if (argc > 1)
		_exit(atoi(argv[1]));
	return 5;
}
END_OF_C
compile "$work/ways" "$work/ways.c" -O2 $sites
compile "$work/plain" "$work/ways.c" -O2

cost() {
	run "$top/bench/cost" "$@"
}

label=hull:
cost --runs 2 -a graph -- "$work/hull" 20000 3
succeeded
for line in '^hull: graph; 2 runs of each kind, [1-9][0-9]* events' '^A  ' '^A+A_i  ' \
	'^A+A_i+A_q  ' '+ read, not' '^E_c  ' '^P+P_c  ' '^E_s  ' '^A_i  ' '^A_q  ' \
	'^P + I_ap  ' '^P_c - I_ap ' '^(5) .* dominates$' '\.\.' \
	'^\(concurrent\|inline\|neither\) is cheaper here: .* x .* x '; do
	grep -q "$line" "$out" || fail "$label no line $line"
done

# A part is the difference of two rows; the first rows of each name are measured.
is_difference() {	# PART ROW ROW
	awk -v part="$1" -v of="$2" -v without="$3" '
		!($1 in seconds) { seconds[$1] = substr($0, 48, 9) }
		END {
			gap = seconds[part] - (seconds[of] - seconds[without])
			exit !(part in seconds && gap < 0.0021 && gap > -0.0021)
		}' "$out"
}
is_difference A_i A+A_i A || fail "$label A_i is another"
is_difference A_q A+A_i+A_q A+A_i || fail "$label A_q is another"
is_difference A_i A+A_i+A_q A && fail "$label no difference is another"

label='status 5, and a file as input:'
head -c 1000 /dev/zero >"$work/bytes"
"$top/bench/cost" --runs 1 -a counts "$work/ways" <"$work/bytes" >"$out" 2>"$err"
status=$?
succeeded
grep -q '^ways: counts; 1 runs of each kind, 2202 events' "$out" || fail "$label other events"
label='a pipe as input:'
head -c 1000 /dev/zero | "$top/bench/cost" --runs 1 "$work/ways" >"$out" 2>"$err"
status=$?
succeeded
grep -q '^ways: latency; 1 runs of each kind, 202 events' "$out" || fail "$label other events"

wrong() {	# STATUS PATTERN ARGS...
	expected=$1 pattern=$2
	shift 2
	label="bench/cost $*:"
	cost "$@"
	[ "$status" -eq "$expected" ] || fail "$label exit status $status, not $expected"
	[ "$(wc -l <"$err")" -eq 1 ] && grep -q -- "$pattern" "$err" ||
		fail "$label no line that says: $pattern"
	[ ! -s "$out" ] || fail "$label it prints something"
}

wrong 2 '^usage: bench/cost'
wrong 2 '^usage: bench/cost' --runs 0 "$work/ways"
wrong 2 '^usage: bench/cost' --cots "$work/ways"
wrong 1 'no analysis `nonsense`; there are' --runs 1 -a nonsense "$work/ways"
wrong 1 'No such file' --runs 1 "$work/none"
wrong 1 'it makes no events; build it with' --runs 1 "$work/plain"
wrong 1 'does not end by exit()' --runs 1 "$work/ways" 3
exit 0
