/*
 * table.c - the probe table, its functions and its lock.
 *
 * Hides that all arrays are mapped once at their largest and filled as needed,
 * so no pointer into them ever moves and no path allocates.
 */
#include <sys/mman.h>

#include "glue.h"
#include "goal.h"
#include "known.h"
#include "late.h"
#include "os/os.h"
#include "switch.h"

struct fl_table fl_table;

static struct fl_lock lock = { .rank = FL_LOCK_TABLE };

void fl_table_lock(uint64_t *signals)
{
	fl_os_lock(&lock, signals);
}

bool fl_table_lock_within(uint64_t us, uint64_t *signals)
{
	return fl_os_lock_within(&lock, us, signals);
}

bool fl_table_is_cut(void)
{
	return fl_os_was_locked(&lock);
}

void fl_table_unlock(const uint64_t *signals)
{
	fl_os_unlock(&lock, signals);
}

void *fl_table_map(size_t n)
{
	void *p = fl_os_map(NULL, n, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return NULL;
	fl_os_advise(p, n, MADV_DONTDUMP);
	fl_os_advise(p, n, MADV_NOHUGEPAGE);	/* one for each table were much */
	return p;
}

/* Nobody is told of a probe of the earlier table any more, but a thread may still be on its way
 * out of glue, with a number. So the memory is not unmapped, and a program that is recorded a
 * hundred times has one table. */
void *fl_table_map_again(void *was, size_t had, size_t n, size_t each)
{
	if (was && had == n && !fl_os_advise(was, n * each, MADV_DONTNEED))
		return was;
	return fl_table_map(n * each);
}

/* The arrays of a table. */
struct arrays {
	struct fl_table t;
	uintptr_t *asked;
	uint32_t *function_of;
};

static void *unmap_new(void *now, const void *was, size_t n)
{
	if (!now || now == was)
		return now;
	fl_os_unmap(now, n);
	return NULL;
}

/* Where there is no room for all of a table, the program gets back what there was: with a limit
 * to its data (RLIMIT_DATA) it would have none for itself. What an earlier table had stays, as
 * in fl_table_map_again(). */
static int give_back(const struct arrays *was, int err)
{
	struct fl_table *t = &fl_table;
	size_t max = t->max;

	if (t->sites != t->rows)
		t->sites = unmap_new(t->sites, NULL, max * sizeof *t->sites);
	t->probes = unmap_new(t->probes, was->t.probes, max * sizeof *t->probes);
	t->patches = unmap_new(t->patches, was->t.patches, max * sizeof *t->patches);
	t->switches = unmap_new(t->switches, was->t.switches, max * sizeof *t->switches);
	for (int i = 0; i < FL_GENERATIONS; i++)
		t->goals[i] = unmap_new(t->goals[i], was->t.goals[i],
					max * sizeof *t->goals[i]);
	t->next = unmap_new(t->next, was->t.next, max * sizeof *t->next);
	t->functions = unmap_new(t->functions, was->t.functions, max * sizeof *t->functions);
	t->hash = unmap_new(t->hash, was->t.hash, t->n_hash * sizeof *t->hash);
	t->known = unmap_new(t->known, was->t.known, t->max_known * sizeof *t->known);
	fl_asked = unmap_new(fl_asked, was->asked, max * sizeof *fl_asked);
	fl_function_of = unmap_new(fl_function_of, was->function_of,
				   max * sizeof *fl_function_of);
	return err;
}

static int open_table(struct fl_region *m)
{
	const bool samples = m->session[0].action == FL_ACT_SAMPLE;
	size_t max = m->max_sites, had = fl_table.max;
	struct fl_table *t = &fl_table;
	const struct arrays was = { *t, fl_asked, fl_function_of };
	int err;

	fl_obj_unlist(&t->modules);
	*t = (struct fl_table){
		.shm = m, .session = &m->session[0], .rows = fl_shm_sites(m),
		.virtuals = FL_NO_PROBE, .unarmed = FL_NO_PROBE, .max = m->max_sites,
		.handles = FL_SESSION, .joint = had == max ? was.t.joint : NULL,
		.known = was.t.known, .max_known = was.t.max_known,
	};
	t->n = m->n_sites;		/* of earlier images, other processes */
	t->sites = m->follow ? fl_table_map(max * sizeof *t->sites) : t->rows;
	t->n_hash = 2;
	while (t->n_hash < 2 * max)
		t->n_hash *= 2;
	t->probes = fl_table_map_again(was.t.probes, had, max, sizeof *t->probes);
	t->patches = fl_table_map_again(was.t.patches, had, max, sizeof *t->patches);
	t->switches = fl_table_map_again(was.t.switches, had, max, sizeof *t->switches);
	for (int i = 0; i < FL_GENERATIONS; i++)
		t->goals[i] = fl_table_map_again(was.t.goals[i], had, max, sizeof *t->goals[i]);
	t->next = fl_table_map_again(was.t.next, had, max, sizeof *t->next);
	t->functions = fl_table_map_again(was.t.functions, had, max, sizeof *t->functions);
	t->hash = fl_table_map_again(was.t.hash, was.t.n_hash, t->n_hash, sizeof *t->hash);
	fl_asked = fl_table_map_again(fl_asked, had, max, sizeof *fl_asked);
	fl_function_of = fl_table_map_again(fl_function_of, had, max, sizeof *fl_function_of);
	t->in_force = t->goals[0];
	if (!t->sites || !t->probes || !t->patches || !t->switches || !t->goals[0] ||
	    !t->goals[1] || !t->next || !t->functions || !t->hash || fl_known_open() ||
	    !fl_asked || !fl_function_of)
		return give_back(&was, -ENOMEM);
	fl_places_open();
	fl_probe_routines_open();
	fl_switches_open();
	fl_channel_on_block = samples ? fl_sample_block : NULL;
	fl_channel_on_frames = samples ? fl_frames_forget : NULL;
	if (samples)
		fl_sample_open();
	fl_windows_open();
	err = fl_handler_open(m->max_sites);
	return err ? give_back(&was, err) : 0;
}

/* A thread that unloads modules just now may be at a table that an earlier use has left. */
int fl_probes_open(struct fl_region *m)
{
	uint64_t signals;
	int err;

	fl_table_lock(&signals);
	err = open_table(m);
	fl_table_unlock(&signals);
	return err;
}

/* The cell that holds the function at `at`, or is where it would go. */
static uint32_t *cell_of(uintptr_t at)
{
	struct fl_table *t = &fl_table;

	for (uint32_t h = (uint32_t)(at >> 4);; h++) {
		uint32_t *cell = &t->hash[h & (t->n_hash - 1)];
		/* (A) pairs with (B) */
		uint32_t i = load_acquire(cell);

		if (!i || t->functions[i - 1].at == at)
			return cell;
	}
}

/* The hash holds index + 1, so zeroed memory is an empty table. Functions that are neighbours
 * in the text are neighbours here: they share pages, and each page that is touched for the
 * first time costs more than a few steps of probing. */
uint32_t fl_table_function(uintptr_t at)
{
	struct fl_table *t = &fl_table;
	uint32_t *cell = cell_of(at);

	if (!*cell) {
		t->functions[t->n_functions] = (struct fl_function){
			.at = at, .probes = FL_NO_PROBE,
		};
		/* (B) pairs with (A) */
		store_release(cell, ++t->n_functions);
	}
	return *cell - 1;
}

enum { STEP = 1024 };			/* probes */

/* Pages that are met one by one cost a fault each: have the next few at once. A function may
 * have hundreds of probes. */
static void populate_step(struct fl_table *t)
{
	if (t->n % STEP || t->shm->max_sites - t->n < STEP)
		return;
	fl_os_expect(&t->probes[t->n], STEP * sizeof *t->probes);
	fl_os_expect(&t->sites[t->n], STEP * sizeof *t->sites);
	if (t->n_ready < t->n_functions + STEP / 4) {
		t->n_ready = t->n_functions + STEP / 2;
		fl_os_expect(&t->functions[t->n_functions], STEP / 2 * sizeof *t->functions);
	}
}

/* A profiling call between exclusives has no probe, and may not call either. */
static bool is_between(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	return fl_table.sites[id].refusal == FLE_EXCLUSIVE && !p->bare &&
	       fl_arch_mutes(p->form);
}

enum fl_probe_state fl_table_found(uint32_t id)
{
	return fl_table.sites[id].refusal && !is_between(id) ? FL_PROBE_REFUSED :
							       FL_PROBE_FOUND;
}

struct fl_probe *fl_table_put(uint32_t id, const struct fl_site *s, uint32_t module)
{
	struct fl_table *t = &fl_table;
	struct fl_probe *p = &t->probes[id];
	struct fl_function *f;

	p->form = s->form;
	p->room = s->room;
	p->before = s->before;
	p->bare = s->bare;
	t->has_bare |= s->bare && !fl_probe_is_body(p);
	t->has_points |= s->kind == FL_AT_POINT;
	p->asks = s->asks;
	p->carries = s->carries;
	p->reached = s->is_virtual ? FL_REACHED_BY_CALL : FL_REACHED_UNKNOWN;
	if (s->asks)
		fl_asked[id] = s->function;
	p->function = fl_table_function(s->function);
	f = &t->functions[p->function];
	f->has_no_end |= s->provider == FL_PROVIDER_PLT;
	t->next[id] = f->probes;
	t->sites[id] = (struct fl_shm_site){
		.at = s->at, .function = s->function, .datum = s->datum,
		.refusal = (int16_t)s->refusal, .module = (uint16_t)module,
		.owner = (uint16_t)module, .kind = s->kind, .provider = s->provider,
		.jump = s->form == FL_FORM_JUMP || s->form == FL_FORM_JUMP_POINTER ||
			s->form == FL_FORM_SLED_RET,
	};
	if (is_between(id))
		p->reached = FL_REACHED_NEVER;
	fl_goal_move(id, fl_table_found(id));
	/* ordering: none to pair with; walking the list depends on the id */
	store_release(&f->probes, id);
	return p;
}

void fl_table_refuse(uint32_t id, int err, uint64_t datum)
{
	struct fl_shm_site *s = &fl_table.sites[id];

	s->refusal = (int16_t)err;
	s->datum = datum;
	fl_goal_move(id, FL_PROBE_REFUSED);
}

void fl_table_leave_out(enum fl_left what)
{
	__atomic_fetch_or(&fl_table.shm->left_out, what, __ATOMIC_RELAXED);
}

struct fl_probe *fl_table_append(const struct fl_site *s, uint32_t module)
{
	struct fl_table *t = &fl_table;
	struct fl_probe *p;

	if (t->n == t->shm->max_sites) {
		fl_table_leave_out(FL_LEFT_SITES);
		return NULL;
	}
	populate_step(t);
	p = fl_table_put(t->n, s, module);
	t->sites[t->n].image = fl_channel_image();
	store_release(&t->n, t->n + 1);	/* ordering: none; whoever names an id was told it */
	return p;
}

/* ---- what the reader sees --------------------------------------------------------- */

void fl_table_begin(void)
{
	fl_processes_lock(fl_table.shm);
	fl_table.n = fl_table.shm->n_sites;
}

void fl_table_end(uint32_t from)
{
	fl_table_publish(from);
	FL_POINT("table.written");
	fl_table.shm->n_sites = fl_table.n;
	FL_POINT("table.published");
	fl_processes_unlock(fl_table.shm);
}

/* All except `wanted`, which is the reader's. */
static void copy_row(struct fl_shm_site *to, const struct fl_shm_site *s)
{
	to->at = s->at;
	to->function = s->function;
	to->datum = s->datum;
	to->refusal = s->refusal;
	to->module = s->module;
	to->owner = s->owner;
	to->kind = s->kind;
	to->provider = s->provider;
	to->tactic = s->tactic;
	to->state = s->state;
	to->jump = s->jump;
	to->image = s->image;
}

/* A site that is refused in one process is told as refused. */
void fl_table_publish(uint32_t from)
{
	struct fl_table *t = &fl_table;

	for (uint32_t id = from; fl_table_is_shared() && id < t->n; id++) {
		if (t->probes[id].state == FL_PROBE_OTHERS)
			continue;
		if (t->sites[id].image == fl_channel_image() ||
		    (t->sites[id].refusal && !t->rows[id].refusal))
			copy_row(&t->rows[id], &t->sites[id]);
	}
}

const struct fl_shm_site *fl_probe_site(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];
	bool is_recorders = !fl_table.session->own && fl_probe_is_body(p);

	return p->state == FL_PROBE_OTHERS || is_recorders ? NULL : &fl_table.sites[id];
}

int fl_probe_refusal(uint32_t id, uint64_t *datum)
{
	if (id >= fl_table.n)
		return FLE_NOPROBE;
	*datum = fl_table.sites[id].datum;
	if (fl_table.probes[id].state == FL_PROBE_GONE)
		return FLE_GONE;
	return fl_table.sites[id].refusal;
}
