#!/bin/sh
# record -a cache --lines: accesses and misses of each source line, as worked out by hand, the
# worst line first; what has no lines is told by instruction.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
[ "$(uname -m)" = x86_64 ] || skip "accesses are told on x86-64"
export TRUTH_THREADS=

cells=65536 misses=4096			# N * N, and one in 16 of them
compile "$work/strides" "$targets/strides.c" -O1 -fno-tree-vectorize
line_of() {
	awk -v what="$1:" 'index($0, what) { print "strides.c:" NR }' "$targets/strides.c"
}
columns_line=$(line_of columns) rows_line=$(line_of rows) fill_line=$(line_of fill)

told() {	# WHERE FUNCTION ACCESSES STORES MISSES
	got=$(sql "select accesses || ' ' || stores || ' ' || l1_misses || ' ' || l2_misses
		from $(rows cache) where name = '$2' and line = '$1'")
	[ "$got" = "$3 $4 $5 $5" ] || fail "$label $2 $1: $got, not $3 $4 $5 $5"
}

label="by line:"
record --lines --cache=1K,2,64:2K,2,64 -- "$work/strides"
succeeded
told "$columns_line" by_columns $cells 0 $cells
told "$rows_line" by_rows $cells 0 $misses
told "$fill_line" fill $cells $cells $misses
run "$FLICK" report "$data"
succeeded
sed -n 3p "$out" | grep -q "by_columns.*$columns_line" || fail "the worst is not first"
# The stack is elsewhere in each run, so its misses are others.
sql "select name, sum(accesses), sum(stores)
	from $(rows cache) group by name" >"$work/by-line"

label="by function:"
record -a cache --cache=1K,2,64:2K,2,64 -- "$work/strides"
succeeded
sql "select name, accesses, stores from $(rows cache)
	order by name" >"$work/by-function"
diff "$work/by-function" "$work/by-line" >"$work/diff" ||
	fail "by function <, sums by line >: $(cat "$work/diff")"
sql "select name from pragma_table_info('cache')" | grep -qx line && fail "lines unasked for"

label="stripped:"
compile "$work/bare" "$targets/strides.c" -O1 -fno-tree-vectorize -s
record --lines --cache=1K,2,64:2K,2,64 -- "$work/bare"
succeeded
got=$(sql "select accesses || ' ' || l1_misses from $(rows cache) where line like 'bare!0x%'
	order by l1_misses desc limit 1")
[ "$got" = "$cells $cells" ] || fail "$label $got"
