/*
 * claim.c - which bytes of text are whose.
 *
 * Hides a hash of places by address. Whoever changes text claims the bytes
 * first, so two places never share a byte. One lock guards all claims.
 */
#include <sys/mman.h>

#include "claim.h"
#include "os/os.h"

enum {
	GRAIN = 256,			/* bytes of text a list is for */
	N_LISTS = 1 << 17		/* a page of lists is for 128 KiB of text */
};

static struct fl_patch **lists;		/* under the lock, as all here */
static struct fl_lock lock = { .rank = FL_LOCK_CLAIMS };
static size_t n_claimed, n_places;

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

/* A window is in the list of its first byte. So a window that begins in the grain before
 * may reach into the first bytes of this grain, and `p` may reach into the next. */
static struct fl_patch *conflict(const struct fl_patch *p)
{
	struct fl_patch *q = find_meeting(p, p->at);

	if (!q && p->at % GRAIN < FL_ARCH_SITE_MAX)
		q = find_meeting(p, p->at - GRAIN);
	if (!q && p->at % GRAIN + p->len > GRAIN)
		q = find_meeting(p, p->at + GRAIN);
	return q;
}

bool fl_claim_meets(uintptr_t at, size_t len)
{
	const struct fl_patch p = { .at = at, .len = (uint8_t)len };

	return n_claimed && conflict(&p);
}

static int make_lists(void)
{
	void *p = fl_os_map(NULL, N_LISTS * sizeof *lists, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(p))
		return -ENOMEM;
	lists = p;
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
	store_release(list, p);		/* ordering: none; a fork's copy is a cut */
	n_claimed++;
	return 0;
}

static void unlink_place(struct fl_patch *p)
{
	struct fl_patch **at = list_of(p->at);

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
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
}

bool fl_claims_have_places(void)
{
	return n_places != 0;
}

void fl_claims_each(void (*each)(struct fl_patch *))
{
	for (size_t i = 0; lists && n_claimed && i < N_LISTS; i++)
		for (struct fl_patch *p = lists[i]; p; p = p->next)
			each(p);
}
