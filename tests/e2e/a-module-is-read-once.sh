#!/bin/sh
# Of 200 libraries that are loaded one after the other each file is read once, with sites
# or without, however many come after it; and at each unloading none.
. "$(dirname "$0")/lib"
need sqlite3 strace "$CC"
echo 'int two(int x) { return x + 1; }' >"$work/two.c"
compile "$work/with.so" "$work/two.c" -O2 $sites -shared -fPIC
compile "$work/without.so" "$work/two.c" -O2 -shared -fPIC
for i in $(seq 1 200); do
	[ $((i % 2)) = 0 ] && from=with || from=without
	cp "$work/$from.so" "$work/m$i.so"
done
cat >"$work/load.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char path[4096];
	void *lib[201];
	long sum = 0;

	for (int i = 1; i <= 200; i++) {
		snprintf(path, sizeof(path), "%s/m%d.so", argv[1], i);
		lib[i] = dlopen(path, RTLD_NOW);
		sum += ((int (*)(int))dlsym(lib[i], "two"))(i) - i;
	}
	for (int i = 1; i <= 200; i++)
		dlclose(lib[i]);
	printf("count two %ld\n", sum - SHORT);
	return 0;
}
END
# Where it is shorter than a jump those without sites have no probes.
[ "$(uname -m)" = x86_64 ] && short=100 || short=0
compile "$work/load" "$work/load.c" -O2 $sites -DSHORT=$short
rm -rf "$data"
run strace -f -o "$work/trace" -e trace=openat "$FLICK" record -a counts -o "$data" -- \
	"$work/load" "$work"
succeeded
exact
# The loader opens each, the agent, and the recorder for what is named there; what gets a
# second body is opened by both for that.
for i in 1 2 99 100 200; do
	[ $short = 0 ] && [ $((i % 2)) = 1 ] && most=6 || most=4
	n=$(grep -c "/m$i\.so\"" "$work/trace")
	[ "$n" -ge 2 ] && [ "$n" -le $most ] || fail "m$i.so is opened $n times"
done
