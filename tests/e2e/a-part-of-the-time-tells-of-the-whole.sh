#!/bin/sh
# timeout: 300
# --rate: every edge that is named is one of the program, whatever a window cut
# off; counts are exact; what no window holds is filtered, exactly.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

allowed='-:main main:work -:work work:spin work:sorts work:tree work:swing spin:leaf
	sorts:compare tree:tree swing:outer outer:inner outer:leaf inner:bottom
	swing:bottom'
pairs_of_graph="select coalesce(c.name, '-') || ':' || f.name from graph g
	left join functions c on c.id = g.caller join functions f on f.id = g.function
	where g.calls > g.unsure"
# Below the row without a function stands what that one called, at any depth.
pairs_of_tree="select coalesce(c.name, '-') || ':' || f.name from tree t
	left join tree p on p.id = t.parent left join functions c on c.id = p.function
	join functions f on f.id = t.function where t.calls > t.unsure and
	(p.id is null or p.function is not null)"

only_true() {	# TABLE QUERY
	sql "$2" | sed 's/\.\(constprop\|isra\|part\)\.[0-9.]*//g' | sort -u >"$work/pairs"
	[ -s "$work/pairs" ] || fail "$label nothing in $1 is certain"
	wrong=$(grep -vxF -e "$(printf '%s\n' $allowed)" "$work/pairs")
	[ -z "$wrong" ] || fail "$label $1:" $wrong
}

# Each must be there, with its caller: no window saw these callers begin.
named() {	# CALLER:FUNCTION...
	for edge; do
		grep -qxF "$edge" "$work/pairs" || fail "$label graph has no $edge"
	done
}

kept() {	# KEY
	sql "select value from session where key = '$1'"
}

for how in "-O0 30%" "-O2 5%"; do
	level=${how% *} rate=${how#* }
	label="$level $rate:"
	target windows $level $sites
	record --rate $rate -a graph,tree,counts,latency,subtrees -- "$work/windows" 250
	succeeded
	lossless
	only_true graph "$pairs_of_graph"
	named spin:leaf tree:tree inner:bottom outer:inner
	only_true tree "$pairs_of_tree"
	[ "$(kept mode)" = windows ] || fail "$label mode $(kept mode)"
	[ "$(kept windows)" -gt 1 ] || fail "$label $(kept windows) windows"
	[ "$(sql "select sum(sampled) < sum(calls) from counts")" = 1 ] ||
		fail "$label windows hold all calls"
	exact counts
	exact latency
	[ "$(sql "select sum(sampled) from graph")" = \
		"$(sql "select sum(sampled) from counts")" ] ||
		fail "$label graph and counts saw different calls"
done
ends_well

# Shown as estimates.
label=report:
run "$FLICK" report -a graph "$data"
head -n 1 "$out" | grep -q '^  sampled [0-9.]* %: ' || fail "$label no first line"
grep -q 'Est. calls' "$out" || fail "$label not called estimates"
run "$FLICK" report -a counts "$data"
head -n 1 "$out" | grep -Eq '^ +Calls +Sampled +Function$' || fail "$label counts are exact"
run "$FLICK" report -a latency "$data"
head -n 1 "$out" | grep -q '^  sampled [0-9.]* %: calls are exact, times are estimated from ' ||
	fail "$label latency: its calls are called estimates"
grep -Eq '^ +Total +Self +Self% +Calls +Avg +P50 +P99( +Unknown)? +Sampled +Function$' "$out" ||
	fail "$label latency: other columns"
cp -r "$data" "$work/before"
run "$FLICK" report --diff "$work/before" "$data" -a graph
head -n 1 "$out" | grep -Eq '^  both are sampled: before has estimates from [0-9.]+ % of' ||
	fail "$label compared as if it were all"
grep -q 'Estimated calls before' "$out" || fail "$label compared as calls"
run "$FLICK" report --diff "$work/before" "$data" -a counts
head -n 1 "$out" | grep -q '^ *Calls before' || fail "$label exact counts have a note"
run "$FLICK" report -a tree "$data"
grep -q ' \[\.\.\.\]$' "$out" || fail "$label the tree says not where it is cut off"
run "$FLICK" report -a graph --format=json "$data"
grep -q '"estimated_calls": [0-9]*,.*"sampled": [0-9]*' "$out" || fail "$label json"

# At the full rate the window never closes: all is exact.
label=100%:
record --rate 100% -a graph,counts,latency -- "$work/windows" 10
succeeded
lossless
exact
exact graph
exact latency
[ "$(kept rate)" = 100.0 ] || fail "$label rate $(kept rate)"
[ "$(kept windows)" = 1 ] || fail "$label $(kept windows) windows"

# Adaptive: as much as the reader can follow; entries alone suffice for counts.
label=auto:
record --rate=auto -a graph -- "$work/windows" 100
succeeded
lossless
only_true graph "$pairs_of_graph"
label=pads:
target windows -O2 -fpatchable-function-entry=5
record --rate 20% -a counts -- "$work/windows" 250
succeeded
lossless
truth=$(awk '$1 == "count" && $2 == "leaf" { print $3 }' "$out")	# the others are inlined
[ "$(sql "select sum(calls) from $(rows counts) where name = 'leaf'")" = "$truth" ] ||
	fail "$label not $truth calls of leaf"

# dlopen inside and outside of windows, children, a thread for each call.
label=dlopen:
library dlopen-lib $sites
target dlopen $sites
record --rate 50% -a graph,counts -- "$work/dlopen" "$work/dlopen-lib.so" 200
succeeded
exact counts
lossless
emulated wiped || forks=fork
for t in ${forks:-} short-threads exceptions longjmp sigaltstack cancel signals; do
	label="$t:"
	for f in "$targets/$t".c*; do
		case $f in *.cc) need "$(cxx)" ;; esac
	done
	target $t -O2 $sites
	record --rate 50% -a graph,tree,latency,counts -- "$work/$t"
	succeeded
	exact counts
	conserved
done

emulated exec && exit 0
# A program that is replaced after more windows than the table of edges holds.
label="exec:"
target windows -O2 $sites
record --rate 5% --wait -a latency,counts -- sh -c "i=0
	while [ \$i -lt 1500000 ]; do i=\$((i + 1)); done
	exec '$work/windows' 250"
succeeded
exact counts
[ "$(kept windows)" -gt 256 ] || skip "$label sh was too quick: $(kept windows) windows"
