#!/bin/sh
# Threads that block every signal; a program that owns SIGTRAP, also where cores are
# synchronised by a signal; with libraries that come and go meanwhile. Handlers that
# leave by siglongjmp(), wherever their thread is.
. "$(dirname "$0")/lib"
need sqlite3
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for kind in "$sites" -fpatchable-function-entry=5; do
		library dlopen-lib -O2 $kind
		for t in sigmask sigtrap; do
			target $t -O2 $kind
			for lib in "" "$work/dlopen-lib.so"; do
				every 3 || continue
				label="$CC $t $kind ${lib:+with a library}:"
				[ -z "$lib" ] && tell=1 || tell=	# its calls are no thread's
				TRUTH_THREADS=$tell record -a counts -- "$work/$t" $lib
				succeeded
				exact
				lossless
			done
		done
	done
done
for sync in membarrier signal; do
	label="sampling, $sync:"
	record --sync=$sync -- "$work/sigtrap" "$work/dlopen-lib.so"
	succeeded
done
target urgent -O2 $sites
for sync in membarrier signal; do
	label="handlers that leave, $sync:"
	record -a counts --sync=$sync -- "$work/urgent"
	succeeded
	lossless
done
