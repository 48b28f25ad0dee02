/*
 * eat.c - check and sum many words at a time, by vectors where the compiler can.
 */
#include "contender.h"

__attribute__((optimize("O3")))
void eat_all(struct eater *e, const uint64_t *words, size_t n)
{
	uint64_t sum = 0, wrong = 0, from = e->n + 1;

	for (size_t i = 0; i < n; i++) {
		sum += words[i];
		wrong |= words[i] ^ (from + i);
	}
	e->n += n;
	e->sum += sum;
	e->wrong |= wrong;
}
