#!/bin/sh
# On a narrow terminal a name has at least thirty columns: what is asked for least is left
# out, and said to be; what was asked for by name stays. No line is longer than the
# terminal. Elsewhere nothing is left out.
. "$(dirname "$0")/lib"
need script sqlite3 "$CC"
cat >"$work/names.c" <<'END'
#define F __attribute__((noinline)) void
F a_function_with_a_name_of_fifty_letters_and_some_more(void) { __asm__ volatile(""); }
F short_one(void) { for (int i = 0; i < 2000; i++) a_function_with_a_name_of_fifty_letters_and_some_more(); }
int main(void) { for (int i = 0; i < 500; i++) short_one(); return 0; }
END
compile "$work/names" "$work/names.c" -O1 $sites
record -- "$work/names"
succeeded
sqlite3 "$data/results.db" "update latency set counted = 1 where calls > 1"
escape=$(printf '\033')
unset COLUMNS

screen() {	# COLUMNS OPTION...
	columns=$1
	shift
	env TERM=xterm NO_COLOR=1 script -qec \
		"stty cols $columns; '$FLICK' report --no-pager $* '$data'" /dev/null 2>"$err" \
		</dev/null | tr -d '\r' >"$out"
	[ -s "$out" ] || fail "$columns columns, $*: nothing"
	awk -v most="$columns" 'length > most { exit 1 }' "$out" ||
		fail "$columns columns, $*: a longer line"
}
name() {	# letters of the long name that are shown
	awk '/  a_func/ { sub(/.*  a_func/, "a_func"); print length }' "$out"
}
run "$FLICK" report "$data"
succeeded
grep -Eq 'Calls +Avg +P50 +P99 +Sampled +Counted +Function$' "$out" || fail "a pipe: other columns"
grep -q ' a_function_with_a_name_of_fifty_letters_and_some_more$' "$out" || fail "a pipe: a name is cut"
! grep -q 'no room here' "$out" || fail "a pipe: something has no room"
screen 200
grep -Eq 'Calls +Avg +P50 +P99 +Sampled +Counted +Function$' "$out" || fail "200: other columns"
! grep -q 'no room here' "$out" || fail "200: something has no room"
screen 80
[ "$(name)" -ge 30 ] || fail "80: $(name) letters of a name"
tr '\n' ' ' <"$out" | grep -q 'no room here for: Sampled, Counted, .*(-f chooses' || fail "80: it is not said"
grep -Eq '^ +Total +.*Calls .*Function$' "$out" || fail "80: other columns"
screen 80 -s p99
grep -q 'P99 .*Function$' "$out" || fail "80: what is sorted by is left out"
screen 120 -f total,sampled,counted,p50
grep -Eq '^ +Total +Sampled +Counted +P50 +Function$' "$out" || fail "-f: something is left out"
screen 80 -f +sampled
grep -q 'Sampled .*Function$' "$out" || fail "-f +sampled: it is left out"
