/* unit/flick-patch-signal: signals that come just when a thread is held at a place, and
 * handlers that run the place, or switch another. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "flick/patch.h"

/* `mov $n,%eax`, which cannot be left out: a thread is held. */
static const unsigned char one[6] = { 0xb8, 1, 1, 1, 1, 0xc3 };
static const unsigned char two[5] = { 0xb8, 2, 2, 2, 2 };
enum { WIDE = 6, FLIP = 128, TIMES = 50 };

static unsigned char *code;
static struct flick_patch wide, flip;
static pthread_t runner;
static int may_run, met_held, by_runner, by_handler, flip_error;
static const char *stop_at;

static int run(const unsigned char *at)
{
	int value;

	__asm__ volatile("sub $136, %%rsp\n\tcall *%1\n\tadd $136, %%rsp"
			 : "=a"(value) : "r"(at), "a"(0)
			 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
	return value;
}

static int load(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void *run_wide(void *arg)
{
	while (!load(&may_run))
		;
	by_runner = run(code + WIDE);
	return arg;
}

/* The last of them runs the place itself, and is held in turn. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	int err = flick_patch_switch(&flip, met_held & 1 ? FLICK_OFF : FLICK_ON);

	(void)sig, (void)info;
	if (err)
		flip_error = err;
	if ((const unsigned char *)uc->uc_mcontext.gregs[REG_RIP] != code + WIDE)
		return;
	if (__atomic_add_fetch(&met_held, 1, __ATOMIC_RELEASE) == TIMES)
		by_handler = run(code + WIDE);
}

/* The change stands still: whoever comes by is held. */
void fl_point_hit(const char *name)
{
	if (!stop_at || strcmp(name, stop_at))
		return;
	stop_at = NULL;
	__atomic_store_n(&may_run, 1, __ATOMIC_RELEASE);
	while (load(&met_held) < TIMES)
		pthread_kill(runner, SIGUSR1);
}

static void check_at(const char *point)
{
	may_run = met_held = by_runner = by_handler = flip_error = 0;
	memcpy(code + WIDE, one, sizeof one);
	memcpy(code + FLIP, one, sizeof one);
	assert_int_equal(flick_patch_init(&wide, code + WIDE, two, 5), 0);
	assert_int_equal(flick_patch_init(&flip, code + FLIP, "\xb8\2\1\1\1", 5), 0);
	assert_string_equal(flick_patch_tactic(&wide), "wide");
	assert_string_equal(flick_patch_tactic(&flip), "flip");
	stop_at = point;
	/* Before the switch, which blocks signals in its own thread. */
	pthread_create(&runner, NULL, run_wide, NULL);
	assert_int_equal(flick_patch_switch(&wide, FLICK_ON), 0);
	pthread_join(runner, NULL);
	assert_int_equal(by_runner, 0x02020202);
	assert_int_equal(by_handler, 0x02020202);
	assert_int_equal(flip_error, 0);
	assert_int_equal(flick_patch_release(&wide), 0);
	assert_int_equal(flick_patch_release(&flip), 0);
	assert_memory_equal(code + WIDE, one, sizeof one);
}

static void signals_come_to_who_is_held(void **state)
{
	(void)state;
	check_at("commit.park");
	check_at("commit.tail");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(signals_come_to_who_is_held) };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGUSR1, &sa, NULL);
	if (flick_patch_open(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
