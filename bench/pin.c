/*
 * pin.c - linked into a program that is measured as a whole.
 *
 * Keeps its main thread on the victim's CPU, from the constructor on; what was
 * started before (an agent's threads) stays where its parent put it.
 */
#include "bench.h"

__attribute__((constructor, no_instrument_function))
static void pin_main(void)
{
	bench_pin(BENCH_VICTIM);
}
