#!/bin/sh
# --follow: children that are forked behind chroot(), where there is no /proc, in a sandbox that
# denies it (Landlock), or by a program that has no descriptor left, are recorded as others are:
# every call is counted, what waits beside each stays as long as the child, and the child, its
# children and their ends are as without flick.
# waits
. "$(dirname "$0")/lib"
no_emulator forks
need "$CC" sqlite3 ps

cat >"$work/apart.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/landlock.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
volatile long sink;
__attribute__((noinline)) void unit(long n) { sink += n; }
static int deny(void)
{
	struct landlock_ruleset_attr a = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE };
	long fd = syscall(SYS_landlock_create_ruleset, &a, sizeof(a), 0);

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return fd < 0 || syscall(SYS_landlock_restrict_self, fd, 0);
}
static void be_child(const char *how)
{
	unit(1);
	if (!strcmp(how, "killed"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "forks")) {
		if (!fork()) {
			unit(2);
			_exit(0);
		}
		wait(NULL);
		unit(3);
	}
	if (!strcmp(how, "stays")) {
		for (int i = 0; i < 250; i++) {
			unit(i);
			usleep(10000);
		}
	}
	if (!strcmp(how, "loses its list")) {
		syscall(SYS_set_robust_list, 0, 3 * sizeof(void *));
		unit(4);
	}
	_exit(5);
}
int main(int argc, char **argv)
{
	int status;

	if (!strcmp(argv[1], "none") ? setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 3, 3 }) :
	    strcmp(argv[1], "/") ? chroot(argv[1]) || chdir("/") : deny())
		return 77;
	if (open("/proc/self/stat", O_RDONLY) >= 0)
		return 1;
	for (int i = 2; i < argc; i++) {
		if (!fork())
			be_child(argv[i]);
		wait(&status);
		printf("%s %x\n", argv[i], status);
	}
	fflush(stdout);
	return 0;
}
C
mkdir "$work/empty" && "$CC" -O1 -o "$work/apart" "$work/apart.c" || skip "no program could be made"
ways=none
"$work/apart" / && ways="/ $ways"
"$work/apart" "$work/empty" && ways="$work/empty $ways"

for root in $ways; do
	"$work/apart" "$root" plain killed forks "loses its list" >"$work/alone"
	for how in --all "-a counts" ""; do
		label="$root $how:"
		# shellcheck disable=SC2086
		record --follow $how -- "$work/apart" "$root" plain killed forks "loses its list"
		succeeded
		cmp -s "$out" "$work/alone" || fail "$label it ended otherwise"
		! grep -q 'not recorded' "$err" || fail "$label a child is not recorded"
		table=latency
		[ "$how" != "-a counts" ] || table=counts
		n=$(sql "select sum(calls) from $table t join functions f on f.id = t.function
			where f.name = 'unit'")
		[ "${n%.*}" -eq 7 ] || fail "$label $n calls of unit, not 7"
	done
done

# The look whether anybody is left comes each second.
label="what waits beside a child:"
root=${ways%% *}
"$FLICK" record --follow -o "$data" -- "$work/apart" "$root" stays >"$out" 2>"$err" &
recorder=$!
sleep 1.8
beside=$(ps -o comm= --ppid "$recorder" | grep -c flick-watch)
wait "$recorder"
[ "$beside" -eq 2 ] || fail "$label beside two processes there were $beside"
n=$(sql "select sum(calls) from latency t join functions f on f.id = t.function
	where f.name = 'unit'")
[ "${n%.*}" -eq 251 ] || fail "$label $n calls of unit, not 251"
