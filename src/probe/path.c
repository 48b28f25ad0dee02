/*
 * path.c - a thread's path sums, where code in second bodies does not know what to do.
 *
 * A thread has a frame of paths for each of its open calls that have some, the innermost last.
 * The frame has the sum, and its owner: the address where the call's way back lies. An entry
 * takes the next frame, an exit gives it back. Nobody gives back the frame of a call that is
 * left by longjmp(), an exception or a switch of stacks: so whoever adds or tells looks first
 * whether the last frame is its own.
 *
 * INVARIANT  While the last frame is a call's, the sum is of its path from its last begin.
 * WHY	1  Each call that has paths takes a frame at its entry. Frames of calls that stand there
 *	   or below are dead then, or on another stack, and are dropped before. So a dead
 *	   call's frame is not taken for a new one's.
 *	2  A frame gets its owner last when it is taken, and has none from its end on: a signal
 *	   handler that comes in between takes frames behind it and gives them back.
 *	3  If a call's frame is not the last one, either frames above it are dead or on another
 *	   stack, and are dropped; or the call's own frame was dropped. In that case its path is
 *	   told as dropped where it ends, and the next one begins anew.
 * A call that goes on in another thread, as coroutines may, has no frame there. Back in its
 * first thread it has the frame that it had, if nobody has dropped that: the sum is then of the
 * parts that ran there, and may be no path's number. So whoever counts looks at that, too.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "path.h"

__thread uintptr_t fl_path;

enum { BYTES = FL_PATH_FRAMES, MAPPED_BYTES = 2 * BYTES + FL_PAGE };

/* By slot: the thread that has a slot is alone with it, and leaves its memory to the slot's
 * next one. What fork's child copied is not given away: a thread of the child may go on there
 * with another slot. */
static struct {
	char *of[FL_MAX_SLOTS];
	const struct fl_region *region;
	int pid;
} memory;

static struct fl_path_frame *frame_in_thread(uintptr_t from_thread)
{
	return (void *)((uintptr_t)__builtin_thread_pointer() + from_thread);
}

static struct fl_path_frame *last_frame(void)
{
	return frame_in_thread(fl_path);
}

static char *map_path_frames(void)
{
	void *p = fl_os_map(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return NULL;
	fl_os_advise(p, MAPPED_BYTES, MADV_DONTDUMP);
	return p;
}

/* False: there is no slot or no memory, so calls have no paths. The first frame is nobody's,
 * and lies above all. */
static bool take_memory(void)
{
	struct fl_slot *s = fl_channel_slot();
	uintptr_t first;
	int pid = fl_os_pid();
	char **own;

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
	first = fl_round_up((uintptr_t)*own - (uintptr_t)__builtin_thread_pointer(), BYTES) +
		sizeof(struct fl_path_frame);
	frame_in_thread(first)->owner = UINTPTR_MAX;
	fl_path = first;
	return true;
}

static struct fl_lock lock = { .rank = FL_LOCK_PATHS };

static bool has_memory(void)
{
	uint64_t signals;
	bool has;

	if (fl_path)
		return true;
	fl_channel_slot();			/* takes locks of its own */
	fl_os_lock(&lock, &signals);
	has = fl_path || take_memory();
	fl_os_unlock(&lock, &signals);
	return has;
}

static void end_last(void)
{
	last_frame()->owner = 0;
	fl_path -= sizeof(struct fl_path_frame);
}

/* Drop the frames of calls below `to`. */
static void drop_below(uintptr_t to)
{
	while (fl_path && last_frame()->owner && last_frame()->owner < to)
		end_last();
}

static void begin_anew(const struct fl_path_tell *t, uintptr_t frame)
{
	struct fl_path_frame *f;
	uint64_t signals;

	if (!has_memory())
		return;
	fl_os_signals_block(&signals);
	drop_below(frame + 1);
	if (fl_path % BYTES) {
		fl_path += sizeof *f;
		f = last_frame();
		f->sum = t->set;
		f->owner = frame;
	}
	fl_os_signals_restore(&signals);
}

/* Make the call's frame the last one; NULL: it was dropped. With signals blocked. */
static struct fl_path_frame *find_last_own(uintptr_t frame)
{
	drop_below(frame);
	return fl_path && last_frame()->owner == frame ? last_frame() : NULL;
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
	struct fl_path_frame *f;
	uint64_t signals;

	fl_os_signals_block(&signals);
	f = find_last_own(frame);
	if (f)
		f->sum += t->add;
	fl_os_signals_restore(&signals);
}

void fl_path_put(uint32_t probe, uint32_t number)
{
	const struct flick_record r = { .probe = probe, .sp = number };

	fl_channel_put_one(&r);
}

/* Where a function has cells of its own a sum is one of their bytes. */
static uint32_t number_of_sum(const struct fl_path_tell *t, uint32_t sum)
{
	return t->cell < FL_PATH_CELLS ? sum : sum / FL_PATH_CELL_BYTES;
}

/* Tell the path of the call's frame. The frame. */
static struct fl_path_frame *tell_own(const struct fl_path_tell *t, uintptr_t frame)
{
	struct fl_path_frame *f = find_last_own(frame);
	uint32_t sum = f ? f->sum + t->add : t->n;

	fl_path_put(t->probe, sum < t->n ? number_of_sum(t, sum) : FLICK_PATH_DROPPED);
	return f;
}

void fl_path_cut_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	struct fl_path_frame *f;
	uint64_t signals;

	fl_os_signals_block(&signals);
	f = tell_own(t, frame);
	if (f)
		f->sum = t->set;
	fl_os_signals_restore(&signals);
	if (!f)
		begin_anew(t, frame);
}

void fl_path_leave_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	uint64_t signals;

	fl_os_signals_block(&signals);
	if (tell_own(t, frame))
		end_last();
	fl_os_signals_restore(&signals);
}

void fl_path_done_cold(const struct fl_path_tell *t, uintptr_t frame)
{
	uint64_t signals;

	(void)t;
	fl_os_signals_block(&signals);
	if (find_last_own(frame))
		end_last();
	fl_os_signals_restore(&signals);
}

/* The sum is no path's, because the call was begun in the original (copy/home.c). */
void fl_path_home_cold(const struct fl_path_tell *t, uintptr_t home)
{
	fl_path_put(t->probe, FLICK_PATH_DROPPED);
	*(uint32_t *)home = t->set;
}

intptr_t fl_path_at_thread(void)
{
	return (intptr_t)&fl_path - (intptr_t)__builtin_thread_pointer();
}

uintptr_t fl_path_routine(enum fl_path_what what)
{
	static void (*const routines[])(void) = {
		[FL_PATH_ENTER] = fl_path_enter, [FL_PATH_ADD] = fl_path_add,
		[FL_PATH_CUT] = fl_path_cut, [FL_PATH_LEAVE] = fl_path_leave,
		[FL_PATH_AT] = fl_path_at, [FL_PATH_DONE] = fl_path_done,
		[FL_PATH_ONLY] = fl_path_only, [FL_PATH_HOME] = fl_path_home,
	};

	return (uintptr_t)routines[what];
}
