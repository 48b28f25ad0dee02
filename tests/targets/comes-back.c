/*
 * comes-back LIBRARY MS: loads it, calls hot() of it half a million times and unloads it,
 * again and again for so long. It counts its calls. With -DLIBRARY it is that library.
 */
#ifdef LIBRARY
long hot(long x);

__attribute__((noinline)) long hot(long x)
{
	return x * 3 + 1;
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((no_instrument_function))

__attribute__((noinline)) static void once(void)
{
}

PLAIN static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

PLAIN int main(int argc, char **argv)
{
	double until = now() + (argc > 2 ? atof(argv[2]) : 100);
	long n = 0, x = 1;

	once();
	do {
		void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
		long (*hot)(long) = lib ? (long (*)(long))dlsym(lib, "hot") : NULL;

		if (!hot)
			return 1;
		for (int i = 0; i < 500000; i++, n++)
			x = hot(x);
		dlclose(lib);
	} while (now() < until);
	printf("guess hot %ld\n", n);
	return 0;
}
#endif
