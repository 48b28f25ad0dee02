#!/bin/sh
# The cost is a share of the CPU time that the program had, with the kernel's part of it,
# which no sample sees; not of that of its children, which are not recorded. How far chance
# may be off is said, and where calls are so short that samples tell little.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/asks.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long sink;
__attribute__((noipa)) void ask(int fd)
{
	char c[4096];

	for (int i = 0; i < 20; i++)
		sink += read(fd, c, sizeof(c));
}
__attribute__((noipa)) void compute(void)
{
	for (int i = 0; i < 500; i++)
		sink += i;
}
static double seconds(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}
int main(void)
{
	int fd = open("/dev/zero", O_RDONLY), pid = fork();

	if (!pid) {
		while (seconds(RUSAGE_SELF) < 0.5)
			sink++;
		_exit(0);
	}
	while (seconds(RUSAGE_SELF) < 0.6) {
		ask(fd);
		compute();
	}
	waitpid(pid, NULL, 0);
	printf("cpu %.6f\n", seconds(RUSAGE_SELF));
	return 0;
}
END
compile "$work/asks" "$work/asks.c" -O2 $sites
record --all -- "$work/asks"
succeeded
grep -q '^cost: unknown (the system' "$err" && skip "the system gives no samples"
probes=$(sed -n 's/^cost: .*(probes \([0-9.]*\),.*/\1/p' "$err")
own=$(sql "select value from session where key = 'pc_own'")
agent=$(sed -n 's/^cost: .*, agent \([0-9]*\) ms at start and dlopen$/\1/p' "$err")
cpu=$(awk '$1 == "cpu" { print $2 }' "$out")
# A sample is 0.997 ms. Some or all of the agent's milliseconds came before the program began,
# and are not in `own`.
awk -v probes="${probes:-99}" -v own="$own" -v agent="${agent:-99}" -v cpu="$cpu" 'BEGIN {
	ms = own * 0.997
	least = 100 * (ms - agent) / (cpu * 1000 - ms)
	most = 100 * ms / (cpu * 1000 - ms)
	exit probes < least - 0.6 || probes > most + 0.6 }' ||
	fail "probes cost $probes % by $own samples, $agent ms of them the agent's, in $cpu s"

label="short calls:"
cat >"$work/tiny.c" <<'END'
static volatile long sink;
__attribute__((noipa)) void tiny(void) { sink++; }
int main(void)
{
	for (long i = 0; i < 100000000; i++)
		tiny();
	return 0;
}
END
compile "$work/tiny" "$work/tiny.c" -O2 $sites
record -- "$work/tiny"
succeeded
grep -q '^cost: .* give or take a factor of three as calls are this short' "$err" ||
	fail "$label nothing says that samples tell little"
