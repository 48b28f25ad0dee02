#!/bin/sh
# What a new user gets wrong, and the words that set it right.
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
cd "$work" || exit 1

wrong() {	# STATUS PATTERN ARGS...
	expected=$1 pattern=$2
	shift 2
	label="flick $*:"
	run "$FLICK" "$@"
	one_line_error "$expected" "$pattern"
}

wrong 2 'did you mean --output' record --ouput x ./recursion
wrong 2 'did you mean `report`' reprot
wrong 2 'no -- between' count fib ./recursion
wrong 2 'no program given' latency fib --
wrong 2 'glob or regex' list --match=perl ./recursion
wrong 2 'from 1 to' record -K none ./recursion
for command in "record" "count fib" "latency fib" "live"; do
	# shellcheck disable=SC2086
	[ "$(uname -m)" = aarch64 ] || wrong 2 'exclusive is for AArch64' $command --exclusive=cas
done
wrong 1 '\./' record recursion
wrong 1 'directory' record .
wrong 1 'flick record.*makes one' report
wrong 1 'did you mean `fib`' record -P fibb ./recursion
wrong 1 'flick list' list ./recursion zzz
wrong 1 'mean the C library.*`libc.so\*!malloc`.*`plt:malloc`' count malloc -- ./recursion
wrong 1 'flick list' count fl_nowhere_at_all -- ./recursion
run "$FLICK" record -a latency --all ./recursion
succeeded
wrong 1 'not the directory' report flick.data/results.db
wrong 1 'no results.db' report .
wrong 2 'total, self' report -s tme
wrong 1 'record with -a counts' report -a counts

# What ends before it begins is not blamed for what flick wants.
printf 'int g(void) { return 0; }\n' >g.c
printf 'int g(void); int main(void) { return g(); }\n' >uses.c
"$CC" -shared -fPIC -o libg.so g.c && "$CC" -o uses uses.c -L. -lg || skip "no shared objects"
rm libg.so
label="a library is missing:"
run "$FLICK" record ./uses
[ "$status" = 1 ] || fail "$label status $status"
grep -q 'libg.so: cannot open' "$err" || fail "$label the loader said nothing"
grep -q '^flick: ./uses could not be loaded, so nothing is recorded$' "$err" ||
	fail "$label it is not said"
label="killed at the start:"
cat >dies.c <<'END'
static int (*pick(void))(void) { __builtin_trap(); }	/* the loader asks it, before flick */
int f(void) __attribute__((ifunc("pick")));
int main(void) { return f(); }
END
"$CC" -o dies dies.c || skip "no ifunc"
wrong 1 '^flick: ./dies was ended by signal [0-9]* .*before it could be recorded$' record ./dies

for words in "help record" "record -o x --help" "list ./recursion -h"; do
	label="$words:"
	run "$FLICK" $words
	succeeded
	grep -q '^usage: flick' "$out" || fail "$label no help"
done
label="help is the target's own:"
run "$FLICK" record -a counts ./recursion --help
succeeded
grep -q '^count' "$out" || fail "$label it did not run"
