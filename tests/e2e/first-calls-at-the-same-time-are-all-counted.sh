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

# More of them than one block of glue is for, in two libraries by turns. No scan can
# tell whose such a call is.
many=400
for lib in a b; do
	{
		echo 'void __cyg_profile_func_enter(void *, void *);'
		echo 'void __cyg_profile_func_exit(void *, void *);'
		for i in $(seq $many); do
			echo "__attribute__((no_instrument_function)) void $lib$i(void *f)" \
				'{ __cyg_profile_func_enter(f, 0);' \
				'__cyg_profile_func_exit(f, 0); __asm__ volatile(""); }'
		done
	} >"$work/$lib.c"
	compile "$work/$lib.so" "$work/$lib.c" -O2 $sites -shared -fPIC
done
cat >"$work/all.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void call(void *library, char letter, int i)
{
	char name[16];
	void *f;

	snprintf(name, sizeof(name), "%c%d", letter, i);
	f = dlsym(library, name);
	((void (*)(void *))f)(f);
}

int main(int argc, char **argv)
{
	void *a = dlopen(argv[1], RTLD_NOW), *b = dlopen(argv[2], RTLD_NOW);
	int n = atoi(argv[3]);

	for (int i = 0; i < 3 * n; i++) {
		call(a, 'a', i % n + 1);
		call(b, 'b', i % n + 1);
	}
	for (int i = 1; i <= n; i++)
		printf("count a%d 3\ncount b%d 3\n", i, i);
	return argc != 4;
}
END
compile "$work/all" "$work/all.c" -O2 $sites
for how in "-a counts" "-a latency --all"; do
	label="many, $how:"
	record $how -- "$work/all" "$work/a.so" "$work/b.so" $many
	succeeded
	exact "$(echo "$how" | cut -d' ' -f2)"
	lossless
done
