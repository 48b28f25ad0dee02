#!/bin/sh
# Time in glue is flick's, also in that of the last of thousands of modules, and none of
# its samples is given to a function.
# timeout: 300
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
N=1300					# there was room for 1,024
cat >"$work/plugin.c" <<'END'
__attribute__((noinline)) static int tiny(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

int plugin(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum = tiny(sum);
	return sum;
}
END
cat >"$work/host.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int (*plugin)(int) = 0;
	char path[4096];

	for (int i = 0; i < atoi(argv[2]); i++) {
		void *h;

		snprintf(path, sizeof path, "%s/%d.so", argv[1], i);
		h = dlopen(path, RTLD_NOW);
		plugin = h ? (int (*)(int))dlsym(h, "plugin") : 0;
		if (!plugin || plugin(1) != 1)
			return 1;
	}
	return plugin(5000000) != 5000000;
}
END
compile "$work/plugin.so" "$work/plugin.c" -O1 $sites -shared -fPIC
compile "$work/host" "$work/host.c" -O1
mkdir "$work/many"
for i in $(seq 0 $((N - 1))); do
	cp "$work/plugin.so" "$work/many/$i.so"
done
record --all --wait -- "$work/host" "$work/many" $N
succeeded
[ "$(sql "select count(*) from modules where path like '%/many/%'")" = $N ] ||
	fail "not all modules are there"
n=$(sql "select count(*) from functions where name like '[%anon%'")
[ "$n" -eq 0 ] || fail "glue is a function of the program's"
! grep -q 'pieces of glue' "$err" || fail "there was no room for all glue"
