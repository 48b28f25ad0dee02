#!/bin/sh
# A compiler's functions are timed when they are called first, and cold, and thousands of calls
# follow that take a hundredth. By default no total that timed calls stand for is more than
# what samples know: all the time in which the program did not run, and those that stood in it.
# On busy processors that is no bound.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
no_emulator perf_event_open
cc1=$("$CC" -print-prog-name=cc1)
[ -x "$cc1" ] || skip "no cc1"
for i in $(seq 400); do
	echo "struct s$i { int a, b[7]; double c; };"
	echo "double f$i(struct s$i *p, int n) { double t = 0; for (int i = 0; i < n; i++) {"
	echo "p[i].a += i * n; if (p[i].a & 4) t += p[i].c / (i + $i); else t -= p[i].b[i & 3];"
	echo "switch (i & 7) { case 1: t *= 2; break; case 3: t += n; break; case 5: p->a--; } }"
	echo "return t; }"
done >"$work/many.c"
awk -v cpus="$(nproc)" '{ exit $1 > cpus }' /proc/loadavg || skip "other programs run"
record -- "$cc1" -quiet -O2 "$work/many.c" -o "$work/many.s"
succeeded
set -- $(sql "select (select max(total_ns) from latency) - sum(self_ns), count(*),
	sum(calls > 2 * sampled and stack_samples is null) from latency")
[ "$2" -gt 1000 ] && [ "$3" -gt 100 ] || fail "$2 functions, $3 of which few calls were timed"
most=$(($1 + 300000000))
run "$FLICK" dump --format=folded "$data"
succeeded
awk '{ n = $NF; sub(/ [0-9]+$/, ""); split("", met); k = split($0, of, ";")
		for (i = 1; i <= k; i++) {
			f = of[i]
			sub(/[(].*/, "", f)
			if (!(f in met)) { met[f]; in_calls[f] += n }
		} }
	END { for (f in in_calls) print in_calls[f], f }' "$out" >"$work/in-calls"
sql "select total_ns, name from $(rows latency)
	where calls > 2 * sampled and stack_samples is null and total_ns > $most" |
	awk -v most=$most '{ n = $1; sub(/^[0-9]+ /, ""); sub(/[(].*/, "") } NR == FNR { in_calls[$0] = n; next }
		n > most + 1.5 * in_calls[$0] + 1.5 * in_calls["[...]"] { print n, $0 }' \
		"$work/in-calls" - >"$work/beyond"
# Stacks that are cut may hide some more of a few.
[ "$(wc -l <"$work/beyond")" -le 2 ] ||
	fail "more than $most ns: $(head -n 3 "$work/beyond" | tr '\n' ' ')"
