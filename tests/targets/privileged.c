/*
 * privileged: a set-user-ID program that links libflick and opens it. Prints what
 * of its surroundings reached it; run as `privileged child` by itself it does
 * nothing but call.
 */
#include <stdio.h>
#include <sys/auxv.h>

#include "flick.h"

__attribute__((noinline)) int work(int x) { return x * 3 + 1; }

int main(void)
{
	flick *f;
	int err = flick_open(&f, NULL);

	printf("secure: %d\n", getauxval(AT_SECURE) != 0);
	printf("flick_open: %s\n", err ? flick_error(err) : "well");
	printf("work: %d\n", work(4));
	if (!err)
		flick_close(f);
	return 0;
}
