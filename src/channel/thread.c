/*
 * thread.c - a thread finds its slot, and loses it.
 *
 * A thread claims a slot at its first event and keeps the slot for life. It gives
 * nothing back: it holds a robust mutex in the slot, which the kernel marks when the
 * thread ends, whatever ends it. The reader then frees the slot.
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
 *	1. The exchange FREE -> CLAIMED hands a slot out, and (I) comes after the
 *	   reader has read the last record in the slot. In a program's own region
 *	   the exchange LIVE -> CLAIMED hands a slot out, too, if its owner is
 *	   dead. A look at the owner before the exchange proves nothing, because
 *	   another thread may have had the slot since. So the owner is looked at
 *	   again after the exchange, when (M) has seen the one who stored LIVE.
 *	2. The mutex is locked before (K), and the TLS pointer is set after (K).
 * FAILURE
 *	A thread is killed while its slot is CLAIMED: the slot is empty, and stays
 *	out of use until the recording ends. No slot is free: see seek_slot().
 *	A thread's first event comes from a signal handler that interrupted the C
 *	library while it linked another robust mutex: the kernel may not see ours.
 *	Then the slot is drained (drain.c takes what lies still), but stays out of
 *	use. A thread other than the first calls exec: the kernel gives that thread
 *	another id before it looks for the thread's mutexes, and marks none. The
 *	reader goes by the image number.
 */
#include <sys/mman.h>

#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

#define SEEK_TRIES 1000		/* of a millisecond each */
#define SKIP_EVENTS 4096	/* lost unseen before a slot is sought again */

struct fl_region *fl_region;
struct fl_shm_session *fl_session;

struct fl_channel fl_first, *fl_other;

static struct fl_pointee no_slot;	/* of a thread without a slot */
static struct fl_pointee nobody;	/* of a thread that is never to have one */
__thread struct fl_slot **fl_tls_slot = &no_slot.slot, **fl_tls_other = &no_slot.slot;
__thread struct fl_timed fl_timed = { UINT64_MAX, FL_FIXED };

void (*fl_channel_on_frames)(struct fl_frames *);
static char first_name[16];	/* of the opener; every thread's, until the reader asks */

/* For a thread without a slot; handlers may disturb `skip`, which is a guess. */
static __thread struct seeker {
	uint32_t skip;
	uint32_t claiming;	/* events meanwhile are lost: those of a C library that is
				 * instrumented or replaced */
} seekers[2];

bool fl_thread_is_nobody(void)
{
	return fl_tls_slot == &nobody.slot;
}

void fl_channel_nobody(uint64_t words[FL_NOBODY_WORDS][2])
{
	uintptr_t thread = (uintptr_t)__builtin_thread_pointer();

	words[0][0] = (uintptr_t)&fl_tls_slot - thread;
	words[1][0] = (uintptr_t)&fl_tls_other - thread;
	words[2][0] = (uintptr_t)&fl_timed.limit - thread;
	words[0][1] = words[1][1] = (uintptr_t)&nobody.slot;
	words[2][1] = UINT64_MAX;
}

static struct seeker *seeker_of(const struct fl_channel *c)
{
	return &seekers[c != &fl_first];
}

bool fl_channel_is_closed(void)
{
	return fl_threads_are_closed(&fl_first);
}

static struct fl_pointee *map_pointees(uint32_t n)
{
	size_t bytes = fl_round_up(n * sizeof(struct fl_pointee), FL_PAGE);
	void *p = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(p))
		return NULL;
	if (fl_os_advise(p, bytes, MADV_WIPEONFORK) == 0)
		return p;
	fl_os_unmap(p, bytes);
	return NULL;
}

/* Memory for the frames of all slots; only touched pages of it are used. */
static int map_frames(struct fl_channel *c)
{
	void *p = c->session->action != FL_ACT_SAMPLE ? NULL :
		fl_os_map(NULL, fl_round_up(c->region->n_slots * sizeof(*c->frames), FL_PAGE),
			  PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return -ENOMEM;
	c->frames = p;
	return 0;
}

int fl_threads_open(struct fl_channel *c, struct fl_region *m)
{
	struct fl_pointee *fresh = map_pointees(m->n_slots + 1);
	int err = fl_os_robust_open();

	c->region = m;			/* the reader can be told so */
	c->session = &m->session[0];
	c->bodies = c->full_at = 0;
	if (!err)
		err = map_frames(c);
	if (!fresh || err)
		return fresh ? err : -ENOMEM;
	fl_os_thread_name(first_name);
	c->n_pointees = m->n_slots + 1;
	c->pointees = fresh;
	/* ordering: none to pair with, a thread that finds it set goes by its address */
	store_release(&c->pointees[0].slot, fl_shm_slot(m, 0));
	return 0;
}

int fl_channel_open(struct fl_region *m)
{
	fl_region = m;
	fl_session = &m->session[0];
	fl_first.image = fl_channel_image();
	fl_first.row = fl_own_row;
	return fl_threads_open(&fl_first, m);
}

/* In fork's child. The thread's pointee has been wiped: the thread claims a new slot. */
void fl_tls_reopen(void)
{
	fl_first.image = fl_channel_image();
	fl_first.row = fl_own_row;
	seeker_of(&fl_first)->skip = 0;
	fl_first.pointees[0].slot = fl_shm_slot(fl_region, 0);
}

/* The pointees stay mapped: threads point to them. */
void fl_threads_close(struct fl_channel *c)
{
	for (uint32_t i = 0; i < c->n_pointees; i++) {
		store_relaxed(&c->pointees[i].cells, 0);
		FL_ARCH_LAY_POINTEE(c->pointees[i].own, 0);
		store_relaxed(&c->pointees[i].slot, NULL);
	}
}

void fl_channel_close(void)
{
	fl_threads_close(&fl_first);
}

bool fl_shm_reader_lives(const struct fl_region *m)
{
	return fl_owner_lives(&m->session[0].reader);
}

bool fl_channel_reader_lives(void)
{
	return fl_region && fl_shm_reader_lives(fl_region);
}

/* The reader left the slot drained, with zero in everything that counts. */
static void set_fields(const struct fl_channel *c, struct fl_slot *s, uint32_t n)
{
	struct fl_frames *frames = c->frames;
	struct fl_ring *g = &s->ring[0];

	g->data = (uintptr_t)s + FL_SLOT_HEADER_BYTES;
	g->n_counters = c->session->counter_bytes / 8;
	g->cells = c->session->cell_bytes ? g->data + c->session->counter_bytes : 0;
	g->frames = frames ? &frames[n] : NULL;
	if (frames && frames[n].n && fl_channel_on_frames)
		fl_channel_on_frames(&frames[n]);
	if (frames)
		frames[n].n = frames[n].was_dead = 0;
	/* Who may not read the clock may be counted. */
	s->claimed_tsc = s->begun_tsc = c->session->action == FL_ACT_COUNT ? 0 :
					fl_arch_ticks();
	s->tid = fl_os_thread_id();
	s->image = c->image;
	s->process = c->row;
	s->heeded = load_relaxed(&fl_shm_processes(c->region)[c->row].heeded);
	for (size_t i = 0; i < sizeof s->name; i++)
		s->name[i] = first_name[i];
	fl_ring_start(c, g);
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

/* The lowest free numbers are used again and again, because their pages are there. */
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

void fl_channel_each_frames(bool of_dead, void (*each)(struct fl_frames *, int32_t tid))
{
	struct fl_frames *frames = fl_first.frames;
	uint32_t n = frames ? load_relaxed(&fl_region->n_slots_used) : 0;

	for (uint32_t i = 0; i < n && i + 1 < fl_first.n_pointees; i++) {
		const struct fl_slot *s = fl_shm_slot(fl_region, i);

		if (load_relaxed(&frames[i].n) &&
		    (!of_dead || load_relaxed(&s->state) == FL_SLOT_FREE || has_ended(s)))
			each(&frames[i], load_relaxed(&s->tid));
	}
}

/* Another thread may have taken the slot since has_ended(), and be LIVE there. */
static bool take_ended(struct fl_slot *s)
{
	uint32_t live = FL_SLOT_LIVE;

	FL_POINT("slot.ended");
	/* (M) pairs with (K): we see the owner that stored LIVE */
	if (!__atomic_compare_exchange_n(&s->state, &live, FL_SLOT_CLAIMED, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	if (fl_owner_died(&s->owner))
		return true;
	store_release(&s->state, FL_SLOT_LIVE);	/* (K) pairs with (M) */
	return false;
}

/* In a program's own region there is no reader to free the slots of threads that have ended.
 * So the next thread takes such a slot, and goes on with its counters. */
static struct fl_slot *adopt(const struct fl_channel *c, uint32_t *number)
{
	for (uint32_t n = 0; c->session->own && n < c->region->n_slots; n++) {
		struct fl_slot *s = fl_shm_slot(c->region, n);

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
static bool claim(const struct fl_channel *c)
{
	uint32_t n;
	struct fl_slot *s = find_free(c->region, &n);
	struct fl_pointee *pointee;

	if (!s)
		s = adopt(c, &n);
	if (!s)
		return false;
	note_used(c->region, n);
	fl_os_hold(&s->owner);
	FL_POINT("thread.claim");
	set_fields(c, s, n);
	store_release(&s->state, FL_SLOT_LIVE);	/* (K) pairs with (L) in drain.c */
	__atomic_fetch_or(&c->session->fresh[n / 64], 1ull << n % 64,
			  __ATOMIC_RELEASE);		/* (G) pairs with (H) in drain.c */
	pointee = &c->pointees[n + 1];
	if (c == &fl_first)
		fl_tls_slot = &pointee->slot;
	else
		fl_tls_other = &pointee->slot;
	store_relaxed(&pointee->cells, s->ring[0].cells);
	FL_ARCH_LAY_POINTEE(pointee->own, s->ring[0].data);
	store_relaxed(&pointee->slot, s);
	FL_MUST(fl_slot_is_valid(s, c->session));
	return true;
}

static bool claim_once(const struct fl_channel *c)
{
	uint64_t mask;
	bool got;

	fl_os_signals_block(&mask);	/* no handler leaves a slot half claimed */
	seeker_of(c)->claiming = 1;
	got = fl_own_slot(c)		/* a handler was quicker */
		|| claim(c);
	seeker_of(c)->claiming = 0;
	fl_os_signals_restore(&mask);
	return got;
}

/* Has some thread ended whose slot is not free yet? Wakes the reader of that slot. */
static bool a_slot_is_ending(const struct fl_channel *c)
{
	for (uint32_t i = 0; i < c->region->n_slots; i++) {
		struct fl_slot *s = fl_shm_slot(c->region, i);

		if (has_ended(s)) {
			fl_ring_doorbell(c, s);
			return true;
		}
	}
	return false;
}

/* Wait only while the reader is about to free a slot; else the thread goes
 * without, and for a while does not even look. */
static struct fl_slot *seek_slot(const struct fl_channel *c)
{
	struct seeker *seeker = seeker_of(c);

	if (!fl_os_can_hold()) {		/* the bare thread that attaches */
		fl_tls_slot = fl_tls_other = &nobody.slot;
		return NULL;
	}
	if (seeker->skip) {
		seeker->skip--;
		return NULL;
	}
	for (int tries = 0; tries < SEEK_TRIES; tries++) {
		if (claim_once(c))
			return fl_own_slot(c);
		if (!a_slot_is_ending(c) || !fl_owner_lives(&c->session->reader))
			break;
		fl_os_sleep_us(1000);
	}
	seeker->skip = SKIP_EVENTS;
	return NULL;
}

struct fl_slot *fl_slot_of(const struct fl_channel *c)
{
	struct fl_slot *s;

	if (fl_threads_are_closed(c) || seeker_of(c)->claiming ||
	    fl_thread_is_nobody())
		return NULL;
	s = fl_own_slot(c);
	return s ? s : seek_slot(c);
}

struct fl_slot *fl_channel_slot(void)
{
	return fl_slot_of(&fl_first);
}

void (*fl_channel_on_left)(uint32_t probe);

void fl_channel_lose_slotless(uint32_t probe)
{
	if (fl_thread_is_nobody())
		return;
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
		const struct fl_slot *s = load_relaxed(&fl_first.pointees[i + 1].slot);

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
