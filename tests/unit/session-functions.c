/*
 * What a target says of its modules and sites is believed within the tables only,
 * whatever it writes there and whenever.
 */
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/functions.h"

#define SITES 4096u

static struct fl_region *m;
static int fd;
static struct fl_functions functions;

static int set_up(void **state)
{
	struct fl_shm_options o = { .n_slots = 1, .max_sites = SITES, .ring_kib = 8 };

	(void)state;
	return fl_shm_create(&o, &m, &fd) || fl_functions_open(&functions, m);
}

static int tear_down(void **state)
{
	(void)state;
	fl_functions_close(&functions);
	fl_shm_destroy(m, fd);
	return 0;
}

/* Every index that the function table gives can be used. */
static void check_functions(void)
{
	assert_true(malloc_usable_size(functions.function_of) >=
		    functions.n_sites * sizeof(*functions.function_of));
	assert_true(functions.n_sites <= SITES && functions.n_modules <= functions.max_modules);
	for (uint32_t i = 0; i < functions.n_sites; i++)
		assert_true(functions.function_of[i] < functions.n);
	for (uint32_t i = 0; i < functions.n_modules; i++)
		assert_non_null(memchr(functions.modules[i].path, '\0',
				       sizeof(functions.modules[i].path)));
	for (uint32_t i = 0; i < functions.n; i++)
		assert_non_null(functions.all[i].name);
}

static void what_was_taken_in_stays(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SITES; i++)
		fl_shm_sites(m)[i].function = i % 1000;
	m->n_sites = SITES;
	assert_int_equal(fl_functions_extend(&functions), 0);
	assert_int_equal(functions.n_sites, SITES);
	m->n_sites = 1;
	assert_int_equal(fl_functions_extend(&functions), 0);
	assert_int_equal(functions.n_sites, SITES);
	check_functions();
}

static void numbers_lead_to_the_tables_ends_only(void **state)
{
	(void)state;
	m->n_sites = m->n_modules = UINT32_MAX;
	m->max_sites = m->max_modules = UINT32_MAX;
	m->sites_at = m->modules_at = UINT64_MAX / 2;
	memset((char *)m + ((char *)functions.rows - (char *)m), 0xff,
	       functions.max_modules * sizeof(*functions.rows));
	memset((char *)m + ((char *)functions.live - (char *)m), 0xff,
	       SITES * sizeof(*functions.live));
	assert_int_equal(fl_functions_extend(&functions), 0);
	assert_int_equal(functions.n_sites, SITES);
	check_functions();
}

static void what_is_no_index_is_none(void **state)
{
	struct fl_shm_site site;

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		struct fl_shm_site s;

		memset(&site, byte, sizeof(site));
		s = fl_site_copy(&site);
		assert_true(s.kind < FL_N_KINDS && s.tactic < FL_N_TACTICS);
		assert_true(s.provider < FL_MAX_PROVIDERS && s.state <= FL_SITE_GONE);
		assert_int_equal(s.refusal, site.refusal);
		assert_non_null(fl_reason(s.refusal));
	}
	assert_non_null(fl_reason(INT32_MIN));
}

/* ---- another thread flips words ---------------------------------------------- */

static uint32_t is_over;

static void *flip(void *arg)
{
	uint64_t *words = (uint64_t *)fl_shm_sites(m), x = 88172645463325252ull;
	size_t n = SITES * sizeof(struct fl_shm_site) / 8;

	(void)arg;
	while (!load_relaxed(&is_over)) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		store_relaxed(&words[x % n], x & 1 ? x : 0);
		store_relaxed(&m->n_sites, (uint32_t)(x >> 20));
		store_relaxed(&m->n_modules, (uint32_t)(x >> 40));
	}
	return NULL;
}

static void words_that_flip_lead_nowhere(void **state)
{
	pthread_t other;

	(void)state;
	is_over = 0;
	assert_int_equal(pthread_create(&other, NULL, flip, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		struct fl_shm_site s = fl_site_copy(&fl_shm_sites(m)[i % 8]);

		assert_true(s.kind < FL_N_KINDS && s.provider < FL_MAX_PROVIDERS);
		assert_int_equal(fl_functions_extend(&functions), 0);
		if (i % 200 == 0)
			check_functions();
	}
	store_relaxed(&is_over, 1);
	pthread_join(other, NULL);
	check_functions();
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_was_taken_in_stays),
		T(numbers_lead_to_the_tables_ends_only),
		T(what_is_no_index_is_none),
		T(words_that_flip_lead_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
