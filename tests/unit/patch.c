/* unit/patch: what a set refuses, and that a refusal has changed nothing. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "patch/patch.h"
#include "site/site.h"
#include "stop-at.h"

enum { AT = 61 };			/* every window straddles a line and a word */

static unsigned char *code, before[4096];
static int quit[2];

static int plan_at(struct fl_patch *p, size_t at, int form, const void *old, size_t n)
{
	struct fl_plan_in in = {
		.at = (uintptr_t)code + at, .form = form, .room = (uint8_t)n,
		.glue = (uintptr_t)code + 1024,
	};
	uint64_t datum;

	memcpy(code + at, old, n);
	memcpy(before, code, sizeof before);
	return fl_arch_plan(p, &in, &datum);
}

static int commit(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad = 7;
	int err = fl_set_stage(&set, p, from, to);

	assert_int_equal(err, 0);
	assert_int_equal(fl_claim_alone(p), 0);
	err = fl_set_commit(&set, &bad);
	fl_unclaim_alone(p);
	if (err)
		assert_int_equal(bad, 0);
	return err;
}

static void *sit(void *block)
{
	sigset_t all;
	char c;

	sigfillset(&all);
	if (block)
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	if (write(quit[1], "", 1) != 1 || read(quit[0], &c, 0) < 0)
		return NULL;
	for (;;)
		pause();
}

/* A second thread, which runs by the time this returns. */
static pthread_t start_thread(bool block)
{
	pthread_t t;
	char c;

	assert_int_equal(pipe(quit), 0);
	assert_int_equal(pthread_create(&t, NULL, sit, block ? "" : NULL), 0);
	assert_int_equal(read(quit[0], &c, 1), 1);
	return t;
}

static void stop_thread(pthread_t t)
{
	pthread_cancel(t);
	pthread_join(t, NULL);
	close(quit[0]);
	close(quit[1]);
}

static void changed_bytes_are_refused(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan_at(&p, AT, FL_FORM_PAD, "\x0f\x1f\x44\0\0", 5), 0);
	code[AT + 4] = 1;
	before[AT + 4] = 1;
	assert_int_equal(commit(&p, FL_OLD, FL_ON), FLE_CHANGED);
	assert_memory_equal(code, before, sizeof before);
}

/* There is no child to be had that could. */
static void nobody_holds(void)
{
	assert_int_equal(fl_os_fault_open("clone:1+"), 0);
}

static void a_row_is_refused_where_nobody_holds_threads(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	assert_int_equal(plan_at(&p, AT, FL_FORM_PAD, "\x90\x90\x90\x90\x90", 5), 0);
	t = start_thread(false);
	nobody_holds();
	assert_int_equal(commit(&p, FL_OLD, FL_ON), FLE_THREADS);
	assert_memory_equal(code, before, sizeof before);
	stop_thread(t);
	assert_int_equal(commit(&p, FL_OLD, FL_ON), 0);
	assert_memory_equal(code + AT, p.bytes[FL_ON], 5);
	assert_int_equal(commit(&p, FL_ON, FL_OLD), 0);
	assert_memory_equal(code, before, sizeof before);
	assert_int_equal(fl_os_fault_open(NULL), 0);
}

static void a_row_is_joined_while_threads_are_held(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	assert_int_equal(plan_at(&p, AT, FL_FORM_PAD, "\x90\x90\x90\x90\x90", 5), 0);
	t = start_thread(true);
	assert_int_equal(commit(&p, FL_OLD, FL_ON), 0);
	assert_memory_equal(code + AT, p.bytes[FL_ON], 5);
	assert_int_equal(commit(&p, FL_ON, FL_OLD), 0);
	assert_memory_equal(code, before, sizeof before);
	stop_thread(t);
}

/* Its descriptors are its own: the kernel closes them when it can be joined already. */
static void *end_slowly(void *arg)
{
	struct rlimit most;
	int err = unshare(CLONE_FILES);

	if (!getrlimit(RLIMIT_NOFILE, &most)) {
		most.rlim_cur = most.rlim_max;
		setrlimit(RLIMIT_NOFILE, &most);
	}
	for (int i = 0; !err && i < 3000; i++)
		err = open("/dev/null", O_RDONLY) < 0;
	return arg;
}

static void who_is_about_to_end_stands_in_no_row(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan_at(&p, AT, FL_FORM_PAD, "\x90\x90\x90\x90\x90", 5), 0);
	for (int i = 0; i < 10; i++) {
		pthread_t t;

		assert_int_equal(pthread_create(&t, NULL, end_slowly, NULL), 0);
		assert_int_equal(pthread_join(t, NULL), 0);
		assert_int_equal(commit(&p, FL_OLD, FL_ON), 0);
		assert_int_equal(commit(&p, FL_ON, FL_OLD), 0);
	}
}

/* A site is armed and put back under threads that block SIGTRAP: none traps. */
static void sites_never_trap(void **state)
{
	static const struct { int form; const char *old; size_t n; } sites[] = {
		{ FL_FORM_CALL, "\xe8\1\2\3\4", 5 },
		{ FL_FORM_CALL_POINTER, "\xff\x15\0\0\0\0", 6 },
		{ FL_FORM_JUMP_POINTER, "\xff\x25\0\0\0\0", 6 },
		{ FL_FORM_PAD, "\x66\x2e\x0f\x1f\x84\0\0\2\0\0", 10 },
		{ FL_FORM_SLED, "\xeb\x09\x66\x0f\x1f\x84\0\0\2\0\0", 11 },
	};
	struct sigaction now;
	pthread_t t = start_thread(true);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sites); i++) {
		struct fl_patch p;

		assert_int_equal(plan_at(&p, AT - 1, sites[i].form, sites[i].old,
					 sites[i].n), 0);
		assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
		assert_memory_equal(code + AT - 1, p.bytes[FL_OFF], p.len);
		assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
		assert_memory_equal(code, before, sizeof before);
	}
	stop_thread(t);
	sigaction(SIGTRAP, NULL, &now);
	assert_true(now.sa_handler == SIG_DFL);
}

/* ---- rows ---------------------------------------------------------------------- */

static unsigned char parked[16];

static void look_at_park(void)
{
	memcpy(parked, code + AT, sizeof parked);
}

/* Its tail is the operand of a call that threads execute until the sync. */
static void a_row_that_is_on_parks_with_its_head_alone(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	assert_int_equal(plan_at(&p, AT, FL_FORM_PAD, "\x90\x90\x90\x90\x90", 5), 0);
	assert_int_equal(commit(&p, FL_OLD, FL_ON), 0);
	t = start_thread(true);
	stop("commit.park", look_at_park);
	assert_int_equal(commit(&p, FL_ON, FL_OLD), 0);
	assert_memory_equal(parked + 1, p.bytes[FL_ON] + 1, p.len - 1);
	assert_memory_equal(code, before, sizeof before);
	stop_thread(t);
}

/* An entry leads back to NOPs: as long as these are parked it is what it was, or each way
 * leads to the other. Nothing asks a thread that has all signals blocked. */
static void an_entry_leads_to_nothing_that_is_parked(void **state)
{
	static const char old[] = "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x48\x89\xf8";
	enum { BEFORE = 11, LEN = sizeof old - 1 };
	struct fl_plan_in in = {
		.at = (uintptr_t)code + AT + BEFORE, .form = FL_FORM_BODY_BEFORE,
		.room = LEN - BEFORE, .before = BEFORE, .on = (uintptr_t)code + 1024,
		.off = (uintptr_t)code + 1029,
	};
	struct fl_patch p;
	uint64_t datum;
	pthread_t t;

	(void)state;
	memcpy(code + AT, old, LEN);
	memcpy(before, code, sizeof before);
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	t = start_thread(true);
	for (int to = FL_OFF; to >= FL_OLD; to--) {
		memset(parked, 0, sizeof parked);
		stop("commit.park", look_at_park);
		assert_int_equal(commit(&p, FL_OFF - to, to), 0);
		assert_memory_equal(parked, "\xeb\x09", 2);
		assert_memory_equal(parked + BEFORE, old + BEFORE, LEN - BEFORE);
		assert_memory_equal(code + AT, p.bytes[to], LEN);
	}
	assert_memory_equal(code, before, sizeof before);
	stop_thread(t);
}

/* Who returned into the NOPs that had come back may be in the middle of them. */
static void a_row_that_was_returned_to_is_left_alone(void **state)
{
	static const char nops[] = "\x90\x90\x90\x90\x90\x90\x90\x66\x90";
	struct fl_plan_in in = {
		.at = (uintptr_t)code + AT, .form = FL_FORM_PAD_BEFORE, .room = 2,
		.before = 7, .glue = (uintptr_t)code + 1024,
	};
	struct fl_patch p;
	uint64_t datum;
	pthread_t t;

	(void)state;
	memcpy(code + AT - 7, nops, 9);
	memcpy(before, code, sizeof before);
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	t = start_thread(false);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
	nobody_holds();
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), FLE_THREADS);
	assert_int_equal(fl_os_fault_open(NULL), 0);
	stop_thread(t);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
	assert_memory_equal(code, before, sizeof before);
}

static void a_full_set_takes_no_more(void **state)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	struct fl_patch p = { 0 };

	(void)state;
	assert_int_equal(fl_set_stage(&set, &p, FL_OLD, FL_ON), 0);
	assert_int_equal(fl_set_stage(&set, &p, FL_OLD, FL_ON), -ENOSPC);
	assert_int_equal(set.n, 1);
}

static void text_gets_back_what_it_had(void **state)
{
	uintptr_t at = (uintptr_t)&fl_set_commit;
	int prot = fl_text_prot(at);

	(void)state;
	assert_int_equal(prot, PROT_READ | PROT_EXEC);
	assert_int_equal(fl_text_open(at, at + 1, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_prot(at), PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_int_equal(fl_text_close(at, at + 1, FL_TEXT_PROBES), 0);
	assert_int_equal(fl_text_prot(at), prot);
	assert_int_equal(fl_text_prot(16), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_bytes_are_refused),
		cmocka_unit_test(a_row_is_refused_where_nobody_holds_threads),
		cmocka_unit_test(a_row_is_joined_while_threads_are_held),
		cmocka_unit_test(who_is_about_to_end_stands_in_no_row),
		cmocka_unit_test(sites_never_trap),
		cmocka_unit_test(a_row_that_is_on_parks_with_its_head_alone),
		cmocka_unit_test(an_entry_leads_to_nothing_that_is_parked),
		cmocka_unit_test(a_row_that_was_returned_to_is_left_alone),
		cmocka_unit_test(a_full_set_takes_no_more),
		cmocka_unit_test(text_gets_back_what_it_had),
	};

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_patch_open(NULL))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
