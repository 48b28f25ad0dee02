/* unit/text-wanted: what a program asks for its own code while flick stores to it. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "patch/patch.h"
#include "stop-at.h"

enum { PAGES = 4, R = PROT_READ, W = PROT_WRITE, X = PROT_EXEC };

static char *code;

static char *page(int i)
{
	return code + i * 4096;
}

static int setup(void **state)
{
	(void)state;
	/* far from all that flick has come to */
	code = mmap(NULL, PAGES * 4096, R | X, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return code == MAP_FAILED;
}

static int leave(void **state)
{
	(void)state;
	return fl_text_close((uintptr_t)code, (uintptr_t)page(PAGES), FL_TEXT_PROBES) ||
	       munmap(code, PAGES * 4096);
}

static int ask(int first, int n, int prot)
{
	return fl_text_protect((uintptr_t)page(first), n * 4096ul, prot, -1);
}

static void open_page(int i)
{
	assert_int_equal(fl_text_open((uintptr_t)page(i), (uintptr_t)page(i + 1),
				      FL_TEXT_PROBES), 0);
}

static void close_all(void)
{
	assert_int_equal(fl_text_close((uintptr_t)code, (uintptr_t)page(PAGES),
				       FL_TEXT_PROBES), 0);
}

static void are(int a, int b, int c, int d)
{
	const int due[PAGES] = { a, b, c, d };

	for (int i = 0; i < PAGES; i++)
		assert_int_equal(fl_text_prot((uintptr_t)page(i)), due[i]);
}

static void open_pages_stay_writable_the_others_are_as_asked(void **state)
{
	(void)state;
	open_page(1);
	assert_int_equal(ask(0, PAGES, R | X), 0);
	are(R | X, R | W | X, R | X, R | X);
	*page(1) = 1;
	assert_int_equal(ask(1, 2, R), 0);
	are(R | X, R | W, R, R | X);
	assert_int_equal(ask(1, 1, PROT_NONE), 0);
	are(R | X, W, R, R | X);
	*page(1) = 2;
	open_page(2);
	are(R | X, W, R | W, R | X);
	assert_int_equal(ask(0, PAGES, R | W | X), 0);
	are(R | W | X, R | W | X, R | W | X, R | W | X);
}

static void closed_pages_are_as_was_asked_last(void **state)
{
	(void)state;
	open_page(0);
	open_page(1);
	open_page(2);
	assert_int_equal(ask(1, 1, R), 0);
	assert_int_equal(ask(2, 2, R | W | X), 0);
	*page(0) = *page(1) = *page(2) = 1;
	close_all();
	are(R | X, R, R | W | X, R | W | X);
	open_page(1);
	are(R | X, R | W, R | W | X, R | W | X);
}

/* Page 0 is left, as it has no file; with it flick keeps what it knows of all. */
static void what_was_asked_between_two_openings_is_seen(void **state)
{
	(void)state;
	open_page(0);
	open_page(1);
	assert_int_equal(ask(1, 1, R | W | X), 0);
	close_all();
	are(R | X, R | W | X, R | X, R | X);
	/* not by mprotect(), which is flick's here */
	assert_int_equal(syscall(SYS_mprotect, page(1), 4096, R | X), 0);
	open_page(1);
	are(R | X, R | W | X, R | X, R | X);
	close_all();
	are(R | X, R | X, R | X, R | X);
}

static void what_was_writable_before_stays_so_while_open(void **state)
{
	(void)state;
	assert_int_equal(mprotect(code, PAGES * 4096, R | W | X), 0);
	open_page(1);
	assert_int_equal(ask(0, PAGES, R | X), 0);
	are(R | X, R | W | X, R | X, R | X);
	open_page(2);
	are(R | X, R | W | X, R | W | X, R | X);
	close_all();
	are(R | X, R | X, R | X, R | X);
}

static void mistakes_are_the_kernels(void **state)
{
	(void)state;
	open_page(1);
	assert_int_equal(fl_text_protect((uintptr_t)page(1) + 1, 1, R, -1), -EINVAL);
	assert_int_equal(fl_text_protect((uintptr_t)page(1), -(size_t)page(1), R, -1), -ENOMEM);
	assert_int_equal(fl_text_protect((uintptr_t)page(1), 0, R, -1), 0);
	assert_int_equal(ask(1, 1, 0x40000000), -EINVAL);
	assert_int_equal(fl_text_protect((uintptr_t)page(1), 4096, R, 12345), -EINVAL);
	assert_int_equal(munmap(page(3), 4096), 0);
	assert_int_equal(ask(0, PAGES, R), -ENOMEM);
	are(R, R | W, R, -EFAULT);
	mmap(page(3), 4096, R, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* What lies beside an area, or between two, is the kernel's alone. */
static void what_is_beside_an_area_is_done(void **state)
{
	(void)state;
	fl_text_forget((uintptr_t)code, (uintptr_t)page(PAGES));	/* of other tests */
	assert_int_equal(mprotect(page(0), 4096, R) | mprotect(page(2), 4096, R), 0);
	open_page(1);
	open_page(3);
	assert_int_equal(ask(0, PAGES, R | X), 0);
	are(R | X, R | W | X, R | X, R | W | X);
	assert_int_equal(munmap(page(0), 4096), 0);
	assert_int_equal(ask(0, 2, R), -ENOMEM);
	are(-EFAULT, R | W | X, R | X, R | W | X);
	mmap(page(0), 4096, R, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	close_all();
	are(R, R | X, R | X, R | X);
}

/* ---- who asks just when a page is opened ------------------------------------------- */

enum { MOMENT_NS = 5000000 };		/* less than flick is patient */

static pthread_t opener;
static int opened;			/* did it not wait? */

static void *open_it(void *arg)
{
	open_page(1);
	return arg;
}

/* The one that asks has found that flick is not there; now flick comes. */
static void let_it_open(void)
{
	struct timespec moment;

	assert_int_equal(pthread_create(&opener, NULL, open_it, NULL), 0);
	clock_gettime(CLOCK_REALTIME, &moment);
	moment.tv_nsec += MOMENT_NS;
	moment.tv_sec += moment.tv_nsec / 1000000000;
	moment.tv_nsec %= 1000000000;
	opened = !pthread_timedjoin_np(opener, NULL, &moment);
}

static void who_asks_while_a_page_is_opened_comes_first(void **state)
{
	(void)state;
	stop("text.apart", let_it_open);
	assert_int_equal(ask(0, PAGES, R | X), 0);
	assert_false(opened);
	assert_int_equal(pthread_join(opener, NULL), 0);
	are(R | X, R | W | X, R | X, R | X);
	*page(1) = 1;
}

#define AT_PAGES(test) cmocka_unit_test_setup_teardown(test, setup, leave)

int main(void)
{
	/* The first: what flick came to later lies around it. */
	const struct CMUnitTest tests[] = {
		AT_PAGES(who_asks_while_a_page_is_opened_comes_first),
		AT_PAGES(open_pages_stay_writable_the_others_are_as_asked),
		AT_PAGES(closed_pages_are_as_was_asked_last),
		AT_PAGES(what_was_asked_between_two_openings_is_seen),
		AT_PAGES(what_was_writable_before_stays_so_while_open),
		AT_PAGES(mistakes_are_the_kernels),
		AT_PAGES(what_is_beside_an_area_is_done),
	};

	if (fl_text_choose("mprotect"))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
