/*
 * Which programs of a process tree are dear, by what they armed for and what they ran; and what
 * calls of processes with probes are with those of others, by samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "channel/slot.h"
#include "session/samples/bare.h"
#include "session/budget/state.h"
#include "session/samples/profile.h"

enum { CALLS, TOTAL, SUM, UNKNOWN, ERROR, FUNCTION, N_COLUMNS };
static const struct flick_column columns[N_COLUMNS] = {
	[CALLS] = { "calls", FLICK_COL_COUNT }, [TOTAL] = { "total_ns", FLICK_COL_NS },
	[SUM] = { "sum_ns", FLICK_COL_NS }, [UNKNOWN] = { "unknown", FLICK_COL_COUNT },
	[ERROR] = { "calls_error", FLICK_COL_COUNT },
	[FUNCTION] = { "function", FLICK_COL_FUNCTION },
};

enum { N = 4 };				/* functions, of which the last is another module's */
static struct fl_region *m;
static struct fl_session_options options;
static struct fl_session *s;
static struct fl_budget budget;
static struct fl_function functions[N];
static struct fl_shm_module modules[2] = { { .path = "/bin/p" }, { .path = "/lib/l" } };
static uint64_t selves[N], bares[N], cells[N][N_COLUMNS];
static struct fl_profile profile;
static struct flick_rows rows;

static int set_up(void **unused)
{
	static struct flick_analysis latency = { .name = "latency" };

	(void)unused;
	m = calloc(1, sizeof(*m) + FL_MAX_PROCESSES * sizeof(struct fl_process) +
		      FL_PROCESS_INDEX * sizeof(uint32_t));
	m->processes_at = sizeof(*m);
	m->process_index_at = sizeof(*m) + FL_MAX_PROCESSES * sizeof(struct fl_process);
	s = calloc(1, sizeof(*s));
	options = (struct fl_session_options){ .follow = true, .budget = 0.1,
					       .n_analyses = 1 };
	options.analyses[0].analysis = &latency;
	options.selection = fl_selection_new();
	budget = (struct fl_budget){ .s = s };
	s->o = &options;
	s->shm = m;
	s->budget = &budget;
	s->sampler = (struct fl_sampler *)s;	/* there is one */
	s->functions.all = functions;
	s->functions.n = N;
	s->functions.modules = modules;
	s->functions.n_modules = 2;
	for (int f = 0; f < N; f++) {
		functions[f].module = f == N - 1;
		memset(cells[f], 0, sizeof(cells[f]));
		cells[f][FUNCTION] = (uint64_t)f;
		selves[f] = bares[f] = 0;
	}
	profile = (struct fl_profile){ .s = s, .self = { selves, N }, .bare = { bares, N } };
	rows = (struct flick_rows){ columns, N_COLUMNS, cells[0], N };
	return !m || !s || !options.selection;
}

static int tear_down(void **unused)
{
	(void)unused;
	fl_selection_free(options.selection);
	free(s);
	free(m);
	return 0;
}

/* ---- who is dear ------------------------------------------------------------------------ */

static struct fl_program *program(uint32_t i, uint64_t arming_ns, uint32_t n)
{
	m->programs[i] = (struct fl_program){ .key = i + 1, .arming_ns = arming_ns,
					      .n_armed = n };
	return &m->programs[i];
}

/* In the row where its file leads. */
static uint32_t program_at(const char *path, uint32_t n_armed, uint32_t n_bare)
{
	uint64_t key = 0;

	for (const char *c = path; *c; c++)
		key = key << 32 | fl_hash_of(key, (unsigned char)*c);
	key |= 1;
	m->programs[key / 2 % FL_MAX_PROGRAMS] = (struct fl_program){
		.key = key, .n_armed = n_armed, .n_bare = n_bare };
	return (uint32_t)(key / 2 % FL_MAX_PROGRAMS);
}

static void ran(uint32_t i, uint64_t probed_ns, uint64_t bare_ns)
{
	s->program_ran[i].probed = probed_ns / fl_sampler_period_ns();
	s->program_ran[i].bare = bare_ns / fl_sampler_period_ns();
}

/* Half a second is free. From then on the next one, too, must be within the budget of what all
 * of its processes ran. */
static void programs_are_dear_when_the_next_passes_the_budget(void **unused)
{
	const uint64_t second = 1000000000;
	struct fl_program *few = program(0, second / 2 - 1, 9);
	struct fl_program *short_ = program(1, 2 * second, 4);
	struct fl_program *long_ = program(2, 2 * second, 4);

	(void)unused;
	ran(1, 4 * second, 20 * second);
	ran(2, 24 * second, 2 * second);
	fl_bare_turn(s);
	assert_int_equal(few->is_dear, 0);
	assert_int_equal(short_->is_dear, 1);
	assert_int_equal(long_->is_dear, 0);
	ran(1, 4 * second, 22 * second);	/* it may be armed again */
	fl_bare_turn(s);
	assert_int_equal(short_->is_dear, 0);
	/* What armed may count for a part of that, once. */
	assert_true(budget.afford.granted_ns > 4.4 * (double)second / FL_GRANTED_ONE_IN);
	assert_true(budget.afford.granted_ns < 4.6 * (double)second / FL_GRANTED_ONE_IN);
}

static void who_asks_for_more_than_the_default_has_no_dear_program(void **unused)
{
	struct fl_program *p = program(0, 3000000000, 3);
	struct fl_watch watch = { NULL };

	(void)unused;
	options.watch = &watch;
	fl_bare_turn(s);
	assert_int_equal(p->is_dear, 0);
	options.watch = NULL;
	fl_selection_add(options.selection, 1, "main");
	fl_bare_turn(s);
	assert_int_equal(p->is_dear, 0);
}

/* ---- which samples are of bare processes ------------------------------------------------ */

static void process(int pid, struct fl_process is)
{
	is.pid = pid;
	fl_shm_processes(m)[pid] = is;
	assert_true(fl_process_index(m, pid, (uint32_t)pid));
}

static const char *executed = "";	/* as the kernel told; "": it did not */

static void expect(int pid, const char *path, bool is_bare)
{
	struct fl_pc pc = { .path = path, .program = executed, .n = 1, .pid = pid };

	fl_bare_saw(s, &pc);
	if (fl_bare_is(s, &pc) != is_bare)
		fail_msg("process %d, %s: not %d", pid, path, is_bare);
}

/* A process that executes one program after the other has samples of both. */
static void a_sample_is_of_the_image_that_its_file_tells(void **unused)
{
	uint32_t dear = program_at("/bin/p", 2, 8), other = program_at("/bin/q", 9, 0);

	(void)unused;
	options.follow = true;
	process(1, (struct fl_process){ .program = dear + 1, .is_bare = 1 });
	process(2, (struct fl_process){ .program = other + 1, .was_bare = dear + 1 });
	process(3, (struct fl_process){ .program = other + 1 });
	process(4, (struct fl_process){ .program = dear + 1 });
	expect(1, "/bin/p", true);
	expect(1, "/bin/q", false);
	expect(1, "/lib/l", true);
	expect(2, "/bin/p", true);
	expect(2, "/bin/q", false);
	expect(2, "/lib/l", false);
	expect(3, "/bin/p", false);
	expect(4, "/bin/p", false);
	expect(5, "/bin/p", true);		/* the child of a bare one */
	assert_int_equal(s->program_ran[dear].bare, 4);
	assert_int_equal(s->program_ran[dear].probed, 2);
	assert_int_equal(s->program_ran[other].bare, 0);
	assert_int_equal(s->program_ran[other].probed, 3);
	executed = "/bin/p";
	expect(2, "/lib/l", true);
	executed = "/bin/q";
	expect(2, "/lib/l", false);
	executed = "/lib/ld.so";		/* ld.so PROGRAM */
	expect(2, "/bin/p", true);
	executed = "";
	assert_int_equal(s->program_ran[dear].bare, 6);
	assert_int_equal(s->program_ran[other].probed, 4);
}

/* ---- calls ------------------------------------------------------------------------------ */

static bool most[2];			/* of the modules */

static void fill(void)
{
	assert_int_equal(fl_bare_open(&profile), 0);
	fl_bare_fill(&rows, &profile);
	most[0] = fl_bare_is_most(&profile, 0);
	most[1] = fl_bare_is_most(&profile, N - 1);
	free(profile.modules);
}

static void two_of_ten_have_probes(void)
{
	program(0, 1, 2)->n_bare = 8;
}

static void stood(int f, uint64_t probed, uint64_t bare)
{
	selves[f] = probed + bare;
	bares[f] = bare;
}

static void called(int f, uint64_t calls, uint64_t total)
{
	cells[f][CALLS] = calls;
	cells[f][TOTAL] = cells[f][SUM] = total;
	cells[f][ERROR] = FLICK_NONE;
}

static void expect_near(uint64_t got, double want)
{
	if ((double)got < 0.97 * want || (double)got > 1.03 * want)
		fail_msg("%llu, not %.0f", (unsigned long long)got, want);
}

/* Four times as many samples were bare in a module: five times as many calls. Of few samples
 * its ratio counts, of many the function's own; another module has another one. */
static void calls_are_as_samples(void **unused)
{
	(void)unused;
	stood(0, 10000, 60000);
	stood(1, 0, 0);
	stood(2, 10000, 20000);
	stood(3, 5000, 0);
	for (int f = 0; f < N; f++)
		called(f, 1000, 7000);
	cells[3][ERROR] = 5;
	two_of_ten_have_probes();
	ran(0, 1000000000, 40000000000);	/* they had less to do */
	fill();
	expect_near(cells[0][CALLS], 7000);
	expect_near(cells[0][TOTAL], 49000);
	expect_near(cells[0][SUM], 49000);
	assert_in_range(cells[0][ERROR], 1, 150);
	expect_near(cells[1][CALLS], 5000);
	expect_near(cells[2][CALLS], 3000);
	assert_true(most[0] && !most[1]);
	assert_in_range(cells[1][ERROR], 400, 2000);
	assert_int_equal(cells[3][CALLS], 1000);
	assert_int_equal(cells[3][TOTAL], 7000);
	assert_int_equal(cells[3][ERROR], 5);
}

/* One process in a hundred ran for long, and had no probes. Others called a function once each,
 * another one often: so does that one in the latter by its length, or not at all. */
static void who_is_called_once_a_process_is_called_so_in_others(void **unused)
{
	(void)unused;
	program_at("/bin/p", 10, 3);
	ran(0, 10000000, 30000000000);
	stood(0, 10, 30000);
	called(0, 1000, 7000);
	stood(1, 0, 0);
	called(1, 10, 7000);
	stood(2, 0, 0);
	called(2, 1000, 7000);
	fill();
	assert_int_equal(cells[1][CALLS], 13);
	assert_int_equal(cells[1][TOTAL], 9100);
	assert_in_range(cells[1][ERROR], 1, 2);
	assert_true(cells[2][ERROR] > cells[2][CALLS] / 2);
}

/* No sample stood in a library: its calls are as many a process, of the program that brought
 * it. Another program's, that is never bare, are known. */
static void calls_of_libraries_without_samples_are_as_processes(void **unused)
{
	static struct fl_shm_site sites[2] = { { .image = 7 }, { .image = 8 } };
	uint32_t dear = program_at("/bin/p", 10, 30), other = program_at("/bin/q", 9, 0);

	(void)unused;
	s->functions.sites = sites;
	s->functions.n_sites = 2;
	m->n_processes = 3;
	process(1, (struct fl_process){ .image = 7, .program = dear + 1 });
	process(2, (struct fl_process){ .image = 8, .program = other + 1 });
	modules[1].n = 1;
	for (modules[1].first = 0; modules[1].first < 2; modules[1].first++) {
		called(N - 1, 1000, 7000);
		fill();
		expect_near(cells[N - 1][CALLS], modules[1].first ? 1000 : 4000);
		assert_int_equal(most[1], !modules[1].first);
		assert_in_range(cells[N - 1][ERROR], modules[1].first ? 0 : 1000,
				modules[1].first ? 0 : 4000);
	}
	modules[1].n = 0;
}

/* Half as much again, or not at all. */
static void how_much_longer_probes_make_processes_is_in_the_error(void **unused)
{
	(void)unused;
	stood(0, 3000000, 8000000);
	called(0, 1000000, 7000);
	two_of_ten_have_probes();
	ran(0, 3000000000, 8000000000);
	fill();
	expect_near(cells[0][CALLS], 5e6);
	assert_in_range(cells[0][ERROR], 400000, 500000);
}

static void what_was_called_in_bare_processes_alone_has_no_number(void **unused)
{
	(void)unused;
	stood(0, 100, 400);
	called(0, 1000, FLICK_NONE);
	stood(1, 0, 3);
	called(1, 0, FLICK_NONE);
	called(2, 0, FLICK_NONE);
	fill();
	assert_true(cells[0][TOTAL] == FLICK_NONE && cells[0][CALLS] > 1000);
	assert_true(cells[1][CALLS] == FLICK_NONE && cells[1][UNKNOWN] == FLICK_NONE);
	assert_int_equal(cells[2][CALLS], 0);
}

/* Two with probes ran as long as three without would: probes made them so. Where they ran ten
 * times as long, not all of it is by probes. */
static void probes_make_processes_longer(void **unused)
{
	(void)unused;
	stood(0, 30000, 80000);
	called(0, 1000, 7000);
	two_of_ten_have_probes();
	ran(0, 3000000000, 8000000000);
	fill();
	expect_near(cells[0][CALLS], 5000);
	called(0, 1000, 7000);
	stood(0, 200000, 80000);
	ran(0, 20000000000, 8000000000);
	fill();
	expect_near(cells[0][CALLS], 1800);
}

static void names_and_numbers_of_bare_processes_are_said(void **unused)
{
	char line[64];

	(void)unused;
	fl_bare_say(s, line, sizeof(line));
	assert_string_equal(line, "");
	assert_false(fl_bare_is_any(s));
	program(3, 1, 2);
	m->programs[3].n_bare = 29;
	memcpy(m->programs[3].name, "cc1", 4);
	program(7, 1, 11);
	m->programs[7].n_bare = 1;
	memset(m->programs[7].name, 'a', sizeof(m->programs[7].name));	/* the target may */
	program(9, 1, 5);
	assert_true(fl_bare_is_any(s));
	fl_bare_say(s, line, sizeof(line));
	assert_memory_equal(line, "29 of 31 of cc1, 1 of 12 of aaaaa", 33);
	fl_bare_say(s, line, 24);
	assert_string_equal(line, "29 of 31 of cc1, ...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(programs_are_dear_when_the_next_passes_the_budget),
		TEST(who_asks_for_more_than_the_default_has_no_dear_program),
		TEST(a_sample_is_of_the_image_that_its_file_tells),
		TEST(calls_are_as_samples),
		TEST(who_is_called_once_a_process_is_called_so_in_others),
		TEST(calls_of_libraries_without_samples_are_as_processes),
		TEST(how_much_longer_probes_make_processes_is_in_the_error),
		TEST(what_was_called_in_bare_processes_alone_has_no_number),
		TEST(probes_make_processes_longer),
		TEST(names_and_numbers_of_bare_processes_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
