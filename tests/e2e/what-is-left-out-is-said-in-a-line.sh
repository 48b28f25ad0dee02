#!/bin/sh
# What was refused, lost or had no room is said in one line a kind, grouped by reason,
# with what to do; where events may be missing the status is 3. A few are not worth a
# line, and those who follow are told of how many processes probes are.
. "$(dirname "$0")/lib"
x86_target late-sites
need sqlite3 "$CC"

says() {	# TIMES PATTERN
	n=$(grep -Ec -- "$2" "$err")
	[ "$n" -eq "$1" ] || fail "$label $n lines, not $1, say: $2"
}

# Entries of one byte are too short.
{
	for i in 1 2 3 4 5 6; do
		echo "__attribute__((noipa, patchable_function_entry(N$i)))" \
			"int f$i(int x) { return x + 1; }"
	done
	echo "__attribute__((patchable_function_entry(0))) int main(void)"
	echo "{ return f1(0) + f2(0) + f3(0) + f4(0) + f5(0) + f6(0) - 6; }"
} >"$work/pads.c"
pads() {	# NAME SHORT-ONES
	flags=
	for i in 1 2 3 4 5 6; do
		flags="$flags -DN$i=$([ $i -le $2 ] && echo 1 || echo 5)"
	done
	compile "$work/$1" "$work/pads.c" -O2 $flags
}
pads five 5
pads four 4
label=refused:
record -a counts -- "$work/five"
succeeded
says 1 '^flick: 5 probes were refused \(--why lists them\): 5: the site is shorter.*; build with'
tail -n 1 "$err" | grep -q 'probes: 1 active, 5 refused' || fail "$label others"
record -a counts --why -- "$work/five"
says 0 'probes were refused'
says 5 '^flick: no probe at '
record -a counts -- "$work/four"
says 0 'refused \('

label=sites:
target late-sites -O2 $sites
echo 'int two(int x) { return x + 1; }' >"$work/two.c"
compile "$work/two.so" "$work/two.c" -O2 $sites -shared -fPIC
record -a counts --sites 1000 -- "$work/late-sites" direct 2 "$work/two.so"
succeeded 3
conserved
ends_well
says 1 '^flick: 11007 events lost: no room for its site; --sites=N'
says 1 '^flick: there was room for 1000 probe sites: .*--sites=N'
says 1 '^flick: 1000 of 1000 probes were only found when they were first called'
record -a counts --sites 1000 --allow-loss -- "$work/late-sites" direct 2 "$work/two.so"
succeeded
record -a counts --sites 12002 -- "$work/late-sites" direct 2 "$work/two.so"
succeeded
lossless
says 0 'room'

# No event of a pad that nobody armed is counted as lost.
label=pads:
for i in $(seq 1200); do
	echo "__attribute__((noipa)) int f$i(int x) { return x + 1; }"
done >"$work/many.c"
echo 'int main(void) { return f1(0) + f1200(0) - 2; }' >>"$work/many.c"
compile "$work/many" "$work/many.c" -O2 -fpatchable-function-entry=5
record -a counts --sites 1000 -- "$work/many"
succeeded 3
lossless
says 1 '^flick: there was room for 1000 probe sites: .*--sites=N'
record -a counts --sites 1000 --allow-loss -- "$work/many"
succeeded

label=follow:
record $compilers -a counts -f -- sh -c "'$work/late-sites' direct 2; '$work/late-sites' direct 2; :"
succeeded
tail -n 1 "$err" | grep -q ' active in 3 processes, 0 refused$' || fail "$label not 3"
[ "$(sql "select value from session where key = 'processes'")" = 3 ] ||
	fail "$label it is not kept"

# More threads at once than there is room for, and then for all.
label=threads:
target many-alive -O2 $sites
record --threads 3 -a counts -- "$work/many-alive" 20
succeeded 3
says 1 '^flick: [0-9]* events lost: too many threads; --threads=N'
record --threads 30 -a counts -- "$work/many-alive" 20
succeeded
lossless

# Libraries: a row each, and one of the program's.
label=modules:
cat >"$work/load.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char path[4096];
	long sum = 0;

	for (int i = 1; i <= atoi(argv[2]); i++) {
		void *lib;

		snprintf(path, sizeof(path), "%s/m%d.so", argv[1], i);
		lib = dlopen(path, RTLD_NOW);
		sum += lib ? ((int (*)(int))dlsym(lib, "two"))(i) - i : 0;
	}
	printf("count two %ld\n", sum);
	return 0;
}
END
compile "$work/load" "$work/load.c" -O2 $sites
for i in $(seq 1 300); do
	cp "$work/two.so" "$work/m$i.so"
done
record --sites 4096 -a counts -- "$work/load" "$work" 250
succeeded
exact
says 0 'there was room'
record --sites 4096 -a counts -- "$work/load" "$work" 300
succeeded 3
conserved
says 1 '^flick: there was room for 256 modules: .*--sites=N'
record --sites 8192 -a counts -- "$work/load" "$work" 300
succeeded
exact
