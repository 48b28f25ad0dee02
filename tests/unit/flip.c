/* unit/flip: a store to text reaches no further than it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "os/os.h"

/* The next page is not there. */
static void a_store_to_a_line_stays_in_it(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	unsigned char *page = mmap(NULL, 2 * FL_PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char due[FL_ARCH_LINE], *line = page + FL_PAGE - FL_ARCH_LINE;

	(void)state;
	assert_int_equal(munmap(page + FL_PAGE, FL_PAGE), 0);
	for (size_t n = 1; n <= 8; n++) {
		for (size_t at = 0; at + n <= FL_ARCH_LINE; at++) {
			memset(line, 0x5a, FL_ARCH_LINE);
			memset(due, 0x5a, FL_ARCH_LINE);
			memcpy(due + at, bytes, n);
			fl_arch_flip_line((uintptr_t)line + at, bytes, n);
			assert_memory_equal(line, due, FL_ARCH_LINE);
			if (at % 8 + n > 8)
				continue;
			memset(line, 0x5a, FL_ARCH_LINE);
			fl_arch_flip((uintptr_t)line + at, bytes, n);
			assert_memory_equal(line, due, FL_ARCH_LINE);
		}
	}
	munmap(page, FL_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_to_a_line_stays_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
