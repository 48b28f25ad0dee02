/* unit/flick-patch: the calls of flick/patch.h, one place at a time and many. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "flick/patch.h"

/*
 * Code in a page of our own: at AT the place, behind it `ret`. `one` and `two`
 * return 1 and 2.
 */
enum { BYTES = 1 << 20, AT = 4096, ONE = 64, TWO = 96 };
static unsigned char *code, *readonly;

/* Where the test build stops a commit. */
static const char *stop_at;
static void (*at_stop)(void);

void fl_point_hit(const char *name)
{
	void (*run)(void) = at_stop;

	if (!run || strcmp(name, stop_at))
		return;
	at_stop = NULL;
	run();
}

static void stop(const char *name, void (*run)(void))
{
	stop_at = name;
	at_stop = run;
}

/* mov $n,%eax */
static const unsigned char mov1[5] = { 0xb8, 1, 1, 1, 1 };
static const unsigned char mov2[5] = { 0xb8, 2, 2, 2, 2 };
static const unsigned char nop5[5] = { 0x0f, 0x1f, 0x44, 0, 0 };

static unsigned char *lay(size_t offset, const void *insn, size_t n)
{
	unsigned char *at = code + AT + offset;

	memset(code + AT, 0xcc, 256);
	memcpy(at, insn, n);
	at[n] = 0xc3;
	return at;
}

static int run(const unsigned char *at)
{
	int value;

	__asm__ volatile("sub $136, %%rsp\n\tcall *%1\n\tadd $136, %%rsp"
			 : "=a"(value) : "r"(at), "a"(0)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
	return value;
}

/* ---- what is refused --------------------------------------------------- */

static void half_an_instruction_is_refused(void **state)
{
	unsigned char *at = lay(0, mov1, 5);
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 4), FLICK_E_INSN);
	assert_int_equal(flick_patch_init(&p, at, "\x90\x90\x90\x90\x90", 5), FLICK_E_INSN);
	assert_int_equal(flick_patch_init(&p, at, mov2, 0), FLICK_E_INSN);
	assert_int_equal(flick_patch_init(&p, at, mov2, 16), FLICK_E_INSN);
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), -EINVAL);
}

static void shared_bytes_are_refused(void **state)
{
	unsigned char *at = lay(0, mov1, 5);
	struct flick_patch p, q;

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_int_equal(flick_patch_init(&q, at, mov2, 5), FLICK_E_OVERLAP);
	memcpy(at - 3, "\xb8\2\2\xb8\1", 5);
	assert_int_equal(flick_patch_init(&q, at - 3, mov2, 5), FLICK_E_OVERLAP);
	assert_int_equal(flick_patch_release(&p), 0);
	assert_int_equal(flick_patch_init(&q, at - 3, mov2, 5), 0);
	assert_int_equal(flick_patch_release(&q), 0);
	assert_int_equal(flick_patch_release(&q), -EINVAL);
}

static void what_cannot_be_written_is_refused(void **state)
{
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch_init(&p, readonly, mov2, 5), FLICK_E_READONLY);
	assert_int_equal(flick_patch_init(&p, (void *)64, mov2, 5), -EFAULT);
	assert_int_equal(flick_text_writable((void *)64, 1), -EFAULT);
	assert_int_equal(flick_text_writable(readonly, 5), 0);
	assert_int_equal(flick_patch_init(&p, readonly, mov2, 5), 0);
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	assert_int_equal(run(readonly), 0x02020202);
	assert_int_equal(flick_patch_release(&p), 0);
	assert_int_equal(flick_text_restore(readonly, 5), 0);
	assert_int_equal(flick_patch_init(&p, readonly, mov2, 5), FLICK_E_READONLY);
}

static void a_call_needs_a_call_or_a_nop(void **state)
{
	unsigned char *at = lay(0, mov1, 5);
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_call_init(&p, at, code + ONE, 0), FLICK_E_UNKNOWN);
	at = lay(0, nop5, 5);
	assert_int_equal(flick_call_init(&p, at, code + ONE, 8), FLICK_E_OPTION);
	assert_int_equal(flick_call_init(&p, at, at + (1ull << 40), 0), FLICK_E_NOREACH);
	at = lay(0, "\x0f\x1f\x40\x00", 4);
	assert_int_equal(flick_call_init(&p, at, code + ONE, 0), FLICK_E_NOSPACE);
}

static void another_writer_is_noticed(void **state)
{
	unsigned char *at = lay(6, mov1, 5);
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_string_equal(flick_patch_tactic(&p), "wide");
	at[4] = 9;
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), FLICK_E_CHANGED);
	assert_int_equal(at[1], 1);
	at[4] = 1;
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	assert_int_equal(flick_patch_release(&p), 0);
	assert_memory_equal(at, mov1, 5);
}

/* ---- switching --------------------------------------------------------- */

static void any_instruction_at_any_offset(void **state)
{
	(void)state;
	for (size_t offset = 0; offset < 64; offset++) {
		unsigned char *at = lay(offset, mov1, 5);
		struct flick_patch p;
		char why[200];

		assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
		flick_patch_why(&p, why, sizeof why);
		assert_non_null(strstr(why, "the bytes that change"));
		assert_string_equal(flick_patch_tactic(&p),
				    offset % 8 <= 3 || offset % 8 == 7 ? "word" : "wide");
		assert_int_equal(run(at), 0x01010101);
		assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
		assert_int_equal(run(at), 0x02020202);
		assert_int_equal(flick_patch_state(&p), FLICK_ON);
		assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
		assert_int_equal(flick_patch_switch(&p, FLICK_OFF), 0);
		assert_int_equal(run(at), 0x01010101);
		assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
		assert_int_equal(flick_patch_release(&p), 0);
		assert_memory_equal(at, mov1, 5);
	}
}

static void check_call(size_t offset, unsigned flags, const char *tactic)
{
	unsigned char *at = lay(offset, nop5, 5);
	struct flick_patch p;

	assert_int_equal(flick_call_init(&p, at, code + ONE, flags), 0);
	if (tactic)
		assert_string_equal(flick_patch_tactic(&p), tactic);
	assert_int_equal(flick_patch_state(&p), FLICK_OFF);
	assert_int_equal(run(at), 0);
	assert_int_equal(flick_call_on(&p), 0);
	assert_int_equal(run(at), 1);
	assert_int_equal(flick_call_off(&p), 0);
	assert_int_equal(run(at), 0);
	assert_int_equal(flick_patch_release(&p), 0);
	assert_memory_equal(at, nop5, 5);
}

static void a_nop_becomes_a_call(void **state)
{
	(void)state;
	for (size_t offset = 0; offset < 64; offset++) {
		if (offset % 8 < 7)
			check_call(offset, 0, offset % 8 <= 3 ? "word" : "wide");
		check_call(offset, FLICK_FLAGS_DEAD, "flip");
	}
}

/* The first byte is the last of its word, and nothing that keeps the flags leads past
 * the others. */
static void what_nobody_can_be_led_past_is_refused(void **state)
{
	unsigned char *at = lay(7, nop5, 5);
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_call_init(&p, at, code + ONE, 0), FLICK_E_STRADDLE);
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), FLICK_E_STRADDLE);
	assert_memory_equal(at, nop5, 5);
	at = lay(7, "\x0f\x1f\x80\0\0\0\0", 7);
	assert_int_equal(flick_call_init(&p, at, code + ONE, FLICK_FLAGS_DEAD),
			 FLICK_E_STRADDLE);
}

static void put_call(unsigned char *at, const unsigned char *to)
{
	int32_t rel = (int32_t)(to - (at + 5));

	at[0] = 0xe8;
	memcpy(at + 1, &rel, 4);
}

static void a_call_goes_elsewhere(void **state)
{
	(void)state;
	for (size_t offset = 0; offset < 64; offset++) {
		unsigned char *at = lay(offset, nop5, 5), before[5];
		struct flick_patch p;

		put_call(at, code + ONE);
		memcpy(before, at, 5);
		assert_int_equal(run(at), 1);
		assert_int_equal(flick_call_init(&p, at, code + TWO, 0), 0);
		assert_int_equal(flick_patch_state(&p), FLICK_ON);
		assert_string_equal(flick_patch_tactic(&p), "flip");
		assert_int_equal(run(at), 2);
		assert_int_equal(flick_call_off(&p), 0);
		assert_int_equal(run(at), 0);
		assert_int_equal(flick_patch_release(&p), 0);
		assert_memory_equal(at, before, 5);
	}
}

static void one_for_good(void **state)
{
	unsigned char *at = lay(5, mov1, 5);
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch(at, mov2, 5), 0);
	assert_int_equal(run(at), 0x02020202);
	assert_int_equal(flick_patch_init(&p, at, mov1, 5), 0);
	assert_int_equal(flick_patch(at, mov1, 5), FLICK_E_OVERLAP);
	assert_int_equal(flick_patch_release(&p), 0);
}

/* ---- while it is under way --------------------------------------------- */

static unsigned char *met_at;
static struct flick_patch *met;
static int met_value, met_switch;

static void *meet(void *arg)
{
	met_switch = flick_patch_switch(met, FLICK_OFF);
	met_value = run(met_at);
	return arg;
}

/* Another thread runs the place, and would switch it, in the middle: it passes. */
static void send_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, meet, NULL);
	pthread_join(t, NULL);
}

static void a_thread_in_the_middle_acts_as_either(void **state)
{
	static const char *const points[] = { "commit.park", "commit.tail", "commit.head" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t offset = 5;
		struct flick_patch p;

		met_at = lay(offset, nop5, 5);
		met = &p;
		met_value = -1;
		assert_int_equal(flick_call_init(&p, met_at, code + ONE, 0), 0);
		stop(points[i], send_thread);
		assert_int_equal(flick_call_on(&p), 0);
		assert_null(at_stop);
		assert_int_equal(met_switch, FLICK_E_BUSY);
		assert_int_equal(met_value, i == 2);
		assert_int_equal(flick_patch_release(&p), 0);
	}
}

/* A thread that blocks all signals in short sections, and runs the place in them. */
static int sections_over;
static unsigned long sections, sections_wrong;

static void *block_now_and_then(void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	while (!__atomic_load_n(&sections_over, __ATOMIC_RELAXED)) {
		int value;

		pthread_sigmask(SIG_SETMASK, &all, &before);
		value = run(arg);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		sections_wrong += value != 0x01010101 && value != 0x02020202;
		__atomic_fetch_add(&sections, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void signals_may_be_blocked_at_any_time(void **state)
{
	unsigned char *at = lay(6, mov1, 5);
	struct flick_patch p;
	pthread_t t;

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_string_equal(flick_patch_tactic(&p), "wide");
	pthread_create(&t, NULL, block_now_and_then, at);
	for (int i = 0; i < 20000 || __atomic_load_n(&sections, __ATOMIC_RELAXED) < 1000; i++)
		assert_int_equal(flick_patch_switch(&p, i & 1 ? FLICK_OFF : FLICK_ON), 0);
	__atomic_store_n(&sections_over, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	assert_int_equal(sections_wrong, 0);
	assert_int_equal(flick_patch_release(&p), 0);
}

static pthread_t waiting;

static void *run_it(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	met_value = run(arg);
	return NULL;
}

static void send_and_leave(void)
{
	pthread_create(&waiting, NULL, run_it, met_at);
}

/* `mov` cannot be left out: the thread comes through when the place is whole, whatever
 * it blocks. */
static void a_thread_that_cannot_pass_waits(void **state)
{
	struct flick_patch p;

	(void)state;
	met_at = lay(6, mov1, 5);
	assert_int_equal(flick_patch_init(&p, met_at, mov2, 5), 0);
	stop("commit.park", send_and_leave);
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	pthread_join(waiting, NULL);
	assert_true(met_value == 0x01010101 || met_value == 0x02020202);
	assert_int_equal(flick_patch_release(&p), 0);
}

static void finish_all(struct flick_patch *p, size_t n)
{
	for (int left = 1, round = 0; left; round++) {
		left = 0;
		for (size_t i = 0; i < n; i++)
			left += flick_patch_finish(&p[i]) == -EAGAIN;
		assert_in_range(round, 0, 3);
	}
}

enum { MANY = 5000, STEP = 45 };
static struct flick_patch many[MANY];

static unsigned char *place(size_t i)
{
	return code + 8192 + i * STEP;
}

static void lay_many(void)
{
	for (size_t i = 0; i < MANY; i++) {
		memcpy(place(i), mov1, 5);
		place(i)[5] = 0xc3;
		assert_int_equal(flick_patch_init(&many[i], place(i), mov2, 5), 0);
	}
}

static void check_many(int value)
{
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(run(place(i)), value);
}

static void release_many(void)
{
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(flick_patch_release(&many[i]), 0);
}

static void thousands_at_once_without_waiting(void **state)
{
	(void)state;
	lay_many();
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(flick_patch_start(&many[i], FLICK_ON), 0);
	assert_int_equal(flick_patch_start(&many[4], FLICK_OFF), FLICK_E_BUSY);
	assert_int_equal(flick_patch_switch(&many[4], FLICK_OFF), FLICK_E_BUSY);
	assert_int_equal(flick_patch_release(&many[4]), FLICK_E_BUSY);
	finish_all(many, MANY);
	assert_int_equal(flick_patch_finish(&many[0]), 0);
	check_many(0x02020202);
	release_many();
}

/* The only thread there is runs what it began itself. */
static void a_started_place_can_be_run_by_its_starter(void **state)
{
	struct flick_patch p;
	unsigned char *at = lay(6, mov1, 5);

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_int_equal(flick_patch_start(&p, FLICK_ON), 0);
	assert_int_equal(run(at), 0x02020202);
	finish_all(&p, 1);
	assert_int_equal(flick_patch_release(&p), 0);
}

/* The child has nobody else who could finish the place. */
static void a_child_finishes_what_was_started(void **state)
{
	struct flick_patch p;
	unsigned char *at = lay(6, mov1, 5);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_int_equal(flick_patch_start(&p, FLICK_ON), 0);
	pid = fork();
	if (!pid)
		_exit(run(at) == 0x02020202 && !flick_patch_finish(&p) &&
		      !flick_patch_release(&p) && run(at) == 0x01010101);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 1 << 8);
	finish_all(&p, 1);
	assert_int_equal(flick_patch_release(&p), 0);
}

/* ---- sets -------------------------------------------------------------- */

static void a_set_is_all_or_nothing(void **state)
{
	static struct flick_change c[MANY];
	size_t bad = 0;

	(void)state;
	lay_many();
	for (size_t i = 0; i < MANY; i++)
		c[i] = (struct flick_change){ &many[i], FLICK_ON };
	place(4708)[3] ^= 64;
	assert_int_equal(flick_patch_commit(c, MANY, &bad), FLICK_E_CHANGED);
	assert_int_equal(bad, 4708);
	place(4708)[3] ^= 64;
	check_many(0x01010101);
	c[7].patch = &many[8];
	assert_int_equal(flick_patch_commit(c, MANY, &bad), FLICK_E_BUSY);
	assert_int_equal(bad, 8);
	c[7].patch = &many[7];
	assert_int_equal(flick_patch_commit(c, MANY, NULL), 0);
	check_many(0x02020202);
	assert_int_equal(flick_patch_commit(c, MANY, &bad), 0);
	release_many();
	check_many(0x01010101);
}

/* ---- many threads ------------------------------------------------------ */

enum { THREADS = 6, ROUNDS = 2000 };
static struct flick_patch contested;
static unsigned wins, busy;

static void *contest(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int err = flick_patch_switch(&contested, i & 1 ? FLICK_OFF : FLICK_ON);

		__atomic_fetch_add(err ? &busy : &wins, 1, __ATOMIC_RELAXED);
		if (err && err != FLICK_E_BUSY) {
			print_error("error %d\n", err);
			return arg;
		}
	}
	return NULL;
}

static void contest_over(size_t offset)
{
	unsigned char *at = lay(offset, mov1, 5);
	pthread_t t[THREADS];
	void *wrong;

	assert_int_equal(flick_patch_init(&contested, at, mov2, 5), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, contest, "wrong");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &wrong);
		assert_null(wrong);
	}
	assert_int_equal(run(at), flick_patch_state(&contested) == FLICK_ON ? 0x02020202
									   : 0x01010101);
	assert_int_equal(flick_patch_release(&contested), 0);
	assert_memory_equal(at, mov1, 5);
}

static void one_wins_the_others_are_told(void **state)
{
	(void)state;
	wins = busy = 0;
	contest_over(1);
	contest_over(6);
	assert_int_equal(wins + busy, 2 * THREADS * ROUNDS);
	assert_true(wins > 0);
}

static void *own_place(void *arg)
{
	size_t i = (size_t)arg;

	for (int k = 0; k < ROUNDS; k++) {
		int err = flick_patch_switch(&many[i], k & 1 ? FLICK_OFF : FLICK_ON);
		int want = k & 1 ? 0x01010101 : 0x02020202;
		int got = run(place(i));

		if (!err && got == want)
			continue;
		print_error("error %d, %x instead of %x\n", err, got, want);
		return "wrong";
	}
	return NULL;
}

static void disjoint_places_go_on_at_once(void **state)
{
	pthread_t t[THREADS];
	void *wrong;

	(void)state;
	lay_many();
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, own_place, (void *)i);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(t[i], &wrong);
		assert_null(wrong);
	}
	release_many();
}

/* ---- two that switch in steps ------------------------------------------ */

static void *finish_it(void *arg)
{
	met_switch = flick_patch_finish(arg);
	return NULL;
}

static void send_finisher(void)
{
	pthread_t t;

	pthread_create(&t, NULL, finish_it, met);
	pthread_join(t, NULL);
}

/* Another's round begins and ends in between: the switch is whole, or was none. */
static void a_round_that_ends_meanwhile_is_not_ours(void **state)
{
	struct flick_patch p;
	int err;

	(void)state;
	met_at = lay(6, mov1, 5);
	met = &p;
	assert_int_equal(flick_patch_init(&p, met_at, mov2, 5), 0);
	stop("place.looked", send_thread);
	err = flick_patch_switch(&p, FLICK_ON);
	assert_int_equal(met_switch, 0);
	assert_int_equal(err, FLICK_E_BUSY);
	assert_int_equal(flick_patch_finish(&p), 0);
	assert_memory_equal(met_at, mov1, 5);
	assert_int_equal(flick_patch_release(&p), 0);
}

/* Another would finish what has not begun. */
static void who_finishes_early_ends_no_round(void **state)
{
	struct flick_patch p;

	(void)state;
	met_at = lay(6, mov1, 5);
	met = &p;
	assert_int_equal(flick_patch_init(&p, met_at, mov2, 5), 0);
	assert_int_equal(flick_patch_switch(&p, FLICK_ON), 0);
	stop("place.taken", send_finisher);
	assert_int_equal(flick_patch_switch(&p, FLICK_OFF), 0);
	assert_int_equal(met_switch, -EAGAIN);
	assert_memory_equal(met_at, mov1, 5);
	assert_int_equal(flick_patch_release(&p), 0);
}

/* ---- beside flick.h ------------------------------------------------------ */

static bool has_handler(void)
{
	struct sigaction trap, urgent;

	sigaction(SIGTRAP, NULL, &trap);
	sigaction(SIGURG, NULL, &urgent);
	return trap.sa_handler != SIG_DFL || urgent.sa_handler != SIG_DFL;
}

/* Nothing of the program's is touched at any time, and a close of flick.h leaves alone
 * what flick/patch.h has begun. */
static void a_close_leaves_a_place_between_its_steps(void **state)
{
	struct flick_patch p, q;
	unsigned char *at = lay(6, mov1, 5);
	unsigned char *nop = at + 64 - 1;
	flick *f;

	(void)state;
	memcpy(nop, nop5, 5);
	nop[5] = 0xc3;
	assert_int_equal(flick_open(&f, NULL), 0);
	assert_int_equal(flick_patch_init(&p, at, mov2, 5), 0);
	assert_int_equal(flick_call_init(&q, nop, code + ONE, 0), 0);
	assert_int_equal(flick_patch_start(&p, FLICK_ON), 0);
	assert_int_equal(flick_patch_start(&q, FLICK_ON), 0);
	flick_close(f);
	assert_false(has_handler());
	assert_int_equal(run(at), 0x02020202);
	assert_int_equal(run(nop), 0);
	finish_all(&p, 1);
	finish_all(&q, 1);
	assert_int_equal(run(nop), 1);
	assert_int_equal(flick_patch_release(&p), 0);
	assert_int_equal(flick_patch_release(&q), 0);
}

/* ---- opening ----------------------------------------------------------- */

static void a_sync_is_chosen_once(void **state)
{
	(void)state;
	assert_int_equal(flick_patch_open("nonsense"), FLICK_E_OPTION);
	assert_int_equal(flick_patch_open(NULL), 0);
	assert_int_equal(flick_patch_open(flick_patch_sync()), 0);
	flick_patch_barrier();
}

static void *map(size_t n)
{
	return mmap(NULL, n, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sync_is_chosen_once),
		cmocka_unit_test(half_an_instruction_is_refused),
		cmocka_unit_test(shared_bytes_are_refused),
		cmocka_unit_test(what_cannot_be_written_is_refused),
		cmocka_unit_test(a_call_needs_a_call_or_a_nop),
		cmocka_unit_test(another_writer_is_noticed),
		cmocka_unit_test(any_instruction_at_any_offset),
		cmocka_unit_test(a_nop_becomes_a_call),
		cmocka_unit_test(what_nobody_can_be_led_past_is_refused),
		cmocka_unit_test(a_call_goes_elsewhere),
		cmocka_unit_test(one_for_good),
		cmocka_unit_test(a_thread_in_the_middle_acts_as_either),
		cmocka_unit_test(a_thread_that_cannot_pass_waits),
		cmocka_unit_test(signals_may_be_blocked_at_any_time),
		cmocka_unit_test(thousands_at_once_without_waiting),
		cmocka_unit_test(a_started_place_can_be_run_by_its_starter),
		cmocka_unit_test(a_child_finishes_what_was_started),
		cmocka_unit_test(a_set_is_all_or_nothing),
		cmocka_unit_test(one_wins_the_others_are_told),
		cmocka_unit_test(disjoint_places_go_on_at_once),
		cmocka_unit_test(a_round_that_ends_meanwhile_is_not_ours),
		cmocka_unit_test(who_finishes_early_ends_no_round),
		cmocka_unit_test(a_close_leaves_a_place_between_its_steps),
	};

	code = map(BYTES);
	readonly = map(4096);
	memcpy(code + ONE, "\xb8\1\0\0\0\xc3", 6);
	memcpy(code + TWO, "\xb8\2\0\0\0\xc3", 6);
	memcpy(readonly, "\xb8\1\1\1\1\xc3", 6);
	mprotect(readonly, 4096, PROT_READ | PROT_EXEC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
