#!/bin/sh
# A function that is called a hundred million times a second costs too much to count:
# it is counted in windows, and its line says so. Its calls are about right, and those
# of a function beside it are exact; in threads, in what fork makes, and where reader
# or target are killed in the middle.
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 "$CC"
target tiny -O2 $sites

seldom() {
	n=$(sql "select count(*) from $(rows latency) where name = 'tiny' and
		counted < calls / 2")
	[ "$n" -eq 1 ] || fail "$label it is not counted in windows"
}

for args in 700 "500 4" "400 2 fork"; do
	label="$args:"
	record -f -- "$work/tiny" $args
	succeeded
	conserved
	exact latency
	about tiny
	seldom
done
run "$FLICK" report "$data"
succeeded
grep -q '^  ~ to count all of these calls would have cost too much: an estimate' "$out" ||
	fail "that is not said"
grep -Eq ' ~~?[0-9]+ .* tiny$' "$out" || fail "it is not in its line"
! grep -E ' rare$' "$out" | grep -Eq '~[0-9]+ ' || fail "rare is counted"

label="100 %:"
record --budget=100 -- "$work/tiny" 300
succeeded
[ "$(sql "select value from session where key = 'budget'")" = 100 ] || fail "$label not kept"

# What passes the budget is said to, and why where that is known: here by a million
# timed calls. Beside other work the program takes longer.
label="0.1 %:"
record --budget=0.1 -K 1000000 -- "$work/tiny" 700
succeeded
grep -q ', more than the budget of 0\.1 %: \(less than a second is too short to keep to it\|most in the first second\), agent' \
	"$err" || fail "$label that is not said"
record --budget=0.1 -K 1000000 -- "$work/tiny" 1500 2
succeeded
grep -q ', more than the budget of 0\.1 %' "$err" || fail "$label that is not said"
! grep -q 'less than a second is too short' "$err" || fail "$label it ran for longer"
record --budget=100 -- "$work/tiny" 300
! grep -q 'more than the budget' "$err" || fail "100 % are passed"

# What is killed in a window leaves nobody waiting, and a target that runs to its end.
for round in 1 2 3 4; do
	label="reader killed, $round:"
	"$work/tiny" 1 >/dev/null
	"$FLICK" record -o "$data" -- "$work/tiny" 600 >"$out" 2>"$err" &
	reader=$!
	sleep 0.3
	kill -KILL $reader
	wait $reader 2>/dev/null
	for i in $(seq 300); do
		grep -q '^count rare' "$out" && break
		sleep 0.1
	done
	grep -q '^count rare' "$out" || fail "$label the target does not end"
done
label="target killed:"
run timeout -s KILL 0.5 "$FLICK" record -o "$data" -d 0.3 -- "$work/tiny" 5000
grep -q 'events: ' "$err" || fail "$label nothing was kept"

# What is no budget is told in a line.
for bad in 0 101 many 2x; do
	run "$FLICK" record --budget=$bad -- "$work/tiny" 1
	[ $status -eq 2 ] || fail "--budget=$bad is status $status"
	[ "$(wc -l <"$err")" -eq 1 ] || fail "--budget=$bad: not one line"
done
run "$FLICK" record --all --budget=5 -- "$work/tiny" 1
[ $status -eq 2 ] || fail "--all has a budget"
for way in "-a counts -K 5" "--all --epoch 5"; do
	# shellcheck disable=SC2086
	run "$FLICK" record $way -- "$work/tiny" 1
	[ $status -eq 2 ] && grep -q 'are for sampling' "$err" || fail "$way is not said to do nothing"
done

# What cost more than the program did is said, and what to leave out.
label="--all:"
record --all -- "$work/tiny" 500
succeeded
[ "$(grep -c 'recording every call took .* leave out most of it by -U' "$err")" -eq 1 ] || fail "$label no line"
grep -q "leave out most of it by -U 'tiny' -U 'rare'" "$err" || fail "$label not these"
grep -Eq '^cost: [0-9.]+ % of CPU time \(probes [0-9.]+, switching [0-9.]+, (samples [0-9.]+, )?reader on another core [0-9.]+\),' \
	"$err" || fail "$label no cost"
label="--trigger:"			# which cannot be without its function
record --trigger 'tiny>100s' -- "$work/tiny" 500
succeeded
grep -q "leave out most of it by -U" "$err" && ! grep -q "by.* -U 'tiny'" "$err" ||
	fail "$label $(cat "$err")"
label="two of one name:"
cat >"$work/other.c" <<'END'
__attribute__((noipa)) static void twin(void) { }
void other(void) { twin(); }
END
cat >"$work/twins.c" <<'END'
void other(void);
__attribute__((noipa)) static void twin(void) { }
int main(void)
{
	for (int i = 0; i < 4000000; i++) {
		twin();
		other();
	}
	return 0;
}
END
"$CC" -O2 $sites -c "$work/other.c" -o "$work/other.o" || fail "$label cc"
libraries=$work/other.o compile "$work/twins" "$work/twins.c" -O2 $sites
record --all -- "$work/twins"
grep -q "leave out most of it by.* -U 'twin'" "$err" || fail "$label not said"
! grep -q "twin'.*twin'" "$err" || fail "$label the same twice"
label="--rate:"
record --rate=1% -- "$work/tiny" 1500
succeeded
grep -q '^cost: .*, more than the 1% of --rate: all calls are counted' "$err" ||
	fail "$label that it costs more is not said"
label="default, on one CPU:"		# who switches takes its time, too
rm -rf "$data"
run taskset -c "$(awk -F'[\t,-]' '/^Cpus_allowed_list/ { print $2 }' /proc/self/status)" \
	"$FLICK" record -o "$data" -- "$work/tiny" 1500
succeeded
! grep -q 'recording every call' "$err" || fail "$label costs more than the program"
cost_is_the_sum

# A program that ends before that would be noticed is counted whole.
label="short:"
cat >"$work/short.c" <<'END'
__attribute__((noinline)) static void tiny(void)
{
	__asm__ volatile("");
}
int main(void)
{
	for (int i = 0; i < 3000000; i++)
		tiny();
	return 0;
}
END
compile "$work/short" "$work/short.c" -O2 $sites
record -- "$work/short"
succeeded
got=$(sql "select calls || ' ' || counted from $(rows latency)
	where name = 'tiny'")
[ "$got" = "3000000 3000000" ] || fail "$label calls and counted are $got"
