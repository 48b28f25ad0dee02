/*
 * handler.c - functions of the program's own that a probe calls.
 *
 * A binding is a function and its argument, never changed while anybody can come to it:
 * a thread that loaded the old one calls the old function with the old argument. Equal
 * bindings are one, so a program that alternates between a few handlers a million times
 * keeps a few. No lock is taken: a thread that changes a handler may be in a handler, or hold
 * what another thread waits for.
 *
 * PROTOCOL	of a binding that no probe has any more, after a thread has waited for all that
 *		are inside (inside.c)
 *	apart	a look found it bound to no probe: it is taken out of its list
 *	idle	a wait later: a thread that had found it in the list has bound it by now, or
 *		never does; if a probe has it, it is put back
 *	free	a wait later: a thread that had come to it by a probe has come out
 * INVARIANT	Nobody reads a free binding, except the thread that takes it.
 * WHY	A thread that finds a binding in a list, takes a free one or calls one is inside
 *	meanwhile. So two waits stand between the list and the next use: after the first one
 *	nobody can bind it, after the second one nobody calls it. And a thread that reads the
 *	first of the free ones takes it, or finds that another is the first: the one that it
 *	read does not come back before the thread is out.
 * FAILURE	Where nobody waits no binding is used again.
 */
#include <sys/mman.h>

#include "glue.h"
#include "goal.h"
#include "handler.h"
#include "joint.h"
#include "os/os.h"
#include "table.h"

struct fl_binding **fl_bindings __attribute__((visibility("hidden")));

enum { BUCKETS = 1024 };
static struct fl_binding *buckets[BUCKETS];	/* lists grow at their heads (B) */
static struct fl_binding *free_ones;		/* W any */

struct page {
	uint32_t n;			/* handed out, or more; atomic */
	struct fl_binding binding[(FL_PAGE - 8) / sizeof(struct fl_binding)];
};
static struct page *page;		/* the last; W any (C) */

int fl_handler_open(uint32_t max)
{
	static uint32_t had;
	void *was = fl_bindings;
	int err;

	fl_bindings = fl_table_map_again(was, had, max, sizeof *fl_bindings);
	had = max;
	err = fl_bindings ? fl_inside_open() : -ENOMEM;
	if (err && fl_bindings && fl_bindings != was) {
		fl_os_unmap(fl_bindings, max * sizeof *fl_bindings);
		fl_bindings = NULL;
	}
	return err;
}

/* A page in place of `full`, unless another thread was quicker. */
static bool add_page(struct page *full)
{
	void *p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(p))
		return false;
	/* (C) pairs with (C) */
	if (!__atomic_compare_exchange_n(&page, &full, p, false, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		fl_os_unmap(p, FL_PAGE);
	return true;
}

/* A binding that was used before, or a new one of a page. */
static struct fl_binding *new_binding(void)
{
	struct fl_binding *b = load_acquire(&free_ones);	/* (E) pairs with (E) */
	struct page *p;

	/* (E) pairs with (E) */
	while (b && !__atomic_compare_exchange_n(&free_ones, &b, b->next, true,
						 __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
		;
	if (b)
		return b;
	do {
		uint32_t n;

		p = load_acquire(&page);			/* (C) pairs with (C) */
		n = p ? __atomic_fetch_add(&p->n, 1, __ATOMIC_RELAXED) : 0;
		if (p && n < ARRAY_LEN(p->binding))
			return &p->binding[n];
	} while (add_page(p));
	return NULL;
}

static struct fl_binding **list_for(void (*call)(uint32_t, void *), void *arg)
{
	uint64_t h = ((uintptr_t)call ^ (uintptr_t)arg << 1) * 0x9e3779b97f4a7c15ull;

	return &buckets[h >> 54];
}

static struct fl_binding *find(struct fl_binding *b, void (*call)(uint32_t, void *),
			       void *arg)
{
	while (b && (b->call != call || b->arg != arg))
		b = load_relaxed(&b->next);
	return b;
}

static void put_first(struct fl_binding **head, struct fl_binding *b)
{
	struct fl_binding *first = load_relaxed(head);

	do
		store_relaxed(&b->next, first);
	/* (D) pairs with (D), as (E) with (E) */
	while (!__atomic_compare_exchange_n(head, &first, b, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* Two threads that add the same binding at one time both add one, which does no harm. The
 * caller is inside. */
static struct fl_binding *intern(void (*call)(uint32_t, void *), void *arg)
{
	struct fl_binding **head = list_for(call, arg);
	/* (D) pairs with (D) */
	struct fl_binding *b = find(load_acquire(head), call, arg);

	FL_POINT("handler.found");
	if (b)
		return b;
	b = new_binding();
	if (!b)
		return NULL;
	*b = (struct fl_binding){ .call = call, .arg = arg };
	put_first(head, b);
	return b;
}

int fl_probe_handler(uint32_t id, void (*call)(uint32_t, void *), void *arg)
{
	struct fl_inside *in;
	struct fl_binding *b;

	if (id >= fl_table.n)
		return FLE_NOPROBE;
	b = fl_bindings[id];
	if (b && b->call == call && b->arg == arg)
		return 0;			/* the usual case of on() again */
	in = fl_inside_enter();
	b = intern(call, arg);
	if (b)
		/* (A) pairs with (E) in inside.c, (A) pairs with (B) */
		store_release(&fl_bindings[id], b);
	fl_inside_leave(in);
	return b ? 0 : -ENOMEM;
}

static struct fl_binding preset;	/* where nothing is bound */

void fl_handler_default(uint32_t id)
{
	struct fl_binding *none = NULL;

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

/* ---- what nobody can come to is used again ------------------------------------------ */

static struct {
	uint32_t is_taken;		/* somebody is at it; atomic */
	uint32_t look;
	struct fl_binding *apart, *idle;
	uint64_t apart_turn, idle_turn;	/* threads of later turns do not know of them */
} tidied;				/* W who has taken it */

/* Nobody else takes any out. One that has got a new one before it stays for another time. */
static void take_apart(struct fl_binding **at)
{
	struct fl_binding *b;

	while ((b = load_acquire(at))) {			/* (D) pairs with (D) */
		struct fl_binding *expected = b;

		/* ordering: none other, threads that find it meanwhile are waited for */
		if (b->seen == tidied.look ||
		    !__atomic_compare_exchange_n(at, &expected, load_relaxed(&b->next), false,
						 __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			at = &b->next;
			continue;
		}
		b->later = tidied.apart;
		tidied.apart = b;
	}
}

/* Bindings of `apart` that were bound all the same go back into their lists. */
static void make_idle(void)
{
	for (struct fl_binding *b = tidied.apart, *later; b; b = later) {
		later = b->later;
		if (b->seen == tidied.look) {
			put_first(list_for(b->call, b->arg), b);
			continue;
		}
		b->later = tidied.idle;
		tidied.idle = b;
	}
	tidied.apart = NULL;
	tidied.idle_turn = fl_inside_turn();
}

static void tidy(uint64_t turn)
{
	/* ordering: none other, as a lock */
	if (__atomic_exchange_n(&tidied.is_taken, 1, __ATOMIC_ACQUIRE))
		return;
	while (tidied.idle && turn > tidied.idle_turn) {
		struct fl_binding *b = tidied.idle;

		tidied.idle = b->later;
		put_first(&free_ones, b);
	}
	tidied.look++;
	for (uint32_t id = 0; id < fl_table.n; id++) {
		struct fl_binding *b = load_acquire(&fl_bindings[id]);	/* (B) pairs with (A) */

		if (b && b->seen != tidied.look)
			b->seen = tidied.look;
	}
	if (tidied.apart && !tidied.idle && turn > tidied.apart_turn)
		make_idle();
	if (!tidied.apart) {
		for (int i = 0; i < BUCKETS; i++)
			take_apart(&buckets[i]);
		tidied.apart_turn = fl_inside_turn();
	}
	/* ordering: none other, as a lock */
	store_release(&tidied.is_taken, 0);
}

int fl_handlers_drain(int wait_ms)
{
	uint64_t turn;
	int err = fl_inside_wait(wait_ms, &turn);

	if (!err)
		tidy(turn);
	return err;
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

/* Beside a recorder, what is bound belongs to the second session. */
void fl_probe_hit(uint32_t id, uint32_t sp)
{
	bool is_bound = load_relaxed(&fl_bindings[id]), is_first = fl_probe_is_on(id);

	if (load_relaxed(&fl_table.is_joint)) {
		if (is_first)
			hit_first(id, sp);
		fl_joint_second(id, sp);
		return;
	}
	if (is_first && (!is_bound || fl_table.had_second))
		hit_first(id, sp);
	if (is_bound)
		fl_handler_call(id);
}
