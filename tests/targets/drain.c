/*
 * drain.c PLUGIN - a program whose handlers are a plugin's: it binds them, lets threads call
 * them, takes them away, waits, and closes the plugin; again and again. Then it switches sets
 * of two, of which no thread sees one as it was behind the other as it is to be. Prints `ok`,
 * or says what was wrong.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "check.h"
#include "flick.h"

#define PLAIN __attribute__((no_instrument_function))

enum { ROUNDS = 200, THREADS = 3 };

static atomic_int over;
static flick *f;

__attribute__((noinline)) int work(int n);
__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

PLAIN static void *call(void *unused)
{
	while (!over)
		CHECK(work(1) == 2);
	return unused;
}

PLAIN static void *call_briefly(void *unused)
{
	for (int i = 0; i < 100; i++)
		CHECK(work(1) == 2);
	return unused;
}

/* A handler that replaces it, half of the time. */
PLAIN static void on_other(uint32_t id, void *arg)
{
	CHECK(flick_drain(f, 0) == -EDEADLK);
	(void)id, (void)arg;
}

PLAIN static void take_away(int round, uint32_t id)
{
	switch (round % 3) {
	case 0:
		CHECK(flick_off(f, id) == 0);
		break;
	case 1:
		CHECK(flick_on(f, id, on_other, NULL) == 0);
		break;
	default:
		CHECK(flick_stage(f, "*", FLICK_OFF) > 0 && flick_commit(f) >= 0);
	}
}

PLAIN static void one_round(int round, const char *plugin, uint32_t id)
{
	void *h = dlopen(plugin, RTLD_NOW);
	flick_handler *on_call = h ? (flick_handler *)dlsym(h, "on_call") : NULL;
	uint64_t *calls = calloc(1, sizeof *calls);
	pthread_t brief;

	CHECK(on_call && calls);
	CHECK(flick_on(f, id, on_call, calls) == 0);
	CHECK(pthread_create(&brief, NULL, call_briefly, NULL) == 0);
	for (time_t begin = time(NULL); __atomic_load_n(calls, __ATOMIC_RELAXED) < 10;)
		CHECK(time(NULL) - begin < 20);
	take_away(round, id);
	CHECK(flick_drain(f, round % 2 ? -1 : 10000) == 0);
	CHECK(dlclose(h) == 0);
	*calls = 0;
	CHECK(*(volatile uint64_t *)calls == 0);
	free(calls);
	pthread_join(brief, NULL);
}

/* ---- a set is one step ------------------------------------------------------------- */

static atomic_uint begun, returned;
static __thread volatile unsigned ran;

#define CALLED __attribute__((noinline))
CALLED int first(int n);
CALLED int second(int n);
CALLED int first(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 2;
}

CALLED int second(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 3;
}

PLAIN static void note(uint32_t id, void *arg)
{
	(void)id, (void)arg;
	ran++;
}

PLAIN static bool is_handled(int (*function)(int))
{
	unsigned n = ran;

	function(1);
	return ran != n;
}

/* Of two functions one is handled: from the one to the other it goes once a commit that was
 * not over when the thread began, and has begun. */
PLAIN static void *watch(void *unused)
{
	unsigned from = returned, changes = 0;
	bool is_second = from % 2;

	while (!over)
		for (int i = 0; i < 2; i++) {
			bool on = is_handled(i ? first : second), now = i ? !on : on;

			changes += now != is_second;
			is_second = now;
			CHECK(changes <= begun - from);
		}
	return unused;
}

PLAIN static uint32_t entry_of(int (*function)(int))
{
	struct flick_probe p = { .size = sizeof p };
	uint32_t id = 0;

	while (flick_describe(f, id, &p) == 0 &&
	       !(p.function == (void *)function && p.kind == FLICK_ENTRY && !p.refusal))
		id++;
	CHECK(id < flick_count(f));
	return id;
}

PLAIN static void switch_sets(void)
{
	uint32_t ids[] = { entry_of(first), entry_of(second) };
	pthread_t threads[THREADS];

	over = 0;
	for (int i = 0; i < 2; i++)
		CHECK(flick_handle(f, ids[i], note, NULL) == 0);
	CHECK(flick_on(f, ids[0], NULL, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, watch, NULL) == 0);
	for (unsigned i = 0; i < 3000; i++) {
		begun = i + 1;
		CHECK(flick_stage_id(f, ids[i % 2], FLICK_OFF) == 0);
		CHECK(flick_stage_id(f, ids[!(i % 2)], FLICK_ON) == 0);
		CHECK(flick_commit(f) == 2);
		returned = i + 1;
	}
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

PLAIN int main(int argc, char **argv)
{
	struct flick_probe p = { .size = sizeof p };
	pthread_t threads[THREADS];
	uint32_t id = 0;

	CHECK(argc > 1 && flick_open(&f, NULL) == 0);
	CHECK(flick_drain(f, 0) == 0);
	while (flick_describe(f, id, &p) == 0 && !(p.function == (void *)work && !p.refusal))
		id++;
	CHECK(id < flick_count(f));
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, call, NULL) == 0);
	for (int i = 0; i < ROUNDS; i++)
		one_round(i, argv[1], id);
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	switch_sets();
	flick_close(f);
	puts("ok");
	return 0;
}
