#!/bin/sh
# Nearly all functions of clang are its libraries': who records all of them waits for seconds,
# and is told what to ask for. Who has asked is not.
. "$(dirname "$0")/lib"
need clang
ln -s "$(realpath "$(command -v clang)")" "$work/link"
record -- "$work/link" --version
grep -q "^flick: it took .* s to make all functions' probes ready, .* -P 'clang!\*' records" \
	"$err" || fail "$(cat "$err")"
record -P 'clang!*' -- clang --version
! grep -q 'it took' "$err" || fail "$(cat "$err")"
