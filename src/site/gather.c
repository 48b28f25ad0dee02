/*
 * gather.c - put the sites of a table without order into order.
 *
 * Linkers place such tables as they meet the object files; nearly always the
 * code lies in the same order, and then nothing is moved.
 */
#include "scan.h"

int fl_gather_open(struct fl_gather *g, size_t room)
{
	*g = (struct fl_gather){ .room = room };
	g->sites = fl_scratch_open(room * sizeof *g->sites);
	return g->sites ? 0 : -ENOMEM;
}

void fl_gather_add(struct fl_gather *g, const struct fl_site *s)
{
	if (g->n < g->room)
		g->sites[g->n++] = *s;
}

static bool is_sorted(const struct fl_gather *g)
{
	for (size_t i = 1; i < g->n; i++)
		if (g->sites[i].at < g->sites[i - 1].at)
			return false;
	return true;
}

static void sink(struct fl_site *s, size_t i, size_t n)
{
	struct fl_site x = s[i];

	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && s[k + 1].at > s[k].at)
			k++;
		if (s[k].at <= x.at)
			break;
		s[i] = s[k];
	}
	s[i] = x;
}

static void sort(struct fl_gather *g)
{
	for (size_t i = g->n / 2; i--;)
		sink(g->sites, i, g->n);
	for (size_t n = g->n; n > 1;) {
		struct fl_site last = g->sites[--n];

		g->sites[n] = g->sites[0];
		g->sites[0] = last;
		sink(g->sites, 0, n);
	}
}

int fl_gather_tell(struct fl_gather *g, fl_site_each *each, void *arg)
{
	int err = 0;

	if (!is_sorted(g))
		sort(g);
	for (size_t i = 0; i < g->n && !err; i++)
		err = each(arg, &g->sites[i]);
	fl_scratch_close(g->sites, g->room * sizeof *g->sites);
	return err;
}
