/*
 * thread.c - a thread finds its slot, and loses it.
 *
 * A thread claims a slot at its first event and keeps it for life. It gives
 * nothing back: the robust mutex it holds in the slot is marked by the kernel
 * when it ends, whatever ends it, and the reader then frees the slot.
 *
 * PROTOCOL
 *	state    by                    then
 *	FREE     reader (I)            any thread may claim, (J)
 *	CLAIMED  thread                fields are being set, signals blocked
 *	LIVE     thread (K)            the reader may drain it, (L)
 *	fresh    thread (G)            the reader will find it, (H)
 *	marked   kernel                the reader drains the rest and frees it
 * INVARIANT
 *	1. A slot has one thread.
 *	2. A slot that holds events is LIVE, and marked or owned.
 * WHY
 *	1. The exchange FREE -> CLAIMED hands it out, and (I) comes after the
 *	   reader has read the last of it. In a program's own region LIVE ->
 *	   CLAIMED does, too, when its owner is dead: not when it was before the
 *	   exchange, as another thread may have had the slot since, but after
 *	   it, when (M) has seen who made it LIVE.
 *	2. The mutex is locked before (K), and the TLS pointer is set after it.
 * FAILURE
 *	Killed while CLAIMED: the slot is empty and stays out of use until the
 *	recording ends. No slot is free: see seek_slot(). The thread's first
 *	event comes from a signal handler that interrupted the C library while
 *	it linked another robust mutex: the kernel may not see ours; the slot is
 *	drained (drain.c takes what lies still) but stays out of use. A thread
 *	other than the first calls exec: the kernel renames it before it looks
 *	for marks and finds none; the reader goes by the image number.
 */
#include <sys/mman.h>

#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

#define SEEK_TRIES 1000		/* of a millisecond each */
#define SKIP_EVENTS 4096	/* lost unseen before a slot is sought again */

struct fl_region *fl_region;
struct fl_shm_session *fl_session;

static struct fl_slot *no_slot;		/* pointee of a thread without one */
__thread struct fl_slot **fl_tls_slot = &no_slot;
__thread struct fl_timed fl_timed = { UINT64_MAX, FL_FIXED };

/* pointees[0] is not NULL while this process may enqueue, pointees[n + 1] is for the
 * thread that has slot n. Zeroed by the kernel in fork's child (OS15); one that
 * is followed sets the first again. */
static struct fl_slot **pointees;
static uint32_t n_pointees;
static struct fl_frames *frames;	/* of slot n's thread; NULL: nothing is sampled */
void (*fl_channel_on_frames)(struct fl_frames *);
static char first_name[16];	/* of who opened: the others' until the reader asks */

/* Of a thread without a slot; handlers may disturb `skip`, which is a guess. */
static __thread struct {
	uint32_t skip;
	uint32_t claiming;	/* what is met meanwhile is lost: in a C library that is
				 * instrumented or replaced */
} seeker;

bool fl_channel_is_closed(void)
{
	return !pointees || !load_relaxed(&pointees[0]);
}

static struct fl_slot **map_pointees(uint32_t n)
{
	size_t bytes = fl_round_up(n * sizeof(*pointees), FL_PAGE);
	void *p = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(p))
		return NULL;
	if (fl_os_advise(p, bytes, MADV_WIPEONFORK) == 0)
		return p;
	fl_os_unmap(p, bytes);
	return NULL;
}

/* Memory is used as it is touched. */
static int map_frames(const struct fl_region *m)
{
	void *p = m->session[0].action != FL_ACT_SAMPLE ? NULL :
		fl_os_map(NULL, fl_round_up(m->n_slots * sizeof(*frames), FL_PAGE),
			  PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return -ENOMEM;
	frames = p;
	return 0;
}

int fl_channel_open(struct fl_region *m)
{
	struct fl_slot **fresh = map_pointees(m->n_slots + 1);
	int err = fl_os_robust_open();

	fl_region = m;			/* the reader can be told so */
	fl_session = &m->session[0];
	if (!err)
		err = map_frames(m);
	if (!fresh || err)
		return fresh ? err : -ENOMEM;
	fl_os_thread_name(first_name);
	n_pointees = m->n_slots + 1;
	pointees = fresh;
	pointees[0] = fl_shm_slot(m, 0);
	return 0;
}

/* In fork's child. Its thread's pointee has been wiped: it claims a slot of its own. */
void fl_tls_reopen(void)
{
	seeker.skip = 0;
	pointees[0] = fl_shm_slot(fl_region, 0);
}

/* The pointees stay mapped: threads point to them. */
void fl_channel_close(void)
{
	for (uint32_t i = 0; i < n_pointees; i++)
		store_relaxed(&pointees[i], NULL);
}

bool fl_channel_reader_lives(void)
{
	return fl_region && fl_owner_lives(&fl_session->reader);
}

/* The reader left it drained, with zero in all that counts. */
static void set_fields(struct fl_slot *s, uint32_t n)
{
	struct fl_ring *g = &s->ring[0];

	g->data = (uintptr_t)s + FL_SLOT_HEADER_BYTES;
	g->n_counters = fl_session->counter_bytes / 8;
	g->cells = g->data + fl_session->counter_bytes;
	g->frames = frames ? &frames[n] : NULL;
	if (frames && frames[n].n && fl_channel_on_frames)
		fl_channel_on_frames(&frames[n]);
	if (frames)
		frames[n].n = frames[n].was_dead = 0;
	s->tid = fl_os_thread_id();
	s->image = fl_channel_image();
	s->process = fl_own_row;
	for (size_t i = 0; i < sizeof s->name; i++)
		s->name[i] = first_name[i];
	fl_ring_start(g);
}

static bool take_state(uint32_t *state)
{
	uint32_t expected = FL_SLOT_FREE;

	/* (J) pairs with (I) in drain.c; the load spares the line */
	return load_relaxed(state) == FL_SLOT_FREE &&
	       __atomic_compare_exchange_n(state, &expected,
					   FL_SLOT_CLAIMED, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The lowest numbers are used again and again: their pages are there. */
static struct fl_slot *find_free(struct fl_region *m, uint32_t *number)
{
	uint32_t from = load_relaxed(&m->free_hint);

	for (uint32_t i = 0; i < m->n_slots; i++) {
		uint32_t n = (from + i) % m->n_slots;
		struct fl_slot *s = fl_shm_slot(m, n);

		if (!take_state(&s->state))
			continue;
		store_relaxed(&m->free_hint, n + 1);
		*number = n;
		return s;
	}
	return NULL;
}

static bool has_ended(const struct fl_slot *s)
{
	return load_relaxed(&s->state) == FL_SLOT_LIVE && fl_owner_died(&s->owner);
}

void fl_channel_each_frames(bool of_dead, void (*each)(struct fl_frames *, uint32_t slot))
{
	uint32_t n = frames ? load_relaxed(&fl_region->n_slots_used) : 0;

	for (uint32_t i = 0; i < n && i + 1 < n_pointees; i++) {
		const struct fl_slot *s = fl_shm_slot(fl_region, i);

		if (load_relaxed(&frames[i].n) &&
		    (!of_dead || load_relaxed(&s->state) == FL_SLOT_FREE || has_ended(s)))
			each(&frames[i], i);
	}
}

/* Another thread may have taken it since has_ended(), and be LIVE there. */
static bool take_ended(struct fl_slot *s)
{
	uint32_t live = FL_SLOT_LIVE;

	FL_POINT("slot.ended");
	/* (M) pairs with (K): the owner is who stored LIVE */
	if (!__atomic_compare_exchange_n(&s->state, &live, FL_SLOT_CLAIMED, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (fl_owner_died(&s->owner))
		return true;
	store_release(&s->state, FL_SLOT_LIVE);	/* (K) pairs with (M) */
	return false;
}

/* In a program's own region there is no reader to free the slots of threads
 * that ended: the next thread goes on with the counters of one. */
static struct fl_slot *adopt(struct fl_region *m, uint32_t *number)
{
	for (uint32_t n = 0; fl_session->own && n < m->n_slots; n++) {
		struct fl_slot *s = fl_shm_slot(m, n);

		*number = n;
		if (has_ended(s) && take_ended(s))
			return s;
	}
	return NULL;
}

static void note_used(struct fl_region *m, uint32_t n)
{
	uint32_t used = load_relaxed(&m->n_slots_used);

	while (used <= n && !__atomic_compare_exchange_n(&m->n_slots_used, &used, n + 1,
							 false, __ATOMIC_RELAXED,
							 __ATOMIC_RELAXED))
		;
}

/* With signals blocked, and `claiming`: no event of this thread can come in between. */
static bool claim(struct fl_region *m)
{
	uint32_t n;
	struct fl_slot *s = find_free(m, &n);

	if (!s)
		s = adopt(m, &n);
	if (!s)
		return false;
	note_used(m, n);
	fl_os_hold(&s->owner);
	FL_POINT("thread.claim");
	set_fields(s, n);
	store_release(&s->state, FL_SLOT_LIVE);	/* (K) pairs with (L) in drain.c */
	__atomic_fetch_or(&fl_session->fresh[n / 64], 1ull << n % 64,
			  __ATOMIC_RELEASE);		/* (G) pairs with (H) in drain.c */
	fl_tls_slot = &pointees[n + 1];
	store_relaxed(fl_tls_slot, s);
	FL_MUST(fl_slot_is_valid(s, fl_session));
	return true;
}

static bool claim_once(void)
{
	uint64_t mask;
	bool got;

	fl_os_signals_block(&mask);	/* no handler leaves a slot half claimed */
	seeker.claiming = 1;
	got = *fl_tls_slot			/* a handler was quicker */
		|| claim(fl_region);
	seeker.claiming = 0;
	fl_os_signals_restore(&mask);
	return got;
}

/* Wakes its reader, whoever that is. */
static bool a_slot_is_ending(struct fl_region *m)
{
	for (uint32_t i = 0; i < m->n_slots; i++) {
		struct fl_slot *s = fl_shm_slot(m, i);

		if (has_ended(s)) {
			fl_ring_doorbell(s);
			return true;
		}
	}
	return false;
}

/* Wait only while the reader is about to free a slot; else the thread goes
 * without, and for a while does not even look. */
static struct fl_slot *seek_slot(void)
{
	if (seeker.skip) {
		seeker.skip--;
		return NULL;
	}
	for (int tries = 0; tries < SEEK_TRIES; tries++) {
		if (claim_once())
			return *fl_tls_slot;
		if (!a_slot_is_ending(fl_region) || !fl_channel_reader_lives())
			break;
		fl_os_sleep_us(1000);
	}
	seeker.skip = SKIP_EVENTS;
	return NULL;
}

struct fl_slot *fl_channel_slot(void)
{
	if (fl_channel_is_closed() || seeker.claiming)
		return NULL;
	return *fl_tls_slot ? *fl_tls_slot : seek_slot();
}

void (*fl_channel_on_left)(uint32_t probe);

void fl_channel_lose_slotless(uint32_t probe)
{
	if (!fl_channel_is_closed())
		fl_lost_add(&fl_session->lost[FL_LOST_SLOT]);
	else if (fl_channel_on_left)
		fl_channel_on_left(probe);
}

uint64_t fl_channel_counted(uint32_t probe)
{
	uint32_t n = load_relaxed(&fl_region->n_slots_used);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n && i < FL_HANDS_SLOTS && !fl_channel_is_closed(); i++) {
		const struct fl_slot *s = load_relaxed(&pointees[i + 1]);

		const struct fl_ring *g = s ? &s->ring[0] : NULL;

		if (s && s->process == fl_own_row && probe < g->n_counters)
			sum += fl_count_of(load_relaxed((const uint64_t *)g->data + probe));
	}
	return sum;
}

struct fl_slot *fl_channel_own_slot(void)
{
	return fl_channel_is_closed() || !fl_tls_slot ? NULL : *fl_tls_slot;
}
