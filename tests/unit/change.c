/*
 * unit/change.c - what is wanted of two probes changes at once, with threads at the most
 * awkward place: A goes off and B on, and back again.
 *
 * A probe has a byte for its text and a word for its glue; a call does with these what
 * instructions do. Each target is a child, and says what was wrong by its status.
 *
 * timeout: 60
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/time.h>

#include <cmocka.h>

#include "goal-rig.h"
#include "probe/second.h"

static struct rig *g;

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(64, 8, FL_ACT_COUNT);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	rig_close(g);
	return 0;
}

static void runs(void (*target)(struct rig *))
{
	assert_int_equal(rig_drain(g, rig_fork(g, target)), 0);
}

/* ---- two probes, and a call of one --------------------------------------------------- */

enum { A, B, N };

static uint8_t text[N];
static uintptr_t word[N];
static uint32_t ids[N];
static struct fl_change_box box;

static void a(void)
{
}

static void b(void)
{
}

/* Who is in `point` waits there, once. */
static const char *at_point;
static void (*then)(void);

void fl_point_hit(const char *);

void fl_point_hit(const char *name)
{
	void (*f)(void) = then;

	if (!f || strcmp(name, at_point))
		return;
	then = NULL;
	f();
}

static void at(const char *point, void (*f)(void))
{
	at_point = point;
	then = f;
}

/* Was it counted? */
static bool call(int which)
{
	const struct fl_slot *own = fl_channel_slot();
	const uint64_t *counter = own ? (uint64_t *)own->ring[0].data + ids[which] : NULL;
	uintptr_t to;
	uint64_t before;

	if (!own || load_relaxed(&text[which]) == OFF_BYTE)
		return false;
	to = load_relaxed(&word[which]);
	before = *counter;
	if (to == fl_probe_routine(FL_ACT_STAGED, FL_ABI))
		fl_change_hit(ids[which], 0);
	else
		fl_channel_count(ids[which]);
	return *counter != before;
}

static void open_probes(int n_armed)
{
	void (*const bodies[N])(void) = { a, b };
	bool is_new;

	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	for (int i = 0; i < N; i++) {
		int id = fl_probe_virtual((uintptr_t)bodies[i], FL_ENTRY, FL_FORM_NONE,
					  &is_new);

		NEED(id >= 0 && is_new);
		ids[i] = (uint32_t)id;
		fl_table.probes[id].go = &word[i];
		fl_goal_direct(ids[i], FL_ACT_COUNT);
		if (i < n_armed)
			rig_arm(ids[i], &text[i]);
	}
}

/* The one is on and the other off from now on. */
static int change_to(int on)
{
	uint8_t staged[16] = { 0 };

	NEED(ids[A] < 16 && ids[B] < 16);
	staged[ids[on]] = FL_STAGE_ON;
	staged[ids[!on]] = FL_STAGE_OFF;
	return fl_probes_change(staged, sizeof(staged), &box);
}

static void open_on_a(void)
{
	open_probes(N);
	NEED(change_to(A) == 0 && box.n_switched == 1);
	NEED(call(A) && !call(B));
}

/* ---- at each step --------------------------------------------------------------------- */

static bool was_seen;

static void see_old(void)
{
	NEED(call(A) && !call(B) && call(A));
	was_seen = true;
}

static void see_new(void)
{
	NEED(!call(A) && call(B) && !call(A));
	was_seen = true;
}

static void look_at_each_step(struct rig *unused)
{
	static const struct {
		const char *point;
		void (*see)(void);
	} steps[] = {
		{ "change.staged", see_old }, { "change.led", see_old },
		{ "change.shown", see_old }, { "change.switched", see_new },
		{ "change.settled", see_new },
	};

	(void)unused;
	open_on_a();
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		was_seen = false;
		at(steps[i].point, steps[i].see);
		NEED(change_to(B) == 0 && was_seen && box.n_switched == 2);
		see_new();
		NEED(text[A] == OFF_BYTE && text[B] == ON_BYTE);
		NEED(word[A] == fl_probe_routine(FL_ACT_STAGED, FL_ABI));
		NEED(word[B] == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
		NEED(fl_table.rows[ids[B]].wanted && !fl_table.rows[ids[A]].wanted);
		NEED(change_to(A) == 0);
		see_old();
	}
	NEED(box.generation == 2 * ARRAY_LEN(steps) + 1);
}

static void all_that_changes_is_one_step(void **unused)
{
	(void)unused;
	runs(look_at_each_step);
}

/* ---- what cannot be ------------------------------------------------------------------- */

static void refuse_one(struct rig *unused)
{
	(void)unused;
	open_probes(1);
	fl_table_refuse(ids[B], FLE_CHANGED, 0);
	NEED(change_to(B) == FLE_REFUSED && box.n_refused == 1 && box.n_switched == 0);
	NEED(call(A) && text[A] == ON_BYTE && box.generation == 0);
	NEED(!fl_table.rows[ids[B]].wanted && fl_table.rows[ids[A]].wanted);
}

static void a_change_is_refused_whole(void **unused)
{
	(void)unused;
	runs(refuse_one);
}

/* ---- who has asked, and not done what was said ---------------------------------------- */

static uint32_t asked, go_on;
static bool was_counted;

static void wait_there(void)
{
	store_release(&asked, 1);
	while (!load_acquire(&go_on))
		usleep(100);
}

static void *ask(void *unused)
{
	at("change.asked", wait_there);
	was_counted = call(A);
	return unused;
}

static void *let_go(void *unused)
{
	usleep(20000);
	store_release(&go_on, 1);
	return unused;
}

static pthread_t asker;

static void begin_asking(void)
{
	NEED(!pthread_create(&asker, NULL, ask, NULL));
	while (!load_acquire(&asked))
		usleep(100);
}

static void wait_for_who_asks(struct rig *unused)
{
	pthread_t other;

	(void)unused;
	open_on_a();
	at("change.shown", begin_asking);
	NEED(!pthread_create(&other, NULL, let_go, NULL));
	NEED(change_to(B) == 0 && box.n_late == 0 && load_relaxed(&go_on));
	pthread_join(asker, NULL);
	NEED(was_counted);
	asked = go_on = 0;
	NEED(change_to(A) == 0);
	at("change.shown", begin_asking);
	NEED(change_to(B) == 0 && box.n_late == 1);
	see_new();
	store_release(&go_on, 1);
	pthread_join(asker, NULL);
	NEED(!was_counted);		/* by now nobody wants it */
}

static void who_has_asked_is_waited_for_but_not_for_ever(void **unused)
{
	(void)unused;
	runs(wait_for_who_asks);
}

/* ---- one alone ------------------------------------------------------------------------ */

static int change_a(enum fl_stage stage)
{
	uint8_t staged[16] = { 0 };

	NEED(ids[A] < 16);
	staged[ids[A]] = (uint8_t)stage;
	return fl_probes_change(staged, sizeof(staged), &box);
}

static void see_a(void)
{
	NEED(call(A) && call(A));
	was_seen = true;
}

static void see_none(void)
{
	NEED(!call(A) && !call(A));
	was_seen = true;
}

/* It goes off while a thread has asked, and on again. */
static void change_it_alone(struct rig *unused)
{
	pthread_t other;

	(void)unused;
	open_on_a();
	at("change.led", begin_asking);
	NEED(!pthread_create(&other, NULL, let_go, NULL));
	NEED(change_a(FL_STAGE_OFF) == 0 && box.n_switched == 1);
	NEED(box.n_late == 0 && load_relaxed(&go_on));
	pthread_join(asker, NULL);
	NEED(was_counted);
	see_none();
	NEED(text[A] == OFF_BYTE && word[A] == fl_probe_routine(FL_ACT_STAGED, FL_ABI));
	NEED(!fl_table.rows[ids[A]].wanted);
	was_seen = false;
	at("change.settled", see_a);
	NEED(change_a(FL_STAGE_ON) == 0 && was_seen && box.n_switched == 1);
	NEED(text[A] == ON_BYTE && word[A] == fl_probe_routine(FL_ACT_COUNT, FL_ABI));
	was_seen = false;
	at("change.switched", see_none);
	NEED(change_a(FL_STAGE_OFF) == 0 && was_seen);
	NEED(change_a(FL_STAGE_OFF) == 0 && box.n_switched == 0);
	see_none();
}

static void one_alone_needs_no_other_step(void **unused)
{
	(void)unused;
	runs(change_it_alone);
}

/* ---- ten thousand, under threads that come and go, and signals ------------------------ */

static uint32_t begun, returned, ended;
static __thread volatile uint32_t handled;

static void on_alarm(int signal)
{
	(void)signal;
	handled++;
	call(B);
	call(A);
}

/* So often a thread may have gone from the one to the other: once a change that was not over
 * when it began, and had begun when it looks. */
static void *pass(void *unused)
{
	uint32_t from = load_acquire(&returned), changes = 0;
	bool is_b = from % 2;

	for (int i = 0; i < 2000; i++)
		for (int which = B; which >= A; which--) {
			uint32_t then_handled = handled;
			bool on = call(which), now_b = which == B ? on : !on;

			if (handled != then_handled)
				continue;
			if (now_b != is_b)
				changes++;
			is_b = now_b;
			NEED(changes <= load_acquire(&begun) - from);
		}
	return unused;
}

static void *come_and_go(void *unused)
{
	pthread_t t;

	while (!load_relaxed(&ended)) {
		NEED(!pthread_create(&t, NULL, pass, NULL));
		pthread_join(t, NULL);
	}
	return unused;
}

static void change_often(struct rig *unused)
{
	enum { THREADS = 3 };
	const struct itimerval each = { { 0, 1000 }, { 0, 1000 } }, none = { 0 };
	int n = getenv("FLICK_TORTURE") ? 100000 : 10000;
	pthread_t t[THREADS];

	(void)unused;
	open_on_a();
	signal(SIGALRM, on_alarm);
	for (int i = 0; i < THREADS; i++)
		NEED(!pthread_create(&t[i], NULL, come_and_go, NULL));
	setitimer(ITIMER_REAL, &each, NULL);
	for (int i = 0; i < n; i++) {
		store_release(&begun, begun + 1);
		NEED(change_to(!(i % 2)) == 0 && box.n_switched == 2);
		store_release(&returned, returned + 1);
	}
	setitimer(ITIMER_REAL, &none, NULL);
	store_relaxed(&ended, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	see_old();
	NEED(box.generation == (uint32_t)n + 1);
}

static void threads_go_from_one_to_the_other_and_not_back(void **unused)
{
	(void)unused;
	runs(change_often);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(all_that_changes_is_one_step),
		TEST(a_change_is_refused_whole),
		TEST(who_has_asked_is_waited_for_but_not_for_ever),
		TEST(one_alone_needs_no_other_step),
		TEST(threads_go_from_one_to_the_other_and_not_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
