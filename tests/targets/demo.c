/*
 * demo: about two seconds of honest work on four threads, for a first look.
 *
 * Pages of made-up text are sorted, hashed and run-length packed; some are
 * searched by recursion. The functions differ in latency by four orders of
 * magnitude, and one of them (slow_page) is slow once in a while only.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define PAGES 900
#define WORDS 4096

struct page {
	uint32_t words[WORDS];
	uint32_t state;
};

static uint32_t next_word(struct page *p)
{
	p->state ^= p->state << 13;
	p->state ^= p->state >> 17;
	p->state ^= p->state << 5;
	return p->state;
}

static void make_page(struct page *p, uint32_t seed)
{
	p->state = seed * 2654435761u + 1;
	for (int i = 0; i < WORDS; i++)
		p->words[i] = next_word(p) % 1000;
}

static uint64_t hash_page(const struct page *p)
{
	uint64_t h = 14695981039346656037ull;

	for (int i = 0; i < WORDS; i++)
		h = (h ^ p->words[i]) * 1099511628211ull;
	return h;
}

static int compare_words(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_page(struct page *p)
{
	qsort(p->words, WORDS, sizeof(p->words[0]), compare_words);
}

static int run_length(const struct page *p, int from)
{
	int n = 1;

	while (from + n < WORDS && p->words[from + n] == p->words[from])
		n++;
	return n;
}

static int pack_page(const struct page *p)
{
	int runs = 0;

	for (int i = 0; i < WORDS; i += run_length(p, i))
		runs++;
	return runs;
}

/* How often `word` is in a sorted page: halves, halves of halves, ... */
static int search(const struct page *p, uint32_t word, int from, int to)
{
	int middle = from + (to - from) / 2;

	if (from == to || p->words[from] > word || p->words[to - 1] < word)
		return 0;
	if (to - from == 1)
		return p->words[from] == word;
	return search(p, word, from, middle) + search(p, word, middle, to);
}

static uint64_t slow_page(struct page *p)
{
	uint64_t h = 0;

	for (int i = 0; i < 200; i++) {
		p->words[i % WORDS]++;
		h ^= hash_page(p);
	}
	return h;
}

static uint64_t do_page(struct page *p, uint32_t seed)
{
	uint64_t sum;

	make_page(p, seed);
	sum = hash_page(p);
	sort_page(p);
	sum += pack_page(p);
	sum += search(p, seed % 1000, 0, WORDS);
	if (seed % 50 == 0)
		sum += slow_page(p);
	return sum;
}

static void *worker(void *arg)
{
	struct page *p = malloc(sizeof(*p));
	uint64_t sum = 0;

	for (uint32_t i = 0; p && i < PAGES; i++)
		sum += do_page(p, (uint32_t)(uintptr_t)arg * PAGES + i);
	free(p);
	return (void *)(uintptr_t)sum;
}

int main(void)
{
	pthread_t t[THREADS];
	uintptr_t sum = 0;
	void *part;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &part);
		sum += (uintptr_t)part;
	}
	printf("demo: %d pages, checksum %016lx\n", THREADS * PAGES,
	       (unsigned long)sum);
	return 0;
}
