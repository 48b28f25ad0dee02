/*
 * circle CASE LIBRARY: threads that hold a lock of the loader's or the program's own
 * and meet probes, while another one, in the loader, wants that lock. Each case is a
 * circle if a probe waits for the thread in the loader. Without flick none waits for
 * good.
 *
 *	callback	a callback of dl_iterate_phdr(); another thread in dlclose()
 *	allocator	inside malloc(); another thread in dlclose(), which frees
 *	loading		a callback of dl_iterate_phdr(); another in dlopen()
 *	meeting		a callback that wants a lock; another meets under that lock
 *			what lies in a module that has no sites
 *	unloading	free() itself, inside dlclose()
 *	forking		a callback wants what a thread has that forks; another in dlopen()
 *
 * The allocator is the program's own, with probes. What has a probe: f0 to f15, met
 * once each, so that a sampled one switches itself off; and g0 to g15, called at
 * places that no scan names.
 */
#include <dlfcn.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) \
	X(13) X(14) X(15)
#define FUNCTIONS(X) X(f0) X(f1) X(f2) X(f3) X(f4) X(f5) X(f6) X(f7) X(f8) X(f9) X(f10) \
	X(f11) X(f12) X(f13) X(f14) X(f15) X(g0) X(g1) X(g2) X(g3) X(g4) X(g5) X(g6) \
	X(g7) X(g8) X(g9) X(g10) X(g11) X(g12) X(g13) X(g14) X(g15) X(main) X(malloc) \
	X(free)
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];

/* The library says so of each of its own. */
__attribute__((visibility("default"))) QUIET void library_called(int i)
{
	(void)i;
	TRUTH_ADD(by_thread()->calls, 1);
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

#define F(i) BODY static void f##i(void) { CALLED(f##i); }
EACH(F)
/* An address is all there is to a g. */
#define G(i) QUIET __attribute__((noipa)) static void g##i(void) { __asm__ volatile(""); }
EACH(G)
#define NAME_F(i) f##i,
#define NAME_G(i) g##i,
static void (*const fs[])(void) = { EACH(NAME_F) };
static void (*volatile gs[])(void) = { EACH(NAME_G) };
#define U(i) QUIET __attribute__((noipa)) static void u##i(void *f) \
	{ TRUTH_ADD(truth_g##i, 1); TRUTH_ADD(by_thread()->calls, 1); \
	  __cyg_profile_func_enter(f, NULL); __cyg_profile_func_exit(f, NULL); \
	  __asm__ volatile(""); }
EACH(U)
#define NAME_U(i) u##i,
static void (*const us[])(void *) = { EACH(NAME_U) };

/* What nobody has met yet: four of each a step. */
QUIET static void meet(int step)
{
	for (int i = 4 * step; i < 4 * step + 4; i++) {
		fs[i]();
		us[i]((void *)gs[i]);
	}
}

/* ---- steps --------------------------------------------------------------------- */

static int came[8];

QUIET static void come(int step)
{
	__atomic_store_n(&came[step], 1, __ATOMIC_SEQ_CST);
}

QUIET static void wait_for(int step)
{
	while (!__atomic_load_n(&came[step], __ATOMIC_SEQ_CST))
		usleep(100);
}

QUIET static const struct r_debug *loader(void)
{
	const ElfW(Dyn) *d = _DYNAMIC;

	while (d->d_tag != DT_DEBUG)
		d++;
	return (const struct r_debug *)d->d_un.d_ptr;
}

QUIET static int loader_state(void)
{
	return *(const volatile int *)&loader()->r_state;
}

/* ... and then as long as it takes to call a function that does nothing. */
QUIET static void wait_for_delete(void)
{
	while (loader_state() != RT_DELETE)
		usleep(100);
	usleep(20000);
}

QUIET static void wait_for_end_of_add(void)
{
	while (loader_state() == RT_ADD)
		usleep(100);
	usleep(20000);
}

/* ---- an allocator ----------------------------------------------------------------- */

static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static __thread void (*in_malloc)(void), (*in_free)(void);

QUIET static void run_once(void (**what)(void))
{
	void (*f)(void) = *what;

	*what = NULL;
	if (f)
		f();
}

BODY void *malloc(size_t n)
{
	size_t room = (n + 31) & ~(size_t)15, at;

	CALLED(malloc);
	pthread_mutex_lock(&heap_lock);
	at = used;
	used += room;
	run_once(&in_malloc);
	pthread_mutex_unlock(&heap_lock);
	if (at + room > sizeof heap)
		return NULL;
	*(size_t *)(heap + at) = n;
	return heap + at + 16;
}

BODY void free(void *p)
{
	CALLED(free);
	if (!p)
		return;
	run_once(&in_free);
	pthread_mutex_lock(&heap_lock);
	pthread_mutex_unlock(&heap_lock);
}

QUIET void *calloc(size_t n, size_t each)
{
	return malloc(n * each);		/* nothing is used twice */
}

QUIET void *realloc(void *p, size_t n)
{
	char *to = malloc(n), *from = p;
	size_t had = from ? *(size_t *)(from - 16) : 0;

	for (size_t i = 0; to && i < had && i < n; i++)
		to[i] = from[i];
	return to;
}

/* ---- cases ----------------------------------------------------------------------- */

static const char *path;
static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

QUIET static void *load(void)
{
	void *lib = dlopen(path, RTLD_NOW);

	CHECK(lib != NULL);
	return lib;
}

QUIET static void *start(void *(*f)(void *))
{
	static pthread_t t[2];
	static int n;

	CHECK(pthread_create(&t[n], NULL, f, NULL) == 0);
	return &t[n++];
}

QUIET static void finish(void *t)
{
	pthread_join(*(pthread_t *)t, NULL);
}

/* In the callback: the list of modules stays as it is until it returns. */
QUIET static int meet_in_delete(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	come(0);
	wait_for_delete();
	meet(0);
	return arg != NULL;
}

QUIET static int meet_in_add(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	come(1);
	wait_for_end_of_add();
	meet(0);
	return arg != NULL;
}

QUIET static void *iterate(void *unused)
{
	(void)unused;
	dl_iterate_phdr(meet_in_delete, came);
	return NULL;
}

QUIET static void run_callback(void)
{
	void *lib = load(), *t = start(iterate);

	wait_for(0);
	CHECK(dlclose(lib) == 0);
	finish(t);
	meet(1);
}

QUIET static void meet_in_malloc(void)
{
	come(0);
	wait_for(1);
	usleep(20000);
	meet(0);
}

QUIET static void *allocate(void *unused)
{
	in_malloc = meet_in_malloc;
	KEEP(malloc(1));
	return unused;
}

QUIET static void wants_heap(void)
{
	come(1);
}

QUIET static void run_allocator(void)
{
	void *lib = load(), *t = start(allocate);

	wait_for(0);
	in_free = wants_heap;
	CHECK(dlclose(lib) == 0);
	finish(t);
	meet(1);
}

QUIET static void *iterate_once_added(void *unused)
{
	wait_for(0);
	dl_iterate_phdr(meet_in_add, came);
	return unused;
}

QUIET static int is_listed(void)
{
	const struct link_map *m = loader()->r_map;

	while (m && strcmp(m->l_name, path))
		m = m->l_next;
	return m != NULL;
}

/* The loader allocates; from when it has added the library to its list to when it
 * says so somebody else looks at the list. */
QUIET static void let_iterate(void)
{
	in_malloc = let_iterate;
	if (loader_state() != RT_ADD || !is_listed())
		return;
	in_malloc = NULL;
	come(0);
	wait_for(1);
}

QUIET static void run_loading(void)
{
	void *lib, *t = start(iterate_once_added);

	in_malloc = let_iterate;
	lib = load();
	CHECK(!in_malloc);
	finish(t);
	meet(1);
	CHECK(dlclose(lib) == 0);
}

QUIET static int lock_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	come(0);
	wait_for(1);
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	return arg != NULL;
}

QUIET static void *iterate_and_lock(void *unused)
{
	(void)unused;
	dl_iterate_phdr(lock_own, came);
	return NULL;
}

QUIET static void run_meeting(void)
{
	void *t;

	meet(0);
	pthread_mutex_lock(&own);
	t = start(iterate_and_lock);
	wait_for(0);
	come(1);
	usleep(20000);
	TRUTH_ADD(truth_g0, -1);		/* its place, another function */
	us[0]((void *)pow);
	meet(1);
	pthread_mutex_unlock(&own);
	finish(t);
}

QUIET static void meet_in_free(void)
{
	CHECK(loader_state() == RT_DELETE);
	meet(0);
}

QUIET static void run_unloading(void)
{
	void *lib = load();

	in_free = meet_in_free;
	CHECK(dlclose(lib) == 0 && !in_free);
	meet(1);
}

/* One thread is in the loader and has found what is new; the second wants, in its
 * callback, what the third has that forks. */
QUIET static int want_own(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	come(1);
	wait_for_end_of_add();
	come(2);
	wait_for(3);
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	return arg != NULL;
}

QUIET static void *iterate_in_fork(void *unused)
{
	(void)unused;
	wait_for(0);
	dl_iterate_phdr(want_own, came);
	return NULL;
}

QUIET static void *load_in_fork(void *unused)
{
	in_malloc = let_iterate;
	CHECK(dlclose(load()) == 0);
	return unused;
}

QUIET static void take_own(void)
{
	pthread_mutex_lock(&own);
	come(3);
	usleep(20000);
}

QUIET static void let_own(void)
{
	pthread_mutex_unlock(&own);
}

QUIET static void run_forking(void)
{
	void *t = start(iterate_in_fork), *u = start(load_in_fork);
	int status = -1;
	pid_t pid;

	pthread_atfork(take_own, let_own, let_own);
	wait_for(2);
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	finish(t);
	finish(u);
	meet(0);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "callback", run_callback }, { "allocator", run_allocator },
	{ "loading", run_loading }, { "meeting", run_meeting },
	{ "unloading", run_unloading }, { "forking", run_forking },
};

int main(int argc, char **argv)
{
	CALLED(main);
	if (argc != 3)
		return 2;
	path = argv[2];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	truth_print();
	return truth_failed;
}
