#!/bin/sh
# timeout: 240
# Each call is in the graph and in the tree once; a caller that is said for
# certain is one that the source has; the rest counts as unsure. Recursion, tail
# calls, longjmp, exceptions, cancelled threads, alternate stacks.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"

# What the sources allow: CALLER:FUNCTION, `-` for none.
allowed_recursion='-:main main:factorial factorial:factorial main:fib fib:fib
	main:even main:odd even:odd odd:even main:hop main:land hop:land main:sink'
allowed_longjmp='-:main main:all_the_way main:after all_the_way:dive dive:dive
	all_the_way:bounce bounce:bounce all_the_way:drown drown:drown
	drown:on_signal all_the_way:after'
allowed_exceptions='-:main main:outer outer:middle middle:thrower thrower:cleanup
	middle:cleanup main:climb climb:climb climb:cleanup main:rethrow
	rethrow:rethrow rethrow:thrower rethrow:cleanup main:refuse refuse:cleanup
	main:after'
allowed_cancel='-:main -:waiter -:spinner main:after waiter:dive dive:dive
	spinner:spin dive:cleanup waiter:cleanup'
allowed_sigaltstack='-:main -:on_user -:on_overflow on_user:leaf on_overflow:leaf
	main:endless endless:endless endless:on_overflow main:on_user main:leaf'

# Pairs of caller and function with calls that are certain.
pairs_of_graph="select coalesce(c.name, '-') || ':' || f.name from graph g
	left join functions c on c.id = g.caller join functions f on f.id = g.function
	where g.calls > g.unsure"
pairs_of_tree="select coalesce(c.name, '-') || ':' || f.name from tree t
	left join tree p on p.id = t.parent left join functions c on c.id = p.function
	join functions f on f.id = t.function where t.calls > t.unsure"

check() {	# TABLE QUERY ALLOWED
	sql "$2" | sed 's/\.\(constprop\|isra\|part\)\.[0-9.]*//g' | sort -u >"$work/pairs"
	[ -s "$work/pairs" ] || fail "$label nothing in $1 is certain"
	wrong=$(grep -vxF -e "$(printf '%s\n' $3)" "$work/pairs")
	[ -z "$wrong" ] || fail "$label $1:" $wrong
}

for t in recursion longjmp exceptions cancel sigaltstack; do
	for level in -O0 -O1 -O2; do
		every 2 || continue
		label="$t $level:"
		target $t $level $sites
		record -a counts,graph,tree,subtrees,latency -- "$work/$t"
		succeeded
		lossless
		for table in counts graph tree subtrees latency; do
			exact $table
		done
		eval "allowed=\$allowed_$t"
		check graph "$pairs_of_graph" "$allowed"
		check tree "$pairs_of_tree" "$allowed"
		bad=$(sql "select count(*) from graph where unsure > calls or
			unknown > calls or self_ns > sum_ns")
		[ "$bad" = 0 ] || fail "$label rows that cannot be"
	done
done

# Sleds stand at first instructions, so what an exception left is known by then:
# all that main called is certain, and exceptions have no exits here.
xray="-fxray-instrument -fxray-instruction-threshold=1"
echo 'int main(void) { return 0; }' >"$work/probe.c"
if clang $xray "$work/probe.c" -o "$work/probe" 2>/dev/null; then
	CC=clang
	for t in recursion longjmp exceptions; do
		label="$t, sleds:"
		target $t -O2 $xray
		# clang makes loops of what calls itself.
		TRUTH_THREADS= record -a graph,tree -- "$work/$t"
		succeeded
		lossless
		eval "allowed=\$allowed_$t"
		check graph "$pairs_of_graph" "$allowed"
		check tree "$pairs_of_tree" "$allowed"
	done
	[ "$(sql "select count(*) from graph g join functions c on c.id = caller
		join functions f on f.id = function where c.name = 'main' and unsure = 0
		and ((f.name = 'outer' and calls = 400) or
		(f.name in ('after', 'climb') and calls = 200))")" = 3 ] ||
		fail "$label main's calls are not certain"
	CC=gcc
fi

# Where nothing is left early everything is certain.
label=recursion:
target recursion -O1 $sites
record -a graph,tree -- "$work/recursion"
[ "$(sql "select sum(unsure) from graph")" = 0 ] || fail "$label unsure calls"
[ "$(sql "select sum(unsure) from tree")" = 0 ] || fail "$label unsure contexts"
[ "$(sql "select calls from graph g join functions c on c.id = caller
	join functions f on f.id = g.function where c.name = 'main' and
	f.name = 'sink'")" = 1000 ] || fail "$label main calls sink otherwise"
