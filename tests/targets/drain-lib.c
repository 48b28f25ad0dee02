/* drain-lib.c - a plugin with a handler: it has gone when it is unloaded. */
#include <stdint.h>

#define PLAIN __attribute__((no_instrument_function))

static uint32_t good = 4711;

PLAIN void on_call(uint32_t id, void *arg);

PLAIN __attribute__((noinline)) static uint32_t ask(void)
{
	__asm__ volatile("");
	return good;
}

PLAIN void on_call(uint32_t id, void *arg)
{
	(void)id;
	for (int i = 0; i < 20; i++)
		if (ask() != 4711)
			return;
	__atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
}

PLAIN __attribute__((destructor)) static void spoil(void)
{
	good = 0;
}
