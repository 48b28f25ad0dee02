/*
 * cyg.c - the profiling functions themselves.
 *
 * A program built with -finstrument-functions calls these wherever its site is
 * not armed: before the agent is ready, and where no scan recognised the site.
 * The first such call makes the site a probe; a call that is no site (a tail
 * jump that left no trace) becomes a virtual probe of its function, and so do a
 * site's calls of another function than its own. A call that was decided about once takes no
 * lock: a call whose site was refused comes here each time. A call that is first met may come
 * from anywhere in the program, with any lock of the program's or the loader's held: it waits
 * only for threads that wait for none of these, agent.h. Where it cannot wait, the event is
 * counted as lost.
 */
#include "agent.h"
#include "arch/arch.h"
#include "os/os.h"
#include "patch/patch.h"

/* Take in the call that returns to `ret`: its id, FLE_NOPROBE, FLE_FULL. */
static int take_site(const struct fl_owner *owner, uintptr_t ret, uintptr_t function,
		     enum fl_kind kind)
{
	int id = fl_probe_met(ret);		/* another thread was quicker */
	struct fl_site site;
	bool is_new;

	if (id != -ENOENT)
		return id;
	if (!fl_site_at_return(&site, ret, function, kind)) {
		fl_probe_no_site(ret);
		return FLE_NOPROBE;
	}
	id = fl_probe_add(&site, &is_new);
	if (id >= 0 && is_new)
		fl_agent_decide(owner, (uint32_t)id, FL_MET);
	return id;
}

static int take_virtual(const struct fl_owner *owner, uintptr_t function, enum fl_kind kind,
			uint8_t form)
{
	bool is_new;
	int id = fl_probe_virtual(function, kind, form, &is_new);

	if (id >= 0 && is_new)
		fl_agent_decide(owner, (uint32_t)id, FL_MET);
	return id;
}

/* Take in a call that is met for the first time. A `ret` of 0 is no site's. */
static int take(uintptr_t function, uintptr_t ret, enum fl_kind kind, uint8_t form)
{
	const struct fl_owner *owner;
	uint64_t signals;
	int id = -ENOENT;

	if (!fl_agent_lock_at_probe(&signals))
		return FLE_FULL;
	owner = fl_agent_director();		/* still */
	if (owner)
		id = ret ? take_site(owner, ret, function, kind) :
			   take_virtual(owner, function, kind, form);
	fl_agent_unlock(&signals);
	fl_agent_tell(owner);
	return id;
}

/* A call that is not the site's own, or that has no site. */
static void met_other(uintptr_t function, enum fl_kind kind, uint8_t form, uint32_t sp)
{
	int id = fl_probe_virtual_ready(function, kind, form);

	if (id == -ENOENT)
		id = take(function, 0, kind, form);
	if (id >= 0)
		fl_probe_hit((uint32_t)id, sp);
	else if (id == FLE_FULL)
		fl_channel_lose_unplaced(kind);
}

static void met_call(uintptr_t function, uintptr_t ret, enum fl_kind kind, uint32_t sp)
{
	int id = fl_probe_met(ret);

	if (id == -ENOENT)
		id = take(function, ret, kind, FL_FORM_NONE);
	if (id >= 0)
		fl_probe_ask((uint32_t)id, function, sp);
	else if (id == FLE_NOPROBE)
		met_other(function, kind, FL_FORM_NONE, sp);
	else if (id == FLE_FULL)
		fl_channel_lose_unplaced(kind);
}

/* `caller` is where the function's frame returns to; a profiling function that was jumped to
 * returns there, too. The stack pointer is what a glue would see, below the way back. */
__attribute__((noinline)) static void met(void *function, void *caller, void *ret,
					  enum fl_kind kind, void *frame)
{
	uint32_t sp = (uint32_t)(uintptr_t)frame - sizeof(void *);
	uint32_t checked = fl_arch_uncheck();

	if (ret == caller)
		met_other((uintptr_t)function, kind, FL_FORM_JUMP, sp);
	else
		met_call((uintptr_t)function, (uintptr_t)ret, kind, sp);
	fl_arch_check(checked);
}

#define PROFILING __attribute__((visibility("default"), no_instrument_function))

PROFILING void __cyg_profile_func_enter(void *function, void *call_site);
PROFILING void __cyg_profile_func_exit(void *function, void *call_site);

void fl_cyg_open(void)
{
	fl_probe_other = met_other;
	fl_site_cyg_targets((uintptr_t)__cyg_profile_func_enter,
			    (uintptr_t)__cyg_profile_func_exit);
}

PROFILING void __cyg_profile_func_enter(void *function, void *call_site)
{
	if (fl_owner)
		met(function, call_site, __builtin_return_address(0), FL_ENTRY,
		    __builtin_dwarf_cfa());
}

PROFILING void __cyg_profile_func_exit(void *function, void *call_site)
{
	if (fl_owner)
		met(function, call_site, __builtin_return_address(0), FL_EXIT,
		    __builtin_dwarf_cfa());
}
