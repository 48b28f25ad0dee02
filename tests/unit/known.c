/*
 * unit/known.c - modules that come, go and come back: each is found at its place, and
 * what has nothing takes no room.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel-rig.h"
#include "os/os.h"
#include "probe/goal.h"
#include "probe/glue.h"
#include "probe/late.h"

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

static struct fl_known *find_gone_of(int i, const char *path, const struct fl_origin *o)
{
	struct fl_module m = module(i);

	m.path = path;
	return fl_known_find_gone(&m, o);
}

static struct fl_known *find_gone(int i, const char *path)
{
	return find_gone_of(i, path, &(struct fl_origin){ .is_known = false });
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

/* ---- what it was loaded from ---------------------------------------------------- */

/* Where this program itself would come from, were `path` its file. */
static struct fl_origin look(const char *path)
{
	struct fl_module m = { .path = path };
	struct fl_origin o;

	assert_int_equal(fl_obj_open(&m.file, "/proc/self/exe"), 0);
	m.ph = m.file.ph;
	m.n_ph = m.file.eh->e_phnum;
	m.bias = (uintptr_t)m.file.bytes;	/* its first segment is mapped as it is */
	fl_known_look(&o, &m);
	fl_obj_close(&m.file);
	return o;
}

static char *new_file(void)
{
	static char path[64];
	int fd;

	strcpy(path, "/tmp/flick-known-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, "1", 1), 1);
	assert_int_equal(ftruncate(fd, 1 << 26), 0);	/* as long as this program, at least */
	close(fd);
	return path;
}

/* The kernel's clock for files may be as coarse as its ticks. */
static void write_later(const char *path)
{
	int fd = open(path, O_WRONLY);

	usleep(20000);
	assert_int_equal(write(fd, "2", 1), 1);
	close(fd);
}

static void a_file_is_the_same_until_somebody_writes(void **unused)
{
	const char *path = new_file();
	struct fl_known *k = add(0);

	(void)unused;
	k->origin = look(path);
	k->origin.is_settled = true;		/* on any file system */
	assert_true(fl_known_is_of(k, (const struct fl_origin[]){ look(path) }));
	write_later(path);
	assert_false(fl_known_is_of(k, (const struct fl_origin[]){ look(path) }));
	unlink(path);
	assert_false(look(path).is_known);
	assert_false(look("/dev/null").is_known);
}

static void each_word_of_an_origin_tells(void **unused)
{
	struct fl_known *k = add(0);
	const struct fl_origin as = {
		.file = { .device = 1, .inode = 2, .bytes = 3, .changed_ns = 4 },
		.path = 5, .loaded = 6, .is_known = true, .is_settled = true,
	};
	struct fl_origin o[] = { as, as, as, as, as, as, as };

	(void)unused;
	k->origin = as;
	assert_true(fl_known_is_of(k, &as));
	o[0].file.device++;
	o[1].file.inode++;
	o[2].file.bytes++;
	o[3].file.changed_ns++;
	o[4].path++;
	o[5].loaded++;
	o[6].is_known = false;
	for (size_t i = 0; i < ARRAY_LEN(o); i++)
		assert_false(fl_known_is_of(k, &o[i]));
	k->origin.is_known = false;
	assert_false(fl_known_is_of(k, &as));
}

/* Where a file's time is a whole second it is believed when it was the same seconds later. */
static void a_coarse_time_is_believed_later(void **unused)
{
	struct fl_origin o = { .loaded = 1, .is_known = true, .since = 1ull << 40 }, later = o;
	struct fl_known *k = add(0);

	(void)unused;
	fl_known_note(k, &o);
	assert_false(fl_known_is_of(k, &o));
	later.since += 1u << 30;
	fl_known_note(k, &later);
	assert_false(fl_known_is_of(k, &o));
	later.since = o.since + (1ull << 35);
	later.file.inode++;			/* another one: from now on */
	fl_known_note(k, &later);
	assert_false(fl_known_is_of(k, &later));
	later.since += 1ull << 35;
	fl_known_note(k, &later);
	assert_true(fl_known_is_of(k, &later));
}

/* One of other code is passed over, and finds what is behind it. One without a row is the
 * same where all of it is known to be. */
static void what_comes_back_has_its_code(void **unused)
{
	struct fl_origin one = { .loaded = 1, .is_known = true, .is_settled = true };
	struct fl_origin two = one, three = one;
	struct fl_known *a = add(0), *b;

	(void)unused;
	two.loaded = 2;
	three.loaded = 3;
	assert_true(fl_known_give_row(a, "/lib/a.so"));
	a->end++;
	a->origin = one;
	walk(0);
	b = add(0);
	assert_true(fl_known_give_row(b, "/lib/a.so"));
	b->end++;
	b->origin = two;
	walk(0);
	assert_ptr_equal(find_gone_of(0, "/lib/a.so", &one), a);
	assert_ptr_equal(find_gone_of(0, "/lib/a.so", &two), b);
	assert_null(find_gone_of(0, "/lib/a.so", &three));
	assert_ptr_equal(find_gone(0, "/lib/a.so"), b);
	a = add(1);
	a->origin = one;
	walk(0);
	assert_ptr_equal(find_gone_of(1, "/lib/a.so", &one), a);
	assert_null(find_gone_of(1, "/lib/a.so", &two));
	assert_null(find_gone(1, "/lib/a.so"));
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

/* Of another length, or met since: another. */
static void what_lies_there_now_is_another(void **unused)
{
	struct fl_known *a = add(0), *b, *c;
	struct fl_module longer = module(0);

	(void)unused;
	longer.hi += BYTES;
	assert_null(fl_known_find(&longer));
	a->late = 0;
	walk(0);
	b = add(0);
	assert_ptr_not_equal(b, a);
	fl_table.stamp++;
	c = add(1);
	n_forgotten = 0;
	fl_known_each_unseen(forget);
	assert_int_equal(n_forgotten, 1);	/* b: the other is as new as the walk */
	assert_ptr_equal(find(1), c);
}

/* ---- calls that no scan has named ------------------------------------------------- */

static struct fl_site call_at(uintptr_t at)
{
	return (struct fl_site){
		.at = at, .function = module(0).lo, .kind = FL_ENTRY, .form = FL_FORM_CALL,
		.provider = FL_PROVIDER_CYG, .room = 5, .refusal = FLE_UNKNOWN,
		.asks = 1,
	};
}

static int meet(uintptr_t at, bool new)
{
	struct fl_site s = call_at(at);
	bool is_new;
	int id = fl_probe_add(&s, &is_new);

	assert_int_equal(is_new, new);
	return id;
}

static int meet_function(uintptr_t at, enum fl_kind kind, uint8_t form, bool new)
{
	bool is_new;
	int id = fl_probe_virtual(at, kind, form, &is_new);

	assert_int_equal(is_new, new);
	return id;
}

/* As if there were code that can be changed. */
static void undo_refusals(void)
{
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (fl_table.probes[id].state == FL_PROBE_REFUSED)
			fl_table.probes[id].state = FL_PROBE_FOUND;
}

static void decide(void)
{
	undo_refusals();
	for (uint32_t id = 0; id < fl_table.n; id++) {
		if (fl_table.probes[id].state != FL_PROBE_FOUND)
			continue;
		fl_table.rows[id].wanted = FL_WANTED;
		fl_goal_begin(id, FL_PROBE_CALLING);
		assert_true(fl_probe_is_on(id));
	}
}

/* As a walk does with what it finds again (discover.c). */
static void revive_all(const struct fl_known *k)
{
	for (uint32_t id = k->late; id != FL_NO_PROBE; id = fl_table.probes[id].late)
		fl_goal_move(id, FL_PROBE_FOUND);
}

static void none_is_loaded(void (*see)(uintptr_t bias))
{
	(void)see;
}

/* Where there may be glue. */
static void lie_around_code(struct fl_known *k)
{
	k->lo = fl_round_down((uintptr_t)lie_around_code, FL_PAGE);
	k->hi = k->lo + FL_PAGE;
}

static void a_call_is_met_once(void **unused)
{
	struct fl_known *k = add(0);
	uintptr_t at;
	int id;

	(void)unused;
	lie_around_code(k);
	at = k->lo + 0x10;
	assert_true(fl_known_give_row(k, "/lib/a.so"));
	id = meet(at, true);
	assert_true(id >= 0);
	assert_int_equal(g->m->n_met, 1);
	assert_int_equal(*fl_table.probes[id].go, fl_probe_routine(FL_ACT_COUNT, FL_ASK));
	undo_refusals();
	assert_int_equal(fl_probe_met(at + 5), -ENOENT);
	decide();
	assert_int_equal(fl_probe_met(at + 5), id);
	assert_int_equal(meet(at, false), id);
	fl_probe_no_site(at + 0x20);
	assert_int_equal(fl_probe_met(at + 0x20), FLE_NOPROBE);
	id = meet_function(at, FL_ENTRY, FL_FORM_CALL, true);
	assert_true(meet_function(at, FL_EXIT, FL_FORM_CALL, true) != id);
	assert_true(meet_function(at, FL_ENTRY, FL_FORM_JUMP, true) != id);
	assert_int_equal(meet_function(at, FL_ENTRY, FL_FORM_CALL, false), id);
}

static void what_was_met_goes_and_comes_back(void **unused)
{
	struct fl_known *a = add(0), *b;
	uintptr_t at = a->lo + 0x10;
	int id[2], function, other;

	(void)unused;
	assert_true(fl_known_give_row(a, "/lib/a.so"));
	id[0] = meet(at, true);
	id[1] = meet(at + 0x20, true);
	function = meet_function(at, FL_ENTRY, FL_FORM_CALL, true);
	decide();
	fl_table_forget_gone(none_is_loaded);
	for (uint32_t i = 0; i < fl_table.n; i++) {
		assert_int_equal(fl_table.sites[i].state, FL_SITE_GONE);
		assert_false(fl_probe_is_on(i));
	}
	assert_int_equal(fl_probe_met(at + 5), -ENOENT);
	b = add(0);				/* another lies there for a while */
	assert_true(fl_known_give_row(b, "/lib/b.so"));
	assert_true(meet(at, true) != id[0]);
	other = meet_function(at, FL_ENTRY, FL_FORM_CALL, true);
	assert_int_not_equal(other, function);
	fl_table_forget_gone(none_is_loaded);
	fl_known_is_back(a);
	assert_int_equal(fl_late_revive(a), id[0]);
	assert_int_equal(fl_table.sites[function].state, FL_SITE_FOUND);
	assert_int_equal(fl_table.sites[other].state, FL_SITE_GONE);
	revive_all(a);
	decide();
	assert_int_equal(fl_probe_met(at + 5), id[0]);
	assert_int_equal(fl_probe_met(at + 0x25), id[1]);
	assert_int_equal(fl_probe_virtual_ready(at, FL_ENTRY, FL_FORM_CALL), function);
}

/* The row that another process made says where the module lies there. */
static void a_process_has_rows_of_its_own(void **unused)
{
	struct fl_known *k = add(0);
	const struct fl_shm_module *rows = fl_shm_modules(g->m);
	int id;

	(void)unused;
	assert_true(fl_known_give_row(k, "/lib/a.so"));
	fl_shm_modules(g->m)[k->module].base += BYTES;
	id = meet(k->lo + 0x10, true);
	assert_int_equal(g->m->n_modules, 2);
	assert_int_equal(fl_table.sites[id].module, 1);
	assert_int_equal(rows[1].base, k->bias);
	assert_string_equal(rows[1].path, "/lib/a.so");
	id = meet(k->lo + 0x30, true);
	assert_int_equal(g->m->n_modules, 2);
	assert_int_equal(fl_table.sites[id].module, 1);
}

/* Of a provider that comes later in a scan, and lies before. */
static void a_call_is_found_before_pads(void **unused)
{
	struct fl_known *k = add(0);
	struct fl_site call = call_at(k->lo + 0x100), pad = call_at(k->lo + 0x20);

	(void)unused;
	assert_true(fl_known_give_row(k, "/lib/a.so"));
	pad.provider = FL_PROVIDER_PATCHABLE;
	assert_non_null(fl_table_append(&call, 0));
	assert_non_null(fl_table_append(&pad, 0));
	k->end = fl_table.n;
	assert_int_equal(meet(call.at, false), 0);
}

/* To look for memory is slow: not at each call where there was none. */
static void where_there_was_no_memory_nobody_looks_for_a_while(void **unused)
{
	struct fl_known *k = add(0);
	uint32_t id;
	int n = 0;

	(void)unused;
	lie_around_code(k);
	assert_true(fl_known_give_row(k, "/lib/a.so"));
	fl_os_fault_open("mmap:1+");
	id = (uint32_t)meet(k->lo, true);
	assert_null(fl_table.probes[id].go);
	fl_os_fault_open("mmap:1000000");
	while (fl_glue_late(k, id) && n < 1000)
		n++;
	assert_true(n > 100 && n < 1000);
}

static void an_exit_is_timed_between_windows(void **unused)
{
	struct fl_site s = call_at(module(0).lo);

	(void)unused;
	assert_non_null(fl_table_append(&s, 0));
	s.kind = FL_EXIT;
	assert_non_null(fl_table_append(&s, 0));
	g->m->session[0].action = FL_ACT_WINDOW;
	for (int between = 0; between < 2; between++) {
		fl_table.between = between;
		assert_int_equal(fl_goal_action(0), between ? FL_ACT_COUNT : FL_ACT_WINDOW);
		assert_int_equal(fl_goal_action(1), FL_ACT_TIME);
	}
	fl_table.between = false;
}

/* It would be taken in again at each call. */
static void what_cannot_be_noted_is_not_taken_in(void **unused)
{
	struct fl_known *k = add(0);

	(void)unused;
	assert_true(fl_known_give_row(k, "/lib/a.so"));
	fl_os_fault_open("mmap:1+");
	for (uint64_t i = 1; i < 1023; i++)		/* and the module's */
		assert_int_equal(fl_place_note(i * 3, 1), 0);
	assert_int_equal(meet(k->lo + 0x10, false), FLE_FULL);
	assert_int_equal(fl_table.n, 0);
	assert_int_equal(meet_function(k->lo, FL_ENTRY, FL_FORM_CALL, false), FLE_FULL);
	assert_int_equal(fl_table.n, 0);
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
	fl_glue_make(k, id, id + 1, FL_DECIDED);
	assert_non_null(fl_table.probes[id].go);
}

/* Each piece is told to who samples, and that one is not. */
static void glue_that_is_not_told_of_is_said(void **unused)
{
	struct fl_known *k = add(0);

	(void)unused;
	lie_around_code(k);
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
		TEST(a_file_is_the_same_until_somebody_writes),
		TEST(each_word_of_an_origin_tells),
		TEST(a_coarse_time_is_believed_later),
		TEST(what_comes_back_has_its_code),
		TEST(what_has_nothing_takes_no_room),
		TEST(what_lies_there_now_is_another),
		TEST(a_call_is_met_once),
		TEST(what_was_met_goes_and_comes_back),
		TEST(a_process_has_rows_of_its_own),
		TEST(a_call_is_found_before_pads),
		TEST(no_room_is_said),
		TEST(glue_that_is_not_told_of_is_said),
		TEST(an_exit_is_timed_between_windows),
		TEST(where_there_was_no_memory_nobody_looks_for_a_while),
		TEST(what_cannot_be_noted_is_not_taken_in),	/* leaves mmap failing */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
