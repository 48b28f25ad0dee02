#!/bin/sh
# A loaded library whose sites are known by their first calls only (its function
# is passed from a slot not yet filled in when it is scanned), called by four
# threads at once: each call is there, under its name.
. "$(dirname "$0")/lib"
need sqlite3 "$CC"
cat >"$work/two.c" <<'END'
int two(int x) { return x + 1; }
END
cat >"$work/user.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static int (*f)(int);
__attribute__((no_instrument_function)) static void *worker(void *arg)
{
	for (int i = 0; i < 2000; i++)
		f(i);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[4];

	f = (int (*)(int))dlsym(dlopen(argv[argc - 1], RTLD_NOW), "two");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	puts("count two 8000");
	return 0;
}
END
compile "$work/two.so" "$work/two.c" -O2 $sites -shared -fPIC
compile "$work/user" "$work/user.c" -O2 $sites
for how in "-a counts" "-a latency --all"; do
	for round in 1 2 3 4 5; do
		label="$how:"
		record $how -- "$work/user" "$work/two.so"
		succeeded
		exact "$(echo "$how" | cut -d' ' -f2)"
		lossless
	done
done
