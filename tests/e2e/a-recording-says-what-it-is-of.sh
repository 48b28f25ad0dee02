#!/bin/sh
# report --info: which program, when, how it ended, what the recording has; what a terminal would
# obey is not printed, and a long command is not cut where others are.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
cat >"$work/ends.c" <<'END'
#include <signal.h>
int main(int argc, char **argv)
{
	(void)argv;
	return argc > 2 ? raise(SIGTERM) : 7;
}
END
compile "$work/ends" "$work/ends.c" -O1 $sites
tells() {	# LINE, an expression
	grep -Eq "^$1\$" "$out" || fail "$label it does not tell: $1"
}
info() {
	run "$FLICK" report --info "$data"
	succeeded
}

label="sampled:"
record -- "$work/ends" "$(printf 'a\033[31mb')"
info
tells "program    $work/ends a.x1b.31mb"
tells 'recorded   until 20[-0-9]*T[:0-9]*Z, in [0-9.]+ s, by flick [0-9.]+'
tells 'how        calls are counted, and some of them timed'
tells 'process    [0-9]+, exited with status 7'
tells 'events     [0-9]+ produced, [0-9]+ delivered, 0 lost'
tells 'probes     [0-9]+ active, 0 refused'
tells 'cost       .+'
tells 'results    latency'
tells 'machine    .+'
label="killed:"
record -a counts,graph -- "$work/ends" "$(printf '%0400d' 5)" killed
info
tells 'process    [0-9]+, ended by signal 15 .*'
tells 'results    counts, graph'
tells 'how        every call'
tells 'program    .* 0+5 killed'
label="counted:"
record -a counts -- "$work/ends"
info
tells 'how        every call is counted, none timed'
run "$FLICK" report --info "$work/nothing"
one_line_error 1 'No such file'
