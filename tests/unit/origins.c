/*
 * unit/origins: where in its function a place of a body is, by a table that was copied from
 * another process, which may lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "copy/copy.h"

/* Of one body of 16 bytes at BODY, whose original at ORIGINAL has 20. */
enum { BODY = 100, ORIGINAL = 300 };
struct copied {
	uint8_t how[4];
	int32_t frames;
	uint32_t count;
	int32_t start, fde;		/* from the table */
	uint32_t cie_bytes, cie_id;
	uint8_t version, letters[7];
	uint32_t bytes, to_cie;
	int32_t begin;			/* from itself, as the next but three */
	uint32_t length;
	uint8_t data_bytes;
	int32_t original;
	uint8_t run, more, end;
} __attribute__((packed));

/* At the end of a page, behind which nothing is mapped, nor before it. */
static struct copied *copy_table(void)
{
	unsigned char *pages = mmap(NULL, 3 * 4096, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct copied *t = (struct copied *)(pages + 2 * 4096 - sizeof(*t));

	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + 4096, 4096, PROT_READ | PROT_WRITE), 0);
	*t = (struct copied){
		.count = 1, .start = BODY, .fde = offsetof(struct copied, bytes),
		.cie_bytes = 12, .version = 1, .letters = "zR",
		.bytes = sizeof(*t) - offsetof(struct copied, to_cie),
		.to_cie = offsetof(struct copied, to_cie) - offsetof(struct copied, cie_bytes),
		.begin = BODY - (int32_t)offsetof(struct copied, begin), .length = 16,
		.data_bytes = 7,
		.original = ORIGINAL - (int32_t)offsetof(struct copied, original),
		.run = 16, .more = 4,
	};
	return t;
}

/* How far from the table; what is not told is its own place. */
static uintptr_t origin_in(const struct copied *t, uintptr_t at)
{
	return fl_unwind_origin_by(t, sizeof(*t), (uintptr_t)t + at) - (uintptr_t)t;
}

static void a_copied_table_tells_and_may_lie(void **unused)
{
	struct copied *t = copy_table();

	(void)unused;
	assert_int_equal(origin_in(t, BODY), ORIGINAL);
	assert_int_equal(origin_in(t, BODY + 7), ORIGINAL + 7);
	assert_int_equal(origin_in(t, BODY - 1), BODY - 1);
	assert_int_equal(origin_in(t, BODY + 17), BODY + 17);
	t->count = 1 << 28;
	origin_in(t, BODY + 7);
	t->count = 1;
	t->to_cie = 1 << 20;
	assert_int_equal(origin_in(t, BODY + 7), BODY + 7);
	t->to_cie = 0;
	assert_int_equal(origin_in(t, BODY + 7), BODY + 7);
	t->fde = INT32_MAX;
	assert_int_equal(origin_in(t, BODY + 7), BODY + 7);
	t->fde = sizeof(*t) - 2;
	assert_int_equal(origin_in(t, BODY + 7), BODY + 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copied_table_tells_and_may_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
