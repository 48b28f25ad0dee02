#!/bin/sh
# A program that executes another one is recorded on, if flick comes into that as well. Where it
# does not, as the environment was cleared, or the program is static, that is said; and nothing
# of what its children execute.
. "$(dirname "$0")/lib"
need "$CC"
no_emulator perf_event_open
cat >"$work/becomes.c" <<'END'
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static void spin(long n)
{
	while (n--)
		__asm__ volatile("");
}
int main(int argc, char **argv)
{
	static char *none[] = { NULL };

	spin(20000000);
	if (argc > 2 && !strcmp(argv[1], "cleared"))
		execve(argv[2], &argv[2], none);
	if (argc > 2)
		execv(argv[2], &argv[2]);
	if (argc > 1 && !vfork()) {
		execve(argv[1], &argv[1], none);
		_exit(1);
	}
	spin(600000000);
	return 0;
}
END
$CC -O1 -o "$work/becomes" "$work/becomes.c"
$CC -O1 -static -o "$work/static" "$work/becomes.c"

# is_said PROGRAM ARGUMENT...	that becomes.c has become PROGRAM; "": nothing
is_said() {
	name=$1
	shift
	record -- "$work/becomes" "$@"
	succeeded
	grep ' has become ' "$err" >"$work/said" || :
	if [ -z "$name" ]; then
		[ ! -s "$work/said" ] || fail "$* $(cat "$work/said")"
	else
		grep -q "has become $name, .*: samples alone tell of it$" "$work/said" ||
			fail "$* $(cat "$err")"
	fi
}

is_said "$work/static" as-it-is "$work/static"
is_said "$work/becomes" cleared "$work/becomes"
is_said "" as-it-is "$work/becomes"
is_said "" "$work/static"		# a child's
is_said ""
record -a counts -- "$work/becomes" cleared "$work/becomes"
grep -q ' has become .*: it is not recorded$' "$err" || fail "$(cat "$err")"
