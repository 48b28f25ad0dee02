/* unit/watch: who switches probes beside the program is told to the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "channel-rig.h"
#include "os/os.h"
#include "stop-at.h"

static void watch(struct rig *g)
{
	stop("", NULL);				/* nowhere */
	g->m->session[0].reader_pid = fl_os_parent();
	NEED(!fl_watch_open(g->m) && !fl_watch_start(g->m));
	NEED(g->m->watcher_pid > 0 && g->m->watcher_pid != getpid());
	NEED(kill(g->m->watcher_pid, 0) == 0);
}

static bool is_on(int pid, int cpu)
{
	cpu_set_t set;

	NEED(!sched_getaffinity(pid, sizeof(set), &set));
	return CPU_ISSET(cpu, &set);
}

/* It has gone when it is ready. */
static void stand_apart(struct rig *g)
{
	cpu_set_t all, own;
	int cpu = sched_getcpu();

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	NEED(sizeof(g->m->reader_cpus) == sizeof(all));
	memcpy(g->m->reader_cpus, &all, sizeof(all));
	CPU_ZERO(&own);
	CPU_SET(cpu, &own);
	NEED(!sched_setaffinity(0, sizeof(own), &own));
	NEED(fl_os_shared_cpus(g->m->reader_cpus) == (CPU_COUNT(&all) == 1));
	watch(g);
	NEED(is_on(g->m->watcher_pid, cpu) == (CPU_COUNT(&all) == 1));
	NEED(is_on(0, cpu));
}

/* Nobody has others: it stays. */
static void stand_together(struct rig *g)
{
	cpu_set_t all;

	NEED(!sched_getaffinity(0, sizeof(all), &all));
	NEED(fl_os_shared_cpus(g->m->reader_cpus) == (uint32_t)CPU_COUNT(&all));
	memcpy(g->m->reader_cpus, &all, sizeof(all));
	NEED(fl_os_shared_cpus(g->m->reader_cpus) == (uint32_t)CPU_COUNT(&all));
}

static void who_watches_is_told(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, watch)), 0);
	rig_close(g);
}

static void who_watches_goes_where_the_reader_is(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, stand_apart)), 0);
	assert_int_equal(rig_drain(g, rig_fork(g, stand_together)), 0);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_watches_is_told),
		cmocka_unit_test(who_watches_goes_where_the_reader_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
