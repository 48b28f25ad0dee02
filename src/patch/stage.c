/*
 * stage.c - a set of changes before its commit.
 *
 * Hides that a set is an array, and that the memory of the last set is kept for the
 * next: mapping memory and faulting it in costs as much as the switches do. Staging
 * writes nothing to text and may be abandoned at any point.
 */
#include <stdalign.h>
#include <sys/mman.h>

#include "os/os.h"
#include "patch.h"
#include "tactic.h"

enum { KEPT_MAX = 1 << 20 };		/* bytes of the target's memory */

struct list {				/* behind the changes: their struct fl_wide */
	size_t bytes;
	alignas(16) struct fl_change changes[];
};

static struct list *kept;	/* atomic; the thread that takes it out has it alone */

static struct list *list_of(const struct fl_set *set)
{
	return (struct list *)((char *)set->changes - offsetof(struct list, changes));
}

static void list_free(struct list *l)
{
	if (l)
		fl_os_unmap(l, l->bytes);
}

/* Of a large list, as for all sites of a process tree, little may be used. */
int fl_set_make(struct fl_set *set, size_t n)
{
	enum { MUCH = 1 << 18 };
	/* (K) pairs with (K): what its last user wrote is done */
	struct list *l = __atomic_exchange_n(&kept, NULL, __ATOMIC_ACQUIRE);
	size_t bytes = sizeof(*l) + n * (sizeof(l->changes[0]) + sizeof(struct fl_wide));

	if (!l || l->bytes < bytes) {
		list_free(l);
		l = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | (bytes < MUCH ? MAP_POPULATE : 0),
			      -1, 0);
		if (fl_is_err(l))
			return -ENOMEM;
		l->bytes = bytes;
	}
	*set = (struct fl_set){
		.changes = l->changes, .wide = (void *)(l->changes + n), .room = (uint32_t)n,
	};
	return 0;
}

void fl_set_free(struct fl_set *set)
{
	struct list *l = list_of(set);

	if (l->bytes <= KEPT_MAX)
		/* (K) pairs with (K): also of the one that is freed */
		l = __atomic_exchange_n(&kept, l, __ATOMIC_ACQ_REL);
	list_free(l);
}

int fl_set_stage(struct fl_set *set, struct fl_patch *p, int from, int to)
{
	struct fl_change *c = &set->changes[set->n];

	if (set->n == set->room)
		return -ENOSPC;
	*c = (struct fl_change){ .patch = p, .from = (uint8_t)from, .to = (uint8_t)to };
	c->tactic = (uint8_t)fl_tactic_of(p, from, to, &c->span);
	set->n++;
	return 0;
}
