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
	NEED(!fl_watch_open() && !fl_watch_start(g->m));
	NEED(g->m->watcher_pid > 0 && g->m->watcher_pid != getpid());
	NEED(kill(g->m->watcher_pid, 0) == 0);
}

static void who_watches_is_told(void **state)
{
	struct rig *g = rig_open(1, 8, FL_ACT_TIME);

	(void)state;
	assert_int_equal(rig_drain(g, rig_fork(g, watch)), 0);
	rig_close(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_watches_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
