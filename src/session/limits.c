/*
 * limits.c - the shared region where the system limits addresses, files or data; and how
 * much flick itself keeps of what a program tells.
 *
 * A target's address space is limited as ours is (ulimit -v), and it has the region
 * in it, and some three times the table of sites; and a memory file is a file (ulimit
 * -f). So an eighth of the limit goes to sites, and as much to threads. What a target has of
 * its own of each site is data of its (ulimit -d), so an eighth of that goes to these.
 *
 * Flick keeps modules and sites that it is told of, for which the region has room once
 * and for all. It also keeps names, threads, callers, contexts, open calls and files that
 * samples met, of which a program can make as many as it likes. All these together have
 * one limit, which is looked at now and then.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "session/limits.h"

enum {
	SITE_BYTES = 4 * sizeof(struct fl_shm_site),
	OWN_SITE_BYTES = 384,		/* of a site, in the target's table and in ours */
	MOST_SITES = 1 << 20, MOST_SLOTS = 2048,	/* the defaults of fl_shm_create() */
	LEAST_COUNTERS = 1 << 16, THREADS = 512,	/* if both can be had */
	RING_KIB = 512, OWN_BYTES = 36 << 10,		/* of a slot: header, two chunks */
	TOLD_MORE = 96 << 10				/* of a slot that tells accesses */
};

static uint64_t limit_of(int what)
{
	struct rlimit limit;

	return getrlimit(what, &limit) || limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX :
	       limit.rlim_cur;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A counter a site, or fewer, so that there is room for many threads. */
static uint64_t counters(uint64_t share, uint64_t sites)
{
	uint64_t n = share / THREADS / 8;

	return least(n > LEAST_COUNTERS ? n : LEAST_COUNTERS, sites);
}

/* Bytes of a slot, and of the pool that its ring grows into. */
static uint64_t slot_bytes(const struct fl_shm_options *o)
{
	uint64_t ring = (o->ring_kib ? o->ring_kib : RING_KIB) * 1024ull;

	uint64_t cells = o->weaves & FL_WEAVE_PATHS ?
		FL_CELLS * sizeof(struct flick_record) : 0;

	uint64_t told = o->weaves & FL_WEAVE_ACCESSES ? TOLD_MORE : 0;

	return OWN_BYTES + told + (o->action == FL_ACT_COUNT ? 0 : ring) +
	       o->n_counters * 8ull + cells;
}

void fl_limits_fit(struct fl_shm_options *o)
{
	uint64_t addresses = limit_of(RLIMIT_AS), files = limit_of(RLIMIT_FSIZE);
	uint64_t limit = least(addresses, files), share = limit / 8, n;
	uint64_t sites = least(share / SITE_BYTES, limit_of(RLIMIT_DATA) / 8 / OWN_SITE_BYTES);

	if (!o->max_sites && sites < MOST_SITES)
		o->max_sites = (uint32_t)sites;
	if (limit == UINT64_MAX)
		return;
	if (!o->max_sites)
		o->max_sites = MOST_SITES;
	if (fl_shm_counts(o->action, o->rate))
		o->n_counters = (uint32_t)counters(share, o->max_sites);
	n = share / slot_bytes(o) + 1;
	if (n >= (o->n_slots ? o->n_slots : MOST_SLOTS))
		return;
	o->n_slots = (uint32_t)n;
	fl_say("ulimit -%c leaves room for %u threads at a time",
	       limit == addresses ? 'v' : 'f', o->n_slots);
}

uint64_t fl_limits_memory(uint32_t mib)
{
	return mib ? (uint64_t)mib << 20 :
	       (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

/* Only memory counts that is flick's alone: the region is the target's, too. */
bool fl_limits_is_spent(uint64_t bytes)
{
	unsigned long resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%*u %lu %lu", &resident, &shared) != 2)
		resident = shared = 0;
	if (f)
		fclose(f);
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) > bytes;
}
