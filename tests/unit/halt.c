/*
 * unit/halt: several instructions become one while threads stand among them, come, and go.
 *
 * timeout: 120
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/os.h"
#include "patch/halt.h"
#include "patch/patch.h"
#include "stop-at.h"

enum { OFF = 512, ON = 544, LED = 7 };
static size_t at_code = 61;		/* a place straddles a line and a word */

static unsigned char *code;

/* nop; jmp itself; nop; nop; ret: who has entered stands at 1. */
static const unsigned char stands[] = { 0x90, 0xeb, 0xfe, 0x90, 0x90, 0xc3 };
/* ... and is led to what returns LED, one byte into this. */
static const unsigned char leads[] = { 0x90, 0xb8, LED, 0, 0, 0, 0xc3 };
/* push %rbp; mov %rsp,%rbp; pop %rbp; mov $LED,%eax; ret */
static const unsigned char runs[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xb8, LED, 0, 0, 0, 0xc3 };

static void plan(struct fl_patch *p, const unsigned char *old, size_t n, const char copies[5])
{
	struct fl_plan_in in = {
		.at = (uintptr_t)code + at_code, .form = FL_FORM_BODY, .room = 5,
		.off = (uintptr_t)code + OFF, .on = (uintptr_t)code + ON,
	};
	uint64_t datum;

	memcpy(code + at_code, old, n);
	memcpy(in.copies, copies, 5);
	assert_int_equal(fl_arch_plan(p, &in, &datum), 0);
}

static int commit(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad = 7;
	int err;

	assert_int_equal(fl_set_stage(&set, p, from, to), 0);
	assert_int_equal(fl_claim_alone(p), 0);
	err = fl_set_commit(&set, &bad);
	fl_unclaim_alone(p);
	if (err)
		assert_int_equal(bad, 0);
	return err;
}

/* ---- a thread that stands there ------------------------------------------------- */

static uint32_t in_handler, let_handler, may_enter;

static void on_signal(int sig)
{
	(void)sig;
	store_release(&in_handler, load_relaxed(&in_handler) + 1);
	while (!load_acquire(&let_handler))
		usleep(100);
}

static void *stand(void *arg)
{
	stack_t alt = { .ss_sp = arg, .ss_size = 1 << 16 };

	if (arg)
		sigaltstack(&alt, NULL);
	store_release(&may_enter, 1);
	return (void *)(intptr_t)((int (*)(void))(code + at_code))();
}

/* Until it is where it stays for ever: nothing tells but its program counter. */
static void await_inside(pthread_t t)
{
	enum { LOOKS = 20 };

	while (!load_acquire(&may_enter))
		sched_yield();
	(void)t;
	for (int i = 0; i < LOOKS; i++)
		usleep(1000);
}

static pthread_t start(void *alt)
{
	pthread_t t;

	store_release(&may_enter, 0);
	store_release(&in_handler, 0);
	store_release(&let_handler, 0);
	memcpy(code + OFF, leads, sizeof leads);
	assert_int_equal(pthread_create(&t, NULL, stand, alt), 0);
	await_inside(t);
	return t;
}

static void assert_led(pthread_t t)
{
	void *result;

	assert_int_equal(pthread_join(t, &result), 0);
	assert_int_equal((intptr_t)result, LED);
}

static void who_stands_inside_is_led_to_the_copy(void **state)
{
	struct fl_patch p;
	pthread_t t[4];

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		t[i] = start(NULL);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_led(t[i]);
	assert_memory_equal(code + at_code, p.bytes[FL_OFF], 5);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
	assert_memory_equal(code + at_code, stands, sizeof stands);
}

static void await_handlers(uint32_t n)
{
	while (load_acquire(&in_handler) != n)
		sched_yield();
}

static void send(pthread_t t, int sig, uint32_t n)
{
	assert_int_equal(pthread_kill(t, sig), 0);
	await_handlers(n);
}

static void who_will_return_there_from_a_handler_is_led_to_the_copy(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	t = start(NULL);
	send(t, SIGUSR1, 1);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	store_release(&let_handler, 1);
	assert_led(t);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
}

/* The frame with the place is on the thread's stack, the thread on another. */
static void frames_are_found_from_stack_to_stack(void **state)
{
	void *alt = malloc(1 << 16);
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	t = start(alt);
	send(t, SIGUSR1, 1);
	send(t, SIGUSR2, 2);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	store_release(&let_handler, 1);
	assert_led(t);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
	free(alt);
}

/* Of the caller's own. */
static struct fl_patch under_handler;
static int result;

static void commit_in_handler(int sig)
{
	(void)sig;
	result = commit(&under_handler, FL_OLD, FL_OFF);
}

static void *poke_main(void *thread)
{
	while (!load_acquire(&may_enter))
		sched_yield();
	usleep(20000);
	pthread_kill(*(pthread_t *)thread, SIGALRM);
	while (!load_acquire(&let_handler))
		usleep(100);
	return NULL;
}

static void so_are_those_of_who_asks(void **state)
{
	struct sigaction act = { .sa_handler = commit_in_handler };
	pthread_t self = pthread_self(), t;

	(void)state;
	memcpy(code + OFF, leads, sizeof leads);
	plan(&under_handler, stands, sizeof stands, "\0\1\0\3\4");
	sigaction(SIGALRM, &act, NULL);
	result = 1;
	store_release(&may_enter, 0);
	store_release(&let_handler, 0);
	assert_int_equal(pthread_create(&t, NULL, poke_main, &self), 0);
	assert_int_equal((intptr_t)stand(NULL), LED);
	store_release(&let_handler, 1);
	pthread_join(t, NULL);
	assert_int_equal(result, 0);
	assert_int_equal(commit(&under_handler, FL_OFF, FL_OLD), 0);
}

/* ---- what is refused --------------------------------------------------------------- */

static void where_there_is_no_copy_nothing_is_stored(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\0\0\3\4");
	t = start(NULL);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), FLE_STANDS);
	assert_memory_equal(code + at_code, stands, sizeof stands);
	plan(&p, stands, sizeof stands, "\0\0\0\0\0");
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), FLE_LOOPS);
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	assert_led(t);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
}

/* A handler has copied its context, and may go on with it. */
static void *keep_word(void *arg)
{
	volatile uintptr_t place = (uintptr_t)code + at_code + 1;

	(void)arg;
	store_release(&may_enter, 1);
	while (!load_acquire(&let_handler))
		usleep(100);
	return (void *)(place - (uintptr_t)code - at_code - 1);
}

static void a_place_that_is_kept_in_no_frame_refuses_the_row(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	store_release(&may_enter, 0);
	store_release(&let_handler, 0);
	assert_int_equal(pthread_create(&t, NULL, keep_word, NULL), 0);
	while (!load_acquire(&may_enter))
		sched_yield();
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), FLE_STANDS);
	assert_memory_equal(code + at_code, stands, sizeof stands);
	store_release(&let_handler, 1);
	pthread_join(t, NULL);
}

static void where_nobody_may_hold_threads_rows_are_refused(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	t = start(NULL);
	assert_int_equal(fl_os_fault_open("clone:1+"), 0);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), FLE_THREADS);
	assert_int_equal(fl_os_fault_open(NULL), 0);
	assert_memory_equal(code + at_code, stands, sizeof stands);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	assert_led(t);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
}

/* ---- threads that run ---------------------------------------------------------------- */

static uint32_t over, turns;
static uint64_t wrong;

static void *run_through(void *arg)
{
	for (; !load_relaxed(&over); store_relaxed(&turns, load_relaxed(&turns) + 1))
		if (((int (*)(void))(code + at_code))() != LED)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *come_and_go(void *arg)
{
	(void)arg;
	while (!load_relaxed(&over)) {
		void *(*enter)(void *) = (void *(*)(void *))(void *)(code + at_code);
		pthread_t t;

		if (!pthread_create(&t, NULL, enter, NULL))
			pthread_join(t, NULL);
	}
	return NULL;
}

/* The first instructions, and on behind them. */
static void put_copy(size_t at)
{
	memcpy(code + at, runs, 5);
	code[at + 5] = 0xe9;
	memcpy(code + at + 6, &(int32_t){ (int32_t)(at_code + 5 - (at + 10)) }, 4);
}

static void threads_run_through_what_is_armed_and_put_back(void **state)
{
	enum { TIMES = 150 };
	struct fl_patch p;
	pthread_t t[5];

	(void)state;
	plan(&p, runs, sizeof runs, "\0\1\0\0\4");
	put_copy(OFF);
	put_copy(ON);
	store_release(&over, 0);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, i ? run_through : come_and_go,
						NULL), 0);
	for (int i = 0; i < TIMES; i++) {
		assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
		assert_memory_equal(code + at_code, p.bytes[FL_OFF], 5);
		assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
		assert_memory_equal(code + at_code, runs, sizeof runs);
	}
	store_release(&over, 1);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	assert_int_equal(wrong, 0);
}

static bool ran;

static void look_on(void)
{
	enum { LONG_US = 100000 };		/* the holder looks at who asked meanwhile */
	uint32_t before = load_relaxed(&turns);

	fl_os_sleep_us(LONG_US);
	ran |= load_relaxed(&turns) != before;
}

static struct fl_patch stored;
static struct fl_set stored_set;
static uint32_t is_stored;

/* In the program, or in who waits beside it. */
static int store_it(void *arg)
{
	size_t bad;

	(void)arg;
	result = fl_set_commit(&stored_set, &bad);
	store_release(&is_stored, 1);
	return 0;
}

static void nobody_runs_until_all_is_stored(void **state)
{
	struct fl_change change;
	pthread_t t;

	(void)state;
	plan(&stored, runs, sizeof runs, "\0\1\0\0\4");
	put_copy(OFF);
	put_copy(ON);
	store_release(&over, 0);
	assert_int_equal(pthread_create(&t, NULL, run_through, NULL), 0);
	assert_int_equal(fl_os_outside_open(), 0);
	for (int beside = 0; beside < 2; beside++) {
		stored_set = (struct fl_set){ .changes = &change, .room = 1 };
		assert_int_equal(fl_set_stage(&stored_set, &stored, FL_OLD, FL_OFF), 0);
		assert_int_equal(fl_claim_alone(&stored), 0);
		stop("held.stored", look_on);
		store_release(&is_stored, 0);
		if (beside)
			assert_int_equal(fl_os_outside_start(store_it, NULL, getppid(), NULL),
					 0);
		else
			store_it(NULL);
		while (!load_acquire(&is_stored))
			usleep(1000);
		assert_int_equal(result, 0);
		assert_false(ran);
		fl_unclaim_alone(&stored);
		assert_int_equal(commit(&stored, FL_OFF, FL_OLD), 0);
	}
	store_release(&over, 1);
	pthread_join(t, NULL);
	assert_int_equal(wrong, 0);
}

/* Threads that wait before it would need two bytes in one word (moves.c). */
static void what_takes_two_stores_is_put_back(void **state)
{
	(void)state;
	at_code = 63;
	threads_run_through_what_is_armed_and_put_back(NULL);
	at_code = 61;
}

/* ---- who is asked --------------------------------------------------------------------- */

static void what_is_asked_is_valid_or_refused(void **state)
{
	struct fl_halt good = { .step = FL_HALT_ASKED, .asker = 1, .n_rows = 1, .rows = 1,
				.stack = 1 };
	struct fl_halt m = good;

	(void)state;
	assert_true(fl_halt_is_valid(&m));
	m.step = FL_HALT_OVER + 1;
	assert_false(fl_halt_is_valid(&m));
	m = good;
	m.n_rows = FL_HALT_ROWS + 1;
	assert_false(fl_halt_is_valid(&m));
	m = good;
	m.asker = 0;
	assert_false(fl_halt_is_valid(&m));
	m = good;
	m.spared = -1;
	assert_false(fl_halt_is_valid(&m));
	m = good;
	m.rows = 0;
	assert_false(fl_halt_is_valid(&m));
	m = good;
	m.stack = 0;
	assert_false(fl_halt_is_valid(&m));
	m.step = FL_HALT_FREE;
	assert_true(fl_halt_is_valid(&m));
}

/* A reader that offers to hold, and what becomes of it. */
static struct fl_halt *mail;
static pid_t reader;

static bool reader_is_there(void)
{
	return waitpid(reader, NULL, WNOHANG) == 0;
}

static void end_reader(void)
{
	raise(SIGKILL);
}

/* Before there are threads: it has the program's memory as it was, and asks for the rest. */
static void start_reader(const char *ends_at)
{
	memset(mail, 0, sizeof *mail);
	reader = fork();
	if (reader) {
		prctl(PR_SET_PTRACER, reader);		/* where Yama is in force */
		return;
	}
	if (ends_at)
		stop(ends_at, end_reader);
	while (load_acquire(&mail->step) != FL_HALT_ASKED)
		usleep(1000);
	fl_halt_serve(getppid(), getppid(), mail);
	_exit(0);
}

/* Where no child may. */
static int commit_by_reader(struct fl_patch *p)
{
	int err;

	fl_halt_by(mail, reader_is_there);
	assert_int_equal(fl_os_fault_open("clone:1+"), 0);
	err = commit(p, FL_OLD, FL_OFF);
	assert_int_equal(fl_os_fault_open(NULL), 0);
	fl_halt_by(NULL, NULL);
	return err;
}

static void a_reader_holds_threads_where_no_child_may(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	start_reader(NULL);
	t = start(NULL);
	assert_int_equal(commit_by_reader(&p), 0);
	assert_led(t);
	assert_int_equal(mail->step, FL_HALT_OVER);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
}

static void threads_go_on_when_the_reader_is_killed(void **state)
{
	static const char *const at[] = { "halt.met", "halt.led" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(at); i++) {
		struct fl_patch p;
		pthread_t t;

		plan(&p, stands, sizeof stands, "\0\1\0\3\4");
		start_reader(at[i]);
		t = start(NULL);
		assert_int_equal(commit_by_reader(&p), FLE_THREADS);
		assert_memory_equal(code + at_code, stands, sizeof stands);
		assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
		assert_led(t);
		assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
	}
}

static void a_reader_that_has_gone_is_not_waited_for(void **state)
{
	struct fl_patch p;
	pthread_t t;

	(void)state;
	plan(&p, stands, sizeof stands, "\0\1\0\3\4");
	start_reader(NULL);
	kill(reader, SIGKILL);
	t = start(NULL);
	assert_int_equal(commit_by_reader(&p), FLE_THREADS);
	assert_int_equal(mail->step, FL_HALT_FREE);
	assert_int_equal(commit(&p, FL_OLD, FL_OFF), 0);
	assert_led(t);
	assert_int_equal(commit(&p, FL_OFF, FL_OLD), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_stands_inside_is_led_to_the_copy),
		cmocka_unit_test(who_will_return_there_from_a_handler_is_led_to_the_copy),
		cmocka_unit_test(frames_are_found_from_stack_to_stack),
		cmocka_unit_test(where_there_is_no_copy_nothing_is_stored),
		cmocka_unit_test(a_place_that_is_kept_in_no_frame_refuses_the_row),
		cmocka_unit_test(where_nobody_may_hold_threads_rows_are_refused),
		cmocka_unit_test(threads_run_through_what_is_armed_and_put_back),
		cmocka_unit_test(what_takes_two_stores_is_put_back),
		cmocka_unit_test(nobody_runs_until_all_is_stored),
		cmocka_unit_test(what_is_asked_is_valid_or_refused),
		cmocka_unit_test(a_reader_holds_threads_where_no_child_may),
		cmocka_unit_test(threads_go_on_when_the_reader_is_killed),
		cmocka_unit_test(a_reader_that_has_gone_is_not_waited_for),
		cmocka_unit_test(so_are_those_of_who_asks),
	};
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mail = mmap(NULL, sizeof *mail, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fl_patch_open(NULL))
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
