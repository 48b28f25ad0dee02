/*
 * unit/phases: no phase of a change goes on before all cores have been synchronised
 * behind the last; and a SIGURG of the program's own is taken as without us.
 *
 * timeout: 30
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "flick/patch.h"
#include "patch/interrupt.h"
#include "patch/sync.h"
#include "site/site.h"

enum { AT = 64 * 4, ONE = 64 };		/* the first byte of a line; `one` returns 1 */

static unsigned char *code;
static const unsigned char mov1[5] = { 0xb8, 1, 1, 1, 1 };
static const unsigned char mov2[5] = { 0xb8, 2, 2, 2, 2 };
static const unsigned char nop5[5] = { 0x0f, 0x1f, 0x44, 0, 0 };

static unsigned char *lay(size_t offset, const void *insn, size_t n)
{
	unsigned char *at = code + AT + offset;

	memset(code + AT, 0xcc, 128);
	memcpy(at, insn, n);
	at[n] = 0xc3;
	return at;
}

/* ---- what happened, a letter each ------------------------------------------------ */

static char story[64];

static void tell(char what)
{
	size_t n = strlen(story);

	if (n + 1 < sizeof story)
		story[n] = what;
}

static void begin_story(void)
{
	memset(story, 0, sizeof story);
}

/* The phases of a commit: park, tail, head. */
void fl_point_hit(const char *name)
{
	if (!strncmp(name, "commit.", 7))
		tell(name[7]);
}

static const struct fl_sync *real;

static void all_cores(void)
{
	tell('S');
	real->all_cores();
}

static int works(void)
{
	return 0;
}

static const struct fl_sync told = { .name = "told", .probe = works, .all_cores = all_cores };

/* ---- phases ---------------------------------------------------------------------- */

static void commit(struct fl_patch *p, int from, int to)
{
	struct fl_change change;
	struct fl_set set = { .changes = &change, .room = 1 };
	size_t bad;

	assert_int_equal(fl_set_stage(&set, p, from, to), 0);
	begin_story();
	assert_int_equal(fl_set_commit(&set, &bad), 0);
}

static void a_set_syncs_behind_each_phase(void **state)
{
	unsigned char *at = lay(61, "\xe8\1\2\3\4", 5);
	struct fl_plan_in in = {
		.at = (uintptr_t)at, .form = FL_FORM_CALL, .room = 5,
		.glue = (uintptr_t)code + ONE,
	};
	struct fl_patch p;
	uint64_t datum;

	(void)state;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	assert_int_equal(fl_claim_alone(&p), 0);
	commit(&p, FL_OLD, FL_OFF);
	assert_string_equal(story, "pStShS");
	commit(&p, FL_OFF, FL_ON);		/* one store */
	assert_string_equal(story, "hS");
	commit(&p, FL_ON, FL_OFF);
	commit(&p, FL_OFF, FL_OLD);
	assert_string_equal(story, "pStShS");
	fl_unclaim_alone(&p);
}

/* Its last store needs no sync of the caller's. */
static void switch_both_ways(struct flick_patch *p)
{
	assert_string_equal(flick_patch_tactic(p), "wide");
	begin_story();
	assert_int_equal(flick_patch_switch(p, FLICK_ON), 0);
	assert_string_equal(story, "pStSh");
	begin_story();
	assert_int_equal(flick_patch_start(p, FLICK_OFF), 0);
	while (flick_patch_finish(p))
		;
	assert_string_equal(story, "pStSh");
	assert_int_equal(flick_patch_release(p), 0);
}

/* Held, whoever comes by: begun and ended in one call. Passed: in steps. */
static void a_switch_of_a_place_syncs_behind_each_phase(void **state)
{
	struct flick_patch p;

	(void)state;
	assert_int_equal(flick_patch_init(&p, lay(6, mov1, 5), mov2, 5), 0);
	switch_both_ways(&p);
	assert_int_equal(flick_call_init(&p, lay(5, nop5, 5), code + ONE, 0), 0);
	switch_both_ways(&p);
	begin_story();
	flick_patch_barrier();
	assert_string_equal(story, "S");
}

/* ---- signals of the program's ----------------------------------------------------- */

static volatile sig_atomic_t foreign;
static uint64_t mask_in_handler;

static uint64_t mask_now(void)
{
	sigset_t set;
	uint64_t mask;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	memcpy(&mask, &set, sizeof mask);
	return mask;
}

static void on_foreign(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	mask_in_handler = mask_now();
	foreign++;
}

/* Flick's handler stands before the program's, which takes one signal. */
static void take_once(int flags, int blocked)
{
	struct sigaction act = { .sa_sigaction = on_foreign, .sa_flags = SA_SIGINFO | flags };
	const int seen = SA_RESTART | SA_ONSTACK;
	struct sigaction now;

	sigaddset(&act.sa_mask, blocked);
	sigaction(SIGURG, &act, NULL);
	foreign = 0;
	assert_int_equal(fl_interrupt_install(), 0);
	sigaction(SIGURG, NULL, &now);
	assert_true(now.sa_sigaction != on_foreign);
	assert_int_equal(now.sa_flags & seen, flags & seen);
	raise(SIGURG);
	assert_int_equal(foreign, 1);
	fl_patch_close();
	sigaction(SIGURG, NULL, &now);
	assert_true(now.sa_sigaction == on_foreign);
}

static uint64_t bit(int sig)
{
	return 1ull << (sig - 1);
}

static void a_foreign_signal_is_handled_as_it_asked_for(void **state)
{
	uint64_t before = mask_now();

	(void)state;
	take_once(0, SIGUSR1);
	assert_true(mask_in_handler == (before | bit(SIGUSR1) | bit(SIGURG)));
	assert_true(mask_now() == before);
	take_once(SA_NODEFER | SA_RESTART, SIGUSR2);
	assert_true(mask_in_handler == (before | bit(SIGUSR2)));
	take_once(SA_ONSTACK, SIGUSR2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_syncs_behind_each_phase),
		cmocka_unit_test(a_switch_of_a_place_syncs_behind_each_phase),
		cmocka_unit_test(a_foreign_signal_is_handled_as_it_asked_for),
	};

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(code + ONE, "\xb8\1\0\0\0\xc3", 6);
	if (fl_patch_open(NULL))
		return 77;
	real = fl_sync;
	fl_sync = &told;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
