#!/bin/sh
# Threads call b and a, over and over, of which one is recorded and the other is not; each
# change swaps them. A thread's records are a run of the one, then a run of the other: as many
# runs as changes, and one more. A change that came to a thread bit by bit makes three of one.
#
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator names
need sqlite3 "$CC"
cat >"$work/runs.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <flick/analysis.h>
static const struct flick_column columns[] = { { "runs", FLICK_COL_COUNT } };
enum { THREADS = 64 };
struct state { const struct flick_view *view; uint64_t runs[THREADS]; uint32_t last[THREADS]; };
static int o(void **s, const struct flick_view *v, const char *a)
{
	struct state *n = calloc(1, sizeof(*n));
	(void)a;
	if (n)
		n->view = v;
	*s = n;
	return n ? 0 : -12;
}
static int b(void *state, uint32_t thread, const struct flick_record *r, size_t n)
{
	struct state *s = state;
	for (size_t i = 0; i < n && thread < THREADS; i++) {
		const struct flick_tag *t = &s->view->tags[r[i].probe];
		const char *name = s->view->name(s->view, t->function);
		if (strcmp(name, "a") && strcmp(name, "b"))
			continue;
		s->runs[thread] += s->last[thread] != t->function + 1;
		s->last[thread] = t->function + 1;
	}
	return 0;
}
static int rows(void *state, struct flick_rows *x)
{
	struct state *s = state;
	uint64_t most = 0;
	for (int i = 0; i < THREADS; i++)
		most = s->runs[i] > most ? s->runs[i] : most;
	x->columns = columns;
	x->n_columns = 1;
	x->n_rows = 1;
	x->cells = calloc(1, sizeof(*x->cells));
	x->cells[0] = most;
	return 0;
}
static void c(void *s) { free(s); }
const struct flick_analysis flick_analysis = {
	.size = sizeof(struct flick_analysis), .version = FLICK_ANALYSIS_VERSION,
	.name = "runs", .about = "runs", .needs = FLICK_NEEDS_CALLS, .open = o, .batch = b,
	.rows = rows, .close = c,
};
END
$CC -w -shared -fPIC -O2 -I"$top/include" "$work/runs.c" -o "$work/runs.so" || fail "runs.so"

swap() {	# COMPILER'S FLAGS
	target steps -O1 $1
	rm -rf "$data" "$work/to" "$work/from"
	mkfifo "$work/to" "$work/from"
	"$FLICK" record -o "$data" -a "$work/runs.so" -P a -P b -U b -- "$work/steps" \
		<"$work/to" >"$work/from" 2>"$err" &
	recorder=$!
	exec 8>"$work/to" 9<"$work/from"
	read -r ready <&9
	target=$(program_of "$recorder" steps)
	for i in 1 2; do
		say loop >&8
		read -r ready <&9
	done
	changes=0
	while [ $changes -lt 60 ]; do
		printf 'stage off a\nstage on b\n' | "$FLICK" ctl -p "$target" - >"$out" 2>&1 ||
			fail "$1: change $changes"
		printf 'stage on a\nstage off b\n' | "$FLICK" ctl -p "$target" - >"$out" 2>&1 ||
			fail "$1: change $changes"
		changes=$((changes + 2))
	done
	say quit >&8
	exec 8>&- 9<&-
	wait "$recorder" || fail "$1: record"
	runs=$(sql "select runs from \"$(sql "select name from results")\"")
	[ "$runs" -le $((changes + 1)) ] || fail "$1: $runs runs of $changes changes"
	[ "$runs" -gt 1 ] || fail "$1: no change was seen"
}

swap $sites
swap -fno-inline
