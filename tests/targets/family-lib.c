/* family-lib: what the processes of `family` load; says itself what it called. */
#include <unistd.h>
#define FUNCTIONS(X) X(call_plugin) X(plug)
#include "truth.h"

BODY static long plug(long x)
{
	CALLED(plug);
	return x + 1;
}

void call_plugin(int n)
{
	char text[100];
	int len;

	CALLED(call_plugin);
	for (int i = 0; i < n; i++)
		KEEP(plug(i));
	len = snprintf(text, sizeof(text), "count call_plugin %lu\ncount plug %lu\n",
		       CALLS(call_plugin), CALLS(plug));
	if (write(1, text, (size_t)len) != len)
		abort();
	truth_call_plugin = truth_plug = 0;
}
