#!/bin/sh
# A program whose children take the time, and are not recorded, is told so: not with --follow,
# nor where they take less than itself. So is one that leaves children running, as a daemon
# does; those that have ended are not counted.
. "$(dirname "$0")/lib"
need "$CC"
cat >"$work/spins.c" <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void spin(double seconds)
{
	struct timespec t;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
}
int main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	if (fork() == 0) {
		spin(atof(argv[2]));
		_exit(0);
	}
	wait(NULL);
	spin(atof(argv[1]));
	return 0;
}
END
compile "$work/spins" "$work/spins.c" -O2
line="spins's children took 0\\.[0-9]* s of CPU time, itself 0\\.[0-9]*: they are not recorded; --follow"

record -a counts -- "$work/spins" 0.02 0.3
succeeded
grep -q "$line" "$err" || fail "children that take the time are not told of: $(cat "$err")"
for run in "0.3 0.02" "0.3 0.2"; do
	record -a counts -- "$work/spins" $run
	succeeded
	! grep -q "children took" "$err" || fail "$run: $(cat "$err")"
done
record -a counts --follow -- "$work/spins" 0.02 0.3
succeeded
! grep -q "children took" "$err" || fail "--follow: $(cat "$err")"

cat >"$work/leaves.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
/* Leaves so many children, whose numbers it prints, behind three that have ended. */
int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0)
			_exit(0);
	while (wait(NULL) > 0)
		;
	for (int i = 0; i < atoi(argv[1]); i++) {
		int pid = fork();
		if (pid == 0)
			return sleep(300);
		printf("%d\n", pid);
	}
	return argc != 2;
}
END
compile "$work/leaves" "$work/leaves.c" -O2
for n in 0 1 5; do
	record -- "$work/leaves" $n
	[ $n -eq 0 ] || kill $(cat "$out")
	succeeded
	emulated samples && continue
	case $n in
	0) ! grep -q "running" "$err" ;;
	1) grep -q "leaves left 1 process running ($(cat "$out")), not recorded" "$err" ;;
	5) grep -Eq "left 5 processes running \\([0-9]+, [0-9]+, [0-9]+, \.\.\.\)" "$err" ;;
	esac || fail "$n children that run on: $(cat "$err")"
done
