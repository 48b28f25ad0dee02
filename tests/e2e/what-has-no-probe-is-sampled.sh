#!/bin/sh
# A program of which no function can have a probe: by default samples tell where its time
# goes, and that no calls are counted is said. Who asks for more, or where the system gives
# no samples, is told as ever that there is nothing.
. "$(dirname "$0")/lib"
x86_target np
need sqlite3 "$CC"
cat >"$work/np.S" <<'END'
	.globl	_start
_start:
	mov	$1000000000, %rcx
again:	dec	%rcx
	jnz	again
	mov	$7, %edi
	call	exit@plt
	.section .note.GNU-stack, "", @progbits
END
compile "$work/np" "$work/np.S" -nostartfiles

label="by default:"
run "$FLICK" record -o "$data" --exit-code -- "$work/np"
[ "$status" -eq 7 ] || fail "$label status $status"
grep -q '^flick: .*np and its libraries have no function that can have a probe; samples alone' \
	"$err" || fail "$label it is not said"
grep -q '^events: 0 produced, 0 delivered, 0 lost; probes: 0 active' "$err" ||
	fail "$label $(tail -n 1 "$err")"
set -- $(sql "select sum(self_ns), max(self_ns), sum(calls is not null) from latency")
[ "$2" -gt $(($1 * 9 / 10)) ] || fail "$label $2 of $1 ns are in the loop"
[ "$3" -eq 0 ] || fail "$label calls"
run "$FLICK" report "$data"
{ grep -q '^  times are CPU time, from [0-9]* samples ' "$out" &&
	grep -q '^  no calls were counted' "$out"; } ||
	fail "$label the report: $(head -n 1 "$out")"
grep -q ' [019]*\.[0-9][0-9]  *-  *-  *-  *-  \[np\]$' "$out" || fail "$label no row of np"

label="all is refused:"
cat >"$work/refused.c" <<'END'
long caml_frametable[1];		/* as OCaml's programs have it */
int main(void)
{
	for (long i = 1000000000; i--;)
		__asm__ volatile("");
	return 0;
}
END
compile "$work/refused" "$work/refused.c" -O1 -rdynamic
record -- "$work/refused"
succeeded
grep -q '^flick: the one probe cannot be used: .*runtime.*; samples alone tell' "$err" ||
	fail "$label it is not said"
[ "$(grep -c 'samples alone' "$err")" -eq 1 ] || fail "$label it is said twice"
[ "$(sql "select max(self_ns) * 10 > sum(self_ns) * 9 from latency")" -eq 1 ] ||
	fail "$label not of main"

label="it runs already:"
"$work/np" &
run "$FLICK" record -p $! -o "$data"
succeeded
grep -q 'samples alone tell' "$err" || fail "$label it is not said"
[ "$(sql "select count(*) from latency where self_ns > 0")" -gt 0 ] || fail "$label no times"

nothing='have no function that can have a probe; -P '
for how in "-a counts" "--all" "-a graph" "-a latency" "--trigger x>5ms --last 2s"; do
	label="$how:"
	record $how -- "$work/np"
	one_line_error 1 "$nothing"
done
label="a pattern:"
record -P _start -- "$work/np"
[ "$status" -eq 1 ] || fail "$label status $status"

# Of a tree that is known at its end.
label="a tree:"
run "$FLICK" record --follow -o "$data" --exit-code -- "$work/np"
[ "$status" -eq 7 ] || fail "$label status $status"
grep -q '^flick: neither .*np nor what it started has a function .*; samples alone' "$err" ||
	fail "$label it is not said"
[ "$(sql "select max(self_ns) * 10 > sum(self_ns) * 9 from latency")" -eq 1 ] ||
	fail "$label not of the loop"
label="a tree, all is refused:"
run "$FLICK" record --follow -o "$data" --exit-code -- "$work/refused"
succeeded
[ "$(grep -c 'samples alone' "$err")" -eq 1 ] || fail "$label it is not said once"
[ "$(sql "select max(self_ns) * 10 > sum(self_ns) * 9 from latency")" -eq 1 ] ||
	fail "$label not of main"
label="a tree, counted:"
record --follow -a counts -- "$work/np"
one_line_error 1 'neither .*np nor what it started has probe sites'

label="no samples:"
target deny -O1
"$work/deny" perf true || skip "no filters"
run "$work/deny" perf "$FLICK" record -o "$data" -- "$work/np"
one_line_error 1 "$nothing"
run "$work/deny" perf "$FLICK" record --follow -o "$data" -- "$work/np"
one_line_error 1 'neither .*np nor what it started has probe sites'
