/*
 * xray-patch [HOW...]: a program built with -fxray-instrument whose XRay runtime patches
 * its sleds while threads run, in the order said: patch, unpatch, one (function alone).
 * After each the main thread makes so many calls, of which XRay's handler must have seen
 * all or none; before the first, and in the threads, flick may. With SELF it opens flick
 * itself, and closes it before the last.
 */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#define FUNCTIONS(X) X(before)
#include "truth.h"
#ifdef SELF
#include "flick.h"
static flick *own;
#endif

enum { THREADS = 2, CALLS = 1000 };

int __xray_set_handler(void (*)(int32_t id, int kind));
int __xray_patch(void);
int __xray_unpatch(void);
int __xray_patch_function(int32_t id);
uintptr_t __xray_function_address(int32_t id);
size_t __xray_max_function_id(void);

static __thread long entries, exits;
static int over, n_going;

BODY static long leaf(long x)
{
	return x * 3 + 1;
}

BODY static long step(long x)
{
	return leaf(x) ^ leaf(x + 1);
}

BODY static long before(long x)
{
	CALLED(before);
	return x + 1;
}

QUIET static void *worker(void *arg)
{
	for (long i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		KEEP(step((long)arg));
		if (i == CALLS)
			__atomic_fetch_add(&n_going, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

QUIET static void on_event(int32_t id, int kind)
{
	(void)id;
	if (kind == 0)
		entries++;
	else
		exits++;
}

QUIET static int32_t id_of(void *function)
{
	for (size_t id = 1; id <= __xray_max_function_id(); id++)
		if (__xray_function_address((int32_t)id) == (uintptr_t)function)
			return (int32_t)id;
	return 0;
}

/* How many of three calls a round XRay must see. */
QUIET static long patch(const char *how)
{
	enum { SUCCESS = 1 };

	if (!strcmp(how, "patch")) {
		CHECK(__xray_patch() == SUCCESS);
		return 3;
	}
	if (!strcmp(how, "one")) {
		CHECK(__xray_patch_function(id_of((void *)leaf)) == SUCCESS);
		return 2;
	}
	CHECK(__xray_unpatch() == SUCCESS);
	return 0;
}

QUIET static void open_own(void)
{
#ifdef SELF
	struct flick_opt o = { .size = sizeof o };

	CHECK(!flick_open(&own, &o) && flick_stage(own, "*", FLICK_ON) > 0 &&
	      flick_commit(own) > 0);
#endif
}

/* What XRay has patched is told, what it has not can be switched. */
QUIET static void ask_own(int is_last, int32_t alone)
{
#ifdef SELF
	struct flick_probe p = { .size = sizeof p };

	for (uint32_t id = 0; !flick_describe(own, id, &p); id++) {
		int is_left = alone > 0 &&
			      (uintptr_t)p.function != __xray_function_address(alone);

		CHECK(p.refusal == (is_left ? 0 : FLICK_E_OVERWRITTEN));
		CHECK(flick_off(own, id) == (is_left ? 0 : FLICK_E_REFUSED));
	}
	if (is_last)
		flick_close(own);
#endif
}

#ifdef SELF
QUIET static void may_write(int prot)
{
	void *page = (void *)((uintptr_t)before & -4096ul);

	CHECK(!mprotect(page, 4096, PROT_READ | PROT_EXEC | prot));
}

QUIET static uint64_t hits_of(uint32_t id)
{
	uint64_t was = flick_hits(own, id);

	KEEP(before(1));
	return flick_hits(own, id) - was;
}

/* While the program may write there nothing is hit; a switch counts from then on. */
QUIET static void switch_meanwhile(void)
{
	struct flick_probe p = { .size = sizeof p };
	uint32_t id = 0;

	while (!flick_describe(own, id, &p) &&
	       (p.function != (void *)before || p.kind != FLICK_ENTRY))
		id++;
	CHECK(hits_of(id) == 1);
	for (int on = 0; on < 4; on++) {
		enum flick_state to = on % 2 ? FLICK_ON : FLICK_OFF;

		may_write(PROT_WRITE);
		CHECK(hits_of(id) == 0);
		if (on < 2)
			CHECK(!(on ? flick_on(own, id, NULL, NULL) : flick_off(own, id)));
		else
			CHECK(flick_stage(own, "before", to) > 0 && flick_commit(own) >= 0);
		CHECK(hits_of(id) == 0);
		may_write(0);
		CHECK(hits_of(id) == on % 2);
	}
}
#endif

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	int32_t alone = 0;		/* what XRay has touched; -1: all */
	long seen = 0;

	open_own();
#ifdef SELF
	switch_meanwhile();
#endif
	for (long i = 0; i < CALLS; i++)
		KEEP(before(i));
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)i))
			exit(2);
	while (__atomic_load_n(&n_going, __ATOMIC_RELAXED) < THREADS)
		sched_yield();
	__xray_set_handler(on_event);
	for (int a = 1; a < argc; a++) {
		long each = patch(argv[a]);

		alone = !strcmp(argv[a], "one") && alone != -1 ? id_of((void *)leaf) :
			!strcmp(argv[a], "patch") ? -1 : alone;
		ask_own(a == argc - 1, alone);
		entries = exits = 0;
		for (long i = 0; i < CALLS; i++)
			KEEP(step(i));
		CHECK(entries == each * CALLS && exits == each * CALLS);
		seen += entries;
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("seen %ld\n", seen);
	printf("count before %d\n", CALLS);
	fflush(stdout);
	return truth_failed;
}
