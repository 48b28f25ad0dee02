/*
 * demo: about two seconds of honest work on four threads, for a first look.
 *
 * Pages of made-up words are hashed, sorted, run-length packed and searched,
 * two of these by recursion. The functions differ in latency by four orders of
 * magnitude, and one of them (slow_page) is slow once in a while only.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#ifndef PAGES
#define PAGES 4000
#endif
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

static void insert_words(uint32_t *w, int n)
{
	for (int i = 1; i < n; i++) {
		uint32_t x = w[i];
		int j = i;

		for (; j > 0 && w[j - 1] > x; j--)
			w[j] = w[j - 1];
		w[j] = x;
	}
}

/* Quicksort; the short ends by insertion. */
static void sort_words(uint32_t *w, int n)
{
	uint32_t pivot = w[n / 2];
	int i = 0, j = n - 1;

	if (n <= 24) {
		insert_words(w, n);
		return;
	}
	while (i <= j) {
		while (w[i] < pivot)
			i++;
		while (w[j] > pivot)
			j--;
		if (i <= j) {
			uint32_t x = w[i];

			w[i++] = w[j];
			w[j--] = x;
		}
	}
	sort_words(w, j + 1);
	sort_words(w + i, n - i);
}

static void sort_page(struct page *p)
{
	sort_words(p->words, WORDS);
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
