#!/bin/sh
# --rate: self times in graph and tree are CPU time, as samples of the program counter tell it,
# shared among callers as windows saw: a call in which the thread did not run stands for
# nothing. Without samples they come to no more in all than the time there was.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target deny -O2
# A nap is taken where a window is open: then its exits are calls.
cat >"$work/naps.c" <<'END2'
#include <stdint.h>
#include <unistd.h>
#define BODY __attribute__((noipa))
#define QUIET BODY __attribute__((no_instrument_function))
static volatile uint64_t sink;
BODY void spin(int n) { for (int i = 0; i < n; i++) sink += (uint64_t)i; }
BODY void often(void) { for (int i = 0; i < 3; i++) spin(300); }
BODY void seldom(void) { spin(300); }
QUIET int is_open(const volatile unsigned char *code)
{
	static int least = 1000;
	int n = 0;

	for (int i = 0; i < 48; i++)
		n += code[i] == 0xe8;
	least = n < least ? n : least;
	return n > least;
}
BODY void nap(int open)
{
	static int n;

	if (open && n++ % 8 == 0)
		usleep(1);
}
int main(void)
{
	for (int i = 0; i < 600000; i++) {
		often();
		seldom();
		nap(is_open((const unsigned char *)(uintptr_t)seldom));
	}
	return 0;
}
END2
compile "$work/naps" "$work/naps.c" -O2 -fno-optimize-sibling-calls $sites

self() {	# TABLE NAME: in milliseconds
	sql "select coalesce(sum(self_ns), 0) / 1000000 from $1 join functions f
		on f.id = function where f.name = '$2'"
}

record --rate=10% -a graph,tree -- "$work/naps"
succeeded
[ "$(sql "select value from session where key = 'self'")" = samples ] || {
	echo "skip: no samples of the program counter"
	exit 77
}
for table in graph tree; do
	label="$table:"
	spins=$(self $table spin)
	naps=$(self $table nap)
	[ "$spins" -gt 100 ] || fail "$label $spins ms of spin"
	[ $((5 * naps)) -lt "$spins" ] || fail "$label $naps ms of CPU time for naps, $spins for spin"
done
label=
of_often=$(sql "select 100 * sum(case c.name when 'often' then self_ns else 0 end) / sum(self_ns)
	from graph join functions f on f.id = function join functions c on c.id = caller
	where f.name = 'spin'")
[ "$of_often" -gt 60 ] && [ "$of_often" -lt 90 ] ||
	fail "often has $of_often % of spin, not three of four calls'"
run "$FLICK" report "$data"
succeeded
grep -q '^  self times are CPU time' "$out" || fail "the report does not say so"

run "$work/deny" perf "$FLICK" record -o "$data" --rate=10% -a graph -- "$work/naps"
succeeded
beyond=$(sql "select sum(self_ns) from graph having sum(self_ns) >
	(select value from session where key = 'duration_ns')")
[ -z "$beyond" ] || fail "without samples $beyond ns in all"
