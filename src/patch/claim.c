/*
 * claim.c - which bytes of text are whose.
 *
 * Hides a hash of places by address. Whoever changes text claims the bytes
 * first, so two never share one, and the trap handler finds the place a trap
 * stands in, however many are being changed at once.
 *
 * PROTOCOL
 *	claim, unclaim (lock held)		trap handler
 *	link the place		(A)		inside++		(C)
 *	...					walk the list		(B)
 *	unlink it				use the place
 *	full fence		(D)		inside--		(E)
 *	wait until inside == 0	(F)
 * INVARIANT
 *	1 A handler that meets a trap of a claimed place finds the place.
 *	2 No handler uses a place after unclaim has returned.
 * WHY
 *	1 (A) pairs with (B), and a trap is stored after the claim.
 *	2 (D) pairs with (C): a handler that the wait did not see entered after
 *	  the unlinking and does not meet the place. (F) pairs with (E): what it
 *	  did has happened before the memory is used for something else. The
 *	  handler blocks all signals, so nothing keeps it inside for good; and one
 *	  that was inside when the process forked is not counted in the child.
 */
#include <sys/mman.h>

#include "claim.h"
#include "os/os.h"

enum {
	GRAIN = 64,			/* bytes of text a list is for */
	N_LISTS = 1 << 16
};

static struct fl_patch **lists;		/* W the lock's holder (A), R handlers (B) */
static struct fl_lock lock = { .rank = FL_LOCK_CLAIMS };
static uint32_t version;
static uint64_t inside;			/* handlers; 0 in a child of fork (os/lock.c) */
static size_t n_claimed, n_places;	/* all; those of flick/patch.h */

static struct fl_patch **list_of(uintptr_t at)
{
	return &lists[at / GRAIN % N_LISTS];
}

static bool meet(const struct fl_patch *a, const struct fl_patch *b)
{
	return a->at < b->at + b->len && b->at < a->at + a->len;
}

static struct fl_patch *find_meeting(const struct fl_patch *p, uintptr_t at)
{
	struct fl_patch *q = *list_of(at);

	while (q && !meet(p, q))
		q = q->next;
	return q;
}

/* A window is in the list of its first byte: one of the grain before may reach
 * into the first bytes of this grain, and ours into the next. */
static struct fl_patch *conflict(const struct fl_patch *p)
{
	struct fl_patch *q = find_meeting(p, p->at);

	if (!q && p->at % GRAIN < FL_ARCH_SITE_MAX)
		q = find_meeting(p, p->at - GRAIN);
	if (!q && p->at % GRAIN + p->len > GRAIN)
		q = find_meeting(p, p->at + GRAIN);
	return q;
}

static int make_lists(void)
{
	void *p = fl_os_map(NULL, N_LISTS * sizeof *lists, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return -ENOMEM;
	store_release(&lists, p);		/* (A) pairs with (B) */
	return 0;
}

void fl_claims_lock(uint64_t *signals)
{
	fl_os_lock(&lock, signals);
}

void fl_claims_unlock(const uint64_t *signals)
{
	fl_os_unlock(&lock, signals);
}

int fl_claim(struct fl_patch *p, const struct fl_patch **other)
{
	struct fl_patch **list;

	if (!lists && make_lists())
		return -ENOMEM;
	*other = conflict(p);
	if (*other)
		return FLE_OVERLAP;
	list = list_of(p->at);
	p->next = *list;
	p->claimed = FL_CLAIM_PROBE;
	p->acts = FL_N_STATES;		/* until a commit says otherwise */
	store_release(list, p);			/* (A) pairs with (B) */
	store_release(&version, version + 1);	/* (A) pairs with (B) */
	n_claimed++;
	return 0;
}

static void unlink_place(struct fl_patch *p)
{
	struct fl_patch **at = list_of(p->at);

	while (*at != p)
		at = &(*at)->next;
	store_relaxed(at, p->next);
	n_places -= p->claimed == FL_CLAIM_PLACE;
	p->claimed = FL_CLAIM_NONE;
	n_claimed--;
}

bool fl_is_claimed(const struct fl_patch *p)
{
	const struct fl_patch *q = lists ? *list_of(p->at) : NULL;

	while (q && q != p)
		q = q->next;
	return q != NULL;
}

bool fl_claims_any_place(void)
{
	return n_places > 0;
}

void fl_unclaim(struct fl_patch *p)
{
	if (p->claimed)
		unlink_place(p);
}

/* One place, with the lock; `as` is FL_CLAIM_PROBE or FL_CLAIM_PLACE. */
static int claim_alone(struct fl_patch *p, int as)
{
	const struct fl_patch *other;
	uint64_t signals;
	int err;

	fl_claims_lock(&signals);
	err = fl_claim(p, &other);
	if (!err) {
		p->claimed = (uint8_t)as;
		n_places += as == FL_CLAIM_PLACE;
	}
	fl_claims_unlock(&signals);
	return err;
}

int fl_claim_alone(struct fl_patch *p)
{
	return claim_alone(p, FL_CLAIM_PROBE);
}

int fl_claim_place(struct fl_patch *p)
{
	return claim_alone(p, FL_CLAIM_PLACE);
}

void fl_unclaim_alone(struct fl_patch *p)
{
	uint64_t signals;

	fl_claims_lock(&signals);
	fl_unclaim(p);
	fl_claims_unlock(&signals);
	fl_claims_settle();
}

void fl_claims_each(void (*each)(struct fl_patch *))
{
	for (size_t i = 0; lists && n_claimed && i < N_LISTS; i++)
		for (struct fl_patch *p = lists[i]; p; p = p->next)
			each(p);
}

void fl_claims_settle(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* (D) pairs with (C) */
	while (fl_os_count(&inside))			/* (F) pairs with (E) */
		fl_os_yield();
}

void fl_claims_enter(void)
{
	fl_os_count_by(&inside, 1);		/* (C) pairs with (D) */
	FL_POINT("claims.entered");
}

void fl_claims_leave(void)
{
	fl_os_count_by(&inside, -1);		/* (E) pairs with (F) */
}

uint32_t fl_claims_version(void)
{
	return load_acquire(&version);			/* (B) pairs with (A) */
}

static struct fl_patch *find_holding(uintptr_t pc, uintptr_t at)
{
	/* ordering: (B) pairs with (A); `next` was written before the link */
	struct fl_patch *p = load_acquire(list_of(at));

	while (p && pc - p->at >= p->len)
		p = load_relaxed(&p->next);
	return p;
}

struct fl_patch *fl_claimed_at(uintptr_t pc)
{
	struct fl_patch *p;

	if (!load_acquire(&lists))			/* (B) pairs with (A) */
		return NULL;
	p = find_holding(pc, pc);
	return p ? p : find_holding(pc, pc - GRAIN);
}
