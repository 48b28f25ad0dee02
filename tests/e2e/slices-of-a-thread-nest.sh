#!/bin/sh
# In `dump --format=chrome` two slices of a thread lie one in the other, or apart: under
# recursion, tail calls, exceptions, on coroutines' stacks and in signal handlers. All
# lie within the recording's time. So with --raw, where they are as long as measured.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"

# Of each thread by begin, outermost first; the ends of those that are open are a stack.
# Times have three places: without the point they are nanoseconds.
nest() {
	run "$FLICK" dump --format=chrome "$@" "$data"
	succeeded
	grep '"ph":"X"' "$out" | sed 's/.*"tid":\([0-9]*\).*"ts":\([0-9]*\)\.\([0-9]*\),"dur":\([0-9]*\)\.\([0-9]*\)}.*/\1 \2\3 \4\5/' |
		awk '{ printf "%d %.0f %.0f\n", $1, $2, $2 + $3 }' |
		LC_ALL=C sort -k1,1n -k2,2n -k3,3nr >"$work/slices"
	bad=$(awk -v last="$(sql "select value from session where key = 'duration_ns'")" '
		NF != 3 || $3 < $2 { print "no slice: " $0; exit }
		$1 != tid { tid = $1; n = 0 }
		{
			while (n && end[n] <= $2)
				n--
			if (n && $3 > end[n])
				bad = bad ? bad : $0 " ends after the one around it, " end[n]
			if ($3 > last)
				bad = bad ? bad : $0 " ends after the recording, " last
			end[++n] = $3
		}
		END { if (bad) print bad; if (!NR) print "none" }' "$work/slices")
	[ -z "$bad" ] || fail "$label $* $bad"
}
all_of_them() {	# A thread that waits for others takes as long in either.
	awk '{ sum += $3 - $2 } END { printf "%.0f\n", sum }' "$work/slices"
}

check() {	# PROGRAM ARGUMENT...
	name=$1
	shift
	record --trace -- "$work/$name" "$@"
	succeeded
	nest
	own=$(all_of_them)
	nest --raw
	[ "$(all_of_them)" -gt "$own" ] || fail "$label measured $(all_of_them) ns, no more than $own"
}
for t in recursion longjmp exceptions sigaltstack "threads 8 2000"; do
	label="$t:"
	target ${t%% *} -O1 $sites
	check $t
done

label="tail calls:"
cat >"$work/tail.c" <<'END'
static volatile long sum;
__attribute__((noipa)) void leaf(void) { sum++; }
__attribute__((noipa)) void last(void) { leaf(); }
__attribute__((noipa)) void middle(int n) { leaf(); if (n) middle(n - 1); else last(); }
int main(void)
{
	for (int i = 0; i < 3000; i++)
		middle(i % 7);
	return 0;
}
END
compile "$work/tail" "$work/tail.c" -O2 $sites
check tail

# Of two coroutines the one that began first ends first: neither slice lies in the other.
label="coroutines:"
cat >"$work/turns.c" <<'END'
#include <sys/mman.h>
#include <ucontext.h>
enum { BYTES = 64 << 20 };	/* no call moves as far */
static ucontext_t back, context[2];
static char *stack[2];
__attribute__((noipa)) void work(int i)
{
	swapcontext(&context[i], &back);
}
static void first(void) { work(0); }
static void second(void) { work(1); }
int main(void)
{
	void (*const run[2])(void) = { first, second };

	for (int i = 0; i < 2; i++)
		stack[i] = mmap(0, BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (int n = 0; n < 100; n++) {
		for (int i = 0; i < 2; i++) {
			getcontext(&context[i]);
			context[i].uc_stack.ss_sp = stack[i];
			context[i].uc_stack.ss_size = BYTES;
			context[i].uc_link = &back;
			makecontext(&context[i], run[i], 0);
			swapcontext(&back, &context[i]);
		}
		for (int i = 0; i < 2; i++)
			swapcontext(&back, &context[i]);
	}
	return 0;
}
END
compile "$work/turns" "$work/turns.c" -O1 $sites
check turns
pairs=$(sql "select count(*) from json_each(readfile('$out'), '\$.traceEvents')
	where json_extract(value, '\$.ph') = 'b'")
[ "$pairs" -ge 100 ] || fail "$label $pairs calls that cross another"
