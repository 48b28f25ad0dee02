#!/bin/sh
# A thread holds a lock of the loader's, of the allocator's or of the program's own, and
# meets probes, some of them for the first time, while another one is in dlopen(),
# dlclose() or fork() and wants that lock: all go on, and each call is counted.
# Found before: each of these hung for good but `unloading', which lost the calls.
. "$(dirname "$0")/lib"
alias=$(aliased)
need sqlite3 "$CC"
target circle -O2 $sites
library dlopen-lib -O2 $sites
limit=20
emulated forks || forking=forking
for case in callback allocator loading meeting unloading ${forking:-}; do
	label="$case, plain:"
	run "$work/circle" $case "$work/dlopen-lib.so"
	succeeded
	for how in "-a counts" "-a latency --all" ${alias:+"-a counts --text=alias"} "-f -a counts"; do
		label="$case, $how:"
		record --exit-code $how -- "$work/circle" $case "$work/dlopen-lib.so"
		succeeded
		exact "$(echo "$how" | grep -o 'counts\|latency')"
		lossless
	done
	for how in "-K 1 --epoch 1" "-a graph --rate=30%"; do
		label="$case, $how:"
		record --exit-code $how -- "$work/circle" $case "$work/dlopen-lib.so"
		succeeded
		conserved
	done
done
