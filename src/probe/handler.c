/*
 * handler.c - functions of the program's own that a probe calls.
 *
 * A binding is a function and its argument, never changed once it is reachable:
 * a thread that loaded the old one calls the old function with the old
 * argument. Equal bindings are one, so a program that alternates between a few
 * handlers a million times keeps a few; they are freed with the process. No lock is
 * taken: who changes a handler may be a handler, or hold what somebody waits for.
 */
#include <sys/mman.h>

#include "glue.h"
#include "goal.h"
#include "os/os.h"
#include "table.h"

struct binding {		/* CALLS_BOUND of the port knows this layout */
	void (*call)(uint32_t, void *);
	void *arg;
	struct binding *next;
};

/* Indexed by probe id; NULL until a handler is set. */
struct binding **fl_bindings __attribute__((visibility("hidden")));

enum { BUCKETS = 1024 };
static struct binding *buckets[BUCKETS];	/* lists grow at their heads */

struct page {
	uint32_t n;			/* handed out, or more; atomic */
	struct binding binding[(FL_PAGE - 8) / sizeof(struct binding)];
};
static struct page *page;		/* the last; W any (A) */

int fl_handler_open(uint32_t max)
{
	fl_bindings = fl_table_map(max * sizeof *fl_bindings);
	return fl_bindings ? 0 : -ENOMEM;
}

/* A page in place of `full`, unless another thread was quicker. */
static bool add_page(struct page *full)
{
	void *p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(p))
		return false;
	/* (A) pairs with (A) */
	if (!__atomic_compare_exchange_n(&page, &full, p, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		fl_os_unmap(p, FL_PAGE);
	return true;
}

static struct binding *new_binding(void)
{
	struct page *p;

	do {
		uint32_t n;

		p = load_acquire(&page);			/* (A) pairs with (A) */
		n = p ? __atomic_fetch_add(&p->n, 1, __ATOMIC_RELAXED) : 0;
		if (p && n < ARRAY_LEN(p->binding))
			return &p->binding[n];
	} while (add_page(p));
	return NULL;
}

static struct binding *find(struct binding *b, void (*call)(uint32_t, void *), void *arg)
{
	while (b && (b->call != call || b->arg != arg))
		b = b->next;
	return b;
}

/* Of two threads that add the same one both do: no harm. */
static struct binding *intern(void (*call)(uint32_t, void *), void *arg)
{
	uint64_t h = ((uintptr_t)call ^ (uintptr_t)arg << 1) * 0x9e3779b97f4a7c15ull;
	struct binding **head = &buckets[h >> 54];
	struct binding *first = load_acquire(head);		/* (B) pairs with (B) */
	struct binding *b = find(first, call, arg);

	if (b)
		return b;
	b = new_binding();
	if (!b)
		return NULL;
	do
		*b = (struct binding){ .call = call, .arg = arg, .next = first };
	/* (B) pairs with (B) */
	while (!__atomic_compare_exchange_n(head, &first, b, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
	return b;
}

int fl_probe_handler(uint32_t id, void (*call)(uint32_t, void *), void *arg)
{
	struct binding *b;

	if (id >= fl_table.n)
		return FLE_NOPROBE;
	b = fl_bindings[id];
	if (b && b->call == call && b->arg == arg)
		return 0;			/* the usual case of on() again */
	b = intern(call, arg);
	if (!b)
		return -ENOMEM;
	/* Pairs with the address dependency in the port's CALLS_BOUND, which has no letter:
	 * who loads the pointer sees what it points to.
	 * ordering: none other */
	store_release(&fl_bindings[id], b);
	return 0;
}

static struct binding preset;		/* where nothing is bound */

void fl_handler_default(uint32_t id)
{
	struct binding *none = NULL;

	/* ordering: none other, as that of fl_probe_handler() */
	__atomic_compare_exchange_n(&fl_bindings[id], &none, &preset, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void fl_handlers_reset(void (*call)(uint32_t, void *))
{
	preset.call = call;
	for (uint32_t id = 0; id < fl_table.n; id++)
		if (load_relaxed(&fl_bindings[id]))
			store_relaxed(&fl_bindings[id], &preset);
}

uintptr_t *fl_asked;
uint32_t *fl_function_of;
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

static void put(uint32_t id, uint32_t sp)
{
	const struct flick_record r = { .tsc = fl_arch_ticks(), .probe = id, .sp = sp };

	fl_channel_put_one(&r);
}

static void hit_first(uint32_t id, uint32_t sp)
{
	switch (fl_table.session->action) {
	case FL_ACT_COUNT:
		fl_channel_count(id);
		break;
	case FL_ACT_TIME:
		put(id, sp);
		break;
	case FL_ACT_WINDOW:
		fl_window_virtual(id, sp);
		break;
	case FL_ACT_SAMPLE:
		fl_sample_hit(id, sp);
		break;
	}
}

/* Beside a recorder what is bound is the second session's. */
void fl_probe_hit(uint32_t id, uint32_t sp)
{
	const struct binding *b = fl_bindings[id];
	bool is_first = fl_probe_is_on(id);

	if (is_first && (!b || fl_table.had_second))
		hit_first(id, sp);
	if (b && (fl_table.had_second ? fl_goal_is_second_on(id) : is_first))
		b->call(id, b->arg);
}
