/*
 * init.c - what it costs to set probes up, in a process that has none.
 *
 *	init.probe         from flick_open() until every probe is on for the
 *	                   first time, per probe
 *	init.probe.open    flick_open() alone: discovery
 *
 * Linked with the file of bench/synth (20,000 probes). Every run is a process
 * of its own, so that nothing is warm but the page cache.
 */
#include "bench.h"
#include "probes.h"

#include <sys/wait.h>
#include <unistd.h>

#define RUNS 40

struct ticks {
	double all, open;
};

static int set_up(struct ticks *t)
{
	uint64_t from = bench_ticks(), opened, done;
	flick *f = probes_open();
	int n;

	opened = bench_ticks();
	n = f ? flick_stage(f, "[ab]_*", FLICK_ON) : 0;
	if (n <= 0 || flick_commit(f) < 0)
		return 1;
	done = bench_ticks();
	t->all = (double)(done - from) / n;
	t->open = (double)(opened - from) / n;
	return 0;
}

static int measure_here(int fd)
{
	struct ticks t;

	if (set_up(&t) || write(fd, &t, sizeof(t)) != sizeof(t))
		return 1;
	return 0;
}

/* One run in a child of its own. */
static bool measure_child(struct ticks *t)
{
	int fds[2];
	pid_t pid;
	bool is_whole;

	if (pipe(fds))
		return false;
	pid = fork();
	if (pid == 0)
		_exit(measure_here(fds[1]));
	close(fds[1]);
	is_whole = read(fds[0], t, sizeof(*t)) == sizeof(*t);
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return is_whole;
}

int main(int argc, char **argv)
{
	struct series all = { .n = 0 }, open = { .n = 0 };

	bench_options(argc, argv);
	bench_pin(BENCH_OTHER);
	for (int run = 0; run < RUNS; run++) {
		struct ticks t;

		if (!measure_child(&t))
			return 1;
		series_add(&all, t.all);
		series_add(&open, t.open);
	}
	bench_report("init.probe", "ticks/probe", &all);
	bench_report("init.probe.open", "ticks/probe", &open);
	return 0;
}
