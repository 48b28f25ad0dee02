#!/bin/sh
# A library of several megabytes, which the kernel puts where its pages may be large ones, comes
# back to where it was, as without flick, and has its bodies there.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target by-turns -O2
library by-turns-lib -O2 -DTURN=1 -DLARGE -Wl,--build-id
record --wait -a counts -- "$work/by-turns" 20 "$work/by-turns-lib.so"
succeeded
conserved
[ "$(sql "select sum(calls) from counts_named where function = 'turn'")" = 20 ] ||
	fail "not all calls"
n=$(sql "select count(*) from modules where path like '%/by-turns-lib.so'")
[ "$n" = 1 ] || fail "it was at $n places"
