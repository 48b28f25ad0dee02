#!/bin/sh
# A program whose children take the time, and are not recorded, is told so: not with --follow,
# nor where they take less than itself.
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
