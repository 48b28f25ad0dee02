/*
 * beside.c - a program that is recorded, and switches probes of its own through flick.h.
 *
 *	calls	opens it three times, closes it, and counts, handles and toggles in between,
 *		while two threads live through all of it: hits and handled calls are exact. Says
 *		how often it called what
 *	killed	goes on with it when its recorder is killed. It is open when it says so, and
 *		prints `ok` at the end
 *	met	the same with calls that no scan can find
 *	load	opens it before a library is loaded: that has probes, which go with it
 *	fork	says how many calls of a child's its handler saw in the child
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "flick.h"

#define PLAIN __attribute__((no_instrument_function))
#define BODY __attribute__((noinline))

enum { CALLS = 1000, THREADS = 2 };

static atomic_int calls_left[THREADS], over;
static atomic_long worked, others, handled[2];
static uint32_t entry, leave, beyond;	/* of work(); the entry of other() */
static long told;
static flick *f;

BODY int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

BODY int other(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n - 1;
}

PLAIN static void call(int n)
{
	for (int i = 0; i < n; i++) {
		CHECK(work(i) == i + 1 && other(i) == i - 1);
		worked++;
		others++;
	}
}

PLAIN static void *caller(void *left)
{
	while (!over)
		if (*(atomic_int *)left > 0) {
			call(1);
			--*(atomic_int *)left;
		}
	return NULL;
}

/* In each thread so many. */
PLAIN static void call_all(void)
{
	for (int i = 0; i < THREADS; i++)
		calls_left[i] = CALLS;
	call(CALLS);
	for (int i = 0; i < THREADS; i++)
		while (calls_left[i])
			;
}

enum { ALL = (THREADS + 1) * CALLS };

PLAIN static void on_hit(uint32_t id, void *arg)
{
	CHECK(arg == &handled[id != entry && id != beyond]);
	++*(atomic_long *)arg;
}

PLAIN static void on_found(const struct flick_probe *p, void *arg)
{
	CHECK(arg == &told);
	told++;
	if (p->function == (void *)work)
		*(p->kind == FLICK_ENTRY ? &entry : &leave) = p->id;
	else if (p->function == (void *)other && p->kind == FLICK_ENTRY)
		beyond = p->id;
}

PLAIN static void open_it(void)
{
	struct flick_opt opt = { .size = sizeof opt, .discovered = on_found, .arg = &told };
	flick *again;

	entry = leave = beyond = -1u;
	told = 0;
	CHECK(flick_open(&f, &opt) == 0);
	CHECK(entry != -1u && leave != -1u && beyond != -1u && told >= 4);
	CHECK(flick_open(&again, NULL) == FLICK_E_OPEN);
	handled[0] = handled[1] = 0;
}

PLAIN static void handle(flick_handler *h)
{
	CHECK(flick_on(f, entry, h, &handled[0]) == 0);
	CHECK(flick_on(f, leave, h, &handled[1]) == 0);
}

PLAIN static void count_hits(void)
{
	CHECK(flick_stage(f, "work", FLICK_ON) >= 2);
	CHECK(flick_commit(f) >= 2);
	call_all();
	CHECK(flick_hits(f, entry) == ALL && flick_hits(f, leave) == ALL);
	CHECK(flick_off(f, entry) == 0 && flick_off(f, leave) == 0);
	call_all();
	CHECK(flick_hits(f, entry) == ALL && flick_hits(f, beyond) == 0);
}

PLAIN static void handle_calls(void)
{
	handle(on_hit);
	call_all();
	CHECK(handled[0] == ALL && handled[1] == ALL);
	CHECK(flick_off(f, leave) == 0 && flick_on(f, beyond, on_hit, &handled[0]) == 0);
	call_all();
	CHECK(handled[0] == 3 * ALL && handled[1] == ALL);
	CHECK(flick_hits(f, beyond) == 0);
}

/* All is on and off while it is called. */
PLAIN static void toggle(int n)
{
	for (int i = 0; i < THREADS; i++)
		calls_left[i] = CALLS;
	for (int i = 0; i < n; i++) {
		handle(on_hit);
		call(1);
		flick_stage(f, "*", i % 3 ? FLICK_OFF : FLICK_ON);
		flick_commit(f);
		call(1);
		CHECK(flick_off(f, entry) == 0 && flick_off(f, leave) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		while (calls_left[i])
			;
}

PLAIN static void one_round(void)
{
	open_it();
	call_all();
	CHECK(flick_hits(f, entry) == 0 && !handled[0]);
	count_hits();
	handle_calls();
	toggle(300);
	handled[0] = handled[1] = 0;
	handle(on_hit);
	flick_close(f);
	call_all();
	CHECK(!handled[0] && !handled[1]);
}

PLAIN static void count_calls(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, caller, &calls_left[i]);
	for (int i = 0; i < 3; i++)
		one_round();
	over = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("count work %ld\ncount other %ld\n", worked, others);
}

PLAIN static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

/* flick.h hears of the recorder's end within a tenth of a second. */
PLAIN static void outlive(void)
{
	pid_t parent = getppid();
	flick *again;

	open_it();
	handle(on_hit);
	call(CALLS);
	CHECK(handled[0] == CALLS);
	puts("open");
	fflush(stdout);
	while (getppid() == parent) {
		handle(on_hit);
		call(10);
		flick_off(f, entry);
	}
	for (int i = 0; i < 50; i++) {
		handled[0] = handled[1] = 0;
		handle(on_hit);
		call(CALLS);
		CHECK(handled[0] == CALLS && handled[1] == CALLS);
		CHECK(flick_off(f, entry) == 0);
		rest();
		call(CALLS);
		CHECK(handled[0] == CALLS && handled[1] == 2 * CALLS);
	}
	flick_close(f);
	call(CALLS);
	CHECK(handled[1] == 2 * CALLS);
	CHECK(flick_open(&again, NULL) == FLICK_E_RECORDED);
	call(CALLS);
	puts("ok");
}

void __cyg_profile_func_enter(void *, void *);
void __cyg_profile_func_exit(void *, void *);
static void (*volatile enter)(void *, void *) = __cyg_profile_func_enter;
static void (*volatile leave_it)(void *, void *) = __cyg_profile_func_exit;

PLAIN BODY static int met(int n)
{
	enter((void *)met, NULL);
	__asm__ volatile("" : "+r"(n));
	leave_it((void *)met, NULL);
	return n;
}

PLAIN static void meet(void)
{
	uint32_t first;

	open_it();
	first = flick_count(f);
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < CALLS; k++)
			met(k);
		CHECK(flick_count(f) == first + 2 && told == first + 2);
		CHECK(flick_hits(f, first) == (i ? CALLS : 0));
		CHECK(flick_on(f, first, NULL, NULL) == 0);
	}
	CHECK(flick_on(f, first, on_hit, &handled[first != entry && first != beyond]) == 0);
	for (int k = 0; k < CALLS; k++)
		met(k);
	CHECK(handled[1] == CALLS);
	flick_close(f);
	met(1);
	CHECK(handled[1] == CALLS);
	printf("count met %d\n", 3 * CALLS + 1);
}

/* The library's function calls itself nowhere else. The loader may choose another place the
 * second time (as by an emulator): then it is another probe. */
PLAIN static void load(const char *library)
{
	uint32_t n, id, first = 0;
	long before;
	void *h;
	int (*f_of)(int), (*first_of)(int) = NULL;

	open_it();
	n = flick_count(f);
	before = told;
	for (int i = 0; i < 2; i++) {
		struct flick_probe p = { .size = sizeof p };

		h = dlopen(library, RTLD_NOW);
		CHECK(h && (f_of = (int (*)(int))dlsym(h, "self_lib")));
		CHECK(i || (told > before && flick_count(f) > n));
		for (id = n; id < flick_count(f); id++)
			if (flick_describe(f, id, &p) == 0 && p.function == (void *)f_of &&
			    p.kind == FLICK_ENTRY)
				break;
		CHECK(id < flick_count(f) && !strcmp(p.name, "self_lib"));
		CHECK(flick_on(f, id, NULL, NULL) == 0);
		for (int k = 0; k < CALLS; k++)
			f_of(k);
		CHECK(flick_hits(f, id) == (uint64_t)(i && id == first ? 2 : 1) * CALLS);
		CHECK(!i || (f_of == first_of) == (id == first));
		first = id;
		first_of = f_of;
		CHECK(dlclose(h) == 0);
		CHECK(flick_on(f, id, NULL, NULL) == FLICK_E_GONE);
	}
	flick_close(f);
	printf("count self_lib %d\n", 2 * CALLS);
}

PLAIN static void fork_once(void)
{
	int status;
	pid_t child;

	open_it();
	handle(on_hit);
	call(CALLS);
	child = fork();
	if (!child) {
		handled[0] = 0;
		call(100);
		_exit((int)handled[0]);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	call(CALLS);
	CHECK(handled[0] == 2 * CALLS);
	flick_close(f);
	printf("child %d\n", WEXITSTATUS(status));
	printf("count work %ld\ncount other %ld\n", worked, others);
}

PLAIN int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "killed"))
		outlive();
	else if (argc > 1 && !strcmp(argv[1], "met"))
		meet();
	else if (argc > 2 && !strcmp(argv[1], "load"))
		load(argv[2]);
	else if (argc > 1 && !strcmp(argv[1], "fork"))
		fork_once();
	else
		count_calls();
	return 0;
}
