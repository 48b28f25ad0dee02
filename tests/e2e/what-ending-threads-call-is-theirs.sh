#!/bin/sh
# Destructors of thread-specific data, of thread_local objects and of the program,
# handlers that end their thread, functions at exit: each thread's count is exact.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"

check() {
	for how in keys handler altstack exit; do
		label="$how $level $1:"
		record $1 -- "$work/afterlife" $how
		accounted "$2"
	done
	label="thread_local $level $1:"
	# Not the functions that the compiler makes to initialise.
	record $1 -P main -P worker -P leaf -P farewell -- "$work/thread-local"
	accounted "$2"
}
for level in -O0 -O2; do
	target afterlife $level $sites
	target thread-local $level $sites
	exhaustively check
done
