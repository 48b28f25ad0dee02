#!/bin/sh
# A library is gone, and the loader not done: the program's own free() keeps it. Epochs
# begin meanwhile, and the library's functions are not among those that they re-arm.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
target own-malloc -O2 $sites
library dlopen-lib -O2 $sites
for text in $(texts); do
	label="$text:"
	record --text=$text -K 1 --epoch 1 -- "$work/own-malloc" "$work/dlopen-lib.so" 10 10000
	succeeded
	conserved
	n=$(sql "select sum(calls) from $(rows latency) where name like 'lib_%'")
	[ "$n" -gt 10 ] || fail "$label $n samples in the library"
done
