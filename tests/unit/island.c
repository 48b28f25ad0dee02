/*
 * island.c - veneers stand within reach of their sites, few islands at a time, and where
 * nothing is free nobody looks again close by.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "probe/glue.h"

enum { GLUE = 0x1234000 };
static const uintptr_t far = 3ul << 30;	/* more than branches reach */
static const uintptr_t at = 0x300000000000;

static uintptr_t lead(struct fl_islands *all, uintptr_t from, size_t more)
{
	struct fl_veneer v = { .glue = GLUE + from, .form = FL_FORM_CALL };
	uintptr_t to = fl_islands_veneer(all, from, &v, more);
	struct fl_insn i;
	uintptr_t goes_to;

	if (!to)
		return 0;
	assert_int_equal(to, v.at);
	assert_true(to - from + FL_ARCH_REACH < 2 * FL_ARCH_REACH);
	fl_arch_decode(&i, (const void *)to, FL_ARCH_VENEER_MAX, to);
	assert_int_equal(i.cls, FL_INSN_JUMP_POINTER);
	memcpy(&goes_to, (const void *)i.target, sizeof goes_to);
	assert_true(goes_to == GLUE + from);
	return to;
}

static void sites_lead_to_what_is_near_them(void **state)
{
	enum { SITES = 6, VENEERS = FL_PAGE / FL_ARCH_VENEER_MAX };
	struct fl_islands all = { .next = 0 };
	uintptr_t first[SITES], to;

	(void)state;
	for (size_t k = 0; k < SITES; k++) {	/* a module there */
		void *p = (void *)(at + k * far);

		assert_ptr_equal(mmap(p, FL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
				      MAP_FIXED_NOREPLACE, -1, 0), p);
		first[k] = lead(&all, at + k * far, 0);
		assert_true(first[k] != 0);
	}
	/* the last ones take more, as far as there is room */
	for (size_t k = SITES - FL_ISLANDS; k < SITES; k++)
		assert_int_equal(lead(&all, at + k * far + 64, 0),
				 first[k] + FL_ARCH_VENEER_MAX);
	for (size_t n = 2; n < VENEERS; n++)
		assert_int_equal(lead(&all, at + (SITES - 1) * far + n * 64, 0),
				 first[SITES - 1] + n * FL_ARCH_VENEER_MAX);
	to = lead(&all, at + (SITES - 1) * far, 0);
	assert_true(to && to != first[SITES - 1] + FL_PAGE);
	assert_true(lead(&all, at, 0) != first[0] + FL_ARCH_VENEER_MAX);
	assert_int_equal(fl_text_prot(first[0]), PROT_READ | PROT_EXEC);
	assert_int_equal(fl_text_prot(first[SITES - 1]), PROT_READ | PROT_WRITE);
	assert_int_equal(fl_islands_end(&all), 0);
	assert_int_equal(fl_text_prot(first[SITES - 1]), PROT_READ | PROT_EXEC);
	assert_int_equal(fl_text_prot(to), PROT_READ | PROT_EXEC);
}

/* All but so many pages at `hole` is taken, as far as branches from `at` reach, and back. */
static void take(uintptr_t hole, size_t pages)
{
	const uintptr_t ends[] = { at - far, hole, hole + pages * FL_PAGE, at + far };

	for (int i = 0; i < 4; i += 2)
		assert_ptr_equal(mmap((void *)ends[i], ends[i + 1] - ends[i], PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
				      -1, 0), ends[i]);
}

static void an_island_is_as_large_as_can_be_had(void **state)
{
	enum { HOLE = 5, ROOM = 2 * FL_PAGE };	/* a page before, and one behind */
	struct fl_islands all = { .next = 0 };
	uintptr_t hole = at - (1ul << 30);

	(void)state;
	munmap((void *)(at - far), 2 * far);
	take(hole, HOLE);
	for (size_t n = 0; n < ROOM / FL_ARCH_VENEER_MAX; n++) {
		uintptr_t to = lead(&all, at + n * 64, 10000);

		assert_true(to > hole && to < hole + HOLE * FL_PAGE);
	}
	assert_int_equal(lead(&all, at, 0), 0);
	munmap((void *)(at - far / 2), FL_PAGE * 16);
	assert_int_equal(lead(&all, at + 4096, 0), 0);	/* nobody has looked */
	assert_true(lead(&all, at + (2 << 20), 0) != 0);
	assert_int_equal(fl_islands_end(&all), 0);
	munmap((void *)(at - far), 2 * far);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_lead_to_what_is_near_them),
		cmocka_unit_test(an_island_is_as_large_as_can_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
