/* left-in-a-call N: so many threads end in the middle of a call; the program runs on, and
 * calls that function until those have been looked for twice. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) static long leave(int whether)
{
	if (whether)
		pthread_exit(NULL);
	return sink++;
}

__attribute__((no_instrument_function)) static void *thread(void *arg)
{
	leave(1);
	return arg;
}

int main(int n, char **arguments)
{
	pthread_t t;

	for (int i = n > 1 ? atoi(arguments[1]) : 1; i > 0; i--) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 40; i++) {
		for (int j = 0; j < 50; j++)
			leave(0);
		usleep(10000);
	}
	return 0;
}
