/*
 * shm.c - make the region that reader and target share, and take it down.
 *
 * READER side. Hides the layout's arithmetic. Everything is sparse: a page costs
 * memory when it is first written. So the defaults (1 M sites, 2,048 slots, 1.2 GiB
 * in all, 17 GiB where each slot has a counter for each site) cost only what is used
 * of them.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "channel/channel.h"
#include "channel/mutex.h"
#include "channel/slot.h"
#include "os/os.h"

#define MOST_MODULES 65535u		/* a row of UINT16_MAX is none */
#define LEAST_MODULES 256u
#define SITES_A_MODULE 16
#define BODIES_A_SITE 4			/* in a process tree: so many processes at a time */
#define GLUE_A_MODULE 16		/* in each of a few processes, and for late sites */
/* Chunks of most rings; a small ring has smaller chunks. Where accesses are told chunks are
 * larger: else a thread would enter a chunk each few microseconds. */
#define CHUNK_BYTES (16u * 1024)
#define TOLD_CHUNK_BYTES (64u * 1024)
#define POOL_BYTES (1ull << 30)		/* address space that rings may grow into */

/* What the reader keeps of a region for itself, in the page before the region: a target can
 * write over all that is shared. */
struct keep {
	uint64_t bytes;			/* of the region */
	/* The thread's list of robust mutexes, and the entry behind `reader` in that list;
	 * NULL: `reader` is not held. Each entry points to the next one's `__list.__next`,
	 * as set_robust_list(2) wants it. */
	void **list, **behind;
	int fd;
};

static struct keep *keep_of(struct fl_region *m)
{
	return (void *)((char *)m - FL_PAGE);
}

const char *const fl_lost_names[FL_N_LOST] = {
	[FL_LOST_READER] = "reader died",
	[FL_LOST_SLOT] = "too many threads",
	[FL_LOST_ROOM] = "no counter free",
	[FL_LOST_SITE] = "no room for its site",
};

const char *const fl_outside_names[FL_N_OUT] = {
	[FL_OUT_TABLE] = "there is room for",
	[FL_OUT_SPACE] = "a pid namespace of its own",
	[FL_OUT_ERROR] = "it had no memory or no thread to spare",
};

const char *const fl_kind_names[FL_N_KINDS] = {
	[FL_ENTRY] = "entry",
	[FL_EXIT] = "exit",
	[FL_TAIL] = "tail",
	[FL_CALLSITE] = "call",
	[FL_AT_POINT] = "point",
};

static uint32_t or_default(uint32_t given, uint32_t preset)
{
	return given ? given : preset;
}

/* Options out of range are refused, never bent. */
static bool options_are_valid(const struct fl_shm_options *o)
{
	return o->n_slots <= FL_MAX_SLOTS && o->max_sites <= FL_MAX_SITES &&
	       o->n_counters <= FL_MAX_SITES &&
	       o->n_readers <= FL_MAX_READERS && o->action < FL_N_ACTIONS &&
	       o->rate <= FL_RATE_ALL && (!o->rate || o->rate >= FL_RATE_LEAST) &&
	       (!o->rate || o->n_readers <= 1) &&	/* `taken` is one reader's */
	       (!o->ring_kib || (o->ring_kib >= 8 && o->ring_kib <= 1024 * 1024));
}

/* At least a page. A ring has two chunks or more, but not more than page[] has room for. */
static uint32_t chunk_bytes(uint32_t ring_bytes, uint32_t most)
{
	uint32_t least = (uint32_t)fl_round_up(ring_bytes / FL_RING_CHUNKS, FL_PAGE);
	uint32_t c = ring_bytes / 8 / FL_PAGE * FL_PAGE;

	c = c < FL_PAGE ? FL_PAGE : c > most ? most : c;
	return c < least ? least : c;
}

bool fl_shm_counts(enum fl_action action, uint32_t rate)
{
	return action == FL_ACT_COUNT || action == FL_ACT_SAMPLE || rate;
}

/* A session's part of a slot, in bytes. Where calls are counted: counters. Where calls are
 * recorded: two chunks of its own, and more from the pool. Both, where calls are counted and
 * some are recorded. Where paths are counted: cells, too. */
static uint32_t lay_out_ring(struct fl_shm_session *s, uint32_t n_slots,
			     const struct fl_shm_options *o, uint32_t n_counters)
{
	uint64_t ring = or_default(o->ring_kib, 512) * 1024ull;
	bool tells = o->weaves & FL_WEAVE_ACCESSES;
	uint64_t chunk = chunk_bytes((uint32_t)ring, tells ? TOLD_CHUNK_BYTES : CHUNK_BYTES);
	uint64_t pool = POOL_BYTES;

	s->chunk_bytes = (uint32_t)chunk;
	if (fl_shm_counts(s->action, s->windows.rate))
		s->counter_bytes = (uint32_t)fl_round_up(n_counters * 8ull, FL_PAGE);
	if (o->weaves & FL_WEAVE_PATHS)
		s->cell_bytes = FL_CELLS * sizeof(struct flick_record);
	if (s->action == FL_ACT_COUNT)
		return s->counter_bytes + s->cell_bytes;
	s->ring_chunks = (uint32_t)(ring / chunk);
	if (pool > n_slots * ring)
		pool = n_slots * ring;
	s->pool_chunks = s->ring_chunks > FL_HOME_CHUNKS ? (uint32_t)(pool / chunk) : 0;
	return s->counter_bytes + s->cell_bytes + FL_HOME_CHUNKS * s->chunk_bytes;
}

static void set_wishes(struct fl_shm_session *s, const struct fl_shm_options *o)
{
	s->n_readers = or_default(o->n_readers, 1);
	s->action = o->action;
	s->precise = o->precise;
	s->samples = o->samples;
	s->windows.rate = o->rate;
	s->windows.adapts = o->adapts;
	s->epoch_us = s->seldom.epoch_us = s->seldom.period_us = o->epoch_us;
	s->reader_pid = getpid();
}

/* Where the next table begins, behind one of `n` rows at `at`: at a page's start. */
static uint64_t behind(uint64_t at, uint64_t n, size_t each)
{
	return at + fl_round_up(n * each, FL_PAGE);
}

/* Header, processes and their index, modules, glue, found calls, blocks of bodies, bodies,
 * sites, stages, places, slots, pool. There are about FL_BODY_BLOCKS blocks, or fewer ones of
 * FL_BODY_ROWS rows. */
static void lay_out(struct fl_region *m, const struct fl_shm_options *o)
{
	struct fl_shm_session *s = &m->session[0];
	uint32_t modules, bodies;

	m->magic = FL_SHM_MAGIC;
	m->version = FL_SHM_VERSION;
	m->header_bytes = sizeof(*m);
	m->max_sites = or_default(o->max_sites, 1u << 20);
	modules = m->max_sites / SITES_A_MODULE;
	m->max_modules = modules < LEAST_MODULES ? LEAST_MODULES :
			 modules > MOST_MODULES ? MOST_MODULES : modules;
	m->max_glue = m->max_modules * GLUE_A_MODULE;
	bodies = m->max_sites * (o->follow ? BODIES_A_SITE : 1);
	m->body_rows = (bodies + FL_BODY_BLOCKS - 1) / FL_BODY_BLOCKS;
	m->body_rows = m->body_rows < FL_BODY_ROWS ? FL_BODY_ROWS : m->body_rows;
	m->n_body_blocks = (bodies + m->body_rows - 1) / m->body_rows;
	m->n_slots = or_default(o->n_slots, 2048);
	m->follow = o->follow;
	m->weaves = o->weaves;
	m->exclusive = o->exclusive;
	m->max_places = o->weaves & FL_WEAVE_ACCESSES ? FL_MAX_PLACES : 0;
	set_wishes(s, o);
	m->slot_bytes = FL_SLOT_HEADER_BYTES +
		lay_out_ring(s, m->n_slots, o, or_default(o->n_counters, m->max_sites));
	m->processes_at = behind(0, 1, sizeof(*m));
	m->process_index_at = behind(m->processes_at, FL_MAX_PROCESSES,
				     sizeof(struct fl_process));
	m->modules_at = behind(m->process_index_at, FL_PROCESS_INDEX, sizeof(uint32_t));
	m->glue_at = behind(m->modules_at, m->max_modules, sizeof(struct fl_shm_module));
	m->found_at = behind(m->glue_at, m->max_glue, sizeof(struct fl_glue_range));
	m->body_blocks_at = behind(m->found_at, m->max_sites, sizeof(struct fl_found_row));
	m->bodies_at = behind(m->body_blocks_at, m->n_body_blocks,
			      sizeof(struct fl_body_block));
	m->sites_at = behind(m->bodies_at, (uint64_t)m->n_body_blocks * m->body_rows,
			     sizeof(struct fl_body_row));
	m->staged_at = behind(m->sites_at, m->max_sites, sizeof(struct fl_shm_site));
	m->places_at = behind(m->staged_at, m->max_sites, 1);
	m->slots_at = behind(m->places_at, m->max_places, sizeof(struct fl_place_row));
	s->pool_at = m->slots_at + (uint64_t)m->n_slots * m->slot_bytes;
	m->bytes = s->pool_at + (uint64_t)s->pool_chunks * s->chunk_bytes;
}

/* This thread locks `reader` until it ends: by that the target sees that the reader lives. */
static int make_mutexes(struct fl_region *m)
{
	struct keep *k = keep_of(m);
	int err = fl_mutex_make(&m->joining);

	fl_os_robust_open();		/* does the kernel mark mutexes of the dead? */
	if (!err)
		err = fl_mutex_make(&m->session[0].reader);
	if (!err)
		err = -pthread_mutex_lock(&m->session[0].reader);
	if (err)
		return err;
	k->list = (void **)m->session[0].reader.__data.__list.__prev;
	k->behind = (void **)m->session[0].reader.__data.__list.__next;
	return 0;
}

/* ftruncate() past the file size limit would kill us by SIGXFSZ. */
static int set_size(int fd, uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
		return -EFBIG;
	return ftruncate(fd, (off_t)bytes) < 0 ? -errno : 0;
}

/* A page of the reader's own, and the region behind it. What may not be touched is no data for
 * the kernel, so the region's place is none, of which there may be little (RLIMIT_DATA). */
static struct fl_region *map_behind_keep(int fd, uint64_t bytes)
{
	char *at = fl_os_map(NULL, FL_PAGE + bytes, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(at)) {
		errno = -(int)(intptr_t)at;
		return NULL;
	}
	if (mprotect(at, FL_PAGE, PROT_READ | PROT_WRITE) < 0 ||
	    mmap(at + FL_PAGE, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED) {
		munmap(at, FL_PAGE + bytes);
		return NULL;
	}
	*(struct keep *)at = (struct keep){ .bytes = bytes, .fd = fd };
	return (void *)(at + FL_PAGE);
}

static int map_region(int fd, const struct fl_region *layout, struct fl_region **out)
{
	int err = set_size(fd, layout->bytes);
	struct fl_region *m;

	if (!err)	/* neither side can take pages away from the other (SIGBUS) */
		err = fl_os_file_seal(fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (err)
		return err;
	m = map_behind_keep(fd, layout->bytes);
	if (!m)
		return -errno;
	*m = *layout;
	err = make_mutexes(m);
	if (err)
		munmap(keep_of(m), FL_PAGE + layout->bytes);
	else
		*out = m;
	return err;
}

static int create(struct fl_region *layout, const struct fl_shm_options *o,
		  struct fl_region **m, int *fd)
{
	int err, memory;

	lay_out(layout, o);
	FL_MUST(fl_region_is_valid(layout));
	fl_os_readlink("/proc/self/ns/pid", layout->pid_space, sizeof(layout->pid_space));
	memory = fl_os_memfd("flick");
	if (memory < 0)
		return memory;
	err = map_region(memory, layout, m);
	if (err)
		close(memory);
	else
		*fd = memory;
	return err;
}

/* The head is laid out in memory of its own: it would be most of a small stack. */
int fl_shm_create(const struct fl_shm_options *o, struct fl_region **m, int *fd)
{
	struct fl_region *layout;
	int err;

	if (!options_are_valid(o))
		return FLE_OPTION;
	layout = fl_os_map(NULL, sizeof *layout, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fl_is_err(layout))
		return (int)(intptr_t)layout;
	err = create(layout, o, m, fd);
	fl_os_unmap(layout, sizeof *layout);
	return err;
}

bool fl_shm_touched(struct fl_region *m, uint64_t *from, uint64_t *to)
{
	return fl_os_file_data(keep_of(m)->fd, from, to);
}

/* Take `reader` out of this thread's list. Mutexes before it in the list were locked later. */
static void unlink_reader(struct fl_region *m, struct keep *k)
{
	void *reader = &m->session[0].reader.__data.__list.__next;
	void **before = k->list;

	while (*before != reader && *before != k->list)
		before = *before;
	if (*before != reader)
		return;
	*before = k->behind;
	k->behind[-1] = before;			/* its `__prev` */
}

/* Unlock `reader`. pthread_mutex_unlock() would store through whatever pointers the target may
 * have put into the mutex. */
void fl_shm_leave(struct fl_region *m)
{
	struct keep *k = keep_of(m);

	if (!k->list)
		return;
	unlink_reader(m, k);
	k->list = NULL;
	/* ordering: none of ours to pair with, a target looks at this word alone */
	store_release((uint32_t *)&m->session[0].reader, 0);
}

static void drop(int fd, uint64_t from, uint64_t to)
{
	if (from < to)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			  (off_t)(to - from));
}

/* A program that was attached to keeps the region for as long as it runs, because a thread may
 * be between a glue and its word. Parts that the program would only write give their pages
 * back: counters, chunks, rows that it has told. The program goes on to read the heads, and
 * rows of sites. */
static void give_back(const struct fl_region *m, int fd)
{
	uint32_t n = load_relaxed(&m->n_slots_used);

	if (!m->is_attached || !load_relaxed(&m->has_left))
		return;
	drop(fd, m->glue_at, m->sites_at);
	drop(fd, m->staged_at, m->slots_at);
	for (uint32_t i = 0; i < n && i < FL_MAX_SLOTS; i++) {
		uint64_t slot = m->slots_at + (uint64_t)i * m->slot_bytes;

		drop(fd, slot + FL_SLOT_HEADER_BYTES, slot + m->slot_bytes);
	}
	drop(fd, m->session[0].pool_at, m->bytes);
}

void fl_shm_destroy(struct fl_region *m, int fd)
{
	if (!m)
		return;
	fl_shm_leave(m);
	give_back(m, fd);
	munmap(keep_of(m), FL_PAGE + keep_of(m)->bytes);
	close(fd);
}
