#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC" strip
target recursion -O2 $sites
record -a counts -P factorail -- "$work/recursion"
one_line_error 1 factorial
! grep -q '^count' "$out" || fail "the program ran"
record --match=regex -P '(' -- "$work/recursion"
label="broken expression:"
one_line_error 2 "pattern|regular expression"
run "$FLICK" list "$work/recursion" 'fibb*'
label="list:"
one_line_error 1 fib

# What is a part of names, and of how many; several that are near, the nearest first.
said() {	# STATUS TEXT: of one line
	[ "$status" -eq "$1" ] || fail "$label exit status $status, not $1"
	[ "$(n_errors)" -eq 1 ] || fail "$label $(n_errors) lines"
	grep -qF -- "$2" "$err" || fail "$label it does not say: $2"
}

cat >"$work/sorts.cc" <<'END'
#define F __attribute__((noinline)) int
F bubble_sort(int n) { return n; }
F quick_sort(int n) { return n + 1; }
namespace deep { namespace er { template <typename T> F heap_sort(T n) { return n + 2; } } }
F sorted(int n) { return n + 3; }
F taken(int n) { return n + 6; }
F take(int n) { return n + 4; }
F tape(int n) { return n + 5; }
F dot(int n) { return n; }
int main() { return bubble_sort(0) + quick_sort(0) + deep::er::heap_sort(0) + sorted(0) +
	taken(0) + take(0) + tape(0) + dot(0) - 21; }
END
compile "$work/sorts" "$work/sorts.cc" -O1 $sites
for how in record list; do
	label="$how:"
	ask() {
		if [ $how = list ]; then
			run "$FLICK" list "$work/sorts" "$1"
		else
			record -a counts -P "$1" -- "$work/sorts"
		fi
	}
	ask sort
	said 1 '`sort`; `*sort*` matches 4: '
	grep -q ', \.\.\.$' "$err" || fail "$label all four are named"
	grep -q 'matches 4: sorted[^,]*, quick_sort' "$err" || fail "$label the nearest is not first"
	ask heap
	said 1 '`heap`; `*heap*` matches 1: deep::er::heap_sort'
	ask sorts!bubble
	[ $how = list ] || said 1 '`sorts!*bubble*` matches 1: bubble_sort'
	ask taqe
	said 1 '`taqe`; did you mean `take`, `tape` or `taken`?'
	ask haep_sort
	said 1 'did you mean `deep::er::heap_sort`?'
	ask dt
	said 1 'did you mean `dot`?'
	ask dig
	said 1 '`flick list'
	ask nothing_of_the_kind
	said 1 '`flick list'
done
# In a stripped program functions are known by their addresses, whose digits nobody means.
cp "$work/sorts" "$work/bare"
strip "$work/bare"
label="stripped:"
record -a counts --provider=body -P b -- "$work/bare"
said 1 '`b`; none has a name, as of a stripped program: `flick list'

label="found in PATH:"
PATH=$work:$PATH
record -a counts -P b -- bare
said 1 "flick list $work/bare\`"
printf '#!%s\n' "$work/bare" >"$work/script"
chmod +x "$work/script"
record -a counts -P b -- "$work/script"
said 1 "flick list $work/bare\`"

label="what is suggested:"
record -a counts -P '*sort*' -- "$work/sorts"
succeeded

# A module that is not there: which one, or which one's function, may have been meant.
label="no module:"
record -P 'foo!f' -- "$work/sorts"
said 1 'no module `foo` with probes is loaded (--wait waits for one); there is sorts'
record -P 'sort!take' -- "$work/sorts"
said 1 'did you mean `sorts!take`?'
record -P 'srots!taqe' -- "$work/sorts"
said 1 'did you mean `sorts!take`?'
record -P 'other!quick_*' -- "$work/sorts"
said 1 'did you mean `sorts!quick_*`?'
run "$FLICK" list "$work/sorts" 'other!taken'
said 1 'sorts has no module `other`; did you mean `sorts!taken`?'

# Beside functions that are there it may still come; then a line says that it never did.
record -P main -P 'foo!f' -- "$work/sorts"
succeeded
[ "$(grep -c 'no module' "$err")" = 2 ] || fail "$label beside others: not said at the end"
grep -qF 'no module `foo` with probes was loaded, so `foo!f` matched nothing' "$err" ||
	fail "$label it does not say so"

# What one pattern chooses another takes away.
label="nothing left:"
record -P take -U 'ta*' -- "$work/sorts"
said 1 'no function is left to record after `-U ta*`'
record -U '*' -- "$work/sorts"
said 1 '`-U *`'
record -P 'ta*' -U take -- "$work/sorts"
succeeded
[ "$(n_errors)" = 0 ] || fail "$label something is left"

# One that came, without such a function.
label="a module that came:"
need sqlite3
say 'int late(int n) { return n; }' >"$work/lib.c"
compile "$work/lib.so" "$work/lib.c" -shared -fPIC -O1 $sites
cat >"$work/loads.c" <<'END'
#include <dlfcn.h>
int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : 0;
	int (*late)(int) = lib ? (int (*)(int))dlsym(lib, "late") : 0;

	return !late || late(0);
}
END
compile "$work/loads" "$work/loads.c" -O1 $sites
record -P main -P 'lib.so!no_such_thing_at_all' -- "$work/loads" "$work/lib.so"
succeeded
grep -qF 'no function with a probe matches `lib.so!no_such_thing_at_all`; `flick list ' "$err" ||
	fail "$label it does not say so"

# With --wait any pattern may match later: what an exec or dlopen brings. What has never
# matched is said at the end, and nothing was recorded.
label="--wait:"
record -a counts --wait -P late -- "$work/loads" "$work/lib.so"
succeeded
[ "$(sql "select sum(calls) from counts")" = 1 ] || fail "$label late was not counted"
record -a counts --wait -P 'lib.so!late' -- "$work/loads" "$work/lib.so"
succeeded
[ "$(sql "select sum(calls) from counts")" = 1 ] || fail "$label lib.so!late was not counted"
record -a counts --wait -P latte -- "$work/loads" "$work/lib.so"
[ "$status" -eq 1 ] || fail "$label status $status, and nothing was recorded"
[ "$(n_errors)" -eq 2 ] || fail "$label not one line at its start and one at its end"
head -n 1 "$err" | grep -q 'matches `latte` yet' || fail "$label it is not said that it waits"
tail -n 1 "$err" | grep -qF 'matches `latte`; did you mean `late`?' ||
	fail "$label it is not said that it never matched"
