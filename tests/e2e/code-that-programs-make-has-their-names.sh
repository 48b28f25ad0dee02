#!/bin/sh
# Time in code that a program has made, and who called there, goes by the names in /tmp/perf-PID.map, as runtimes write it
# for perf: those of a forked child by its own file, of a program that runs already, and where
# memory was used again by the later line. Without such a file, or with one that anybody may
# write, it has no name.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
cat >"$work/makes.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define ALONE __attribute__((noipa, no_instrument_function))
enum { BYTES = 256, APART = 1024 };
/* It calls nothing, so its bytes run wherever they stand. */
ALONE static long made(long n) { while (n > 0) { __asm__ volatile("" : "+r"(n)); n--; } return n; }
ALONE static void spin(long (*f)(long), double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	while (clock() < end)
		f(1000000);
}
static long (*make(unsigned char *at))(long)
{
	memcpy(at, (void *)made, BYTES);
	__builtin___clear_cache((char *)at, (char *)at + BYTES);
	return (long (*)(long))at;
}
/* It links its frame, and calls who is given. */
static const unsigned char calls[] = {
#if defined __x86_64__
	0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3
#else
	0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x00, 0x00, 0x3f, 0xd6,
	0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6
#endif
};
__attribute__((noipa)) void leaf(void)
{
	for (volatile int i = 0; i < 300; i++) { }
}
__attribute__((noipa)) void calls_made(void (*f)(void (*)(void)))
{
	for (int i = 0; i < 100; i++)
		f(leaf);
}
static void name(unsigned char *at, const char *as, mode_t mode)
{
	char path[64];
	FILE *f;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "a");
	fprintf(f, "%lx %x %s\n", (unsigned long)at, BYTES, as);
	fclose(f);
	chmod(path, mode);
}
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	unsigned char *code = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mode_t mode = !strcmp(how, "open") ? 0666 : 0644;
	printf("%d\n", getpid());
	fflush(stdout);
	if (strcmp(how, "none")) {
		name(code, "JS:~before made.js:1", mode);
		name(code, "JS:*often made.js:1", mode);
		name(code + APART, "JS:*seldom made.js:2", mode);
	}
	if (!strcmp(how, "calls")) {
		clock_t end = clock() + CLOCKS_PER_SEC;
		memcpy(code, calls, sizeof(calls));
		__builtin___clear_cache((char *)code, (char *)code + sizeof(calls));
		while (clock() < end)
			calls_made((void (*)(void (*)(void)))code);
		return 0;
	}
	if (!strcmp(how, "fork") && !fork()) {
		name(code, "child's", mode);
		spin(make(code), 0.6);
		return 0;
	}
	spin(make(code), 0.6);
	spin(make(code + APART), 0.2);
	wait(0);
	return 0;
}
END
compile "$work/makes" "$work/makes.c" -O1 $sites

# Percent of all self times.
share() {
	sql "select cast(round(100.0 * sum(self_ns) / (select sum(self_ns) from latency)) as int)
		from $(rows latency) where name = '$1'"
}

near() {	# FUNCTION PERCENT [OFF]
	got=$(share "$1")
	[ "${got:-0}" -ge $(($2 - ${3:-8})) ] && [ "${got:-0}" -le $(($2 + ${3:-8})) ] ||
		fail "$label $1 has ${got:-no} % of the time, not $2: $(sql "select name, self_ns
			from $(rows latency) where self_ns > 0")"
}

forget_maps() {
	for pid in $(grep -x '[0-9]*' "$out") ${child:-}; do
		rm -f "/tmp/perf-$pid.map"
	done
}

for how in "" none open; do
	label="$how:"
	record -- "$work/makes" $how
	forget_maps
	succeeded
	case $how in
	"")
		near 'JS:*often made.js:1' 75
		near 'JS:*seldom made.js:2' 25
		run "$FLICK" report "$data"
		grep -q ' JS:\*often made.js:1$' "$out" || fail "$label the report names it otherwise" ;;
	*) near '[anon]' 100 ;;
	esac
done
# Who called is known through its frames, with probes of either kind in who calls and is called.
for kind in "$sites" ""; do
	# shellcheck disable=SC2086
	compile "$work/makes" "$work/makes.c" -O2 $kind
	label="callers, $kind:"
	record -- "$work/makes" calls
	forget_maps
	succeeded
	run "$FLICK" report --callers leaf --format=csv -f function,samples "$data"
	awk -F, 'NR > 1 { name[++n] = $1; of[n] = $2 }
		END { exit !(name[1] ~ /leaf/ && name[2] ~ /often/ && name[3] ~ /calls_made/ &&
			name[4] ~ /main/ && of[3] > of[1] * 0.9) }' "$out" || fail "$label others called"
	total=$(sql "select total_ns from $(rows latency) where name = 'JS:*often made.js:1'")
	self=$(sql "select self_ns from $(rows latency) where name = 'leaf'")
	[ "${total:-0}" -ge "$self" ] || fail "$label its total is ${total:-none}, leaf has $self"
done
compile "$work/makes" "$work/makes.c" -O1 $sites
label="in a process tree:"
record --follow -- "$work/makes" fork
child=$(sql "select distinct pid from threads")
forget_maps
succeeded
near "JS:*often made.js:1" 43
near "child''s" 43
near "JS:*seldom made.js:2" 14
label="attached:"
"$work/makes" >"$out" &
victim=$!
sleep 0.1
rm -rf "$data"
run "$FLICK" record -p $victim -o "$data"
wait $victim || fail "$label the program ended with $?"
rm -f "/tmp/perf-$victim.map"
succeeded
near 'JS:*often made.js:1' 60 25		# flick comes later or sooner
