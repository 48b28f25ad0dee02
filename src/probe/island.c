/*
 * island.c - veneers, a page of them or some, near enough to sites whose glue is not.
 *
 * Hides where they stand. Sites come ascending, several times over, so a few islands take more
 * at a time. Each is within reach of the sites that lead there, and as large as can be had, up
 * to what may follow. Code that was sealed is not written to again. To look for a free page is
 * to read all mappings, so where there was none nobody looks again close by.
 */
#include "glue.h"

enum { ALIGN = 8, MOST = 1 << 16, INSN = 16, CLOSE = 1 << 20 };

_Static_assert(FL_ARCH_VENEER_MAX <= FL_PAGE && FL_ARCH_SITE_MAX <= INSN, "");

static bool takes_more(const struct fl_near *near, size_t used, uintptr_t from)
{
	return near->code && fl_near_reaches(near, from, from + INSN) &&
	       near->code_bytes - used >= FL_ARCH_VENEER_MAX;
}

static void seal_island(struct fl_islands *all, uint32_t i)
{
	int err = all->near[i].code ? fl_glue_seal(&all->near[i], 0) : 0;

	all->near[i] = (struct fl_near){ 0 };
	all->used[i] = 0;
	all->err = all->err ? all->err : err;
}

static bool find_room(struct fl_near *near, uintptr_t from, size_t want)
{
	int err = FLE_NOREACH;

	want = fl_round_up(want < MOST ? want : MOST, FL_PAGE);
	for (; err == FLE_NOREACH && want >= FL_PAGE; want = fl_round_down(want / 2, FL_PAGE))
		err = fl_near_alloc(near, FL_NEAR_TO(from, from + INSN), want, 0);
	return !err;
}

/* The island that takes one more veneer; FL_ISLANDS: there is none. */
static uint32_t island_for(struct fl_islands *all, uintptr_t from, size_t want)
{
	uint32_t i = 0;

	while (i < FL_ISLANDS && !takes_more(&all->near[i], all->used[i], from))
		i++;
	if (i < FL_ISLANDS)
		return i;
	if (all->none && from - all->none + CLOSE < 2 * CLOSE)
		return FL_ISLANDS;
	i = all->next;
	seal_island(all, i);
	if (!find_room(&all->near[i], from, want)) {
		all->none = from;
		return FL_ISLANDS;
	}
	all->next = (i + 1) % FL_ISLANDS;
	return i;
}

uintptr_t fl_islands_veneer(struct fl_islands *all, uintptr_t from, struct fl_veneer *v,
			    size_t more)
{
	uint32_t i = island_for(all, from, (more + 1) * FL_ARCH_VENEER_MAX);
	size_t n;

	if (i == FL_ISLANDS)
		return 0;
	v->at = (uintptr_t)all->near[i].code + all->used[i];
	n = fl_arch_put_veneer(all->near[i].write + all->used[i], v);
	all->used[i] += fl_round_up(n, ALIGN);
	return n ? v->at : 0;
}

int fl_islands_end(struct fl_islands *all)
{
	for (uint32_t i = 0; i < FL_ISLANDS; i++)
		seal_island(all, i);
	return all->err;
}
