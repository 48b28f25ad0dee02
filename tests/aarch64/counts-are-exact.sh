#!/bin/sh
# An AArch64 program's calls are counted exactly, and recorded with time, by each provider:
# profiling calls, pads with and without landing pads, XRay's sleds. A planted program that calls once
# more is told apart.
# timeout: 240
. "$(dirname "$0")/lib"

cat >"$TMP/calls.c" <<'END'
#include <stdio.h>
__attribute__((noinline)) int leaf(int x) { return x * 3 + 1; }
__attribute__((noinline)) int mid(int x)
{
	int s = 0;

	for (int i = 0; i < 10; i++)
		s += leaf(x + i);
	return s;
}
__attribute__((noinline)) int tail(int x) { return mid(x + 1); }
int main(void)
{
	int s = 0;

	for (int i = 0; i < TIMES; i++)
		s += tail(i);
	printf("%d\n", s);
	return 0;
}
END

tell()				# FUNCTION CALLS
{
	n=$(sqlite3 "$TMP/data/results.db" "select calls from ${table}_named where function = '$1'")
	[ "$n" = "$2" ] || { cat "$TMP/err"; fail "$label: $1 was called $2 times, not '$n'"; }
}

all()
{
	tell leaf $(($1 * 10))
	tell mid "$1"
	tell tail "$1"
	tell main 1
	grep -q ' 0 lost' "$TMP/events" || fail "$label: $(cat "$TMP/events")"
	grep -q ' 0 refused' "$TMP/events" || fail "$label: $(cat "$TMP/events")"
}

for flags in -finstrument-functions "-finstrument-functions -O0" \
	"-finstrument-functions -O3" "-finstrument-functions -fPIC" \
	"-finstrument-functions -fPIC -fno-plt" "-finstrument-functions -O0 -fPIC -fno-plt" \
	-fpatchable-function-entry=2 "-fpatchable-function-entry=4 -mbranch-protection=standard"
do
	label=$flags
	# shellcheck disable=SC2086
	target calls "$TMP/calls.c" -DTIMES=1000 $flags
	record calls -a counts
	table=counts
	all 1000
	[ "$(cat "$TMP/out")" = 15160000 ] || fail "$label: the program printed $(cat "$TMP/out")"
	case $flags in
	*patchable*) continue ;;
	*fPIC*) [ -n "${WHOLE:-}" ] || continue ;;
	esac
	record calls --all -a latency
	table=latency
	all 1000
done
label=xray
if command -v clang >/dev/null; then
	clang --target=aarch64-linux-gnu --sysroot="$A64_ROOT" -w -O2 -g -fxray-instrument \
		-fxray-instruction-threshold=1 -DTIMES=1000 -c -o "$TMP/calls.o" "$TMP/calls.c" &&
	aarch64-linux-gnu-gcc --sysroot="$A64_ROOT" -o "$TMP/calls" "$TMP/calls.o" || exit 1
	record calls -a counts
	table=counts
	all 1000
	record calls --all -a latency
	table=latency
	all 1000
fi
# A register that had a page of code, and was written since, makes no address of code.
for level in -O0 ${WHOLE:+-O1 -O2} -O3; do
	label="$level, named"
	target recursion "$ROOT/tests/targets/recursion.c" $level -fPIE -pie -pthread \
		-finstrument-functions
	flick list "$TMP/recursion" >"$TMP/list" 2>&1 || fail "$label: $(cat "$TMP/list")"
	grep -q ' 0 unnamed' "$TMP/list" || fail "$label: $(grep unnamed "$TMP/list")"
done
# Nor one that was overwritten on the way that leads on, if nobody jumps to what is behind.
# One that was overwritten before code went elsewhere has its page nowhere; one with which
# code goes elsewhere has it there, and makes an address in the middle of f: any may come to that.
cat >"$TMP/kept.c" <<'END'
void __cyg_profile_func_enter(void *f, void *c) { }
void __cyg_profile_func_exit(void *f, void *c) { }
__asm__(".text\n.globl f\n.type f, %function\nf: stp x29, x30, [sp, #-32]!\nstr x19, [sp, #16]\n"
	"adrp x19, f\nadd x19, x19, :lo12:f\nmov x1, x30\nmov x0, x19\n"
	"bl __cyg_profile_func_enter\nmov x1, x30\nmov x0, x19\n"
	"middle: bl __cyg_profile_func_exit\nldr x19, [sp, #16]\nldp x29, x30, [sp], #32\n"
	"ret\n.size f, .-f\n.globl g\n.type g, %function\ng: adrp x1, f\n" BETWEEN
	"1: add x0, x1, :lo12:middle\nret\n2: ret\n.size g, .-g\n");
int main(void) { return 0; }
END
for way in '"nop\nadd x1, x1, :lo12:f\ncbz x2, 1f\nmov x1, #0\n" 0' \
	'"cbz x2, 2f\nmov x1, #0\n" 0' \
	'"cbz x2, 1f\nmov x1, #0\nret\n" 2'; do
	label="a page is kept: $way"
	target kept "$TMP/kept.c" "-DBETWEEN=${way% *}"
	flick list "$TMP/kept" >"$TMP/list" 2>&1 || fail "$label: $(cat "$TMP/list")"
	grep -q " ${way##* } unnamed" "$TMP/list" || fail "$label: $(cat "$TMP/list")"
done
# Who waits beside is a thread there: it is so also once it has looked whether anybody is
# left, which it does when a second has passed, and does not tell that main() is open.
label="a program of two seconds"
cat >"$TMP/long.c" <<'END'
#include <unistd.h>
int main(void) { return usleep(2000000); }
END
target long "$TMP/long.c" -finstrument-functions
few=			# in the room that is had without an option
record long
few=--threads=64
sqlite3 "$TMP/data/results.db" "select calls, open from latency" >"$TMP/got"
[ "$(cat "$TMP/got")" = "1|0" ] || fail "$label: calls of main, and open ones: $(cat "$TMP/got")"
label="one more"
target calls "$TMP/calls.c" -DTIMES=1001 -finstrument-functions
record calls -a counts
table=counts
(all 1000) >/dev/null && fail "a call more is not told"
all 1001
