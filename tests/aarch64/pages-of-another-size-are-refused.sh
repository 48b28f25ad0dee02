#!/bin/sh
# Where the kernel's pages have 16 or 64 KiB nothing is recorded: flick says so, and the program has not
# run. With pages of 4 KiB it does.
. "$(dirname "$0")/lib"

printf '#include <stdio.h>\nint main(void) { puts("ran"); return 0; }\n' >"$TMP/one.c"
target one "$TMP/one.c"
plain=$EMULATOR
for kib in 16 64; do
	EMULATOR="$plain -p $((kib * 1024))"
	flick record --text=kick -o "$TMP/data" "$TMP/one" >"$TMP/out" 2>"$TMP/err" &&
		fail "$kib KiB: it is recorded"
	grep -q "pages of this kernel have $kib KiB; flick is built for those of 4" "$TMP/err" ||
		fail "$kib KiB: $(cat "$TMP/err")"
	[ ! -s "$TMP/out" ] || fail "$kib KiB: the program ran"
	[ ! -e "$TMP/data" ] || fail "$kib KiB: a recording was begun"
done
EMULATOR=$plain
record one -a counts
grep -q '^ran$' "$TMP/out" || fail "4 KiB: $(cat "$TMP/err")"
