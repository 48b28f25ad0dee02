/*
 * torture/sync - every way to synchronise reaches the thread that runs.
 *
 *	signal     rounds 20000: before 9120 after 10880 | missed 0
 *
 * What can be seen of a sync from outside: it empties the store buffers of other
 * cores, which a serialising instruction and a switch of threads both do.
 *
 *	runner			syncer
 *	x = 1			y = 1
 *	load y			all_cores()
 *				load x
 *
 * A runner that found y == 0 (`before`) stored x before the sync ended, so a
 * syncer that then finds x == 0 was missed. The line of x is in the syncer's
 * cache and that of y in the runner's, so left alone the load overtakes the
 * store. The count right of the bar must be zero; `planted` has a fence on the
 * syncer's side in place of the sync, and must be missed.
 *
 * timeout: 300
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "patch/patch.h"
#include "patch/sync.h"

enum { PACE = 50 };

static struct {
	_Alignas(64) uint32_t word;
} x, y, ready, armed, turn, done;	/* a line each; ready...: round's number */
static uint32_t seen_y;
static uint32_t rounds;

/* ordering: the test's own, here and in say() */
static void await(uint32_t *word, uint32_t value)
{
	for (uint32_t i = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) != value; i++)
		if (i % 4096)
			fl_arch_pause();
		else
			sched_yield();
}

static void say(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void dawdle(uint32_t n)
{
	while (n--)
		fl_arch_pause();
}

static void *run(void *arg)
{
	for (uint32_t i = 1; i <= rounds; i++) {
		uint32_t warm;

		await(&ready.word, i);
		warm = load_relaxed(&y.word);
		say(&armed.word, i + warm);		/* warm is 0 */
		await(&turn.word, i);
		store_relaxed(&x.word, 1);
		seen_y = load_relaxed(&y.word);
		say(&done.word, i);
	}
	return arg;
}

struct verdict {
	uint32_t before, after, missed;
};

static void one_round(struct verdict *v, uint32_t i)
{
	uint32_t seen_x;

	store_relaxed(&y.word, 0);
	store_relaxed(&x.word, 0);
	say(&ready.word, i);
	await(&armed.word, i);
	say(&turn.word, i);
	dawdle(i % PACE / 2);
	store_relaxed(&y.word, 1);
	fl_sync->all_cores();
	seen_x = load_relaxed(&x.word);
	await(&done.word, i);
	v->before += !seen_y;
	v->after += seen_y;
	v->missed += !seen_y && !seen_x;
}

static void run_rounds(struct verdict *v)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	for (uint32_t i = 1; i <= rounds; i++)
		one_round(v, i);
	pthread_join(t, NULL);
}

/* ---- each in a child ------------------------------------------------------- */

static void fence_only(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: none, drains */
}

static const struct fl_sync planted = { .name = "planted", .all_cores = fence_only };

static uint32_t run_child(const char *sync)
{
	struct verdict v = { 0 };
	int ends[2], status;
	pid_t pid;

	if (pipe(ends))
		abort();
	pid = fork();
	if (!pid) {
		if (!strcmp(sync, planted.name))
			fl_sync = &planted;
		else if (fl_patch_open(sync))
			abort();
		run_rounds(&v);
		_exit(write(ends[1], &v, sizeof v) != sizeof v);
	}
	close(ends[1]);
	if (read(ends[0], &v, sizeof v) != sizeof v)
		abort();
	waitpid(pid, &status, 0);
	close(ends[0]);
	printf("%-10s rounds %u: before %u after %u | missed %u\n", sync, rounds, v.before,
	       v.after, v.missed);
	return v.missed + (uint32_t)(status != 0);
}

int main(void)
{
	const char *mode = getenv("FLICK_TORTURE"), *about, *sync;
	bool is_long = mode && !strcmp(mode, "long");
	int bad = 0;

	rounds = is_long ? 100000 : 3000;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; (sync = fl_patch_sync_row(i, &about)); i++) {
		if (fl_patch_sync_works(sync))
			printf("%s does not work here\n", sync);
		else
			bad |= run_child(sync) != 0;
	}
	rounds = 100000;
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && !run_child(planted.name)) {
		printf("the planted sync was not missed\n");
		bad = 1;
	}
	return bad;
}
