#!/bin/sh
. "$(dirname "$0")/lib"
need "$CC"
target recursion -O2 $sites
record -a counts -P factorail -- "$work/recursion"
one_line_error 1 factorial
! grep -q '^count' "$out" || fail "the program ran"
record --match=regex -P '(' -- "$work/recursion"
label="broken expression:"
one_line_error 2 "pattern|regular expression"
run "$FLICK" list "$work/recursion" 'fibb*'
label="list:"
one_line_error 1 fib
