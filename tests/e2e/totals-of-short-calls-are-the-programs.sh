#!/bin/sh
# By default totals of calls of some nanoseconds are those of samples that stood in them: of what
# calls nothing it is its self time, who calls has it, too, and what calls itself has a total.
# With second bodies, and with a compiler's sites; of a program that runs already; and after an
# exec, when other code stands there.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
. "$here/totals-lib"

check() {
	all=$(sql "select sum(self_ns) from $(rows latency) where name != 'seldom_long'")
	near "seldom_long's total" "$(value total_ns seldom_long)" \
		"$(value self_ns seldom_long)" 25
	near "leaf's total" "$(value total_ns leaf)" "$(value self_ns leaf)" 1
	near "caller's total" "$(value total_ns caller)" \
		"$(($(value self_ns caller) + $(value self_ns leaf)))" 3
	# Of timed calls: beside other work those that are timed are longer than the rest.
	near "outer's total" "$(value total_ns outer)" "$((all / 2))" 35
	near "down's total" "$(value total_ns down)" "$((all / 2))" 12
	near "leaf's average" "$(value 'avg_ns * calls' leaf)" "$(value total_ns leaf)" 30
	[ "$(value stack_samples leaf)" -gt 30 ] || fail "$label leaf has few samples"
}

for how in "second bodies" "compiler's sites"; do
	label="$how:"
	target short-calls -O2 $([ "$how" = "second bodies" ] || say $sites)
	record -- "$work/short-calls" 2
	succeeded
	check
done
run "$FLICK" report "$data"
succeeded
grep -q 'totals are, too, of calls of less than 0.5 us' "$out" || fail "the report does not say it"

label="attached:"
"$work/short-calls" 4 &
victim=$!
rm -rf "$data"
sleep 0.2
run "$FLICK" record -d 3.3 -p $victim -o "$data"
succeeded
wait $victim || fail "$label the program ended with $?"
near "leaf's total" "$(value total_ns leaf)" "$(value self_ns leaf)" 1
near "caller's total" "$(value total_ns caller)" \
	"$(($(value self_ns caller) + $(value self_ns leaf)))" 3

label="after an exec:"
record -- /bin/sh -c "exec $work/short-calls 2"
succeeded
check

# Where the text is written to through an alias its pages are no file's.
for way in $(aliased); do
	label="$way:"
	record --text=$way -- "$work/short-calls" 2
	succeeded
	check
done
[ "$(sql "select count(*) from $(rows latency) where name like '%glue%'")" = 0 ] ||
	fail "$label glue is a function of the program"

# What was inlined is in no stack, and has its own time and that of what it calls.
label="inlined:"
target short-calls -O2 $sites "-DLEAF=static inline __attribute__((always_inline))"
record -- "$work/short-calls" 2
succeeded
check

# What calls itself has a total however long its calls are.
label="a recursive sort:"
target demo -O2 $sites -DPAGES=1200
record -- "$work/demo"
succeeded
sorted=$(value self_ns sort_words)
[ "$(value total_ns sort_words)" -gt "${sorted:-0}" ] ||
	fail "$label $(value total_ns sort_words), and alone $sorted"
