#!/bin/sh
# The first library that throws is loaded with RTLD_DEEPBIND: so what unwinds is loaded for it,
# and would find the C library's _dl_find_object(), which knows no second bodies, before ours.
# Its exceptions are caught, with lazy and with immediate binding, and again when it is back.
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
cat >"$work/thrower.cc" <<'END_OF_CC'
#include <stdexcept>

__attribute__((noinline)) static int leaf(int x)
{
	if (x % 2)
		throw std::runtime_error("odd");
	return 2 * x;
}

extern "C" __attribute__((noinline)) int thrown(int x)
{
	try {
		return leaf(x) + 1;
	} catch (const std::exception &) {
		return 2 * x + 1;
	}
}
END_OF_CC
cat >"$work/loads.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 4; i++) {
		void *lib = dlopen(argv[argc - 1], RTLD_DEEPBIND | (i % 2 ? RTLD_LAZY : RTLD_NOW));
		int (*thrown)(int) = lib ? (int (*)(int))dlsym(lib, "thrown") : NULL;

		for (int k = 0; k < 100; k++)
			if (!thrown || thrown(k) != 2 * k + 1)
				return 1;
		dlclose(lib);
	}
	puts("fine");
	return 0;
}
END_OF_C
compile "$work/thrower.so" "$work/thrower.cc" -O1 -fPIC -shared
compile "$work/loads" "$work/loads.c" -O1 -ldl

for how in "--all" "-a counts" ""; do
	label="$how:"
	record $how --wait -- "$work/loads" "$work/thrower.so"
	[ "$(cat "$out")" = fine ] || fail "$label $(cat "$err")"
	[ -n "$how" ] || continue
	sql "select sum(calls) from $(rows $([ "$how" = --all ] && echo latency || echo counts))
		where name = 'thrown'" >"$work/got"
	[ "$(cat "$work/got")" = 400 ] || fail "$label $(cat "$work/got") calls, not 400"
done
