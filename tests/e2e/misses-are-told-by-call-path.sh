#!/bin/sh
# `-a cache,tree`: a function that reads many lines for one caller and few for another misses
# where it is called by the one. What all paths have is what all functions have, to the last
# access: of calls in themselves, left by longjmp(), in threads, and of strings under rep.
. "$(dirname "$0")/lib"
x86_target walks
need sqlite3 "$CC"
compile "$work/walks" "$targets/walks.c" -O2 -rdynamic

of_path() {	# COLUMN FUNCTION [CALLER]
	tables="'cache-tree' as a, functions as fa"
	where="fa.id = a.function and fa.name = '$2'"
	[ -z "${3:-}" ] || {
		tables="$tables, 'cache-tree' as b, functions as fb"
		where="$where and b.id = a.parent and fb.id = b.function and fb.name = '$3'"
	}
	sql "select coalesce(sum(a.$1), 0) from $tables where $where"
}

same_sums() {
	for column in accesses stores l1_misses; do
		[ "$(sql "select sum($column) from cache")" = \
			"$(sql "select sum($column) from 'cache-tree'")" ] ||
			fail "$label sums of $column are not the same"
	done
}

label="cache,tree:"
record -a cache,tree -- "$work/walks"
succeeded
lossless
same_sums
many=$(of_path l1_misses walk walk_many) few=$(of_path l1_misses walk walk_few)
[ "$many" -ge 390000 ] && [ "$few" -le 4000 ] || fail "$label $many and $few misses"
many=$(of_path accesses fill walk_many) few=$(of_path accesses fill walk_few)
[ "$many" -ge $((3 * 131072 * 64)) ] && [ "$few" -ge $((2001 * 4096)) ] &&
	[ "$few" -le $((2001 * 4096 + 100000)) ] || fail "$label $many and $few bytes are filled"
[ "$(of_path calls walk walk_many) $(of_path calls walk walk_few) $(of_path calls leave)" = \
	"3 2001 400" ] || fail "$label calls are others"
# What longjmp() has left calls nobody any more.
[ "$(of_path calls leave leave_often) $(of_path calls walk leave)" = "400 400" ] &&
	[ "$(of_path calls leave)" -eq 400 ] && [ "$(of_path calls walk_few leave_often)" -eq 1 ] ||
	fail "$label calls left by longjmp() are called by one another"
[ "$(of_path calls again again)" -eq 3 ] || fail "$label of calls in itself"
for f in main run walk fill walk_few walk_many again leave leave_often; do
	[ "$(of_path accesses $f)" = "$(sql "select accesses from cache_named where
		function = '$f'")" ] || fail "$label of $f: not what the function has"
done
# The four calls in one another do the same, but for the innermost, which calls nobody.
levels=$(sql "select group_concat(accesses, ' ') from (select a.accesses from
	'cache-tree' as a, functions as f where f.id = a.function and f.name = 'again'
	order by a.id)")
printf '%s\n' "$levels" | awk '{ exit !(NF == 4 && $1 == $2 && $2 == $3 && $4 < $3) }' ||
	fail "$label levels of again() have $levels accesses"
all=$(of_path all_accesses walk_many)
sum=$(($(of_path accesses walk_many) + $(of_path accesses walk walk_many) +
	$(of_path accesses fill walk_many)))
[ "$all" -eq "$sum" ] || fail "$label $all is not the sum $sum"
run "$FLICK" report -a cache-tree "$data"
succeeded
grep -qE '^ +3 .* walk_many$' "$out" && grep -qE ' All misses .* L2 misses  Function' "$out" ||
	fail "$label it is not shown"

label="another cache:"
record -a tree --cache 16384,2,64 -- "$work/walks"
succeeded
same_sums
! sqlite3 "$data/results.db" "select l2_misses from 'cache-tree'" >/dev/null 2>&1 ||
	fail "$label it has two levels"
many=$(of_path all_misses walk walk_many)
[ "$many" -ge 390000 ] || fail "$label $many misses"

label="alone:"
record -a cache-tree -- "$work/walks"
succeeded
[ "$(of_path calls walk walk_many)" = 3 ] || fail "$label calls are others"

run "$FLICK" record -a cache,tree,latency -o "$data" -- "$work/walks"
[ $status -eq 2 ] && grep -q 'cannot be used with others' "$err" || fail "with latency: $status"
run "$FLICK" record -a cache,tree --readers 2 -o "$data" -- "$work/walks"
[ $status -eq 2 ] && grep -q 'cannot be used with analysis' "$err" || fail "--readers: $status"
