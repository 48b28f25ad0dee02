#!/bin/sh
# flick list -p PID has what flick list FILE has of each file that a recording of the process
# would take functions of; a file that was replaced is left out; the process is not touched.
. "$(dirname "$0")/lib"
no_emulator names
need "$CC"
cat >"$work/part.c" <<'C'
int in_part(int n) { return n * 3; }
C
cat >"$work/waits.c" <<'C'
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
__asm__(".text\n\t.space 8192, 0x90");
int in_part(int);
__attribute__((noinline)) int in_waits(int n) { return in_part(n) + 1; }
int main(void)
{
	/* its code has two mappings */
	mprotect((void *)((uintptr_t)main & -4096), 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	printf("%d\n", in_waits(2));
	fflush(stdout);
	getchar();
	return 0;
}
C
"$CC" -O1 -fPIC -shared -o "$work/libpart.so" "$work/part.c" &&
"$CC" -O1 -o "$work/waits" "$work/waits.c" -L"$work" -lpart -Wl,-rpath,"$work" ||
	fail "cannot build"
mkfifo "$work/in"
"$work/waits" <"$work/in" >"$out" &
child=$!
exec 3>"$work/in"
for i in $(seq 200); do
	! [ -s "$out" ] || break
	sleep 0.05
done
cp "/proc/$child/maps" "$work/maps"

list() {
	"$FLICK" list "$@" >"$work/list" 2>"$err"
}

label="its files:"
list -p $child || fail "$label $(cat "$err")"
sed -n "s,^\(/.*\):\$,\1,p" "$work/list" | sort >"$work/files"
printf '%s\n' "$work/libpart.so" "$work/waits" | sort | diff - "$work/files" >"$work/diff" ||
	fail "$label $(cat "$work/diff")"
for file in waits libpart.so; do
	list "$work/$file"
	cp "$work/list" "$work/alone"
	list -p $child
	sed -n "\\,^$work/$file:\$,,\\,^/,p" "$work/list" | grep -v '^/' |
		diff "$work/alone" - >"$work/diff" || fail "$label $file: $(cat "$work/diff")"
done

label="patterns:"
list -p $child in_part || fail "$label $(cat "$err")"
[ "$(grep -c in_part "$work/list")" = 1 ] || fail "$label $(cat "$work/list")"
! grep -q in_waits "$work/list" || fail "$label more than is asked for"
list -p $child 'libc.so*!getpid' || fail "$label $(cat "$err")"
grep -q getpid "$work/list" || fail "$label the C library is not named in vain"
list -p $child no_such_function && fail "$label what is not there is found"
grep -q "no function with a probe matches .no_such_function.; .flick list -p $child" "$err" ||
	fail "$label $(cat "$err")"

label="json:"
list --json -p $child in_part || fail "$label $(cat "$err")"
head -n 1 "$work/list" | grep -qF "{\"module\": \"$work/libpart.so\", \"address\": " ||
	fail "$label $(cat "$work/list")"

label="replaced:"
cp "$work/libpart.so" "$work/other.so"
mv "$work/other.so" "$work/libpart.so"
cp "$work/libpart.so" "$work/libpart.so (deleted)"	# as the system calls the first one
list -p $child || fail "$label $(cat "$err")"
grep -q "libpart.so.* is not the file any more that process $child has its code from" "$err" ||
	fail "$label $(cat "$err")"
! grep -q in_part "$work/list" || fail "$label it is listed"

label="the process:"
cmp -s "/proc/$child/maps" "$work/maps" || {
	sed "s,libpart.so (deleted),libpart.so," "/proc/$child/maps" | sed 's/ *$//' >"$work/now"
	sed 's/ *$//' "$work/maps" | diff - "$work/now" >"$work/diff" ||
		fail "$label $(cat "$work/diff")"
}
echo >&3
exec 3>&-
wait $child || fail "$label ended with $?"
[ "$(cat "$out")" = 7 ] || fail "$label $(cat "$out")"

label="mistakes:"
list -p $child && fail "$label a process that has ended"
grep -q "there is no process $child" "$err" || fail "$label $(cat "$err")"
list -p $$ --path 1 && fail "$label --path"
grep -q 'has no --path' "$err" || fail "$label $(cat "$err")"
exit 0
