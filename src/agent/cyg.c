/*
 * cyg.c - the profiling functions themselves.
 *
 * A program built with -finstrument-functions calls these wherever its site is
 * not armed: before the agent is ready, and where no scan recognised the site.
 * The first such call makes the site a probe; a call that is no site (a tail
 * jump that left no trace) becomes a virtual probe of its function.
 */
#include "agent.h"
#include "os/os.h"
#include "patch/patch.h"

/* Take in the site that returns to `ret`; its id, or an error. */
static int take_site(uintptr_t ret, uintptr_t function, enum fl_kind kind)
{
	struct fl_site site;
	int id;

	if (!fl_site_at_return(&site, ret, function, kind))
		return -ENOENT;
	id = fl_probe_at(site.at);
	if (id >= 0)
		return id;			/* known, and not armed: refused */
	site.provider = FL_PROVIDER_CYG;
	id = fl_probe_add(&site);
	if (id >= 0)
		fl_owner->found((uint32_t)id, FL_RUNNING);
	return id;
}

static int take_virtual(uintptr_t function, enum fl_kind kind)
{
	bool is_new;
	int id = fl_probe_virtual(function, kind, &is_new);

	if (id >= 0 && is_new)
		fl_owner->found((uint32_t)id, FL_RUNNING);
	return id;
}

__attribute__((noinline)) static void met(void *function, void *ret,
					  enum fl_kind kind, void *frame)
{
	uintptr_t f = (uintptr_t)function;
	uint64_t signals;
	int id = -ENOENT;

	fl_agent_lock(&signals);
	if (fl_agent_directs())			/* still */
		id = take_site((uintptr_t)ret, f, kind);
	if (fl_agent_directs() && id < 0)
		id = take_virtual(f, kind);
	fl_agent_unlock(&signals);
	if (id >= 0)
		fl_probe_hit((uint32_t)id, (uint32_t)(uintptr_t)frame);
}

#define PROFILING __attribute__((visibility("default"), no_instrument_function))

PROFILING void __cyg_profile_func_enter(void *function, void *call_site);
PROFILING void __cyg_profile_func_exit(void *function, void *call_site);

void fl_cyg_open(void)
{
	fl_site_cyg_targets((uintptr_t)__cyg_profile_func_enter,
			    (uintptr_t)__cyg_profile_func_exit);
}

PROFILING void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	if (fl_owner)
		met(function, __builtin_return_address(0), FL_ENTRY,
		    __builtin_dwarf_cfa());
}

PROFILING void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	if (fl_owner)
		met(function, __builtin_return_address(0), FL_EXIT,
		    __builtin_dwarf_cfa());
}
