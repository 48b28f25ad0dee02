/*
 * processes.c - the processes that record into one region.
 *
 * Without `follow` only one process records: the target, through all its images.
 * Hides how further processes join. fork's child takes a row of processes[] before
 * fork() returns in the child. A program that exec has started finds the row of its
 * pid, or takes a row, before its main. A row stays its pid's.
 *
 * An image is what exec replaces, and what fork copies. Each image has a number of
 * its own; threads and sites bear that number. When a row gets another number, all
 * that bears the old one has ended: the kernel has killed the threads before it
 * starts the next image, and gives a pid anew only when nobody has it.
 *
 * THE LOCK	One process at a time adds rows to the tables of modules and
 *		sites, and one at a time asks the reader, with this lock held.
 * FAILURE	A process is killed while it holds the lock: the kernel marks the mutex,
 *		and the next process goes on. Rows that the dead process wrote behind
 *		n_sites do not count. Sites that it had published, but not asked for,
 *		are decided when any process asks. If it was just asking, the reader
 *		answers all the same: see ask() in agent/agent.c.
 *		A process is killed while it takes a row: the row stays empty, and a
 *		place in the index that leads to the row is nobody's, because the row
 *		has no pid.
 */
#include <elf.h>
#include <fcntl.h>

#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

uint32_t fl_own_row;

static uint32_t image;			/* own number; 0: nobody joins here */
static struct fl_program *program;	/* that this process executes; NULL: not known */

uint32_t fl_channel_image(void)
{
	return image;
}

static void count_outside(struct fl_region *m, enum fl_outside why)
{
	__atomic_fetch_add(&m->outside[why], 1, __ATOMIC_RELAXED);
}

void fl_channel_count_outside(enum fl_outside why)
{
	if (fl_region)
		count_outside(fl_region, why);
}

/* The i-th place of the index at which the row of `pid` is looked for. */
static uint32_t *row_index(struct fl_region *m, int pid, uint32_t i)
{
	return &fl_shm_process_index(m)[(fl_hash_of(0, (uint32_t)pid) + i) % FL_PROCESS_INDEX];
}

static bool find_row(struct fl_region *m, int pid, uint32_t *row)
{
	for (uint32_t i = 0; i < FL_PROCESS_INDEX; i++) {
		uint32_t at = load_relaxed(row_index(m, pid, i));

		if (!at || at > FL_MAX_PROCESSES)
			return false;
		*row = at - 1;
		if (load_relaxed(&fl_shm_processes(m)[*row].pid) == pid)
			return true;
	}
	return false;
}

const struct fl_process *fl_shm_process(struct fl_region *m, int pid)
{
	uint32_t row;

	return find_row(m, pid, &row) ? &fl_shm_processes(m)[row] : NULL;
}

/* Only that process looks for its row, or a later one that has the same pid. */
bool fl_process_index(struct fl_region *m, int pid, uint32_t row)
{
	for (uint32_t i = 0; i < FL_PROCESS_INDEX; i++) {
		uint32_t none = 0;

		/* ordering: none, the kernel orders one holder of a pid before the next */
		if (__atomic_compare_exchange_n(row_index(m, pid, i), &none, row + 1, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

static bool take_row(struct fl_region *m, int pid, uint32_t *row)
{
	uint32_t most = fl_most_processes(m->max_sites);

	if (load_relaxed(&m->n_processes) >= most)
		return false;		/* and n_processes does not run away */
	*row = __atomic_fetch_add(&m->n_processes, 1, __ATOMIC_RELAXED);
	FL_POINT("processes.taken");
	return *row < most && fl_process_index(m, pid, *row);
}

/* A random number that the kernel has drawn for this image. A fork keeps it; an exec draws a
 * new one. */
static uint64_t image_start(void)
{
	const uint64_t *drawn = (const void *)fl_os_auxiliary(AT_RANDOM);

	return drawn ? *drawn : 0;
}

/* Where that number lies in the image that the kernel itself has begun; 0: not known. An
 * emulator answers for /proc/self in the name of what it runs, but not for a thread's files. */
static uint64_t kernels_drawn_at(void)
{
	struct { uint64_t type, value; } rows[64];
	int fd = fl_os_open("/proc/thread-self/auxv", O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : fl_os_read(fd, rows, sizeof(rows));
	uint64_t at = 0;

	for (long i = 0; (i + 1) * (long)sizeof(*rows) <= n; i++)
		if (rows[i].type == AT_RANDOM)
			at = rows[i].value;
	if (fd >= 0)
		fl_os_close(fd);
	return at;
}

/* Was this image begun by an emulator that is recorded itself, and that hands on its own
 * LD_PRELOAD? After an exec the answer is no: the kernel has begun that image, or another
 * emulator has, which is not in the row. */
bool fl_process_is_emulated(struct fl_region *m)
{
	uint64_t at;
	uint32_t row;

	if (!find_row(m, fl_os_pid(), &row))
		return false;
	at = kernels_drawn_at();
	return at && at == fl_shm_processes(m)[row].drawn_at &&
	       at != fl_os_auxiliary(AT_RANDOM);
}

/* Has another flick in this image joined? The program may be linked with libflick.a, or have a
 * plugin that is. */
static bool has_another(struct fl_region *m)
{
	uint32_t row;

	return image_start() && find_row(m, fl_os_pid(), &row) &&
	       fl_shm_processes(m)[row].start == image_start();
}

/* The program that this process executed until now, if it had no probes. The child of a process
 * without probes takes a row only when it executes something else: then its parent tells. */
static uint32_t bare_before(struct fl_region *m, const struct fl_process *own)
{
	const struct fl_process *p = own->pid ? own : fl_shm_process(m, fl_os_parent());

	if (!p)
		return 0;
	return load_relaxed(&p->is_bare) ? load_relaxed(&p->program) :
	       p == own ? load_relaxed(&p->was_bare) : 0;
}

static int join(struct fl_region *m)
{
	int pid = fl_os_pid();
	struct fl_process *p;
	uint32_t row;

	if (!find_row(m, pid, &row) && !take_row(m, pid, &row)) {
		count_outside(m, FL_OUT_TABLE);
		return -ENOSPC;
	}
	p = &fl_shm_processes(m)[row];
	image = __atomic_add_fetch(&m->n_images, 1, __ATOMIC_RELAXED);
	fl_own_row = row;
	store_relaxed(&p->was_bare, bare_before(m, p));
	store_relaxed(&p->parent, fl_os_parent());
	store_relaxed(&p->pid, pid);
	store_relaxed(&p->heeded, 0);
	store_relaxed(&p->program, program ? (uint32_t)(program - m->programs) + 1 : 0);
	store_relaxed(&p->is_bare, 0);
	p->start = image_start();
	p->drawn_at = fl_os_auxiliary(AT_RANDOM);
	/* ordering: none of ours, the image with the old number has ended */
	store_release(&p->image, image);
	FL_POINT("processes.joined");
	return 0;
}

void fl_channel_heed(uint32_t wish)
{
	/* (N) pairs with (O) in drain.c: a reader that sees the wish sees earlier counts */
	store_release(&fl_shm_processes(fl_region)[fl_own_row].heeded, wish);
}

/* ---- what it executes ------------------------------------------------------------ */

/* Two files have the same key by accident once in four thousand millions. */
static uint64_t path_key(const char *path)
{
	uint64_t key = 0;

	for (; *path; path++)
		key = key << 32 | fl_hash_of(key, (unsigned char)*path);
	return key | 1;
}

/* The name is written after the key: a process that finds a row does not need the name. */
static void name_program(struct fl_program *p, const char *path)
{
	const char *name = path;

	for (const char *c = path; *c; c++)
		name = *c == '/' ? c + 1 : name;
	for (size_t i = 0; i < sizeof(p->name) - 1 && name[i]; i++)
		store_relaxed(&p->name[i], name[i]);
}

/* The row that has the key, or is free for it; NULL: there is no room. */
static struct fl_program *row_of_key(struct fl_region *m, uint64_t key)
{
	for (uint32_t i = 0; i < FL_MAX_PROGRAMS; i++) {
		struct fl_program *p = &m->programs[(key / 2 + i) % FL_MAX_PROGRAMS];
		uint64_t has = load_relaxed(&p->key);

		if (!has || has == key)
			return p;
	}
	return NULL;
}

const struct fl_program *fl_shm_program(struct fl_region *m, const char *path)
{
	uint64_t key = path_key(path);
	const struct fl_program *p = row_of_key(m, key);

	return p && load_relaxed(&p->key) == key ? p : NULL;
}

/* Whoever executes the same file finds the same row. */
static struct fl_program *program_row(struct fl_region *m)
{
	struct fl_program *p;
	char path[512];
	uint64_t key;

	if (!m->follow || fl_os_readlink("/proc/self/exe", path, sizeof(path)) <= 0)
		return NULL;
	key = path_key(path);
	while ((p = row_of_key(m, key)) && load_relaxed(&p->key) != key) {
		uint64_t none = 0;

		/* ordering: none, counts behind the key are atomic by themselves */
		if (__atomic_compare_exchange_n(&p->key, &none, key, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			name_program(p, path);
	}
	return p;
}

/* A count takes about a nanosecond. The reader grants as much (session/samples/bare.c). */
void fl_channel_armed(uint64_t ns)
{
	uint64_t blocks = ns / FL_GRANTED_ONE_IN / FL_COUNT_BLOCK;

	if (!program)
		return;
	__atomic_fetch_add(&fl_session->seldom.credit, (uint32_t)blocks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&program->arming_ns, ns, __ATOMIC_RELAXED);
}

int fl_channel_join(struct fl_region *m)
{
	int err;

	if (m->follow && !fl_shm_is_in_space(m)) {
		count_outside(m, FL_OUT_SPACE);
		return -EXDEV;
	}
	if (has_another(m))
		return -EALREADY;
	program = program_row(m);
	err = join(m);
	if (err || !program)
		return err;
	if (!load_relaxed(&program->is_dear)) {
		__atomic_fetch_add(&program->n_armed, 1, __ATOMIC_RELAXED);
		return 0;
	}
	/* samples tell of this process, and no probe does */
	store_relaxed(&fl_shm_processes(m)[fl_own_row].is_bare, 1);
	__atomic_fetch_add(&program->n_bare, 1, __ATOMIC_RELAXED);
	return -EDQUOT;
}

/* The first process of a namespace has no parent in that namespace. Only the first one can be
 * the child of a process in another namespace. */
int fl_channel_fork(void)
{
	int err = fl_os_parent() ? join(fl_region) : -EXDEV;

	if (err == -EXDEV)
		count_outside(fl_region, FL_OUT_SPACE);
	if (!err)
		fl_tls_reopen();
	return err;
}

static struct fl_lock held = { .rank = FL_LOCK_PROCESSES };	/* of this process's threads */

void fl_processes_lock(struct fl_region *m)
{
	fl_os_lock_awaited(&held);
	if (m->follow)
		fl_os_robust_lock(&m->joining);
	fl_os_lock_taken(&held);
	FL_POINT("processes.locked");
}

void fl_processes_unlock(struct fl_region *m)
{
	FL_POINT("processes.unlock");
	fl_os_lock_left(&held);
	if (m->follow)
		fl_os_robust_unlock(&m->joining);
}
