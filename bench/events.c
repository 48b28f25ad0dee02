/*
 * events.c - what bench/cost preloads: events that go nowhere, and a clock.
 *
 *	LD_PRELOAD=events.so COST=KIND:FILE PROGRAM ...
 *
 * At the end of the program FILE has its seconds, its CPU seconds, and how many
 * events it made: from the first constructor to the last destructor, so neither
 * exec nor the start of a recording is in them. KIND says what becomes of an event,
 * which is a time, a function and a frame:
 *
 *	clock	nothing is made: the hooks return, or flick is there
 *	word	each takes the place of the one before, in the thread
 *	queue	it goes into a ring of flick/channel.h, which a thread empties unread
 *	read	it is emptied by a thread that reads each word
 *
 * Events are counted of one thread: programs with more have no inline analysis to
 * be compared with (analysis/inline.c).
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <flick/channel.h>

#define HOOK __attribute__((visibility("default"), no_instrument_function))

enum kind { CLOCK, WORD, QUEUE, READ };

struct lane {		/* of a thread */
	struct flick_channel *ring;
	uint64_t event[2];
	uint64_t n;
};

static __thread struct lane lane __attribute__((tls_model("initial-exec")));
static enum kind kind;
static const char *path;
static double begun;
static volatile uint64_t eaten;

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);

static void die(const char *why)
{
	fprintf(stderr, "events: %s\n", why);
	_exit(99);
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the other end of a ring ------------------------------------------------ */

static void *consume(void *ring)
{
	struct flick_consumer *k = malloc(sizeof(*k));
	struct flick_batch b;
	int got;

	if (!k || flick_channel_consume(k, ring))
		die("no consumer");
	while ((got = flick_channel_take(k, &b)) != FLICK_TAKE_END) {
		if (got == FLICK_TAKE_NONE)
			flick_channel_wait(k, 1000);
		for (size_t i = 0; kind == READ && got == FLICK_TAKE_BATCH && i < b.n; i++)
			eaten = ((const uint64_t *)b.words)[i];
	}
	free(k);
	return NULL;
}

static void open_ring(void)
{
	size_t bytes = flick_channel_bytes(NULL);
	pthread_t reader;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED || flick_channel_init(p, bytes, NULL, &lane.ring) ||
	    flick_channel_produce(lane.ring) ||
	    pthread_create(&reader, NULL, consume, lane.ring))
		die("no ring");
	pthread_detach(reader);
}

/* ---- events ----------------------------------------------------------------- */

static inline void put(void *function, uintptr_t frame)
{
	uint64_t time = __builtin_ia32_rdtsc();
	uint64_t what = (uint64_t)(uintptr_t)function << 32 | (uint32_t)frame;

	lane.n++;
	if (kind == WORD) {
		lane.event[0] = time;
		lane.event[1] = what;
		__asm__ volatile("" : : "m"(lane.event));
		return;
	}
	if (!lane.ring)
		open_ring();
	flick_channel_put64(lane.ring, time);
	flick_channel_put64(lane.ring, what);
}

HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	if (kind != CLOCK)
		put(function, (uintptr_t)__builtin_dwarf_cfa());
}

HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	if (kind != CLOCK)
		put(function, (uintptr_t)__builtin_dwarf_cfa());
}

/* ---- the clock -------------------------------------------------------------- */

__attribute__((constructor, no_instrument_function))
static void begin(void)
{
	static const char *const names[] = { "clock", "word", "queue", "read" };
	const char *given = getenv("COST"), *colon = given ? strchr(given, ':') : NULL;
	size_t i = 0;

	/* flick passes it on to the program, who has no children that are measured. */
	if (!colon || !strcmp(program_invocation_short_name, "flick"))
		return;
	while (i < 4 && (strncmp(given, names[i], (size_t)(colon - given)) ||
			 names[i][colon - given]))
		i++;
	if (i == 4)
		die("COST=KIND:FILE, please");
	kind = (enum kind)i;
	path = strdup(colon + 1);
	unsetenv("COST");
	begun = seconds_now();
}

__attribute__((destructor, no_instrument_function))
static void end(void)
{
	double wall = seconds_now() - begun;
	struct rusage u;
	FILE *out = path ? fopen(path, "w") : NULL;

	if (!path)
		return;
	if (!out || getrusage(RUSAGE_SELF, &u))
		die("the times cannot be written");
	fprintf(out, "%.6f %.6f %lu\n", wall,
		(double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6, lane.n);
	if (fclose(out))
		die("the times cannot be written");
}
