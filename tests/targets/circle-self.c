/*
 * circle-self CASE LIBRARY: a program that instruments itself, with threads that hold a
 * lock while another one, which wants it, is in the loader or in flick.
 *
 *	switching	a callback of dl_iterate_phdr() switches probes; another thread
 *			is in dlclose()
 *	telling		flick_opt.discovered wants a lock; another thread meets a place
 *			under that lock
 *	opening		flick is opened and closed while others load and unload
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include "flick.h"
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

BODY static long first(long x)
{
	return x + 1;
}

BODY static long second(long x)
{
	return x + 2;
}

BODY static long third(long x)
{
	return x + 3;
}

static flick *f;
static uint32_t ids[3];			/* of their entries */
static void *const functions[] = { (void *)first, (void *)second, (void *)third };
static unsigned long hits[3], told[1 << 12], n_told;

QUIET static void count_hit(uint32_t id, void *arg)
{
	(void)id;
	__atomic_fetch_add((unsigned long *)arg, 1, __ATOMIC_RELAXED);
}

QUIET static uint32_t entry_of(const void *function)
{
	struct flick_probe p = { .size = sizeof p };

	for (uint32_t id = 0; id < flick_count(f); id++)
		if (!flick_describe(f, id, &p) && p.function == function &&
		    p.kind == FLICK_ENTRY && !p.refusal)
			return id;
	CHECK(!"the function has a probe");
	return 0;
}

QUIET static void open_flick(const struct flick_opt *opt)
{
	CHECK(flick_open(&f, opt) == 0);
	for (int i = 0; i < 3; i++)
		ids[i] = entry_of(functions[i]);
}

/* ---- steps ----------------------------------------------------------------------- */

static int came[4];

QUIET static void come(int step)
{
	__atomic_store_n(&came[step], 1, __ATOMIC_SEQ_CST);
}

QUIET static void wait_for(int step)
{
	while (!__atomic_load_n(&came[step], __ATOMIC_SEQ_CST))
		usleep(100);
}

QUIET static void wait_for_delete(void)
{
	const ElfW(Dyn) *d = _DYNAMIC;

	while (d->d_tag != DT_DEBUG)
		d++;
	while (((const volatile struct r_debug *)d->d_un.d_ptr)->r_state != RT_DELETE)
		usleep(100);
	usleep(20000);
}

static const char *path;

QUIET static void *load(void)
{
	void *lib = dlopen(path, RTLD_NOW);

	CHECK(lib != NULL);
	return lib;
}

/* ---- switching -------------------------------------------------------------------- */

QUIET static int switch_in_delete(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	come(0);
	wait_for_delete();
	CHECK(flick_off(f, ids[0]) == 0);
	CHECK(flick_on(f, ids[1], count_hit, &hits[1]) == 0);
	CHECK(flick_off(f, ids[1]) == 0);
	CHECK(flick_on(f, ids[1], count_hit, &hits[1]) == 0);
	CHECK(flick_handle(f, ids[2], count_hit, &hits[2]) == 0);
	CHECK(flick_stage_id(f, ids[2], FLICK_ON) == 0 && flick_commit(f) == 1);
	return arg != NULL;
}

QUIET static void *iterate(void *unused)
{
	(void)unused;
	dl_iterate_phdr(switch_in_delete, came);
	return NULL;
}

QUIET static void run_switching(void)
{
	pthread_t t;
	void *lib;

	open_flick(NULL);		/* before the library's thread: the loader is heard */
	lib = load();
	CHECK(flick_on(f, ids[0], count_hit, &hits[0]) == 0);
	KEEP(first(1) + second(1) + third(1));
	CHECK(hits[0] == 1 && !hits[1] && !hits[2]);
	pthread_create(&t, NULL, iterate, NULL);
	wait_for(0);
	CHECK(dlclose(lib) == 0);
	pthread_join(t, NULL);
	KEEP(first(1) + second(1) + third(1));
	CHECK(hits[0] == 1 && hits[1] == 1 && hits[2] == 1);
	flick_close(f);
}

/* ---- telling ---------------------------------------------------------------------- */

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

/* Places that no scan names. */
QUIET __attribute__((noipa)) static void meet_early(void *function)
{
	__cyg_profile_func_enter(function, NULL);
	__asm__ volatile("");
}

QUIET __attribute__((noipa)) static void meet_late(void *function)
{
	__cyg_profile_func_enter(function, NULL);
	__asm__ volatile("");
}

QUIET static void tell(const struct flick_probe *p, void *arg)
{
	static int inside;

	CHECK(__atomic_exchange_n(&inside, 1, __ATOMIC_SEQ_CST) == 0);
	if (!arg || !((int *)arg)[3]) {
		told[p->id]++, n_told++;
		__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
		return;
	}
	come(0);
	pthread_mutex_lock(&own);
	told[p->id]++, n_told++;
	pthread_mutex_unlock(&own);
	__atomic_store_n(&inside, 0, __ATOMIC_SEQ_CST);
}

QUIET static void *meet(void *unused)
{
	meet_early((void *)first);
	return unused;
}

QUIET static void run_telling(void)
{
	struct flick_opt opt = { .size = sizeof opt, .discovered = tell, .arg = came };
	pthread_t t;

	open_flick(&opt);
	CHECK(n_told == flick_count(f));
	come(3);
	pthread_mutex_lock(&own);
	pthread_create(&t, NULL, meet, NULL);
	wait_for(0);
	meet_late((void *)second);
	pthread_mutex_unlock(&own);
	pthread_join(t, NULL);
	CHECK(n_told == flick_count(f));
	for (uint32_t id = 0; id < flick_count(f); id++)
		CHECK(told[id] == 1);
	flick_close(f);
}

/* ---- opening ------------------------------------------------------------------------ */

static int over;

QUIET static void *come_and_go(void *unused)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		void *lib = load();

		CHECK(lib && dlclose(lib) == 0);
	}
	return unused;
}

QUIET static void run_opening(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, come_and_go, NULL);
	for (int i = 0; i < 40; i++) {
		unsigned long n = hits[0];

		open_flick(NULL);
		CHECK(flick_on(f, ids[0], count_hit, &hits[0]) == 0);
		flick_stage(f, "*", FLICK_OFF);
		flick_stage_id(f, ids[1], FLICK_ON);
		flick_abort(f);
		usleep(2000);			/* a dlclose may have put it off */
		KEEP(first(1));
		CHECK(hits[0] <= n + 1);
		flick_close(f);
		n = hits[0];
		KEEP(first(1));
		CHECK(hits[0] == n);
	}
	CHECK(hits[0] > 0);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	path = argv[2];
	if (!strcmp(argv[1], "switching"))
		run_switching();
	if (!strcmp(argv[1], "telling"))
		run_telling();
	if (!strcmp(argv[1], "opening"))
		run_opening();
	return truth_failed;
}
