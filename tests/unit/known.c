/*
 * unit/known.c - modules that come, go and come back: each is found at its place, and
 * what has nothing takes no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "os/os.h"
#include "probe/table.h"

enum { MANY = 5000, BYTES = 0x3000 };

static struct rig *g;
static int n_forgotten;

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(1, 8, FL_ACT_COUNT);
	n_forgotten = 0;
	return fl_channel_open(g->m) || fl_probes_open(g->m);
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_channel_close();
	rig_close(g);
	return 0;
}

static struct fl_module module(int i)
{
	uintptr_t lo = 0x7f0000000000 + (uintptr_t)i * BYTES;

	return (struct fl_module){
		.bias = lo, .lo = lo, .hi = lo + BYTES, .path = "/lib/a.so",
	};
}

static struct fl_known *add(int i)
{
	struct fl_module m = module(i);
	struct fl_known *k = fl_known_add(&m);

	assert_non_null(k);
	return k;
}

static struct fl_known *find(int i)
{
	struct fl_module m = module(i);

	return fl_known_find(&m);
}

static struct fl_known *find_gone(int i, const char *path)
{
	struct fl_module m = module(i);

	m.path = path;
	return fl_known_find_gone(&m);
}

static void forget(struct fl_known *k)
{
	assert_true(k->gone);
	n_forgotten++;
}

/* Modules [0, n) are there. */
static void walk(int n)
{
	fl_table.stamp++;
	for (int i = 0; i < n; i++)
		fl_known_see(module(i).bias);
	fl_known_each_unseen(forget);
}

static void each_is_found_at_its_place(void **unused)
{
	struct fl_known *of[MANY];

	(void)unused;
	for (int i = 0; i < MANY; i++)
		of[i] = add(i);
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(find(i), of[i]);
		assert_ptr_equal(fl_known_around(module(i).lo + 7), of[i]);
	}
	assert_null(find(MANY));
	assert_null(fl_known_around(module(MANY).lo));
}

static void what_was_not_seen_is_gone(void **unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		add(i);
	walk(60);
	assert_int_equal(n_forgotten, 40);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(find(i) != NULL, i < 60);
		assert_int_equal(fl_known_around(module(i).lo) != NULL, i < 60);
	}
	walk(60);
	assert_int_equal(n_forgotten, 40);
	walk(0);
	assert_int_equal(n_forgotten, 100);
}

/* With probes: the same file's, at the same place, and no other's. */
static void what_comes_back_is_the_same_files(void **unused)
{
	struct fl_known *a = add(0), *b;

	(void)unused;
	assert_true(fl_known_give_row(a, "/lib/a.so"));
	a->end++;
	walk(0);
	b = add(0);
	assert_ptr_not_equal(b, a);
	assert_true(fl_known_give_row(b, "/lib/b.so"));
	b->end++;
	assert_ptr_equal(find(0), b);
	walk(0);
	assert_ptr_equal(find_gone(0, "/lib/a.so"), a);
	assert_ptr_equal(find_gone(0, "/lib/b.so"), b);
	assert_null(find_gone(0, "/lib/c.so"));
	fl_known_is_back(a);
	assert_ptr_equal(find(0), a);
	assert_null(find_gone(0, "/lib/a.so"));
	walk(1);
	assert_ptr_equal(find(0), a);
}

/* Neither here nor in the region. */
static void what_has_nothing_takes_no_room(void **unused)
{
	(void)unused;
	for (int i = 0; i < MANY; i++) {
		struct fl_known *k = add(3);

		assert_true(fl_known_give_row(k, "/lib/a.so"));
		fl_known_take_row(k);
		walk(0);
	}
	assert_int_equal(fl_table.n_known, 1);
	assert_int_equal(g->m->n_modules, 0);
}

static void no_room_is_said(void **unused)
{
	struct fl_known *k = add(0);
	struct fl_module m = module(1);

	(void)unused;
	g->m->n_modules = g->m->max_modules;
	assert_false(fl_known_give_row(k, "/lib/a.so"));
	assert_int_equal(g->m->left_out, FL_LEFT_MODULES);
	assert_int_equal(k->module, FL_NO_MODULE);
	g->m->left_out = 0;
	fl_table.max_known = 1;
	assert_null(fl_known_add(&m));
	assert_int_equal(g->m->left_out, FL_LEFT_MODULES);
	assert_null(find(1));
}

/* A probe that has glue, in a module around this code. */
static void make_glue(struct fl_known *k)
{
	struct fl_site s = {
		.at = k->lo, .function = k->lo, .form = FL_FORM_CALL, .room = 5,
		.refusal = FLE_UNKNOWN,
	};
	uint32_t id = fl_table.n;

	assert_non_null(fl_table_append(&s, 0));
	fl_table.rows[id].wanted = 1;
	fl_glue_make(k, id, id + 1, true);
	assert_non_null(fl_table.probes[id].go);
}

/* Each piece is told to who samples, and that one is not. */
static void glue_that_is_not_told_of_is_said(void **unused)
{
	struct fl_known *k = add(0);

	(void)unused;
	k->lo = fl_round_down((uintptr_t)make_glue, FL_PAGE);
	k->hi = k->lo + FL_PAGE;
	g->m->max_glue = 2;
	for (int i = 0; i < 2; i++) {
		make_glue(k);
		assert_true(fl_shm_glue(g->m)[i].lo < fl_shm_glue(g->m)[i].hi);
		assert_int_equal(g->m->left_out, 0);
	}
	make_glue(k);
	assert_int_equal(g->m->left_out, FL_LEFT_GLUE);
	assert_int_equal(fl_shm_glue(g->m)[2].lo, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(each_is_found_at_its_place),
		TEST(what_was_not_seen_is_gone),
		TEST(what_comes_back_is_the_same_files),
		TEST(what_has_nothing_takes_no_room),
		TEST(no_room_is_said),
		TEST(glue_that_is_not_told_of_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
