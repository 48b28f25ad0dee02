#!/bin/sh
# Where the few calls that were timed were not like the rest, their average times all
# calls may be more than the time there was: that is no total. Others keep theirs.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/first.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void first_are_long(int us)
{
	if (us)
		usleep(us);
}
__attribute__((noinline)) static void all_are_alike(void)
{
	usleep(1000);
}
int main(void)
{
	for (int i = 0; i < 10; i++)
		first_are_long(3000);
	for (int i = 0; i < 1000000; i++)
		first_are_long(0);
	for (int i = 0; i < 10; i++)
		all_are_alike();
	return 0;
}
END
compile "$work/first" "$work/first.c" -O2 $sites
record -- "$work/first"
succeeded
total() {
	sql "select coalesce(total_ns, 'none') from $(rows latency) where name = '$1'"
}
[ "$(total first_are_long)" = none ] || fail "a total of $(total first_are_long) ns"
[ "$(total all_are_alike)" -ge 10000000 ] || fail "$(total all_are_alike) ns of ten times 1 ms"
run "$FLICK" report "$data"
succeeded
grep -Eq '^ +- .* first_are_long$' "$out" || fail "the report shows one"
