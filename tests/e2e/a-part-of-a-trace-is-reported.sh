#!/bin/sh
# report and dump of a part of a trace: calls that ended in it, and those open at its end,
# which have no time. Two parts are the whole.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/parts.c" <<'END'
#include <unistd.h>
#define F __attribute__((noinline)) void
F leaf(void) { __asm__ volatile("" ::: "memory"); }
F early(void) { leaf(); leaf(); }
F late(void) { leaf(); }
F rest(void) { usleep(50000); }
int main(void)
{
	for (int i = 0; i < 100; i++)
		early();
	rest();
	for (int i = 0; i < 70; i++)
		late();
	return 0;
}
END
compile "$work/parts" "$work/parts.c" -O1 $sites
record --trace -a latency,graph,tree,counts --all -- "$work/parts"
succeeded
"$FLICK" replay -f elapsed "$data" >"$work/calls" || fail "no trace"
cut=$(awk '/rest\(\)/ {			# in the middle of it
	print $1 * ($2 == "us" ? 1 : $2 == "ms" ? 1000 : 1000000) + 25000 "us" }' "$work/calls")

part() {	# OPTION...: `NAME CALLS UNKNOWN TOTAL` a line
	run "$FLICK" report --format=csv -f function,calls,unknown,total "$@" "$data"
	succeeded
	tr -d '\r' <"$out" | tr , ' ' | sed 1d | LC_ALL=C sort >"$work/part"
}
calls_are() {	# TEXT: NAME CALLS UNKNOWN, of each
	[ "$(cut -d' ' -f1-3 "$work/part" | tr '\n' ';')" = "$1" ] || fail "$label $(cat "$work/part")"
}
label="before:"
part -r "~$cut"
calls_are 'early 100 0;leaf 200 0;main 1 1;rest 1 1;'
grep -q '^main 1 1 $' "$work/part" || fail "$label main has a time"
label="behind:"
part --time-range="$cut~"
calls_are 'late 70 0;leaf 70 0;main 1 0;rest 1 0;'
[ "$(awk '$1 == "rest" { print $4 }' "$work/part")" -ge 50000000 ] || fail "$label rest took less"
label="nothing:"
run "$FLICK" report -r 0~1ns "$data"
succeeded
grep -q 'was called in that time' "$out" || fail "it is not said that nothing was called then"
part -r 0~1ns
calls_are ''
label="all:"
part
cp "$work/part" "$work/whole"
part -r 0~
cmp -s "$work/part" "$work/whole" || [ "$(cut -d' ' -f1-3 "$work/part")" = \
	"$(cut -d' ' -f1-3 "$work/whole")" ] || fail "$label not the whole"

label="graph:"
run "$FLICK" report -a graph --format=csv -f caller,function,calls -r "$cut~" "$data"
tr -d '\r' <"$out" | sed 1d | LC_ALL=C sort | tr '\n' ';' >"$work/got"
[ "$(cat "$work/got")" = ',main,1;late,leaf,70;main,late,70;main,rest,1;' ] || fail "$label $(cat "$work/got")"
label="folded:"
run "$FLICK" dump -r "$cut~" "$data"
succeeded
grep -q '^main;late;leaf ' "$out" && ! grep -q early "$out" || fail "$label $(cat "$out")"
label="chrome:"
run "$FLICK" dump --format=chrome -r "$cut~" "$data"
succeeded
[ "$(grep -c '"ph":"X"' "$out")" -eq 142 ] || fail "$label $(grep -c '"ph":"X"' "$out") slices"
run "$FLICK" dump --format=chrome -r "~$cut" "$data"
[ "$(grep -c '"ph":"X"' "$out")" -eq 300 ] || fail "$label $(grep -c '"ph":"X"' "$out") slices before"
label="to a person:"
run "$FLICK" report -r "~$cut" "$data"
grep -q '^  calls that ended in this part, or were open at its end' "$out" || fail "$label not said"

# What lies in a call that goes on behind the part, or was left before it, lies in no call of the
# part that has a time: it is all of the total.
cat >"$work/within.c" <<'END'
#include <setjmp.h>
#include <unistd.h>
#define F __attribute__((noinline)) void
static jmp_buf back;
F leaves(int how) { if (how) longjmp(back, 1); usleep(100); }
F rest(void) { usleep(50000); }
F again(int n)
{
	if (n)
		usleep(200);
	for (int i = 0; !n && i < 60; i++) {
		again(1);
		leaves(0);
		if (i == 19)
			rest();
		else if (i == 39)
			rest();
	}
}
int main(void)
{
	if (!setjmp(back))
		leaves(1);
	again(0);
	return 0;
}
END
compile "$work/within" "$work/within.c" -O1 $sites
record --trace -a latency --all -- "$work/within"
succeeded
"$FLICK" replay -f elapsed "$data" | awk '/rest\(\)/ {
	print $1 * ($2 == "us" ? 1 : $2 == "ms" ? 1000 : 1000000) + 25000 "us" }' >"$work/cuts"
first=$(sed -n 1p "$work/cuts") second=$(sed -n 2p "$work/cuts")
for of in "~$first 21 21" "$first~$second 21 21" "$second~ 21 20"; do
	set -- $of
	label="within, $1:"
	part -f function,calls,unknown,total,sum -r "$1"
	awk -v again="$2" -v leaves="$3" -v part="$1" '
		$1 == "again" { ok += $2 == again && $4 > 0 && ($4 == $5) == (part !~ /~$/) }
		$1 == "leaves" { ok += $2 == leaves && $4 > 0 && $4 == $5 }
		END { exit ok != 2 }' "$work/part" || fail "$label $(cat "$work/part")"
done
label="within, graph:"			# what left before is no row
run "$FLICK" report -a graph --format=csv -f caller,function,calls -r "$second~" "$data"
tr -d '\r' <"$out" | awk -F, '$2 == "leaves" { n += $3 } NR > 1 && !$3 { n = -99 }
	END { exit n != 20 }' || fail "$label $(cat "$out")"

label="mistakes:"
run "$FLICK" report -r 5~1 "$data"
one_line_error 2 'time-range takes FROM~TO'
run "$FLICK" report -r "$cut~" -a counts "$data"
one_line_error 1 'latency, graph, tree and spread, not counts'
run "$FLICK" report -r "$cut~" --diff "$data" "$data"
one_line_error 2 'cannot be used with --diff'
record -a latency --all -- "$work/parts"
run "$FLICK" report -r "$cut~" "$data"
one_line_error 1 'trace'
run "$FLICK" dump -r "$cut~" "$data"
one_line_error 1 'trace'
