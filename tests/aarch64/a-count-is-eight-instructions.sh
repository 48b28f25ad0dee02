#!/bin/sh
# AArch64, without restartable sequences: an entry that is counted is so in its own glue, in eight
# instructions and a return, of which one adds to memory. Read from what an emulator has executed. On a
# processor without such an instruction it goes to the routine. Both are exact, though a handler calls what it
# interrupts, and others do at once. Planted: a program that calls once more is told apart.
# timeout: 240
. "$(dirname "$0")/lib"

cat >"$TMP/calls.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define OWN __attribute__((no_instrument_function))
static long calls, handled;
#define ADD(to) __atomic_fetch_add(&to, 1, __ATOMIC_RELAXED)
__attribute__((noinline)) int leaf(int x) { ADD(calls); return x * 3 + 1; }
__attribute__((noinline)) int between(int x) { ADD(handled); return x; }
OWN static void handle(int s) { leaf(s); between(s); }
OWN static void *work(void *arg)
{
	for (int i = 0; i < 20000; i++)
		leaf(i);
	return arg;
}
OWN int main(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0 } };
	pthread_t t[4];

	signal(SIGALRM, handle);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (volatile int i = 0; i < 300000; i++)
		leaf(i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	for (int i = 0; i < EXTRA; i++)
		leaf(i);
	printf("leaf %ld\nbetween %ld\n", calls - EXTRA, handled);
	return 0;
}
C

same()
{
	while read -r f own; do
		told=$(sqlite3 "$TMP/data/results.db" "select calls from counts_named where function = '$f'")
		[ "$told" = "$own" ] || { echo "$label: $f was called $own times, not '$told'"; return 1; }
	done <"$TMP/out"
	awk '$1 == "between" && $2 < 10 { exit 1 }' "$TMP/out" || fail "$label: no handler came in between"
}

counting()		# how many instructions each glue that counts is, up to its return
{
	cat "$TMP"/asm.* | awk '
		function value(hex,   v, i)
		{
			for (i = 3; i < length(hex); i++)	# a colon is last
				v = v * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
			return v
		}
		$3 == "mrs" && $4 == "x17," && $5 == "tpidr_el0" { n = 0; next_at = value($1); on = 1 }
		on && /^0x/ && value($1) == next_at {
			n++
			next_at += 4
			adds += $2 == "b8300230"		# ldadd w16, w16, [x17]
			if ($3 == "ret") { print n - 1, adds; on = adds = 0 }
		}'
	rm -f "$TMP"/asm.*
}

plain=$EMULATOR
for cpu in max cortex-a53; do
	label="processor $cpu"
	EMULATOR=$plain
	target calls "$TMP/calls.c" -DEXTRA=0 -finstrument-functions -pthread
	EMULATOR="qemu-aarch64 -cpu $cpu -d in_asm -D $TMP/asm.%d -L $A64_ROOT"
	record calls -a counts
	grep -q ' 0 lost' "$TMP/events" || fail "$label: $(cat "$TMP/events")"
	same || fail "$label: not exact"
	counting | sort -u >"$TMP/glues"
	echo "$label: instructions, atomics: $(paste -sd';' "$TMP/glues")"
	case $cpu in
	max) [ "$(cat "$TMP/glues")" = "8 1" ] || fail "$label: a count takes other than 8" ;;
	*) [ ! -s "$TMP/glues" ] || fail "$label: an instruction that it does not have" ;;
	esac
done
EMULATOR=$plain
label="one more"
target calls "$TMP/calls.c" -DEXTRA=1 -finstrument-functions -pthread
record calls -a counts
(same) >/dev/null && fail "a call more is not told"
exit 0
