#!/bin/sh
# Counts, edges and contexts are the same whether one thread drains the rings or
# three do; also while libraries come and go, and when the target is killed.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

# An edge, or a context as the path of functions to it, and how often.
edges='select c.name, f.name, sum(g.calls) from graph g
	join functions f on f.id = g.function
	left join functions c on c.id = g.caller group by 1, 2 order by 1, 2'
contexts='with recursive path(id, names, calls) as (
	select t.id, f.name, t.calls from tree t
		join functions f on f.id = t.function where t.parent is null
	union all
	select t.id, p.names || ";" || f.name, t.calls from tree t
		join path p on t.parent = p.id join functions f on f.id = t.function)
	select names, sum(calls) from path group by names order by names'

target threads -O2 $sites
for readers in 1 3; do
	label="$readers readers:"
	record --readers $readers -a latency,graph,tree -- "$work/threads" 8 20000
	succeeded
	exact latency
	lossless
	sql "$edges" >"$work/edges.$readers"
	sql "$contexts" >"$work/contexts.$readers"
	[ "$(sql "select count(*) from threads where delivered > 0")" = 9 ] ||
		fail "$label not 9 threads"
	record --readers $readers -a counts -- "$work/threads" 8 20000
	succeeded
	exact counts
	lossless
done
cmp "$work/edges.1" "$work/edges.3" || fail "other edges"
cmp "$work/contexts.1" "$work/contexts.3" || fail "other contexts"
[ "$(wc -l <"$work/contexts.1")" -gt 5 ] || fail "hardly any contexts"

label="dlopen:"
target dlopen -O2 $sites
library dlopen-lib -O2 $sites
record --readers 4 -a latency --all -- "$work/dlopen" "$work/dlopen-lib.so" 40
succeeded
exact latency
lossless

label="a third party's, dlopen:"
"$CC" -shared -fPIC -I"$top/include" "$top/examples/own-analysis.c" -o "$work/longest.so" ||
	fail "longest.so"
record --readers 4 -a "$work/longest.so,latency" --all -- "$work/dlopen" \
	"$work/dlopen-lib.so" 40
succeeded
bad=$(sql "select l.function from longest l join latency m on m.function = l.function
	where l.calls <> m.calls")
[ -z "$bad" ] || fail "$label other calls of" $bad

label="killed:"
target crash -O2 $sites
record --readers 2 --all -- "$work/crash" segv
lossless
exact latency

label="one slot each:"
target short-threads -O2 $sites
record --readers 16 -a counts -- "$work/short-threads"
succeeded
conserved

label="mistakes:"
run "$FLICK" record --readers 17 -- "$work/threads"
one_line_error 2 "readers"
run "$FLICK" record --readers 0 -- "$work/threads"
one_line_error 2 "readers"
run "$FLICK" record --readers 2 --trace -- "$work/threads"
one_line_error 2 "cannot be used with --trace"
printf '%s\n' '#include <flick/analysis.h>' \
	'static int o(void **s, const struct flick_view *v, const char *a)' \
	'{ (void)v; (void)a; *s = 0; return 0; }' \
	'static int r(void *s, struct flick_rows *x) { (void)s; (void)x; return 0; }' \
	'static void c(void *s) { (void)s; }' \
	'const struct flick_analysis flick_analysis = {' \
	'.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,' \
	'.name = "lone", .about = "a", .open = o, .rows = r, .close = c };' >"$work/lone.c"
"$CC" -shared -fPIC -I"$top/include" "$work/lone.c" -o "$work/lone.so" || fail "lone.so"
run "$FLICK" record --readers 2 -a "$work/lone.so" -- "$work/threads"
one_line_error 2 "has no .merge."
