#!/bin/sh
# A program forbids all of its threads nearly all system calls, in mid-run: by a
# filter that kills, one that denies, and the strict mode. It goes on as without
# flick, and is sampled to its end. Where time is read strict mode ends it: it takes
# the clock away; `flick doctor` says so.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target apart -O2 $sites

calm() {	# MODE OPTIONS
	label="$1, $2:"
	record --exit-code $2 -- "$work/apart" "$1"
	[ "$status" -ne 77 ] || skip "no seccomp here"
	succeeded
	cmp -s "$out" "$work/plain" || fail "$label $(diff "$work/plain" "$out")"
	conserved
}

for mode in killed denied strict; do
	run "$work/apart" $mode
	[ "$status" -ne 77 ] || skip "no seccomp here"
	cp "$out" "$work/plain"
	calm $mode "-a counts"
	[ $mode = strict ] && continue
	calm $mode ""
	[ "$(sql "select max(calls) from $(rows latency) where name = 'leaf'")" -gt 15 ] ||
		fail "$label sampled in the first epoch alone"
	calm $mode "-a latency --all"
	calm $mode "--follow"
done
# Its first probe may be met behind that.
label="first probe:"
cat >"$work/first.c" <<'END'
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noipa)) static void work(long i) { sum += i; }
__attribute__((no_instrument_function)) int main(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return 77;
	for (long i = 0; i < 1000; i++)
		work(i);
	if (write(1, "well\n", 5) == 5)
		syscall(SYS_exit, 0);
	return 1;
}
END
compile "$work/first" "$work/first.c" -O2 $sites
record --exit-code -a counts -- "$work/first"
[ "$status" -eq 0 ] && grep -qx well "$out" || fail "$label it did not end by itself"
[ "$(sql "select calls from $(rows counts) where name = 'work'")" = 1000 ] || fail "$label calls"

run "$FLICK" doctor
grep -q '^seccomp .*strict' "$out" || fail "doctor does not tell of the strict mode"
