#!/bin/sh
# Each table and column of results.db stands in flick-results(5), and nothing else does;
# its views name functions; indexes are used.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O1 $sites
page=$top/man/flick-results.5

# TABLE COLUMN, of the page: the names in bold below each .SS.
awk '$1 == ".SS" { table = $2 } $1 == ".SH" { table = "" }
	table && last == ".TP" && $1 == ".B" { print table, $2 }
	table && last == ".TP" && $1 == ".BR" { for (i = 2; i <= NF; i++) if ($i ~ /_/) print table, $i }
	{ last = $0 }' "$page" | sort >"$work/page"
schema() {
	sql "select m.name || ' ' || c.name from sqlite_master m, pragma_table_info(m.name) c
		where m.type = 'table' and m.name not like 'sqlite_%'"
}
all=latency,counts,spread,graph,tree,subtrees
for how in "-a latency,spread" "-a $all" "-a $all --rate=100%"; do
	record $how -- "$work/recursion"
	succeeded
	schema >>"$work/tables"
done
target recursion -O1
# Another CPU has neither: no table of these.
told='^\(paths\|cache\|cache-tree\) '
if [ "$(uname -m)" = x86_64 ]; then
	told=
	for how in "-a paths" "-a tree --lines --cache=1K,2,64:2K,2,64:4K,2,64:8K,2,64"; do
		record $how -- "$work/recursion"
		succeeded
		schema >>"$work/tables"
	done
fi
if emulated samples; then
	sed -i '/^\(stacks\|programs\|program_functions\|by_thread\|thread_functions\|places\) /d' "$work/page"
else
	target whose-calls -O1 -pthread
	record --follow -- "$work/whose-calls" 8000
	succeeded
	schema >>"$work/tables"
fi
target recursion -O1 $sites
[ -z "$told" ] || sed -i "/$told/d" "$work/page"
sort -u "$work/tables" | diff "$work/page" - >"$work/diff" ||
	fail "the page (<) is not the file (>): $(grep '^[<>]' "$work/diff" | tr '\n' ';')"

record -a $all -- "$work/recursion"
succeeded
for result in $(printf %s "$all" | tr , ' '); do
	[ "$(sql "select count(*) from ${result}_named")" = "$(sql "select count(*) from $result")" ] ||
		fail "${result}_named has other rows"
	sql "select function from ${result}_named" | sort -u >"$work/got"
	sql "select f.name from $result r join functions f on f.id = r.function" | sort -u |
		cmp -s - "$work/got" || fail "${result}_named has other names"
	sql "pragma index_list($result)" | grep -q "${result}_by_function" ||
		fail "$result has no index"
done
[ "$(sql "select caller from graph_named where function = 'even'" | sort -u | tr '\n' ' ')" = \
	"main odd " ] || fail "graph_named: other callers"
sql "explain query plan select * from latency_named where function = 'fib'" >"$work/plan"
for index in functions_by_name latency_by_function; do
	grep -q "USING.* INDEX $index" "$work/plan" || fail "$index is not used: $(cat "$work/plan")"
done
[ -z "$(sql 'pragma foreign_key_check')" ] || fail "a key of nothing"
run "$FLICK" report "$data"
succeeded
