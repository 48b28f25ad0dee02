/*
 * path.c - a thread's path sums, where what second bodies call does not know what to do.
 *
 * A thread has one sum, of its innermost call that has paths. An entry lays the sum aside with
 * whose it is, and begins anew; an exit puts both back. Whose it is the address of the call's
 * frame says (`owner`: 0 less that; 0: nobody's). Nothing else knows of a call that is left by
 * longjmp(), an exception or a switch of stacks: so whoever adds or tells compares that first.
 *
 * INVARIANT  While a call's frame is the owner, the sum is of its path from its last begin.
 * WHY	1  Each call that has paths begins with enter, which makes it the owner at its
 *	   address, whoever had that before. So a dead owner is not taken for a new call.
 *	2  What is laid aside comes back as it was, the sum stored last. A signal's handler that
 *	   came in between has put all back; or has dropped the owner, when the address that is
 *	   stored before the sum, or was, is nobody's.
 *	3  A call that is not the owner where it would add has others above it, dead or on
 *	   another stack, or was dropped. All up to itself are dropped then, it too: where it
 *	   comes to its path's end it is not the owner. That path is told as dropped, and it
 *	   begins anew.
 * Frames that lie below the one that enters are dead, or on another stack, whose paths are
 * dropped, too.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "path.h"

__thread struct fl_path fl_path;

enum { FRAMES_BYTES = 1 << 20 };

/* By slot: who has a slot is alone with it, and its memory is the next one's. What fork's
 * child copied is not given away: a thread of it may go on there with another slot. */
static struct {
	struct fl_path_frame *of[FL_MAX_SLOTS];
	const struct fl_region *region;
	int pid;
} memory;

static struct fl_path_frame *map_path_frames(void)
{
	void *p = fl_os_map(NULL, FRAMES_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return NULL;
	fl_os_advise(p, FRAMES_BYTES, MADV_DONTDUMP);
	return p;
}

/* False: there is no slot or no memory, so calls have no paths. */
static bool take_memory(struct fl_path *p)
{
	struct fl_slot *s = fl_channel_slot();
	struct fl_path_frame **own;
	int pid = fl_os_pid();

	if (!s)
		return false;
	if (memory.pid != pid || memory.region != fl_table.shm)
		__builtin_memset(memory.of, 0, sizeof memory.of);
	memory.region = fl_table.shm;
	memory.pid = pid;
	own = &memory.of[((uintptr_t)s - (uintptr_t)fl_shm_slot(fl_table.shm, 0)) /
			 fl_table.shm->slot_bytes];
	if (!*own)
		*own = map_path_frames();
	if (!*own)
		return false;
	p->base = p->top = *own;
	p->limit = *own + FRAMES_BYTES / sizeof **own;
	return true;
}

static struct fl_lock lock = { .rank = FL_LOCK_PATHS };

static bool has_memory(struct fl_path *p)
{
	uint64_t signals;
	bool has;

	if (p->base)
		return true;
	fl_channel_slot();			/* takes locks of its own */
	fl_os_lock(&lock, &signals);
	has = take_memory(p);
	fl_os_unlock(&lock, &signals);
	return has;
}

static void put_back(struct fl_path *p)
{
	const struct fl_path_frame nobody = { 0 };
	struct fl_path_frame was = p->top == p->base ? nobody : *--p->top;

	p->owner = was.owner;
	p->sum = was.sum;
}

/* Those up to the frame at `frame`, it too. */
static void drop_up_to(struct fl_path *p, uintptr_t frame)
{
	while (p->owner && -p->owner <= frame)
		put_back(p);
}

static void lay_aside(struct fl_path *p, const struct fl_path_tell *t, uintptr_t frame)
{
	if (p->top >= p->limit)
		return;
	*p->top++ = (struct fl_path_frame){ p->owner, p->sum };
	p->owner = -frame;
	p->sum = t->set;
}

static void begin_anew(const struct fl_path_tell *t, uintptr_t frame)
{
	struct fl_path *p = &fl_path;
	uint64_t signals;

	if (!has_memory(p))
		return;
	fl_os_signals_block(&signals);
	drop_up_to(p, frame);
	lay_aside(p, t, frame);
	fl_os_signals_restore(&signals);
}

void fl_path_enter_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	begin_anew(t, frame);
}

void fl_path_at_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	begin_anew(t, frame);
}

void fl_path_add_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	uint64_t signals;

	(void)t;
	fl_os_signals_block(&signals);
	drop_up_to(&fl_path, frame);
	fl_os_signals_restore(&signals);
}

void fl_path_put(uint32_t probe, uint32_t number)
{
	const struct flick_record r = { .probe = probe, .sp = number };

	fl_channel_put_one(&r);
}

void fl_path_cut_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	fl_path_put(t->probe, FLICK_PATH_DROPPED);
	begin_anew(t, frame);
}

void fl_path_leave_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	fl_path_put(t->probe, FLICK_PATH_DROPPED);
	fl_path_add_cold(t, frame);
}

uintptr_t fl_path_routine(enum fl_path_what what)
{
	static void (*const routines[])(void) = {
		[FL_PATH_ENTER] = fl_path_enter, [FL_PATH_ADD] = fl_path_add,
		[FL_PATH_CUT] = fl_path_cut, [FL_PATH_LEAVE] = fl_path_leave,
		[FL_PATH_AT] = fl_path_at, [FL_PATH_DONE] = fl_path_done,
		[FL_PATH_ONLY] = fl_path_only,
	};

	return (uintptr_t)routines[what];
}
