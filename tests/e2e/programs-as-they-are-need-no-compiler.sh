#!/bin/sh
# A stripped -O2 program without any site, and a library that it brings: counted and timed
# by name or by offset, alone and with what patterns name; what cannot be had is said with
# a reason and a number, by list, doctor, --why and the last line.
. "$(dirname "$0")/lib"
need sqlite3 strip "$CC"
cat >"$work/part.c" <<'END'
__attribute__((noinline)) static int inner(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
int part(int n) { int s = 0; for (int i = 0; i < n; i++) s = inner(s); return s; }
END
cat >"$work/whole.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
int part(int);
__attribute__((noinline)) void *asks(void) { void *p = dlsym(RTLD_DEFAULT, "part"); __asm__ volatile("" : "+r"(p)); return p; }
__attribute__((noinline)) int step(int x) { __asm__ volatile("" : "+r"(x)); return x + part(3); }
int main(int argc, char **argv)
{
	int sum = asks() != 0;

	for (int i = 0; i < 1000; i++)
		sum = step(sum);
	for (int i = 0; i < 10; i++)
		free(strdup(argv[argc - 1]));
	return sum != 3001;
}
END
compile "$work/libpart.so" "$work/part.c" -O2 -shared -fPIC
compile "$work/whole" "$work/whole.c" -O2 -D_GNU_SOURCE -rdynamic -Wl,--no-as-needed "$work/libpart.so" \
	-Wl,-rpath,"$work"
strip "$work/libpart.so" "$work/whole"

calls() {	# NAME NUMBER
	got=$(sql "select coalesce(sum(calls), 0) from $(rows "${table:-counts}") where name like '$1'")
	[ "$got" = "$2" ] || fail "$label $got calls of $1, not $2"
}

label="all:"
record -a counts -- "$work/whole"
succeeded
lossless
calls main 1
calls step 1000
calls part 1000
# Beside it are some of the compiler's own, called once.
[ "$(sql "select max(calls) from $(rows counts) where name like 'libpart.so!0x%'")" = 3000 ] ||
	fail "$label not 3000 calls of what has no name"
calls asks 0
calls '%strdup' 0
tail -n 1 "$err" | grep -Eq '; bodies: ([4-9]|1[0-9]) functions, [1-9] refused$' || fail "$label account"
nameless=$(sql "select name from functions where name like 'libpart.so!0x%' and id in
	(select function from counts where calls = 3000)")

label="--why:"
record -a counts --why -- "$work/whole"
grep -Eq '^flick: 1 function refused: it calls dlopen.* \(asks\)$' "$err" || fail "$label"

label="times:"
table=latency
record -a latency --all -- "$work/whole"
succeeded
calls step 1000
table=

label="a nameless one:"
record -a counts -P "$nameless" -- "$work/whole"
succeeded
calls "$nameless" 3000
calls step 0

label="of the C library:"
record -a counts -P 'libc.so*!*strdup' -- "$work/whole"
calls '%strdup' 10

label="one-liners:"
run "$FLICK" count step part -- "$work/whole"
grep -q '^step  *1000$' "$out" && grep -q '^part  *1000$' "$out" || fail "$label count"
run "$FLICK" latency step -- "$work/whole"
grep -q 'count: 1000$' "$out" || fail "$label latency"

label="--provider:"
record --provider=cyg,xray -- "$work/whole"
one_line_error 1 'no probe sites of the kinds that --provider names'
record --provider=nonsense -- "$work/whole"
one_line_error 2 'cyg, patchable, xray, body, plt or point, not `nonsense`'
record -P 'ld-linux*!*' -- "$work/whole"
one_line_error 1 'the dynamic loader never has probes'

label="list:"
run "$FLICK" list "$work/whole"
succeeded
grep -Eq '^0x[0-9a-f]+ +[0-9]+ body +entry\+1 .* step$' "$out" || fail "$label step"
grep -Eq ' body +entry +- +asks  no: it calls dlopen' "$out" || fail "$label asks"
grep -q '; bodies: [2-9] functions, [1-9] refused$' "$err" || fail "$label sum"
run "$FLICK" list --json "$work/whole" step
grep -q '"provider": "body".*"function": "step", "exits": 1, .*"reason": null' "$out" ||
	fail "$label json"
label="doctor:"
run "$FLICK" doctor "$work/whole"
grep -q '^functions  *ok: [2-9] of [3-9] as they are' "$out" || fail "$label"
