/* preloaded: a library of the user's own, for LD_PRELOAD. What it does to its process
 * no exec hands on. */
#include <signal.h>

static void on_signal(int sig)
{
	(void)sig;
}

__attribute__((constructor)) static void show(void)
{
	signal(SIGUSR2, on_signal);
}
