/*
 * scribble WHAT: write over what flick's region says of modules and sites, as a
 * stray pointer may, and ask the reader to look at it.
 *
 *	heap		no write: a function outside all modules is entered
 *	rows		every byte of both tables
 *	counts		how many rows they have, and where they are said to be
 */
#define FUNCTIONS(X) X(main) X(leaf)
#include "truth.h"
#include "channel/channel.h"

void __cyg_profile_func_enter(void *function, void *from);
void __cyg_profile_func_exit(void *function, void *from);
/* No scan sees a call through these. */
static void (*volatile enter)(void *, void *) = __cyg_profile_func_enter;
static void (*volatile leave)(void *, void *) = __cyg_profile_func_exit;

BODY static int leaf(int x)
{
	CALLED(leaf);
	return x + 1;
}

QUIET static struct fl_shm *find_region(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long lo = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:flick ") && sscanf(line, "%lx", &lo) == 1)
			break;
	if (!lo)
		exit(2);
	fclose(maps);
	return (struct fl_shm *)lo;
}

QUIET static void write_rows(struct fl_shm *m)
{
	memset((char *)m + m->modules_at, 0xff, m->max_modules * sizeof(struct fl_shm_module));
	memset((char *)m + m->sites_at, 0xff, 4096 * sizeof(struct fl_shm_site));
}

QUIET static void write_counts(struct fl_shm *m)
{
	m->n_sites = m->n_modules = UINT32_MAX;
	m->sites_at = m->modules_at = m->processes_at = UINT64_MAX / 2;
	m->max_sites = m->max_modules = UINT32_MAX;
}

/* As agent/agent.c does. */
QUIET static void ask(struct fl_shm *m)
{
	__atomic_store_n(&m->phase, FL_PHASE_ASK, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->phase, __ATOMIC_SEQ_CST) == FL_PHASE_ASK)
		usleep(1000);
}

int main(int argc, char **argv)
{
	struct fl_shm *m = find_region();
	char *heap = malloc(16);

	CALLED(main);
	KEEP(leaf(argc));
	truth_print();
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "heap")) {
		enter(heap, 0);
		leave(heap, 0);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "rows")) {
		m->n_modules += 10;
		m->n_sites += 10;
		write_rows(m);
	} else {
		write_counts(m);
	}
	ask(m);
	_exit(0);
}
