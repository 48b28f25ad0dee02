/*
 * attach.c - where a thread comes in that has loaded libflick.so into a running
 * program.
 *
 * The thread is one of the C library's; all others run (arch/CPU/inject.S).
 * What it was given lies in memory that stays for as long as the process: the thread that has
 * made it may have left something of an allocator's there, and the next recorder makes its own
 * with the same memory. So the address of that memory is kept here, under a name that is looked
 * up from outside.
 */
#include "agent.h"

extern struct fl_inject *flick_attached __attribute__((visibility("default")));
struct fl_inject *flick_attached;

/* Whether another recorder may come: enum fl_recorders. And the region, which shows whether the
 * reader of the recorder that is there lives. */
extern uint32_t flick_recorders __attribute__((visibility("default")));
uint32_t flick_recorders;
extern struct fl_region *flick_region __attribute__((visibility("default")));
struct fl_region *flick_region;

/* What this libflick speaks: a recorder of a later version looks at that before it comes. */
extern const uint32_t flick_speaks[2] __attribute__((visibility("default")));
const uint32_t flick_speaks[2] = { FL_SHM_VERSION, sizeof(struct fl_region) };

/* What the bare thread that comes next needs, because it may execute probes. */
extern uint64_t flick_nobody[FL_NOBODY_WORDS][2] __attribute__((visibility("default")));
uint64_t flick_nobody[FL_NOBODY_WORDS][2];

void fl_attach_tell(enum fl_recorders n)
{
	fl_channel_nobody(flick_nobody);
	store_relaxed(&flick_region, fl_agent_region());
	store_relaxed(&flick_recorders, n);
}

__attribute__((visibility("default"))) void *flick_attach(const char *given,
							  struct fl_inject *with);

/* The C library loads the unwinder itself when a thread is cancelled; a program that throws has
 * it. */
static void load_unwinder(const struct fl_inject *with)
{
	enum { NOW = 2 };
	void *(*load)(const char *, int) = (void *(*)(const char *, int))with->dlopen;

	load("libgcc_s.so.1", NOW);
}

/* The bare thread that made this one may still be in pthread_create(). */
static void lay_nobody(uintptr_t thread)
{
	fl_channel_nobody(flick_nobody);
	for (size_t i = 0; i < FL_NOBODY_WORDS; i++)
		store_relaxed((uint64_t *)(thread + flick_nobody[i][0]), flick_nobody[i][1]);
}

void *flick_attach(const char *given, struct fl_inject *with)
{
	flick_attached = with;
	lay_nobody(with->tls);
	load_unwinder(with);
	fl_find_open_late();
	with->result = fl_agent_attach(given);
	/* ordering: none of ours to pair with, a tracer reads it by the kernel
	 */
	store_release(&with->state, FL_INJECT_ENDED);
	return NULL;
}
