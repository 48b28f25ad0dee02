/*
 * unit/handlers.c - who waits for handlers (probe/inside.c, handler.c), with threads at the
 * most awkward place.
 *
 * A call does what a glue does. Each target is a child, and says what was wrong by its status.
 *
 * timeout: 60
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "goal-rig.h"
#include "probe/handler.h"

enum { A, B, N };
enum { SHORT_MS = 20, FOR_EVER = -1, CALLERS = 3 };

static struct rig *g;
static uint8_t text[N];
static uintptr_t word[N];
static uint32_t ids[N];

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(64, 8, FL_ACT_CALL);
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

static void open_probes(void)
{
	bool is_new;

	NEED(!fl_patch_open(NULL) && !fl_probes_open(g->m));
	for (int i = 0; i < N; i++) {
		int id = fl_probe_virtual((uintptr_t)&text[i], FL_ENTRY, FL_FORM_NONE, &is_new);

		NEED(id >= 0 && is_new);
		ids[i] = (uint32_t)id;
		fl_table.probes[id].go = &word[i];
		rig_arm(ids[i], &text[i]);
	}
}

/* ---- a thread that stops somewhere, once ---------------------------------------------- */

static uint32_t stands, go_on;
static __thread const char *stop_at;

static void stand(void)
{
	store_release(&stands, 1);
	while (!load_acquire(&go_on))
		usleep(100);
}

void fl_point_hit(const char *);

/* What who switches a set does there, once. */
static const char *look_at;
static void (*look_then)(void);

/* What the thread that waits does when it has begun a turn, once. */
static __thread void (*at_turn)(void);

void fl_point_hit(const char *name)
{
	void (*then)(void) = at_turn;

	if (then && !strcmp(name, "inside.turned")) {
		at_turn = NULL;
		then();
	}
	if (look_at && !strcmp(name, look_at)) {
		look_at = NULL;
		look_then();
	}
	if (!stop_at || strcmp(name, stop_at))
		return;
	stop_at = NULL;
	stand();
}

static void wait_until_it_stands(void)
{
	while (!load_acquire(&stands))
		usleep(100);
}

static void let_go(void)
{
	store_release(&go_on, 1);
}

/* ---- handlers ------------------------------------------------------------------------- */

static uint32_t handled[N];

static void note(uint32_t id, void *arg)
{
	NEED(id == ids[A] || id == ids[B]);
	__atomic_fetch_add((uint32_t *)arg, 1, __ATOMIC_RELAXED);
}

static void stay(uint32_t id, void *arg)
{
	(void)id;
	stand();
	store_relaxed((uint32_t *)arg, 1);
}

static void bind(int which, void (*call)(uint32_t, void *), void *arg)
{
	NEED(fl_probe_handler(ids[which], call, arg) == 0);
}

static void call(int which)
{
	if (load_relaxed(&text[which]) == ON_BYTE)
		fl_handler_call(ids[which]);
}

static void *call_a_stopping(void *at)
{
	stop_at = at;
	call(A);
	return NULL;
}

static pthread_t begin(void *(*run)(void *), const char *at)
{
	pthread_t thread;

	stands = go_on = 0;
	NEED(!pthread_create(&thread, NULL, run, (void *)(uintptr_t)at));
	wait_until_it_stands();
	return thread;
}

/* ---- what is not wanted is not run ---------------------------------------------------- */

/* In the glue nobody sees it: it asks when it has gone in. */
static void go_off_before_it_enters(struct rig *unused)
{
	pthread_t late;

	(void)unused;
	open_probes();
	bind(A, note, &handled[A]);
	call(A);
	NEED(handled[A] == 1);
	late = begin(call_a_stopping, "inside.coming");
	NEED(!fl_probe_switch(ids[A], FL_OFF) && fl_handlers_drain(FOR_EVER) == 0);
	let_go();
	pthread_join(late, NULL);
	NEED(handled[A] == 1);
}

static void who_is_in_the_glue_yet_runs_no_handler(void **unused)
{
	(void)unused;
	runs(go_off_before_it_enters);
}

static void go_off_while_it_is_in(struct rig *unused)
{
	pthread_t late;

	(void)unused;
	open_probes();
	bind(A, note, &handled[A]);
	late = begin(call_a_stopping, "inside.entered");
	NEED(!fl_probe_switch(ids[A], FL_OFF));
	NEED(fl_handlers_drain(0) == -ETIMEDOUT && fl_handlers_drain(SHORT_MS) == -ETIMEDOUT);
	let_go();
	NEED(fl_handlers_drain(FOR_EVER) == 0);
	pthread_join(late, NULL);
	NEED(handled[A] == 0);
}

static void who_has_gone_in_is_waited_for(void **unused)
{
	(void)unused;
	runs(go_off_while_it_is_in);
}

/* What holds all probes off is no handler's session any more. */
static void close_before_it_enters(struct rig *unused)
{
	pthread_t late;

	(void)unused;
	open_probes();
	bind(A, note, &handled[A]);
	late = begin(call_a_stopping, "inside.coming");
	fl_goal_hold_all(FL_HOLD_CLOSED);
	let_go();
	pthread_join(late, NULL);
	NEED(handled[A] == 0);
}

static void behind_a_close_no_handler_begins(void **unused)
{
	(void)unused;
	runs(close_before_it_enters);
}

/* ---- who is inside --------------------------------------------------------------------- */

static uint32_t stayed, over;

static void *call_b_for_ever(void *unused)
{
	while (!load_relaxed(&over))
		call(B);
	return unused;
}

static void wait_for_the_old_one_alone(struct rig *unused)
{
	pthread_t late, other;

	(void)unused;
	open_probes();
	bind(A, stay, &stayed);
	bind(B, note, &handled[B]);
	NEED(!pthread_create(&other, NULL, call_b_for_ever, NULL));
	late = begin(call_a_stopping, NULL);
	bind(A, note, &handled[A]);
	call(A);
	NEED(handled[A] == 1 && fl_handlers_drain(SHORT_MS) == -ETIMEDOUT && !stayed);
	let_go();
	NEED(fl_handlers_drain(FOR_EVER) == 0 && load_relaxed(&stayed));
	for (int i = 0; i < 1000; i++)
		NEED(fl_handlers_drain(FOR_EVER) == 0);
	store_relaxed(&over, 1);
	pthread_join(late, NULL);
	pthread_join(other, NULL);
	NEED(handled[B] > 0);
}

static void handlers_that_run_all_the_time_hold_up_nobody(void **unused)
{
	(void)unused;
	runs(wait_for_the_old_one_alone);
}

static pthread_t later;

static void begin_later(void)
{
	later = begin(call_a_stopping, NULL);
}

static void go_in_behind_the_turn(struct rig *unused)
{
	(void)unused;
	open_probes();
	bind(A, stay, &stayed);
	at_turn = begin_later;
	NEED(fl_handlers_drain(1000) == 0 && !stayed);
	let_go();
	pthread_join(later, NULL);
}

static void who_goes_in_meanwhile_is_not_waited_for(void **unused)
{
	(void)unused;
	runs(go_in_behind_the_turn);
}

static int asked_inside;

static void ask_for_a_wait(uint32_t id, void *arg)
{
	(void)id, (void)arg;
	asked_inside = fl_handlers_drain(FOR_EVER);
}

static void call_within(uint32_t id, void *arg)
{
	(void)id, (void)arg;
	call(B);
	stand();
}

static void wait_for_the_outer_one(struct rig *unused)
{
	pthread_t late;

	(void)unused;
	open_probes();
	bind(A, ask_for_a_wait, NULL);
	call(A);
	NEED(asked_inside == -EDEADLK);
	bind(A, call_within, NULL);
	bind(B, note, &handled[B]);
	late = begin(call_a_stopping, NULL);
	NEED(handled[B] == 1 && fl_handlers_drain(SHORT_MS) == -ETIMEDOUT);
	let_go();
	NEED(fl_handlers_drain(FOR_EVER) == 0);
	pthread_join(late, NULL);
}

static void who_calls_in_a_handler_comes_out_of_both(void **unused)
{
	(void)unused;
	runs(wait_for_the_outer_one);
}

static void end_thread(uint32_t id, void *arg)
{
	(void)id, (void)arg;
	pthread_exit(NULL);
}

static void *end_inside(void *unused)
{
	call(A);
	NEED(false);
	return unused;
}

static void wait_for_the_dead(struct rig *unused)
{
	pthread_t thread;

	(void)unused;
	open_probes();
	bind(A, end_thread, NULL);
	NEED(!pthread_create(&thread, NULL, end_inside, NULL));
	pthread_join(thread, NULL);
	NEED(fl_handlers_drain(1000) == 0);
}

static void threads_that_end_inside_are_passed(void **unused)
{
	(void)unused;
	runs(wait_for_the_dead);
}

/* ---- more threads than places ----------------------------------------------------------- */

enum { MANY = 4160 };

static uint32_t called;
static int many_live[2];		/* a pipe, until its end is closed */

/* It sleeps: thousands that look whether they are to go on would take all of a processor. */
static void *call_and_live(void *unused)
{
	char none;

	call(B);
	__atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
	NEED(read(many_live[0], &none, 1) == 0);
	return unused;
}

static void wait_for_one_of_many(struct rig *unused)
{
	static pthread_t many[MANY];
	pthread_t late;
	pthread_attr_t small;

	(void)unused;
	open_probes();
	bind(A, stay, &stayed);
	bind(B, note, &handled[B]);
	NEED(!pipe(many_live));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < MANY; i++)
		if (pthread_create(&many[i], &small, call_and_live, NULL))
			_exit(77);
	while (load_relaxed(&called) < MANY)
		usleep(1000);
	NEED(handled[B] == MANY && fl_handlers_drain(FOR_EVER) == 0);
	late = begin(call_a_stopping, NULL);
	NEED(fl_handlers_drain(SHORT_MS) == -ETIMEDOUT);
	let_go();
	NEED(fl_handlers_drain(FOR_EVER) == 0 && stayed);
	pthread_join(late, NULL);
	close(many_live[1]);
	for (int i = 0; i < MANY; i++)
		pthread_join(many[i], NULL);
	late = begin(call_a_stopping, "inside.entered");	/* at a dead one's place */
	NEED(fl_handlers_drain(SHORT_MS) == -ETIMEDOUT);
	let_go();
	NEED(fl_handlers_drain(FOR_EVER) == 0);
	pthread_join(late, NULL);
}

static void threads_without_a_place_are_waited_for(void **unused)
{
	int status;

	(void)unused;
	status = rig_drain(g, rig_fork(g, wait_for_one_of_many));
	if (status == 77)
		skip();
	assert_int_equal(status, 0);
}

/* ---- what nobody can come to is used again ----------------------------------------------- */

enum { ROUNDS = 20000, ALIVE = 64 };

static uint32_t args[ROUNDS];

static bool is_new(const struct fl_binding **seen, int *n, const struct fl_binding *b)
{
	for (int i = 0; i < *n; i++)
		if (seen[i] == b)
			return false;
	seen[(*n)++] = b;
	return true;
}

static void bind_many(struct rig *unused)
{
	const struct fl_binding *seen[ALIVE];
	int n = 0;

	(void)unused;
	open_probes();
	for (int i = 0; i < ROUNDS; i++) {
		bind(A, note, &args[i]);
		NEED(n < ALIVE);
		is_new(seen, &n, fl_bindings[ids[A]]);
		NEED(fl_bindings[ids[A]]->arg == &args[i]);
		NEED(fl_handlers_drain(FOR_EVER) == 0);
	}
	NEED(n > 1);
}

static void handlers_come_and_go_in_the_same_memory(void **unused)
{
	(void)unused;
	runs(bind_many);
}

/* It has found a binding that no probe has, and binds it when others were to take it. */
static void *bind_stopping(void *at)
{
	stop_at = at;
	bind(A, note, &handled[A]);
	return NULL;
}

static void take_what_is_found(struct rig *unused)
{
	pthread_t late;

	(void)unused;
	open_probes();
	bind(A, note, &handled[A]);
	bind(A, note, &handled[B]);
	late = begin(bind_stopping, "handler.found");
	for (int i = 0; i < 8; i++) {
		NEED(fl_handlers_drain(0) == -ETIMEDOUT);
		bind(B, note, &args[i]);
	}
	let_go();
	pthread_join(late, NULL);
	call(A);
	NEED(handled[A] == 1 && handled[B] == 0);
}

static void what_somebody_has_found_is_not_taken(void **unused)
{
	(void)unused;
	runs(take_what_is_found);
}

static void begin_binding(void)
{
	later = begin(bind_stopping, "handler.found");
}

/* It is taken out of its list, and bound all the same by who has found it there. */
static void bind_what_is_apart(void)
{
	open_probes();
	bind(A, note, &handled[A]);
	bind(A, note, &handled[B]);
	at_turn = begin_binding;
	NEED(fl_handlers_drain(1000) == 0);
	let_go();
	pthread_join(later, NULL);
	NEED(fl_bindings[ids[A]]->arg == &handled[A]);
}

static void keep_what_is_bound(struct rig *unused)
{
	(void)unused;
	bind_what_is_apart();
	for (int i = 0; i < 8; i++) {
		bind(B, note, &args[i]);
		NEED(fl_handlers_drain(1000) == 0);
		call(A);
		NEED(handled[A] == (uint32_t)i + 1);
	}
}

static void what_is_bound_meanwhile_is_left(void **unused)
{
	(void)unused;
	runs(keep_what_is_bound);
}

/* Who has come to it by the probe has not called it yet when no probe has it. */
static void begin_loading(void)
{
	later = begin(call_a_stopping, "inside.loaded");
	bind(A, note, &handled[B]);
}

static void keep_what_is_loaded(struct rig *unused)
{
	(void)unused;
	bind_what_is_apart();
	at_turn = begin_loading;
	NEED(fl_handlers_drain(1000) == 0);
	for (int i = 0; i < 8; i++) {
		bind(B, note, &args[i]);
		NEED(fl_handlers_drain(0) == -ETIMEDOUT);
	}
	let_go();
	pthread_join(later, NULL);
	NEED(handled[A] == 1 && handled[B] == 0 && !args[0]);
}

static void what_somebody_calls_is_not_taken(void **unused)
{
	(void)unused;
	runs(keep_what_is_loaded);
}

/* ---- a set is one step ------------------------------------------------------------------ */

static __thread uint32_t ran;
static uint32_t n_looks;

static void run(uint32_t id, void *arg)
{
	(void)id, (void)arg;
	ran++;
}

/* Was it handled? */
static bool is_handled(int which)
{
	uint32_t n = ran;

	call(which);
	return ran != n;
}

static int change_to(int on)
{
	uint8_t goal[16] = { 0 };

	NEED(ids[A] < 16 && ids[B] < 16);
	goal[ids[on]] = FL_ON;
	goal[ids[!on]] = FL_OFF;
	return fl_probes_switch_set(goal, sizeof goal);
}

static void see_old(void)
{
	NEED(is_handled(A) && !is_handled(B) && is_handled(A));
	n_looks++;
}

static void see_new(void)
{
	NEED(!is_handled(A) && is_handled(B) && !is_handled(A));
	n_looks++;
}

static void open_on_a(void)
{
	open_probes();
	for (int i = 0; i < N; i++) {
		bind(i, run, NULL);
		fl_goal_of(ids[i])->action = FL_ACT_CALL;
	}
	NEED(change_to(A) == 2);
	see_old();
}

static void look_at_each_step(struct rig *unused)
{
	(void)unused;
	open_on_a();
	for (int round = 0; round < 3; round++) {	/* the bits take turns */
		static const struct {
			const char *point;
			void (*see)(void);
		} steps[] = {
			{ "set.shown", see_old }, { "set.switched", see_new },
			{ "set.settled", see_new },
		};

		for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
			uint32_t n = n_looks;

			look_at = steps[i].point;
			look_then = steps[i].see;
			NEED(change_to(B) == 2 && n_looks == n + 1);
			see_new();
			NEED(text[A] == OFF_BYTE && text[B] == ON_BYTE);
			NEED(change_to(A) == 2);
			see_old();
		}
		NEED(!fl_probe_switch(ids[B], FL_ON) && is_handled(B));
		NEED(!fl_probe_switch(ids[B], FL_OFF) && change_to(A) == 2);
	}
}

static void each_thread_goes_by_all_of_a_set_or_none(void **unused)
{
	(void)unused;
	runs(look_at_each_step);
}

/* Who switches a probe of the set by itself meanwhile has the last word, or the set has; its
 * bits are equal. */
static void switch_one(void)
{
	NEED(!fl_probe_switch(ids[A], FL_ON) && !fl_probe_switch(ids[B], FL_OFF));
}

static void switch_one_meanwhile(struct rig *unused)
{
	static const char *const points[] = { "set.shown", "set.switched", "set.settled" };

	(void)unused;
	open_on_a();
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		NEED(change_to(A) == 2);
		look_at = points[i];
		look_then = switch_one;
		NEED(change_to(B) == 2);
		see_old();
		NEED(fl_goal_of(ids[A])->wants == FL_ALONE && !fl_goal_of(ids[B])->wants);
	}
}

static void who_switches_one_of_a_set_meanwhile_is_heard(void **unused)
{
	(void)unused;
	runs(switch_one_meanwhile);
}

/* It has seen by which bit to go, and sleeps until that is staged for another set. */
static uint32_t was_handled;

static void *ask_stopping(void *at)
{
	stop_at = at;
	was_handled = is_handled(A);
	return NULL;
}

static void go_on_asking(void)
{
	let_go();
	pthread_join(later, NULL);
	see_new();
}

static void sleep_while_asking(struct rig *unused)
{
	(void)unused;
	open_on_a();
	later = begin(ask_stopping, "inside.asking");
	NEED(change_to(B) == 2);
	look_at = "set.shown";
	look_then = go_on_asking;
	n_looks = 0;
	NEED(change_to(A) == 2 && n_looks == 1 && !was_handled);
	see_old();
}

static void who_sleeps_while_it_asks_goes_by_no_later_set(void **unused)
{
	(void)unused;
	runs(sleep_while_asking);
}

static uint32_t begun, returned;

/* So often a thread may have gone from the one to the other: once a set that was not over
 * when it began, and had begun when it looks. */
static void *pass(void *unused)
{
	uint32_t from = load_acquire(&returned), changes = 0;
	bool is_b = from % 2;

	while (!load_relaxed(&over))
		for (int which = B; which >= A; which--) {
			bool on = is_handled(which), now_b = which == B ? on : !on;

			changes += now_b != is_b;
			is_b = now_b;
			NEED(changes <= load_acquire(&begun) - from);
		}
	return unused;
}

static void switch_under_threads(struct rig *unused)
{
	pthread_t threads[CALLERS];

	(void)unused;
	open_on_a();
	for (int i = 0; i < CALLERS; i++)
		NEED(!pthread_create(&threads[i], NULL, pass, NULL));
	for (uint32_t i = 0; i < 5000; i++) {
		store_release(&begun, i + 1);
		NEED(change_to(i % 2 ? A : B) == 2);
		store_release(&returned, i + 1);
	}
	store_relaxed(&over, 1);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
}

static void threads_go_from_one_set_to_the_other_and_not_back(void **unused)
{
	(void)unused;
	runs(switch_under_threads);
}

/* ---- all at once ------------------------------------------------------------------------ */

/* A handler's argument is good as long as it may be called: each is spoilt behind a wait. */
enum { GOOD = 7, SPOILT = 8, CYCLES = 3000 };

static uint32_t state[2];

static void look(uint32_t id, void *arg)
{
	(void)id;
	for (int i = 0; i < 20; i++)
		NEED(load_relaxed((uint32_t *)arg) == GOOD);
}

static void *call_for_ever(void *unused)
{
	while (!load_relaxed(&over)) {
		call(A);
		call(B);
	}
	return unused;
}

static void spoil_behind_each_wait(struct rig *unused)
{
	pthread_t threads[CALLERS];

	(void)unused;
	open_probes();
	state[0] = GOOD;
	bind(A, look, &state[0]);
	bind(B, look, &state[0]);
	for (int i = 0; i < CALLERS; i++)
		NEED(!pthread_create(&threads[i], NULL, call_for_ever, NULL));
	for (uint32_t i = 1; i < CYCLES; i++) {
		store_relaxed(&state[i % 2], GOOD);
		bind(A, look, &state[i % 2]);
		NEED(!fl_probe_switch(ids[B], FL_OFF));
		NEED(fl_handlers_drain(FOR_EVER) == 0);
		store_relaxed(&state[!(i % 2)], SPOILT);
		bind(B, look, &state[i % 2]);
		NEED(!fl_probe_switch(ids[B], FL_ON));
	}
	store_relaxed(&over, 1);
	for (int i = 0; i < CALLERS; i++)
		pthread_join(threads[i], NULL);
}

static void what_a_handler_needs_may_go_behind_a_wait(void **unused)
{
	(void)unused;
	runs(spoil_behind_each_wait);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_in_the_glue_yet_runs_no_handler),
		TEST(who_has_gone_in_is_waited_for),
		TEST(behind_a_close_no_handler_begins),
		TEST(handlers_that_run_all_the_time_hold_up_nobody),
		TEST(who_goes_in_meanwhile_is_not_waited_for),
		TEST(who_calls_in_a_handler_comes_out_of_both),
		TEST(threads_that_end_inside_are_passed),
		TEST(threads_without_a_place_are_waited_for),
		TEST(handlers_come_and_go_in_the_same_memory),
		TEST(what_somebody_has_found_is_not_taken),
		TEST(what_is_bound_meanwhile_is_left),
		TEST(what_somebody_calls_is_not_taken),
		TEST(each_thread_goes_by_all_of_a_set_or_none),
		TEST(who_switches_one_of_a_set_meanwhile_is_heard),
		TEST(who_sleeps_while_it_asks_goes_by_no_later_set),
		TEST(threads_go_from_one_set_to_the_other_and_not_back),
		TEST(what_a_handler_needs_may_go_behind_a_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
