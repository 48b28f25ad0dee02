/*
 * scribble WHAT [PATH]: write over what flick's region says, as a stray pointer or an
 * enemy may, and ask the reader to look at it.
 *
 *	heap		no write: a function outside all modules is entered
 *	rows		every byte of both tables
 *	counts		how many rows they have, and where they are said to be
 *	fewer		fewer sites than there were, then one more call
 *	paths		modules' paths without an end
 *	file PATH	a module and a site that are said to be of PATH
 *	mutex		where the mutex leads by whose owner it sees that the reader lives
 *	slots		all slots look claimed, and hold nonsense
 *	records		chunks in which records are not of any probe
 *	windows		edges that never were
 *	errors		an agent's error, and refusals, that are none
 *	found		what a scan would have found, as if it had been wished for just now
 *	flip		for half a second, any word of all but the header, at random
 *	ask		for ever: look at nothing new
 */
#define FUNCTIONS(X) X(main) X(leaf)
#include "truth.h"
#include "channel/channel.h"

#include <linux/futex.h>
#include <time.h>

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

QUIET static struct fl_region *find_region(void)
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
	return (struct fl_region *)lo;
}

/* As agent/agent.c does. */
QUIET static void ask(struct fl_region *m)
{
	__atomic_store_n(&m->session[0].phase, FL_PHASE_ASK, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->session[0].phase, __ATOMIC_SEQ_CST) == FL_PHASE_ASK)
		usleep(1000);
}

QUIET static uint64_t next_random(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

/* ---- what is written ---------------------------------------------------------------- */

QUIET static void write_rows(struct fl_region *m)
{
	m->n_modules += 10;
	m->n_sites += 10;
	memset(fl_shm_modules(m), 0xff, m->max_modules * sizeof(struct fl_shm_module));
	memset(fl_shm_sites(m), 0xff, 4096 * sizeof(struct fl_shm_site));
}

QUIET static void write_counts(struct fl_region *m)
{
	m->n_sites = m->n_modules = UINT32_MAX;
	m->sites_at = m->modules_at = m->processes_at = UINT64_MAX / 2;
	m->max_sites = m->max_modules = UINT32_MAX;
}

QUIET static void write_fewer(struct fl_region *m)
{
	m->n_sites = 1000;
	ask(m);
	m->n_sites = 0;
	ask(m);
}

QUIET static void write_paths(struct fl_region *m)
{
	struct fl_shm_module *row = fl_shm_modules(m) + m->n_modules;

	for (int i = 0; i < 20; i++) {
		row[i].lo = row[i].base = 0;
		row[i].hi = UINT64_MAX;
		memset(row[i].path, i == 10 ? '%' : i ? 0x80 + i : '/', sizeof(row[i].path));
	}
	m->n_modules += 20;
}

QUIET static void write_file(struct fl_region *m, const char *path)
{
	struct fl_shm_module *row = fl_shm_modules(m) + m->n_modules;
	struct fl_shm_site *site = fl_shm_sites(m) + m->n_sites;

	*row = (struct fl_shm_module){ .base = 0, .hi = UINT64_MAX };
	strncpy(row->path, path, sizeof(row->path) - 1);
	for (int i = 0; i < 10; i++)
		site[i] = (struct fl_shm_site){ .at = 0x1000 * i, .function = 0x1000 * i,
						.module = (uint16_t)m->n_modules };
	m->n_modules++;
	m->n_sites += 10;
}

QUIET static void write_mutex(struct fl_region *m)
{
	pthread_mutex_t *reader = &m->session[0].reader;

	reader->__data.__list.__next = reader->__data.__list.__prev = (void *)0x4141414141;
	memset(&m->joining, 0xa5, sizeof(m->joining));
}

QUIET static void write_slots(struct fl_region *m)
{
	for (uint32_t i = 1; i < m->n_slots; i++) {
		struct fl_slot *s = fl_shm_slot(m, i);

		for (uint64_t *w = (uint64_t *)s; w < (uint64_t *)(s + 1); w++)
			*w = next_random();
		s->state = FL_SLOT_LIVE;
		*(uint32_t *)&s->owner = i % 2 ? FUTEX_OWNER_DIED : 1;
		if (i % 3)
			s->ring[0].filled = i % 5;
	}
	memset(m->session[0].fresh, 0xff, sizeof(m->session[0].fresh));
	m->n_slots_used = UINT32_MAX;
}

QUIET static void write_records(struct fl_region *m)
{
	for (uint32_t i = 0; i < m->n_slots && i < 8; i++) {
		struct fl_slot *s = fl_shm_slot(m, i);
		uint64_t *w = (uint64_t *)((char *)s + FL_SLOT_HEADER_BYTES);

		for (uint64_t n = (m->slot_bytes - FL_SLOT_HEADER_BYTES) / 8; n--;)
			*w++ = n % 3 ? next_random() : next_random() % 64;
		s->ring[0].filled += 1;
		s->ring[0].ptr = s->ring[0].data + 48;
		s->state = FL_SLOT_LIVE;
	}
	m->session[0].fresh[0] = 0xff;
}

QUIET static void write_windows(struct fl_region *m)
{
	struct fl_windows *w = &m->session[0].windows;

	for (uint32_t i = 0; i < FL_EDGES; i++)
		w->edges[i] = next_random();
	memset(w->rates, 0xff, sizeof(w->rates));
	w->announced = w->published = UINT64_MAX;
	w->on_ns = w->own_ns = w->own_tsc = UINT64_MAX;
	ask(m);
	w->announced = w->published = 1u << 20;
}

QUIET static void write_errors(struct fl_region *m)
{
	for (uint32_t i = 0; i < m->n_sites; i++)
		fl_shm_sites(m)[i].refusal = i % 2 ? INT32_MIN : 12345;
	m->session[0].agent_error = INT32_MIN;
	memset(m->outside, 0xff, sizeof(m->outside));
	m->tsc0 = m->mono0_ns = UINT64_MAX;
}

QUIET static void write_found(struct fl_region *m)
{
	m->found.n = 5000;
	for (uint32_t i = 0; i < m->found.n; i++)
		fl_shm_found(m)[i] = (struct fl_found_row){ 16 * i, 0 };
	m->found.state = FL_FOUND_TOLD;
}

/* Not what the kernel reads at this thread's end. */
QUIET static void flip(struct fl_region *m)
{
	uint64_t *words = (uint64_t *)m, from = offsetof(struct fl_region, n_modules) / 8;
	uint64_t constant = offsetof(struct fl_region, session) / 8;
	uint64_t upto = offsetof(struct fl_region, session[0].phase) / 8;
	uint64_t n = (m->slots_at + 4 * m->slot_bytes) / 8;
	clock_t end = clock() + CLOCKS_PER_SEC / 2;

	while (clock() < end)
		for (int i = 0; i < 1000; i++) {
			uint64_t at = next_random() % (i % 2 ? n : n / 1000);
			uint32_t *phase = &m->session[0].phase;

			if (at < from || (at >= constant && at < upto))
				continue;
			words[at] = i % 3 ? next_random() : (uint64_t)i;
			if (i % 100 == 0)
				*phase = FL_PHASE_ASK;
		}
}

QUIET static void ask_for_ever(struct fl_region *m)
{
	for (;;)
		ask(m);
}

static const struct {
	const char *name;
	void (*write)(struct fl_region *);
} scribbles[] = {
	{ "rows", write_rows }, { "counts", write_counts }, { "fewer", write_fewer },
	{ "paths", write_paths }, { "mutex", write_mutex }, { "slots", write_slots },
	{ "records", write_records }, { "windows", write_windows },
	{ "errors", write_errors }, { "found", write_found }, { "flip", flip },
	{ "ask", ask_for_ever },
};

int main(int argc, char **argv)
{
	struct fl_region *m = find_region();
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
	if (argc > 2 && !strcmp(argv[1], "file"))
		write_file(m, argv[2]);
	for (size_t i = 0; argc > 1 && i < sizeof(scribbles) / sizeof(*scribbles); i++)
		if (!strcmp(argv[1], scribbles[i].name))
			scribbles[i].write(m);
	if (argc > 1 && strcmp(argv[1], "flip"))
		ask(m);
	_exit(0);
}
