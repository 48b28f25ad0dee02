#!/bin/sh
# Of a program that runs all functions that were asked for are refused: whoever attaches is told
# so in one line with the reason, at once and not when he ends it, with status 1; the program
# goes on as it was. Beside a function that can be had it is a line, and only what is active is
# counted as that: no exit of the one that is refused.
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
cat >"$work/loops.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((naked, noinline)) void loops(void)
{
	__asm__("xor %eax, %eax\n1: inc %eax\n cmp $9, %eax\n jnz 1b\n ret");
}
volatile long n;
__attribute__((noinline)) void other(void)
{
	n++;
}
int main(void)
{
	puts("begun");
	fflush(stdout);
	for (;;) {
		loops();
		other();
		usleep(1000);
	}
}
END
compile "$work/loops" "$work/loops.c" -O1
compile "$work/same-text" "$targets/same-text.c" -O2
"$work/loops" >"$work/begun" &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
while [ ! -s "$work/begun" ]; do sleep 0.01; done

reason='own code may come back into its first bytes'
for how in "count" "latency" "record -o $data -a counts -P" "record -o $data --all -P"; do
	label="$how:"
	limit=20 run "$FLICK" $how loops -p $pid
	one_line_error 1 "^flick: the one probe cannot be used: .*$reason"
	[ ! -s "$out" ] || fail "$label it prints what it has not"
done
label="what is to fire:"
limit=20 run "$FLICK" record -p $pid -o "$data" --trigger 'loops>5ms'
one_line_error 1 "^flick: .loops., as --trigger has it, cannot be timed: .*$reason"
label="with --wait:"
run "$FLICK" count --wait -p $pid -d 0.2 loops
one_line_error 1 "$reason"
for how in "-a counts" "--all"; do
	label="beside another, $how:"
	active=$([ "$how" = --all ] && echo 2 || echo 1)
	run "$FLICK" record $how -p $pid -d 0.2 -o "$data" -P loops -P other
	succeeded
	grep -q "^flick: 1 function refused: .*$reason.*(loops)" "$err" || fail "$label not said"
	tail -n 1 "$err" | grep -q "probes: $active active, 1 refused; bodies: 1 functions, 1 refused" ||
		fail "$label $(tail -n 1 "$err")"
done
label=left:
for try in $(seq 100); do
	"$work/same-text" $pid >"$out" && exit 0
	sleep 0.05
done
fail "its code is not as it was"
