/*
 * handler.c - functions of the program's own that a probe calls.
 *
 * A binding is a function and its argument, never changed once it is reachable:
 * a thread that loaded the old one calls the old function with the old
 * argument. Equal bindings are one, so a program that alternates between a few
 * handlers a million times keeps a few; they are freed with the process.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "table.h"

struct binding {		/* tramp.S knows this layout */
	void (*call)(uint32_t, void *);
	void *arg;
	struct binding *next;
};

/* Indexed by probe id; NULL until a handler is set. */
struct binding **fl_bindings __attribute__((visibility("hidden")));

enum { BUCKETS = 1024 };
static struct binding *buckets[BUCKETS];
static struct binding *fresh, *fresh_end;	/* unused ones of the last page */

int fl_handler_open(uint32_t max)
{
	fl_bindings = fl_table_map(max * sizeof *fl_bindings);
	return fl_bindings ? 0 : -ENOMEM;
}

static struct binding *new_binding(void)
{
	if (fresh == fresh_end) {
		void *p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (fl_is_err(p))
			return NULL;
		fresh = p;
		fresh_end = fresh + FL_PAGE / sizeof *fresh;
	}
	return fresh++;
}

static struct binding *intern(void (*call)(uint32_t, void *), void *arg)
{
	uint64_t h = ((uintptr_t)call ^ (uintptr_t)arg << 1) * 0x9e3779b97f4a7c15ull;
	struct binding **head = &buckets[h >> 54];
	struct binding *b;

	for (b = *head; b; b = b->next)
		if (b->call == call && b->arg == arg)
			return b;
	b = new_binding();
	if (!b)
		return NULL;
	*b = (struct binding){ .call = call, .arg = arg, .next = *head };
	*head = b;
	return b;
}

int fl_probe_handler(uint32_t id, void (*call)(uint32_t, void *), void *arg)
{
	struct binding *b;
	uint64_t signals;

	if (id >= fl_table.n)
		return FLE_NOPROBE;
	b = fl_bindings[id];
	if (b && b->call == call && b->arg == arg)
		return 0;			/* the usual case of on() again */
	if (fl_table_is_mine())
		return -EDEADLK;
	fl_table_lock(&signals);
	b = intern(call, arg);
	if (b)
		/* Pairs with the address dependency of fl_abi_call in tramp.S:
		 * who loads the pointer sees what it points to.
		 * ordering: none other */
		store_release(&fl_bindings[id], b);
	fl_table_unlock(&signals);
	return b ? 0 : -ENOMEM;
}

uintptr_t *fl_asked;
void (*fl_probe_other)(uintptr_t function, enum fl_kind kind, uint8_t form, uint32_t sp);

void fl_probe_ask(uint32_t id, uintptr_t function, uint32_t sp)
{
	const struct fl_shm_site *s = &fl_table.sites[id];

	if (s->function == function) {
		fl_probe_hit(id, sp);
		return;
	}
	fl_table.probes[id].is_shared = 1;
	if (fl_probe_other)
		fl_probe_other(function, s->kind, s->jump ? FL_FORM_JUMP : FL_FORM_NONE, sp);
}

/* At `tsc`, or at no time. */
static void put(uint32_t id, uint64_t tsc, uint32_t sp)
{
	const struct flick_record r = { .tsc = tsc, .probe = id, .sp = sp };

	fl_channel_put_one(&r);
}

void fl_probe_hit(uint32_t id, uint32_t sp)
{
	const struct binding *b = fl_bindings[id];

	if (!fl_probe_is_on(id))
		return;
	if (b) {
		b->call(id, b->arg);
		return;
	}
	switch (fl_table.shm->action) {
	case FL_ACT_COUNT:
		fl_channel_count(id);
		break;
	case FL_ACT_RECORD:
		put(id, 0, sp);
		break;
	case FL_ACT_TIME:
		put(id, fl_arch_ticks(), sp);
		break;
	case FL_ACT_WINDOW:
		fl_window_virtual(id, sp);
		break;
	case FL_ACT_SAMPLE:
		fl_sample_hit(id, sp);
		break;
	case FL_ACT_WORD:
		fl_channel_word(id, fl_arch_ticks(), sp);
		break;
	}
}
