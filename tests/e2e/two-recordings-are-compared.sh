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
record -a graph,tree,subtrees -- "$work/two" 0
succeeded
mv "$data" "$work/before2"
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

run "$FLICK" report --diff "$work/before" "$data" -s nothing
[ "$status" -eq 2 ] || fail "an unknown key: status $status"
grep -q 'no column `nothing` to compare; there are function, calls, ' "$err" ||
	fail "an unknown key: not said"

# By name.
for a in counts latency graph; do
	run "$FLICK" report --diff "$work/before" "$data" -a $a -s function --format=csv
	succeeded
	awk -F, 'NR > 1 && NF > 1 { sub(/\r$/, ""); print $NF }' "$out" >"$work/got"
	LC_ALL=C sort -c "$work/got" 2>"$err" || fail "$a: not by name"
	[ "$(wc -l <"$work/got")" -gt 4 ] || fail "$a: no rows"
done
run "$FLICK" report --diff "$work/before" "$data" -a tree -s function
succeeded
grep -q '^ .* -1      same$' "$out" || fail "tree by name"
# Of samples one call's time is compared, never how many there were.
record -- "$work/two" 0
succeeded
mv "$data" "$work/samples"
record -- "$work/two" 1
succeeded
run "$FLICK" report --diff "$work/samples" "$data"
succeeded
head -n 1 "$out" | grep -q '^  both are sampled' || fail "samples: not said"
grep -Eq '^ +Avg before +Avg after +Avg change +P50 before .* +Function$' "$out" ||
	fail "samples: other columns"
# A function that neither knows more of than samples of its code, as one without probes.
for d in "$work/samples" "$data"; do
	sqlite3 "$d/results.db" "update latency set avg_ns = NULL, p50_ns = NULL
		where function in (select id from functions where name = 'same')"
done
run "$FLICK" report --diff "$work/samples" "$data"
succeeded
! grep -q ' same$' "$out" || fail "samples: a row of nothing"
run "$FLICK" report --diff "$work/samples" "$data" -s calls
succeeded
grep -q ' same$' "$out" || fail "samples: a function has no calls"
run "$FLICK" report --diff "$work/samples" "$data" -s sampled --format=csv
succeeded
grep -q '^sampled_before,sampled_after,sampled_change,function' "$out" || fail "samples: as calls"
record --all -- "$work/two" 1
run "$FLICK" report --diff "$work/samples" "$data"
succeeded
grep -q 'has a few calls that were timed and .* has times of every call: some of the change is due to that' \
	"$err" || fail "unlike: not said"
mv "$data" "$work/after"
record -a graph,tree,subtrees -- "$work/two" 1

# What is no number is not subtracted.
for key in "graph caller" "tree id" "tree parent" "subtrees callees"; do
	run "$FLICK" report --diff "$work/before2" "$data" -a ${key% *} -s ${key#* }
	one_line_error 2 "column .${key#* }. holds no numbers"
done

run "$FLICK" report --diff "$work/nothing" "$data"
one_line_error 1 'no such file|record'
run "$FLICK" report --diff "$work/before" "$data" -s nonsense
one_line_error 2 'there is no column'
record -a counts -- "$work/two" 1
run "$FLICK" report --diff "$work/before" "$data" -a tree
one_line_error 1 'record with -a tree'
