#!/bin/sh
# With --follow totals of short calls are those of samples that stood in them, in all processes of
# a tree: in children that come and go, that are another program, that all are there at once, and
# in a child's child. What calls itself has a total. With second bodies, and with a compiler's
# sites; of two programs that had one path after one another; and where text is aliased.
# timeout: 200
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
. "$here/totals-lib"

# Who is called is in who calls, so totals are sums of self times, however few samples there are.
# Calls of down() take nearly half a microsecond: beside other work timed ones may tell.
check() {
	leaf=$(value self_ns leaf)
	caller=$(($(value self_ns caller) + leaf))
	near "leaf's total" "$(value total_ns leaf)" "$leaf" 1
	near "caller's total" "$(value total_ns caller)" "$caller" 3
	near "down's total" "$(value total_ns down)" "$(value self_ns down)" 25
	near "leaf's average" "$(value 'avg_ns * calls' leaf)" "$(value total_ns leaf)" 30
	[ "$(value stack_samples leaf)" -gt 30 ] || fail "$label leaf has few samples"
	from=$(sql "select 100.0 * sum(s.total_ns * (g.name = 'caller')) / sum(s.total_ns)
		from stacks s join functions f on f.id = s.function and f.name = 'leaf'
		left join stacks above on above.id = s.parent
		left join functions g on g.id = above.function")
	near "leaf's time below caller, percent," "$from" 100 10
}

follow() {	# SECONDS HOW N
	label="$how, $2:"
	record --follow -- "$work/short-calls" "$@"
	succeeded
	check
}

for how in "second bodies" "compiler's sites"; do
	target short-calls -O2 $([ "$how" = "second bodies" ] || say $sites)
	follow 0.01 fork 100
	follow 0.02 exec 50
	follow 0.3 pool 4
	follow 0.2 nested 5
done

label="children of two programs:"
target short-calls -O2
cp "$work/short-calls" "$work/others"
record --follow -- /bin/sh -c "$work/short-calls 0.02 fork 40 & $work/others 0.02 exec 40; wait"
succeeded
leaf=$(value self_ns leaf)
near "leaf's total" "$(value total_ns leaf)" "$leaf" 1
near "caller's total" "$(value total_ns caller)" "$(($(value self_ns caller) + leaf))" 3

for way in $(aliased); do
	label="$way:"
	for how in fork exec; do
		record --follow --text=$way -- "$work/short-calls" 0.02 $how 40
		succeeded
		check
	done
done

# One was replaced by the other: frames of the first are not those of the second.
[ "$(uname -m)" = x86_64 ] || exit 0
label="one behind the other:"
for frame in 24 40; do
	compile "$work/replaced-$frame" "$targets/replaced.c" -O2 -DFRAME=$frame
done
cat >"$work/both" <<END
cp "$work/replaced-24" "$work/it" && "$work/it"
cp --remove-destination "$work/replaced-40" "$work/it" && "$work/it"
END
record --follow -- /bin/sh "$work/both"
succeeded
leaf=$(value self_ns leaf)
near "mid's total" "$(value total_ns mid)" "$(($(value self_ns mid) + leaf))" 3
near "top's total" "$(value total_ns top)" "$(($(value self_ns top) + $(value self_ns mid) + leaf))" 3
