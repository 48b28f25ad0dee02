#!/bin/sh
# Linked at start-up rather than loaded; found by MODULE!FUNCTION too.
. "$(dirname "$0")/lib"
need sqlite3
for CC in gcc clang; do
	command -v $CC >/dev/null || continue
	for kind in "$sites" "$sites -fno-plt" -fpatchable-function-entry=5; do
		label="$CC $kind:"
		cat >"$work/user.c" <<-'END'
		#define FUNCTIONS(X) X(main)
		#include "truth.h"
		unsigned long library_calls[6];
		long lib_work(long);
		int main(void)
		{
			CALLED(main);
			for (int i = 0; i < 100; i++)
				KEEP(lib_work(10));
			truth_print();
			printf("count lib_work %lu\n", library_calls[3]);
			printf("count lib_leaf %lu\n", library_calls[2]);
			return 0;
		}
		END
		library dlopen-lib -O2 $kind -Wl,-z,undefs
		libraries="-L$work -l:dlopen-lib.so -Wl,-rpath,$work"
		compile "$work/user" "$work/user.c" -O2 $kind -I"$targets" \
			-rdynamic
		libraries=
		# The thread of the library may end after main has printed.
		record -a counts -P 'dlopen-lib.so!lib_hidden' -- "$work/user"
		succeeded
		n=$(sql "select count(*) from $(rows counts) where name <> 'lib_hidden'
			and calls > 0")
		[ "$n" = 0 ] || fail "$label others are on"
		n=$(sql "select sum(calls) from counts")
		[ "$n" -ge 600 ] || fail "$label only $n calls of lib_hidden"
	done
done
