#!/bin/sh
# Functions of one name in two modules, two programs of a family, or twice in one, are rows
# that look alike: then there is a column of modules, and only then. csv and json have it
# always, -f module at any time.
. "$(dirname "$0")/lib"
no_emulator exec
need sqlite3 "$CC"
cat >"$work/one.c" <<'END'
__attribute__((noinline)) static int same(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int NAME(int n) { return same(n) + same(n); }
END
cat >"$work/main.c" <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int first(int), second(int), third(int);
int (*keep[])(int) = { first, second, third };
__attribute__((noinline)) static int same(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(int argc, char **argv)
{
	if (argc > 1 && !fork())
		execv(argv[1], argv + 1);
	while (wait(0) > 0)
		;
	return same(0) + same(0) + same(0) + first(0) + second(0) + third(0);
}
END
cat >"$work/alone.c" <<'END'
__attribute__((noinline)) static int same(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) { return same(0); }
END
cd "$work" || exit
mkdir a b
compile a/libone.so one.c -DNAME=first -shared -fPIC -O1 $sites
compile b/libone.so one.c -DNAME=second -shared -fPIC -O1 $sites
compile libtwo.so one.c -DNAME=third -shared -fPIC -O1 $sites
compile other alone.c -O1 $sites
libraries="$work/a/libone.so $work/b/libone.so $work/libtwo.so"
compile program main.c -O1 $sites "-Wl,-rpath,$work"
libraries=

record -f -a counts,graph -- "$work/program" "$work/other"
succeeded
run "$FLICK" report "$data"
succeeded
grep -Eq '^ +Calls +Module +Function$' "$out" || fail "no modules"
for row in '3  program +' '2  .*/a/libone\.so +' '2  .*/b/libone\.so +' '2  libtwo\.so +' '1  other +'; do
	[ "$(grep -Ec "^ +${row}same\$" "$out")" -eq 1 ] || fail "no row: $row"
done
[ -z "$(sort "$out" | uniq -d)" ] || fail "two rows look alike"
run "$FLICK" report -a graph "$data"
grep -Eq '  second +same$' "$out" && grep -Eq 'Caller module +Module +Caller +Function$' "$out" ||
	fail "graph: no modules"
run "$FLICK" report --format=csv "$data"
grep -q "^same,2,$work/libtwo.so" "$out" && grep -q '^function,calls,module' "$out" || fail "csv: no modules"
run "$FLICK" count -f same -- "$work/program" "$work/other"
succeeded
grep -q '^FUNC  *COUNT  MODULE$' "$out" && grep -Eq '^same +3  program$' "$out" ||
	fail "count: no modules"
run "$FLICK" latency same -- "$work/program"
succeeded
grep -q '^Function = same \[libtwo.so\]$' "$out" || fail "latency: no modules"

label="where none look alike:"
record -a counts -- "$work/other"
run "$FLICK" report "$data"
succeeded
! grep -q Module "$out" || fail "$label modules"
run "$FLICK" report -f calls "$data"
! grep -q Module "$out" || fail "$label modules, and nobody asked"
run "$FLICK" report -f calls,module "$data"
grep -Eq '^ +1  other +same$' "$out" || fail "$label -f module"
run "$FLICK" report -s module "$data"
succeeded
grep -q Module "$out" || fail "$label -s module"
run "$FLICK" report --format=json "$data"
grep -q "\"module\": \"$work/other\"" "$out" || fail "$label json"
run "$FLICK" count same -- "$work/other"
! grep -q MODULE "$out" || fail "$label count has modules"

# Twice in one module: what tells them apart is a pattern.
label="in one module:"
for n in 1 2; do
	sed "s/NAME/n$n/" one.c >n$n.c
	$CC -w -O1 $sites -c n$n.c -o n$n.o || fail "n$n.c"
done
say 'int n1(int), n2(int); int main(void) { return n1(0) + n2(0); }' >both.c
compile both both.c -O1 $sites n1.o n2.o
record -a counts -- "$work/both"
succeeded
run "$FLICK" report "$data"
[ "$(grep -Ec '^ +2  both!0x[0-9a-f]+ +same$' "$out")" -eq 2 ] || fail "$label not told apart"
record -a counts -P "$(sed -n 's/.*\(both!0x[0-9a-f]*\) .*/\1/p' "$out" | head -n 1)" -- "$work/both"
succeeded
[ "$(sql "select sum(calls) from counts")" = 2 ] || fail "$label it is no pattern"
