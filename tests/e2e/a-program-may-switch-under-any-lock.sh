#!/bin/sh
# flick.h: probes are switched in a callback of the loader's while another thread is in
# dlclose(), places are met under a lock that the callback of flick_open() wants, and
# flick is opened and closed while others load and unload.
# Found before: the first two hung, the third crashed.
. "$(dirname "$0")/lib"
need "$CC"
BUILD=${BUILD:-$top/build}
libraries="$BUILD/libflick.so -Wl,-rpath,$BUILD" target circle-self -O2 $sites \
	-I"$top/include"
library dlopen-lib -O2 $sites
limit=30
alias=$(aliased)
for how in ${alias:+FLICK_TEXT= FLICK_TEXT=alias} FLICK_SYNC=signal \
	GLIBC_TUNABLES=glibc.pthread.rseq=0; do
	for case in switching telling opening; do
		label="$how $case:"
		run env $how "$work/circle-self" $case "$work/dlopen-lib.so"
		succeeded
	done
done
