#!/bin/sh
# A recorder that is killed loses what it had in memory: whoever asks for results is told
# so, and what to do; what it has left goes with the next recording. While one is still
# at it that is said instead.
. "$(dirname "$0")/lib"
need "$CC"
cat >"$work/wait.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void once(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	once();
	if (argc > 2)
		fclose(fopen(argv[1], "w"));
	while (argc > 2 && access(argv[2], F_OK))
		usleep(1000);
	return 0;
}
END
compile "$work/wait" "$work/wait.c" -O1 $sites

begin() {	# OPTION...: until the program runs
	rm -f "$work/began" "$work/over"
	"$FLICK" record "$@" -o "$data" -- "$work/wait" "$work/began" "$work/over" \
		>"$work/recorded" 2>&1 &
	recorder=$!
	for i in $(seq 200); do
		[ ! -e "$work/began" ] || return 0
		sleep 0.05
	done
	fail "$label the program does not run"
}
kill_it() {
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	: >"$work/over"
}

label="nothing before it:"
begin --trace --all
run "$FLICK" report "$data"
one_line_error 1 'still at it: there are results when it has ended'
kill_it
for command in report replay dump; do
	run "$FLICK" $command "$data"
	one_line_error 1 'was killed before it wrote its results.* record again'
done
ls "$data" | grep -q trace || fail "$label no trace was begun"

label="the next one:"
run "$FLICK" record -a counts -o "$data" -- "$work/wait"
succeeded
[ "$(ls "$data")" = results.db ] || fail "$label it leaves" $(ls "$data")
run "$FLICK" report "$data"
succeeded
[ ! -s "$err" ] || fail "$label it is said to be killed"

label="results of one before:"
begin
run "$FLICK" report "$data"
one_line_error 0 'a later recording into this directory has not ended: .* the one before'
kill_it
run "$FLICK" report "$data"
one_line_error 0 'a later recording into this directory was killed'
grep -q once "$out" || fail "$label they are not shown"
