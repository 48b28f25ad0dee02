#!/bin/sh
# examples/own-analysis.c, built as its comment says, beside flick's own; and one
# clear line for each way in which a shared object can be wrong.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
plugin() {	# NAME SOURCE
	$CC -Wall -Wextra -Werror -shared -fPIC -I"$top/include" "$2" -o "$work/$1.so" \
		2>"$err" || fail "$1.so does not build"
}
for language in "$CC -x c -std=c99" "$(cxx) -x c++ -std=c++11"; do
	echo '#include <flick/analysis.h>' >"$work/alone"
	$language -I"$top/include" -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
		"$work/alone" 2>"$err" || fail "$language does not take the header"
done
plugin longest "$top/examples/own-analysis.c"
target recursion -O1 $sites
record -a "$work/longest.so,latency" -- "$work/recursion"
succeeded
lossless
ends_well
bad=$(sql "select f.name from longest l join latency m on m.function = l.function
	join functions f on f.id = l.function
	where l.calls <> m.calls or l.longest_ns <> m.max_ns")
[ -z "$bad" ] || fail "longest and latency disagree on" $bad
[ "$(sql "select c.name from longest l join functions f on f.id = l.function
	join functions c on c.id = l.made_by where f.name = 'sink'")" = main ] ||
	fail "who called sink"
run "$FLICK" report "$data"
succeeded
grep -Eq 'Longest +Calls +Function +Made by' "$out" || fail "report: other columns"
run "$FLICK" report -s function -a longest --format=json "$data"
succeeded
(cd "$work" && "$FLICK" record -o "$data" -a longest.so:999999999999 ./recursion) \
	>"$out" 2>"$err"
status=$?
succeeded
[ "$(sql "select count(*) from \"longest:999999999999\"")" = 0 ] || fail "its argument"

# Its columns mean what it says they do, whatever flick's own are called; a name
# of any length can be shown.
cat >"$work/columns.c" <<'END'
#include <stdlib.h>
#include <flick/analysis.h>
static const struct flick_column k[] = {
	{ "who", FLICK_COL_TEXT }, { "avg_ns", FLICK_COL_NS }, { "from_ns", FLICK_COL_NS },
	{ "extra", FLICK_COL_COUNT }, { "unknown", FLICK_COL_COUNT }, { "calls", FLICK_COL_COUNT },
};
static int o(void **s, const struct flick_view *v, const char *a)
	{ (void)v; (void)a; *s = 0; return 0; }
static int r(void *s, struct flick_rows *x)
{
	(void)s;
	x->columns = k;
	x->n_columns = 6;
	x->n_rows = 1;
	x->cells = calloc(6, sizeof(*x->cells));
	x->cells[0] = (uintptr_t)"me";
	return 0;
}
static void c(void *s) { (void)s; }
const struct flick_analysis flick_analysis = { .size = sizeof(struct flick_analysis),
	.version = FLICK_ANALYSIS_VERSION, .name = "columns", .args = "anything",
	.open = o, .rows = r, .close = c };
END
plugin columns "$work/columns.c"
long=$(printf '%0300d' 0)
for how in -a --rate=50%; do
	label="own columns, $how:"
	[ $how = -a ] && how=
	record $how -a "$work/columns.so:$long" -- "$work/recursion"
	succeeded
	for name in "" "-a columns:$long"; do
		run "$FLICK" report $name "$data"
		succeeded
		grep -Eq 'Avg +From +Extra +Unknown +Calls +Who$' "$out" ||
			fail "$label report: other columns"
		! grep -q estimated "$out" || fail "$label called estimates"
	done
	run "$FLICK" report -a latency "$data"
	one_line_error 1 'it has columns:0.*; record with -a latency'
done

# Who made it is certain, or not said; calls of windows stand for all.
label="longjmp:"
target longjmp -O0 $sites
record -a "$work/longest.so" -- "$work/longjmp"
succeeded
bad=$(sql "select f.name, c.name from longest l join functions f on f.id = l.function
	join functions c on c.id = l.made_by where f.name || '<' || c.name not in
	('after<main', 'after<all_the_way', 'all_the_way<main', 'bounce<bounce',
	'bounce<all_the_way', 'dive<dive', 'dive<all_the_way', 'drown<drown',
	'drown<all_the_way', 'on_signal<drown')")
[ -z "$bad" ] || fail "$label" $bad
label="windows:"
target windows -O1 $sites
record --rate 10% -a "$work/longest.so,latency" -- "$work/windows" 100
succeeded
bad=$(sql "select f.name, l.calls, m.calls from longest l
	join latency m on m.function = l.function join functions f on f.id = l.function
	where abs(l.calls - m.calls) > 1")
[ -z "$bad" ] || fail "$label" $bad

wrong() {	# WHAT SPEC PATTERN
	label="$1:"
	rm -rf "$data"
	run "$FLICK" record -o "$data" -a "$2" -- "$work/recursion"
	one_line_error 2 "$3"
	[ ! -e "$data" ] && [ ! -s "$out" ] || fail "$label it ran"
}
variant() {	# NAME LINE...
	name=$1
	shift
	{ printf '#include <flick/analysis.h>\n'; printf '%s\n' "$@"; } >"$work/$name.c"
	plugin $name "$work/$name.c"
}
functions='static int o(void **s, const struct flick_view *v, const char *a)
	{ (void)v; (void)a; *s = 0; return 0; }
	static int r(void *s, struct flick_rows *x) { (void)s; (void)x; return 0; }
	static void c(void *s) { (void)s; }'
head='const struct flick_analysis flick_analysis = {'
size='.size = sizeof(struct flick_analysis)'
rest='.open = o, .rows = r, .close = c };'

wrong "missing" "$work/none.so" 'none.so: no such file'
: >"$work/empty.so"
wrong "empty" "$work/empty.so" 'empty.so: '
echo text >"$work/text.so"
wrong "text" "$work/text.so" 'text.so: '
wrong "a directory" "$work/" "$work"
variant symbol 'int other;'
wrong "no symbol" "$work/symbol.so" 'exports no flick_analysis'
variant version "$functions" "$head $size, .version = 99, .name = \"x\", $rest"
wrong "version" "$work/version.so" 'version 99 of flick/analysis.h, this flick has version 1'
variant size "$functions" "$head .size = 8, .version = 1, .name = \"x\", $rest"
wrong "size" "$work/size.so" 'smaller than version 1'
variant noname "$functions" "$head $size, .version = 1, $rest"
wrong "no name" "$work/noname.so" 'has a name that'
variant taken "$functions" "$head $size, .version = 1, .name = \"latency\", $rest"
wrong "latency" "$work/taken.so" "one of flick's own"
variant table "$functions" "$head $size, .version = 1, .name = \"threads\", $rest"
wrong "a table" "$work/table.so" 'threads'
variant norows "$functions" "$head $size, .version = 1, .name = \"x\", .open = o, .close = c };
	void *keep = r;"
wrong "no rows" "$work/norows.so" 'no rows'
variant undefined "$functions" 'extern int nowhere;' "int *p = &nowhere;" \
	"$head $size, .version = 1, .name = \"x\", $rest"
wrong "undefined" "$work/undefined.so" 'nowhere'
wrong "argument" "$work/longest.so:soon" 'does not take .soon.; it takes the shortest time'
wrong "an argument for none" "tree:deep" 'does not take .deep.; it takes nothing'
wrong "twice" "graph,tree,graph" 'called .graph.'
wrong "no such" "grapf" 'there is no analysis .grapf.'

# One that fails, or gives rows that cannot be, takes no other's result with it.
breaks() {	# WHAT NAME PATTERN
	label="$1:"
	record --all -a "$work/$2.so,latency" -- "$work/recursion"
	[ "$status" -eq 1 ] || fail "$label status $status, not 1"
	[ "$(grep -c '^flick' "$err")" -eq 1 ] && grep -q "$3" "$err" || fail "$label not said"
	exact latency
	run "$FLICK" report "$data"
	succeeded
}
variant fails "$functions" 'static int l(void *s, const struct flick_call *call, void **m,
	void **c2) { (void)s; (void)call; (void)m; (void)c2; return -5; }' \
	"$head $size, .version = 1, .name = \"x\", .leave = l, $rest"
breaks "fails at work" fails 'analysis .x. failed: Input/output error'
variant bad "$functions" 'static const struct flick_column k[] = { { "a", FLICK_COL_COUNT },
	{ "A", FLICK_COL_COUNT } };
	static int r2(void *s, struct flick_rows *x) { (void)s; (void)r; x->columns = k;
	x->n_columns = 2; x->cells = 0; x->n_rows = 0; return 0; }' \
	"$head $size, .version = 1, .name = \"x\", .open = o, .rows = r2, .close = c };"
breaks "columns of one name" bad 'its rows are not as flick/analysis.h says'
