#!/bin/sh
# replay prints each call once, in its thread's order, indented by depth, with its time;
# threads merged by time; filters leave out what they say; a cut trace is shown up to there.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC" sqlite3
cat >"$work/calls.c" <<'END_C'
#include <setjmp.h>
#include <time.h>
static jmp_buf home;
__attribute__((noinline)) void leaf(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void node(int n) { for (; n; n--) leaf(); }
__attribute__((noinline)) void slow(void)
{
	struct timespec ms = { 0, 20000000 };
	node(1);
	nanosleep(&ms, NULL);
}
__attribute__((noinline)) void jump(void) { longjmp(home, 1); }
__attribute__((noinline)) void over(void) { jump(); }
int main(void)
{
	node(2);
	slow();
	if (!setjmp(home))
		over();
	leaf();
	return 0;
}
END_C
compile "$work/calls" "$work/calls.c" -O1 $sites
record --trace -- "$work/calls"
succeeded

# What stands behind the fields, with @ for each two spaces.
calls() {
	run "$FLICK" replay "$@" "$data"
	succeeded
	sed -n 's/^[^|]* | //p' "$out" | sed ':a; s/^\(@*\)  /\1@/; ta' >"$work/got"
}
expect() {	# LINES, of standard input
	cat >"$work/want"
	diff "$work/want" "$work/got" >"$work/diff" || { cat "$work/diff"; fail "$label other calls"; }
}
label=all:
# That jump was left is known when main ends.
calls
expect <<'END_T'
main() {
@node() {
@@leaf();
@@leaf();
@} /* node */
@slow() {
@@node() {
@@@leaf();
@@} /* node */
@} /* slow */
@over() {
@@jump() {
@@@leaf();
@@} /* jump: did not return */
@} /* over: did not return */
} /* main */
END_T
head -n 1 "$out" | grep -q '^# DURATION     TID     FUNCTION$' || fail "other titles"
bad=$(grep -Ev '^#|^ ( {10}|[ 0-9]{3}\.[0-9]{3} ..) \[ *[0-9]+\] \| ' "$out")
[ -z "$bad" ] || fail "other fields: $bad"
! grep '{$\|did not' "$out" | grep -q '\.' || fail "the time of what has not ended"
[ "$(grep -c '^ .*\.[0-9]* .*\(;\|\*/\)$' "$out")" -eq 8 ] || fail "ends without a time"

label=-F:
calls -F slow
expect <<'END_T'
slow() {
@node() {
@@leaf();
@} /* node */
} /* slow */
END_T
label=-N:
calls -N node -N over
expect <<'END_T'
main() {
@slow();
} /* main */
END_T
label=-D:
calls -F 'sl*w' -D 2
expect <<'END_T'
slow() {
@node();
} /* slow */
END_T
label=-t:
calls -t 15ms
expect <<'END_T'
main() {
@slow();
} /* main */
END_T
label="-t and more:"
calls -t 15ms -N slow
expect <<'END_T'
main();
END_T
label=--match:
calls --match regex -F '^(s|l).*' -N 'n.de'
expect <<'END_T'
slow();
leaf();
END_T
label=-r:
calls -r ~10m
[ "$(wc -l <"$work/got")" -eq 16 ] || fail "$label all of it is not all"
calls -r 10m~
[ ! -s "$work/got" ] || fail "$label what was never"
one_line_error 0 'no calls match'
run "$FLICK" replay -f elapsed "$data"
at=$(awk '/slow\(\)/ { print $1 * ($2 == "ms" ? 1000 : $2 == "s" ? 1000000 : 1) }' "$out")
calls -r "$(awk -v at="$at" 'BEGIN { printf "%.0f", at + 10000 }')us~"
[ "$(head -n 1 "$work/got")" = "@} /* slow */" ] || fail "$label slow does not end in it"
label=-f:
calls -f elapsed,task
awk 'NR > 1 && $3 != "calls" { bad = 1 } END { exit bad }' "$out" || fail "$label no name of the thread"
run "$FLICK" replay -f none -F jump "$data"
[ "$(cat "$out")" = "$(printf 'jump() {\n  leaf();\n} /* jump: did not return */')" ] || fail "$label not none"

# Several threads: all calls of each, in order; merged they stand by time.
label=threads:
target threads -O1 $sites
record --trace -- "$work/threads" 4 500
succeeded
run "$FLICK" replay -f elapsed,tid "$data"
succeeded
awk 'NR == 1 { next }
	{ t = $1 * ($2 == "us" ? 1 : $2 == "ms" ? 1000 : 1000000)
	  if (t < last) { print "late: " $0; exit 1 }; last = t }' "$out" >"$work/late" ||
	fail "$label $(cat "$work/late")"
[ "$(grep -c '{$\|;$' "$out")" -eq "$(sql "select sum(calls) from latency")" ] ||
	fail "$label other calls than latency has"
tid=$(sql "select max(tid) from threads where delivered > 0")
n=$(grep -c "\[ *$tid\]" "$out")
run "$FLICK" replay --tid "$tid" "$data"
[ "$(grep -vc '^#' "$out")" -eq "$n" ] || fail "$label --tid is not that thread"
for t in recursion longjmp exceptions contexts cancel; do
	label="$t:"
	target $t -O1 $sites
	record --trace -- "$work/$t"
	run "$FLICK" replay "$data"
	succeeded
	[ "$(grep -c '{$\|;$' "$out")" -eq "$(sql "select sum(calls) from latency")" ] ||
		fail "$label other calls than latency has"
done

label=cut:
size=$(wc -c <"$data/trace.zst")
truncate -s $((size * 2 / 3)) "$data/trace.zst"
run "$FLICK" replay "$data"
one_line_error 1 'cut short; the first [0-9]* events are shown'
label=usage:
run "$FLICK" replay -F nonsense "$data"
one_line_error 1 'no function of this recording matches .nonsense'
run "$FLICK" replay -t soon "$data"
one_line_error 2 'takes a time'
run "$FLICK" replay -r 5ms~1ms "$data"
one_line_error 2 'FROM~TO'
run "$FLICK" replay -r 5ms "$data"
one_line_error 2 'FROM~TO'
run "$FLICK" replay -f name "$data"
one_line_error 2 'a field is duration, tid, elapsed, task or none, not .name'
run "$FLICK" replay --tid x "$data"
one_line_error 2 'takes a number'
run "$FLICK" replay --tid 1 "$data"
one_line_error 1 'no thread 1; there (is|are) [0-9]+ [(]'
run "$FLICK" replay -r '' "$data"
one_line_error 2 'FROM~TO'
rm "$data/trace.zst"
run "$FLICK" replay "$data"
one_line_error 1 'record with --trace'
