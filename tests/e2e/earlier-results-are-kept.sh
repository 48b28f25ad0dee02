#!/bin/sh
# One more recording into the same directory: the one before stays as DIR.old. Two
# at the same time cannot be.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target recursion -O2 $sites

calls() {	# DIRECTORY
	run "$FLICK" report --format=csv "$1"
	succeeded
	grep -c , "$out"
}

record -a counts -- "$work/recursion"
succeeded
all=$(calls "$data")
for dir in "$data" "$data/"; do
	run "$FLICK" record -a counts -P fib -o "$dir" -- "$work/recursion"
	succeeded
	[ "$(calls "$data")" -eq 2 ] || fail "$dir: not the new results"
	[ "$(calls "$data.old")" -eq "$all" ] || fail "$dir: the old ones are gone"
	all=2
done
label="a recording that fails:"
run "$FLICK" record -a counts -P nonsense -o "$data" -- "$work/recursion"
[ "$status" -eq 1 ] || fail "$label status $status"
[ "$(calls "$data")" -eq 2 ] || fail "$label it took the results along"

# A directory of other things is left alone.
label="others' files:"
mkdir "$work/others"
echo mine >"$work/others/notes"
run "$FLICK" record -a counts -o "$work/others" -- "$work/recursion"
one_line_error 1 'it has `notes` in it, which is not flick.s; use -o for another directory'
[ "$(ls "$work/others")" = notes ] || fail "$label something was made there"
mv "$work/others/notes" "$work/others/results.db.tmp"
run "$FLICK" record -a counts -o "$work/others" -- "$work/recursion"
succeeded

# `.` is another name for it, not a place of its own.
label="-o .:"
(cd "$data" && "$FLICK" record -a counts -o . -- "$work/recursion") >"$out" 2>"$err"
[ $? -eq 0 ] || fail "$label it fails"
[ "$(calls "$data")" -gt 2 ] || fail "$label not the new results"
[ "$(calls "$data.old")" -eq 2 ] || fail "$label the old ones are not in DIR.old"
[ -z "$(find "$data" -name '*.old')" ] || fail "$label the old ones are below the new"

# Two at once: the second is refused before its program starts, and harms nothing.
cat >"$work/hold.c" <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) static void before(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void after(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	char link[64], to[4096];

	(void)argc;
	for (int fd = 0; fd < 256; fd++) {
		ssize_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, to, sizeof(to) - 1);
		if (n > 0)
			printf("open %.*s\n", (int)n, to);
	}
	before();
	fclose(fopen(argv[1], "w"));
	fgetc(fopen(argv[2], "r"));
	after();
	return 0;
}
END
compile "$work/hold" "$work/hold.c" -O1 $sites
mkfifo "$work/ready" "$work/go"
hold() {
	"$FLICK" record --trace -a counts -o "$data" -- "$work/hold" "$work/ready" "$work/go" \
		>"$work/held" 2>&1 </dev/null &
	first=$!
	timeout 30 cat "$work/ready" || fail "$label the first does not begin"
}
rm -rf "$data" "$data.old"
label="two at once:"
hold
run "$FLICK" record --trace -o "$data" -- "$work/recursion"
one_line_error 1 'another flick is recording into it'
! grep -q '^count' "$out" || fail "$label the second program ran"
echo >"$work/go"
wait $first || fail "$label the first fails"
! grep "^open .*$data" "$work/held" || fail "$label the target has the lock"
run "$FLICK" report "$data"
succeeded
grep -q ' 1  after$' "$out" || fail "$label the first's results are not whole"
run "$FLICK" dump --format=chrome "$data"
succeeded
[ ! -e "$data.old" ] && [ "$(ls "$data" | wc -l)" -eq 2 ] || fail "$label something is left"

# The lock ends with flick, not with what it started.
label="killed:"
hold
kill -9 $first
wait $first 2>/dev/null
run "$FLICK" record -a counts -o "$data" -- "$work/recursion"
succeeded
echo >"$work/go"
