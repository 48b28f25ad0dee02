#!/bin/sh
# gdb that comes to a program whose functions run in second bodies shows each caller, under
# its function's name, to the end; and so does gdb that starts it, for which bodies come
# later.
. "$(dirname "$0")/lib"
no_emulator ptrace
need gdb
export TRUTH_THREADS= FLICK_BODIES=1
cat >"$work/deep.c" <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int depth;
__attribute__((noipa)) int inner(int x)
{
	printf("%d\n", getpid());
	fflush(stdout);
	while (!depth)
		pause();
	l64a(x);
	return x + 1;
}
__attribute__((noipa)) int middle(int x) { return inner(x + 1) * 2; }
__attribute__((noipa)) int outer(int x) { return middle(x * 3) - 1; }
int main(int argc, char **argv)
{
	depth = argc > 1;
	return outer(argc) == 12345;
}
END_C
compile "$work/deep" "$work/deep.c" -O2 -fno-omit-frame-pointer
compile "$work/bare" "$work/deep.c" -O2 -fomit-frame-pointer

callers() {	# GDB'S OUTPUT: a word for each frame that is a body's
	sed -n 's|^#[0-9]* .* \([a-z]*\)[.[]flick\]* ().*|\1|p' "$1" | tr '\n' ' '
}

for program in deep bare; do
	label="$program:"
	: >"$out"
	"$FLICK" record -a counts -o "$data" -- "$work/$program" >"$out" 2>"$err" &
	recorder=$!
	until [ -s "$out" ]; do
		kill -0 $recorder 2>/dev/null || fail "$label it did not start"
	done
	pid=$(cat "$out")
	gdb -nx -batch -p "$pid" -ex bt >"$work/gdb" 2>&1
	kill "$pid"
	wait $recorder
	! grep -q 'not permitted' "$work/gdb" || skip "nobody may be traced here"
	[ "$(callers "$work/gdb")" = "inner middle outer main " ] ||
		fail "$label callers: $(cat "$work/gdb")"
	grep -q ' _start ()' "$work/gdb" || fail "$label it ends before the end"

	gdb -nx -batch -ex 'set follow-fork-mode child' -ex 'set breakpoint pending on' \
		-ex 'break l64a' -ex run -ex bt --args "$FLICK" record -a counts \
		-o "$data" -- "$work/$program" 1 >"$work/gdb" 2>&1 </dev/null
	[ "$(callers "$work/gdb")" = "inner middle outer main " ] ||
		fail "$label started by gdb, callers: $(cat "$work/gdb")"
done
