#!/bin/sh
# report --diff: before, after and change of each function, by name; also of
# pairs in a graph and places in a tree; what only one has, too.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/two.c" <<'END'
#include <stdlib.h>
#define BODY __attribute__((noinline, noclone)) static
BODY void same(void) { __asm__ volatile("" ::: "memory"); }
BODY void more(void) { __asm__ volatile("" ::: "memory"); }
BODY void old(void) { same(); }
BODY void fresh(void) { same(); }
int main(int argc, char **argv)
{
	int after = argc > 1 && atoi(argv[1]);

	for (int i = 0; i < (after ? 70 : 30); i++)
		more();
	if (after)
		fresh();
	else
		old();
	same();
	return 0;
}
END
compile "$work/two" "$work/two.c" -O1 $sites
record -a graph,tree,counts,latency -- "$work/two" 0
succeeded
mv "$data" "$work/before"
record -a graph,tree,counts,latency -- "$work/two" 1
succeeded

run "$FLICK" report --diff "$work/before" "$data" -a counts --format=csv
succeeded
cat >"$work/want" <<'END'
calls_before,calls_after,calls_change,function
30,70,40,more
,1,1,fresh
1,,-1,old
1,1,0,main
2,2,0,same
END
tr -d '\r' <"$out" | diff "$work/want" - >"$work/diff" || { cat "$work/diff"; fail counts; }

run "$FLICK" report --diff "$work/before" "$data" -a graph -s calls
succeeded
ends_well
grep -Eq '^ +30 +70 +\+40  main -> more$' "$out" || fail "graph: main -> more"
grep -Eq '^ +- +1 +\+1  fresh -> same$' "$out" || fail "graph: fresh -> same"
run "$FLICK" report --diff "$work/before" "$data" -a tree -s calls
succeeded
grep -Eq '^ +1 +- +-1      same$' "$out" || fail "tree: main > old > same"
run "$FLICK" report --diff "$work/before" "$data" -a latency
succeeded
head -n 1 "$out" | grep -Eq 'Total before +Total after +Total change +Calls before' ||
	fail "latency: columns"
run "$FLICK" report --diff "$work/before" "$data" --format=json -a graph
succeeded
grep -q '"calls_change": 40' "$out" || fail "json: no change"

run "$FLICK" report --diff "$work/nothing" "$data"
one_line_error 1 'no such file|record'
run "$FLICK" report --diff "$work/before" "$data" -s nonsense
one_line_error 2 'there is no column'
record -a counts -- "$work/two" 1
run "$FLICK" report --diff "$work/before" "$data" -a tree
one_line_error 1 'record with -a tree'
