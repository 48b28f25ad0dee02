#!/bin/sh
# record -p of a program that has locked all of its memory, and what it will map (mlockall()):
# flick's gigabytes are reserved as ever, and none of them becomes memory. Nothing of the
# program's own is unlocked.
. "$(dirname "$0")/lib"
no_emulator ptrace
need sqlite3 "$CC"
cat >"$work/locks.c" <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

volatile long sink;

__attribute__((noipa)) static void work(void)
{
	sink++;
}

int main(void)
{
	int may = !mlockall(MCL_CURRENT | MCL_FUTURE);
	void *much = mmap(NULL, 1ul << 36, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	may = may && much != MAP_FAILED && !munmap(much, 1ul << 36);
	puts(may ? "locked" : "may not");
	fflush(stdout);
	free(malloc(1 << 22));		/* in memory before it was touched */
	for (;;)
		work();
}
END_OF_C
compile "$work/locks" "$work/locks.c" -O2 -rdynamic
mkfifo "$work/begun"
"$work/locks" >"$work/begun" &
pid=$!
trap 'kill $pid; rm -rf "$work"' EXIT
read -r line <"$work/begun"
[ "$line" = locked ] || skip "it may not lock as much as it likes"

kib() {	# KEY
	sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" /proc/$pid/status
}

# Of each mapping of the program's file, one that may be read.
locked() {
	awk -v file="$work/locks" '/^[0-9a-f]+-/ { its = $6 == file }
		its && /^VmFlags:.* lo/ { n++ } END { print n + 0 }' /proc/$pid/smaps
}

before=$(kib VmRSS) own=$(locked)
[ "$own" -gt 0 ] || fail "it has locked nothing"
for i in 1 2; do
	label="recording $i:"
	run "$FLICK" record -p $pid -d 0.3 --threads 64 -a counts -o "$data"
	[ $status -eq 0 ] || fail "$label status $status"
	[ "$(sql "select calls from counts_named where function = 'work'")" -gt 1000 ] ||
		fail "$label its calls are not told"
	grown=$(($(kib VmRSS) - before))
	[ $grown -lt 50000 ] || fail "$label it has $grown KiB more in memory"
	[ "$(kib VmPeak)" -gt 500000 ] || fail "$label nothing was reserved"
	[ "$(locked)" -eq "$own" ] || fail "$label of its own mappings are not locked as before"
done
