/*
 * other.c - a second recorder's region, in a process that another one records.
 *
 * GUEST code. Each recorder makes a region, and trusts no other recorder with it: so two
 * recorders on one process have a region each, and neither reads what the other may write. The
 * process has the same sites in both regions, by the same ids. In the second region it shows
 * copies of what it has shown in the first. A thread has a slot in each region.
 *
 * A channel that was opened here is never changed again, and its region stays mapped: a thread
 * may be in the middle of an event while another recorder comes (fl_own_slot() in slot.h).
 *
 * (T) pairs with (S) in ring.c: a thread that finds the channel finds it whole.
 */
#include <sys/mman.h>

#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

/* Make this process the only one in the region, and this image its first. */
static void become_only_process(struct fl_region *m)
{
	struct fl_process *p = fl_shm_processes(m);
	uint32_t row = fl_own_row;

	*p = (struct fl_process){
		.pid = fl_os_pid(), .parent = fl_os_parent(), .image = 1,
		.start = fl_shm_processes(fl_region)[row].start,
		.drawn_at = fl_shm_processes(fl_region)[row].drawn_at,
	};
	fl_process_index(m, p->pid, 0);
	m->n_processes = m->n_images = 1;
	fl_clocks_read(&m->tsc0, &m->mono0_ns);
}

static int take_region(struct fl_region *m)
{
	struct fl_channel *c = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (fl_is_err(c))
		return -ENOMEM;
	become_only_process(m);
	c->image = 1;
	err = fl_threads_open(c, m);
	if (err)
		fl_os_unmap(c, FL_PAGE);
	else
		store_release(&fl_other, c);		/* (T) pairs with (S) in ring.c */
	return err;
}

int fl_other_open(const char *given, struct fl_region **m)
{
	uint64_t mapped;
	int err = fl_shm_attach(given, m, &mapped);

	if (err && *m)
		fl_os_unmap(*m, fl_round_up(sizeof **m, FL_PAGE));
	if (err)
		return err;
	err = take_region(*m);
	if (err)
		fl_os_unmap(*m, mapped);
	return err;
}

void fl_other_close(void)
{
	struct fl_channel *c = fl_other;

	/* ordering: none to pair with, a thread that has found it sees that it is closed */
	store_release(&fl_other, NULL);
	if (c)
		fl_threads_close(c);
}

/* Nobody else looks for a process in that region, and no slot has been taken there. */
void fl_other_undo(struct fl_region *m)
{
	fl_other_close();
	for (uint32_t i = 0; i < FL_PROCESS_INDEX; i++)
		store_relaxed(&fl_shm_process_index(m)[i], 0);
	m->n_processes = m->n_images = 0;
	m->tsc0 = m->mono0_ns = 0;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void note_missing(struct fl_region *m, enum fl_left what)
{
	__atomic_fetch_or(&m->left_out, what, __ATOMIC_RELAXED);
}

static void show_modules(struct fl_region *to, const struct fl_region *from)
{
	uint32_t n = smaller(load_relaxed(&from->n_modules), from->max_modules);

	if (n > to->max_modules)
		note_missing(to, FL_LEFT_MODULES);
	n = smaller(n, to->max_modules);
	for (uint32_t i = 0; i < n; i++)
		fl_shm_modules(to)[i] = fl_shm_modules((struct fl_region *)from)[i];
	store_relaxed(&to->n_modules, n);
}

/* How much of the first recorder's blocks of bodies has been shown. */
static struct {
	struct fl_region *to;
	struct fl_body_block upto[FL_BODY_BLOCKS];
} shown;

/* A row that is not written yet is shown later, with the rows behind it. */
static void show_block(struct fl_region *from, uint32_t block)
{
	struct fl_body_block *upto = &shown.upto[block];
	const struct fl_body_row *rows = &fl_shm_bodies(from)[block * from->body_rows];
	uint32_t n = smaller(load_relaxed(&fl_shm_body_blocks(from)[block].n), from->body_rows);
	uint32_t image = (uint32_t)(upto->owner >> 32);

	for (; upto->n < n; upto->n++) {
		struct fl_body_row row = rows[upto->n];

		/* (U) pairs with (A) in body.c: a row that is shown is whole */
		row.lo = load_acquire(&rows[upto->n].lo);
		if (!row.lo)
			break;
		row.function = load_relaxed(&rows[upto->n].function);
		row.bytes = load_relaxed(&rows[upto->n].bytes);
		fl_body_put(fl_other, row.pid == fl_os_pid() ? 1 : image, &row);
	}
}

/* Show whose time is in near memory. The first time all bodies are shown, because this process
 * may be forked of any other; later only its own. If an image has ended, its block may be freed
 * at this moment: then rows are shown that are another image's, or nobody's. */
static void show_code(struct fl_region *to, struct fl_region *from)
{
	uint32_t n = smaller(from->max_glue, to->max_glue);
	uint64_t own = fl_body_owner(fl_os_pid(), fl_channel_image());
	bool is_first = shown.to != to;

	n = smaller(n, load_relaxed(&from->n_glue));
	for (uint32_t i = load_relaxed(&to->n_glue); i < n; i++)
		fl_shm_glue(to)[i] = fl_shm_glue(from)[i];
	store_relaxed(&to->n_glue, n);
	if (is_first)
		__builtin_memset(&shown, 0, sizeof shown);
	shown.to = to;
	for (uint32_t i = 0; i < from->n_body_blocks; i++) {
		uint64_t owner = load_relaxed(&fl_shm_body_blocks(from)[i].owner);

		if (!owner || (owner != own && !is_first))
			continue;
		if (shown.upto[i].owner != owner)
			shown.upto[i] = (struct fl_body_block){ .owner = owner };
		show_block(from, i);
	}
}

/* Show a site. What the reader has decided about it stays. */
static void show_site(struct fl_region *to, uint32_t id, const struct fl_shm_site *site)
{
	struct fl_shm_site *s = &fl_shm_sites(to)[id], now = *site;

	now.image = 1;
	now.wanted = load_relaxed(&s->wanted);
	*s = now;
}

void fl_other_show(const struct fl_shm_site *sites, uint32_t from, uint32_t n)
{
	struct fl_region *to = fl_other ? fl_other->region : NULL;

	if (!to)
		return;
	show_modules(to, fl_region);
	show_code(to, fl_region);
	if (n > to->max_sites)
		note_missing(to, FL_LEFT_SITES);
	n = smaller(n, to->max_sites);
	for (uint32_t id = from; id < n; id++)
		show_site(to, id, &sites[id]);
	if (n > load_relaxed(&to->n_sites))
		store_relaxed(&to->n_sites, n);
}

void fl_other_refuse(uint32_t id, int err)
{
	struct fl_region *to = fl_other ? fl_other->region : NULL;
	struct fl_shm_site *s = to && id < to->max_sites ? &fl_shm_sites(to)[id] : NULL;

	if (!s)
		return;
	s->refusal = (int16_t)err;
	store_relaxed(&s->state, FL_SITE_REFUSED);
}
