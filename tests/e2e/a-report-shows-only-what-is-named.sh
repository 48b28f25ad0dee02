#!/bin/sh
# `flick report -P PATTERN` shows the rows of these functions, of one module where PATTERN names
# it, in every format; shares stay those of all. What matches nothing is answered with the nearest
# name, and where rows are no functions, or a tree's, it says so.
. "$(dirname "$0")/lib"
need "$CC" sqlite3
cat >"$work/lib.c" <<'END_C'
__attribute__((noinline)) void often(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void once(void) { for (volatile int i = 0; i < 9999999; i++); }
END_C
cat >"$work/main.c" <<'END_C'
void often(void);
void once(void);
__attribute__((noinline)) void other(void) { for (volatile int i = 0; i < 9999999; i++); }
int main(void)
{
	for (int i = 0; i < 100; i++)
		often();
	once();
	other();
	return 0;
}
END_C
(cd "$work" && compile libone.so lib.c -O1 -shared -fPIC $sites &&
	libraries="-L. -lone" compile caller main.c -O1 $sites -Wl,-rpath,"$work") ||
	fail "no target"
record -a latency -a tree --all -- "$work/caller"
succeeded

names() {	# PATTERN OPTION...: the functions shown, as csv has them
	run "$FLICK" report -f calls -s function --format=csv -P "$@" "$data"
	succeeded
	sed 1d "$out" | tr -d '\r' | cut -d, -f2 | tr '\n' ' '
}

[ "$(names 'o*')" = "often once other " ] || fail "o*: $(names 'o*')"
[ "$(names 'libone.so!*')" = "often once " ] || fail "a module: $(names 'libone.so!*')"
[ "$(names "*/caller!o*")" = "other " ] || fail "a path: $(names "*/caller!o*")"
[ "$(names 'lib*!on?e')" = "once " ] || fail "both: $(names 'lib*!on?e')"
[ "$(names 'on*' -P other)" = "once other " ] || fail "two: $(names 'on*' -P other)"
run "$FLICK" report -P oftne -P once "$data"
[ $status = 0 ] && grep -q ' once$' "$out" && ! grep -q ' often$' "$out" ||
	fail "one of two: $(cat "$out")"
grep -q 'no function of latency matches .oftne.; did you mean .often.?' "$err" ||
	fail "which of two names none: $(cat "$err")"
set --
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do set -- "$@" -P a -P b -P c -P d -P e; done
run "$FLICK" report "$@" "$data"
one_line_error 2 'at most 64 times -P'
[ "$(names 'often' -n 5)" = "often " ] || fail "one: $(names often)"

run "$FLICK" report -P 'libone*!once' "$data"
succeeded
share=$(awk '$NF == "once" { print $5 }' "$out")
awk -v share="$share" 'BEGIN { exit !(share > 20 && share < 80) }' ||
	fail "its share is $share % of all: $(cat "$out")"

# What stands above the table is of all.
record -- "$work/caller"
succeeded
sqlite3 "$data/results.db" "update latency set sampled = 0
	where function in (select id from functions where name = 'once')"
"$FLICK" report "$data" | sed -n '/^$/q; p' >"$work/above"
"$FLICK" report -P once "$data" | sed -n '/^$/q; p' | cmp -s - "$work/above" ||
	fail "above the table: $("$FLICK" report -P once "$data" | head -n 3)"
record -a latency -a tree --all -- "$work/caller"
[ "$(names 'lib[!x]ne*![!x]nce')" = "once " ] || fail "sets: $(names 'lib[!x]ne*![!x]nce')"

run "$FLICK" report -P oftne "$data"
one_line_error 1 'no function of latency matches .oftne.; did you mean .often.?'
run "$FLICK" report -P 'libtwo*!often' "$data"
one_line_error 1 'no function of latency matches'
run "$FLICK" report -a tree -P often "$data"
one_line_error 1 '-P chooses rows of functions, and tree is a tree'
run "$FLICK" report --callers often -P often "$data"
one_line_error 2 '--callers shows what samples tell: it cannot be used with --only .-P.: name the functions there'
run "$FLICK" report -P often --diff "$data" "$data"
one_line_error 2 '--only cannot be used with --diff'
