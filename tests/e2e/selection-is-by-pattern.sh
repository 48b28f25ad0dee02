#!/bin/sh
# -P and -U, globs and regular expressions, MODULE!FUNCTION, MODULE!0xOFFSET.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" nm
target recursion -O2 $sites

on() {	# EXPECTED OPTIONS...: the functions with calls, sorted
	want=$1
	shift
	label="$*:"
	record -a counts "$@" -- "$work/recursion"
	succeeded
	got=$(sql "select name from $(rows counts) where calls > 0
		order by name" | tr '\n' ' ')
	[ "$got" = "$want" ] || fail "$label on are: $got"
}

on "fib " -P fib
on "factorial fib " -P 'f*'
on "even odd " -P even -P odd
on "even factorial fib hop land main sink " -U odd
on "factorial " -P 'f*' -U fib
on "fib land " --match=regex -P '^(fib|la.d)$'
on "hop " -P 'recursion!hop'
on "sink " -P "recursion!0x$(nm "$work/recursion" |
	sed -n 's/^0*\([0-9a-f]*\) . sink$/\1/p')"

# Any number of them; --match may stand behind them.
many=$(yes -- "-P fib" | head -n 300)
on "fib " $many
label=list:
for order in "--match=regex ^(fib|la.d)\$" "^(fib|la.d)\$ --match=regex"; do
	run "$FLICK" list "$work/recursion" $order
	succeeded
	got=$(awk '{ print $NF }' "$out" | sort -u | tr '\n' ' ')
	[ "$got" = "fib land " ] || fail "$label $order: $got"
done
run "$FLICK" list "$work/recursion" 'a(b' --match=regex
one_line_error 2 'no regular expression'

# What is kept is of what was asked for: its probes, and the lines of what has results;
# with a trace all probes.
label=kept:
target recursion -O1 -g $sites
record -a counts -P fib -- "$work/recursion"
succeeded
[ "$(sql "select group_concat(distinct name) from $(rows sites)")" = fib ] ||
	fail "$label others' sites"
[ "$(sql "select count(*) from functions")" = 1 ] ||
	fail "$label others' functions"
[ "$(sql "select count(*) from functions where file is not null")" = 1 ] ||
	fail "$label not one function has its line"
line=$(grep -n '^BODY.* fib(' "$targets/recursion.c" | cut -d: -f1)
[ "$(sql "select line - $line between 0 and 1 from functions where name = 'fib'")" = 1 ] ||
	fail "$label not line $line"
record --trace -P fib -- "$work/recursion"
[ "$(sql "select count(distinct name) > 1 from $(rows sites)")" = 1 ] ||
	fail "$label a trace lacks sites"

# Of several names for one address any is taken, and one is shown.
cat >"$work/names.c" <<'END_C'
__attribute__((noipa)) int __shown(int x) { return x + 1; }
int __shown_otherwise(int) __attribute__((weak, alias("__shown")));
int other(int) __attribute__((weak, alias("__shown")));
__attribute__((noipa)) int left(int x) { return x + 2; }
int main(void) { return left(__shown(-3)); }
END_C
compile "$work/names" "$work/names.c" -O2 $sites
for pattern in other __shown __shown_otherwise 'names!ot*'; do
	label="$pattern:"
	record -a counts -P "$pattern" -- "$work/names"
	succeeded
	[ "$(sql "select name from $(rows counts) where calls > 0")" = __shown ] ||
		fail "$label $(sql "select name from $(rows counts) where calls > 0")"
	run "$FLICK" list "$work/names" "$pattern"
	succeeded
	[ "$(awk '{ print $NF }' "$out" | sort -u)" = __shown ] || fail "$label list"
done
record -a counts -U other -- "$work/names"
succeeded
[ "$(sql "select name from $(rows counts) where calls > 0 order by name" | tr '\n' ' ')" = \
	"left main " ] || fail "-U other leaves it on"
