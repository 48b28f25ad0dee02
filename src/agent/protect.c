/*
 * protect.c - mprotect(), pkey_mprotect() and mlockall(), which stand before the C
 * library's.
 *
 * A program may take the right to write from its own code: XRay's runtime does when it has
 * patched, and so does a program that checks that no code is writable. The next switch of a
 * probe there would fault. So pages that hold armed sites keep that right (patch/text-asked.c);
 * all else is the kernel's answer. A program that asks for the right to write is about to
 * write: probe/yield.c gives back what others may patch. A program that locks all memory means
 * its own (os/resident.c).
 *
 * A program that flick comes into late is bound to the C library's functions. Of these
 * mprotect() and mlockall() begin with the system call, and are jumps to ours while the program
 * is recorded. Threads are held for that: a thread that has not made its call yet makes it
 * here, and so no thread that comes later passes by. Code that asks the kernel itself does pass
 * by, and so does pkey_mprotect().
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "agent.h"
#include "arch/arch.h"
#include "obj/obj.h"
#include "os/os.h"
#include "patch/patch.h"

#define EXPORT __attribute__((visibility("default")))

static int answer(int err)
{
	if (err >= 0)
		return 0;
	errno = -err;
	return -1;
}

static int protect(void *at, size_t n, int prot, int key)
{
	uintptr_t lo = fl_round_down((uintptr_t)at, FL_PAGE), hi = (uintptr_t)at + n;
	uint32_t checked = fl_arch_uncheck();
	int err;

	if (prot & PROT_WRITE)
		fl_probes_yield(lo, hi);
	err = fl_text_protect((uintptr_t)at, n, prot, key);
	if (!(prot & PROT_WRITE) || err < 0)
		fl_probes_unyield(lo, hi);
	fl_arch_check(checked);
	return answer(err);
}

static int protect_pages(void *at, size_t n, int prot)
{
	return protect(at, n, prot, -1);
}

static int lock_memory(int flags)
{
	uint32_t checked = fl_arch_uncheck();
	int err = fl_os_lock_memory(flags);

	fl_arch_check(checked);
	return answer(err);
}

/* ---- the C library's, of a program that ran before -------------------------------- */

static struct taken {
	const char *name;
	uint32_t call;
	uintptr_t ours;
	struct fl_patch patch;
	bool is_armed;
} taken[] = {
	{ .name = "mprotect", .call = SYS_mprotect, .ours = (uintptr_t)protect_pages },
	{ .name = "mlockall", .call = SYS_mlockall, .ours = (uintptr_t)lock_memory },
};
static struct fl_near ways;		/* to ours; made once, as a thread may be in one */

static uintptr_t way_to(const struct taken *t)
{
	return (uintptr_t)ways.code + (uintptr_t)(t - taken) * FL_ARCH_VENEER_MAX;
}

static int make_ways(uintptr_t at)
{
	int err;

	if (ways.code)
		return 0;
	err = fl_near_alloc(&ways, FL_NEAR_TO(at, at + FL_ARCH_SITE_MAX),
			    ARRAY_LEN(taken) * FL_ARCH_VENEER_MAX, 0);
	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		const struct taken *t = &taken[i];
		const struct fl_veneer v = { .at = way_to(t), .glue = t->ours,
					     .form = FL_FORM_ASK };

		fl_arch_put_veneer(ways.write + i * FL_ARCH_VENEER_MAX, &v);
	}
	err = fl_near_seal(&ways);
	if (err)
		fl_near_free(&ways);
	return err;
}

static int plan_function(struct taken *t)
{
	uintptr_t at = (uintptr_t)fl_obj_c_function(t->name);
	struct fl_plan_in in = { .form = FL_FORM_ASK, .probe = t->call,
				 .room = FL_ARCH_SITE_MAX };
	uint64_t datum;
	int err = at ? make_ways(at) : FLE_UNKNOWN;

	if (err)
		return err;
	in.at = at + fl_arch_landing((const void *)at, FL_ARCH_SITE_MAX);
	in.glue = way_to(t);
	return fl_arch_plan(&t->patch, &in, &datum);
}

/* A thread that changes rights all the time may stand in the way once more. Who gave up would
 * store to pages that the program has closed since. One that cannot be stopped holds up each
 * try for longer than all of them may take, and so it is tried once. */
static bool take(struct taken *t)
{
	enum { PATIENCE_NS = 100000000, PAUSE_US = 2000 };
	const uint64_t until = fl_os_monotonic_ns() + PATIENCE_NS;
	int err;

	while ((err = fl_agent_change(&t->patch, FL_OLD, FL_ON)) &&
	       fl_os_monotonic_ns() < until)
		fl_os_sleep_us(PAUSE_US);
	return !err;
}

void fl_protect_open_late(void)
{
	for (size_t i = 0; FL_ARCH_ATTACHES && i < ARRAY_LEN(taken); i++) {
		struct taken *t = &taken[i];

		if (t->is_armed || plan_function(t) || fl_claim_alone(&t->patch))
			continue;
		t->is_armed = take(t);
		if (!t->is_armed)
			fl_unclaim_alone(&t->patch);
	}
}

void fl_protect_close(void)
{
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		struct taken *t = &taken[i];

		if (!t->is_armed || fl_agent_restore(&t->patch))
			continue;
		fl_unclaim_alone(&t->patch);
		t->is_armed = false;
	}
}

EXPORT int mprotect(void *at, size_t n, int prot)
{
	return protect_pages(at, n, prot);
}

EXPORT int pkey_mprotect(void *at, size_t n, int prot, int key)
{
	return protect(at, n, prot, key);
}

EXPORT int mlockall(int flags)
{
	return lock_memory(flags);
}
