/* A library that calls strlen() by its own stub. */
#include <string.h>

static const char *volatile text = "text";

long calls(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += (long)strlen(text);
	return sum;
}
