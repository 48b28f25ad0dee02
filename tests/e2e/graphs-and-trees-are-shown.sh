#!/bin/sh
# Tables with uftrace's columns, a tree indented by depth and sorted within its
# parents, in csv and json as well; several results of one run agree.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/nest.c" <<'END'
__attribute__((noinline)) void leaf(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void left(void) { leaf(); leaf(); leaf(); }
__attribute__((noinline)) void right(void) { for (int i = 0; i < 500; i++) leaf(); }
int main(void) { left(); right(); leaf(); return 0; }
END
compile "$work/nest" "$work/nest.c" -O1 $sites
record -a graph,tree,subtrees,latency,counts -- "$work/nest"
succeeded
lossless

run "$FLICK" report "$data"
succeeded
grep -Eq '^ +Total +Self +Avg +Calls +Caller +Function$' "$out" || fail "graph: columns"
grep -Eq ' 500  right +leaf$' "$out" || fail "graph: right calls leaf 500 times"
! grep -q Unsure "$out" || fail "a column without a use"
run "$FLICK" report -a graph -s calls -n 1 "$data"
[ "$(grep -c '  leaf$' "$out")" -eq 1 ] || fail "graph: most calls first"

run "$FLICK" report -a tree -s calls "$data"
succeeded
cat >"$work/want" <<'END'
  main
    right
      leaf
    left
      leaf
    leaf
END
sed -n '3,$s/^.\{37\}//p' "$out" >"$work/tree"
diff "$work/want" "$work/tree" >"$work/diff" || { cat "$work/diff"; fail "tree"; }
run "$FLICK" report -a tree -s calls -f module "$data"
succeeded
grep -Eq '^  +[0-9]+  nest  +      leaf$' "$out" || fail "tree: modules are indented as well"

run "$FLICK" report -a subtrees "$data"
succeeded
grep -Eq '^ +1  main .*leaf' "$out" && grep -Eq '^ +1  main .*right' "$out" ||
	fail "subtrees of main"
grep -Eq '^ +504  leaf' "$out" || fail "subtrees of leaf"

for a in graph tree subtrees; do
	run "$FLICK" report -a $a --format=csv "$data"
	succeeded
	n=$(sql "select count(*) from $a")
	[ "$(wc -l <"$out")" -eq $((n + 1)) ] || fail "$a: csv has other rows"
	run "$FLICK" report -a $a --format=json "$data"
	succeeded
	if command -v python3 >/dev/null; then
		got=$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)))' <"$out") ||
			fail "$a: no json"
		[ "$got" -eq "$n" ] || fail "$a: json has $got rows"
	fi
done

# An average is of the calls that ended, also of those that lie in one another.
for a in graph tree; do
	bad=$(sql "select calls, unknown, total_ns, avg_ns from $a
		where abs(avg_ns * (calls - unknown) - total_ns) > calls")
	[ -z "$bad" ] || fail "$a: an average is not the total by calls: $bad"
	sqlite3 "$data/results.db" "select count(avg_ns) from $a" | grep -q '[1-9]' || fail "$a: no averages"
done
target longjmp -O0 $sites
mv "$data" "$work/nest.data"
record -a graph -- "$work/longjmp"
succeeded
bad=$(sql "select calls, unknown, sum_ns, avg_ns from graph
	where abs(avg_ns * (calls - unknown) - sum_ns) > calls or (calls = unknown) <> (avg_ns is null)")
[ -z "$bad" ] || fail "longjmp: an average of calls that did not end: $bad"
[ "$(sql "select count(*) from graph where unknown > 0 and unknown < calls")" -gt 0 ] ||
	fail "longjmp: none ended in part"
data=$work/nest.data

run "$FLICK" report -a tree -s nonsense "$data"
one_line_error 2 'there is no column'
run "$FLICK" report -a nonsense "$data"
one_line_error 1 'has no result .nonsense.; it has graph, tree, subtrees'
