/*
 * called.c - what was counted, first by probe, then by function.
 *
 * Hides that any reader's thread tells counts, each with the wish that its process had heeded:
 * calls counted before a function was seldom stand for themselves; later ones are calls in
 * windows, and stand for more.
 */
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "session/budget/afford.h"
#include "session/budget/state.h"
#include "session/budget/budget.h"

/* The program that a thread executes, where there is one reader, which asks itself; 0: not
 * known. */
static uint32_t threads_program(const struct fl_budget *b, uint32_t thread)
{
	size_t n = 0;
	const struct fl_thread *t = b->s->reader ? fl_reader_threads(b->s->reader, &n) : NULL;

	return thread < n ? t[thread].program : 0;
}

static void note_thread(const struct fl_budget *b, struct count *c, uint32_t thread)
{
	uint32_t before = load_relaxed(&c->thread), now = thread + 1;

	if (before == now || before == FL_SEVERAL)
		return;
	if (before) {
		uint32_t program = threads_program(b, thread);
		uint32_t was = before < FL_OF_PROGRAM ? threads_program(b, before - 1) :
							before - FL_OF_PROGRAM;

		now = program && program == was ? FL_OF_PROGRAM + program : FL_SEVERAL;
	}
	store_relaxed(&c->thread, now);
}

void fl_budget_feed(struct fl_budget *b, uint32_t thread, const struct flick_record *r,
		    size_t n)
{
	for (size_t i = 0; b && i < n; i++)
		if (fl_record_probe(&r[i]) < b->max_sites)
			note_thread(b, &b->counted[fl_record_probe(&r[i])], thread);
}

void fl_budget_count(struct fl_budget *b, uint32_t thread, uint32_t probe, uint64_t n,
		     uint32_t heeded)
{
	struct count *c;
	uint64_t since;

	if (!b || probe >= b->max_sites)
		return;
	c = &b->counted[probe];
	since = load_relaxed(&c->since);
	note_thread(b, c, thread);
	__atomic_fetch_add(since && SINCE(heeded) >= since ? &c->windows : &c->all, n,
			   __ATOMIC_RELAXED);
	/* (E) pairs with (F): who finds the bit finds the count */
	__atomic_fetch_or(&b->fresh[probe / 64], 1ull << probe % 64, __ATOMIC_RELEASE);
}

int fl_budget_grow(struct fl_budget *b)
{
	uint32_t n = b->s->functions.n, room = n + n / 2 + 64, *called;
	void *sides, *functions, *order;

	if (n <= b->room)
		return 0;
	sides = realloc(b->sides, room * sizeof(*b->sides));
	b->sides = sides ? sides : b->sides;
	functions = realloc(b->functions, room * sizeof(*b->functions));
	b->functions = functions ? functions : b->functions;
	order = realloc(b->order, room * sizeof(*b->order));
	b->order = order ? order : b->order;
	called = realloc(b->called, room * sizeof(*called));
	b->called = called ? called : b->called;
	if (!sides || !functions || !order || !called)
		return -ENOMEM;
	memset(called + b->room, 0, (room - b->room) * sizeof(*called));
	b->room = room;
	return 0;
}

void fl_budget_threads(const struct fl_budget *b, uint32_t *of)
{
	for (uint32_t i = 0; b && i < b->n_entries; i++) {
		uint32_t thread = load_relaxed(&b->counted[b->entries[i]].thread);
		uint32_t *all = &of[b->s->functions.function_of[b->entries[i]]];

		if (thread && *all != thread)
			*all = *all ? FL_SEVERAL : thread;
	}
}

static bool is_entry(const struct fl_session *s, uint32_t site)
{
	return s->functions.sites[site].wanted && s->functions.sites[site].kind == FL_ENTRY;
}

static void count_entry(struct fl_budget *b, uint32_t site)
{
	b->entries[b->n_entries++] = site;
	/* A page that is read before it is written is exchanged under all threads later. */
	store_relaxed(&b->counted[site].since, 0);
}

/* The site was not wanted when it was found. */
void fl_budget_want(struct fl_budget *b, uint32_t site)
{
	if (b && site < b->n_taken && b->s->functions.sites[site].kind == FL_ENTRY)
		count_entry(b, site);
}

int fl_budget_take_entries(struct fl_budget *b)
{
	const struct fl_session *s = b->s;

	if (s->chosen.n > b->room_entries) {
		uint32_t room = s->chosen.n + s->chosen.n / 2;
		uint32_t *grown = realloc(b->entries, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		b->entries = grown;
		b->room_entries = room;
	}
	for (; b->n_taken < s->chosen.n && b->n_taken < b->max_sites; b->n_taken++)
		if (is_entry(s, b->n_taken))
			count_entry(b, b->n_taken);
	return 0;
}

uint32_t fl_budget_index(struct fl_budget *b, uint32_t function)
{
	if (!b->called[function]) {
		b->sides[b->n] = (struct side){ .function = function };
		b->functions[b->n] = (struct fl_afford_function){ 0 };
		b->called[function] = ++b->n;
	}
	return b->called[function] - 1;
}

struct side *fl_budget_side(const struct fl_budget *b, uint32_t probe)
{
	uint32_t called = b->called[b->s->functions.function_of[probe]];

	return called ? &b->sides[called - 1] : NULL;
}

bool fl_budget_is_seldom(const struct fl_budget *b, uint32_t probe)
{
	const struct side *side = b ? fl_budget_side(b, probe) : NULL;

	return side && b->functions[side - b->sides].seldom;
}

static uint64_t take_out(uint64_t *what)
{
	return load_relaxed(what) ? __atomic_exchange_n(what, 0, __ATOMIC_RELAXED) : 0;
}

static void note_ticks(struct fl_budget *b, uint32_t probe, double calls)
{
	for (uint32_t k = 0; k < FL_HANDS; k++)
		if (b->hands[k].probe == probe + 1)
			b->hands[k].ticks += calls;
}

static void gather_one(struct fl_budget *b, uint32_t i)
{
	uint64_t all = take_out(&b->counted[i].all);
	uint64_t windows = take_out(&b->counted[i].windows);
	uint32_t f;

	if (!(all + windows))
		return;
	f = fl_budget_index(b, b->s->functions.function_of[i]);
	b->sides[f].fresh += windows;
	b->sides[f].calls += (double)all;
	b->sides[f].counted += all;
	b->functions[f].calls += (double)all;
	b->looked_counted += (double)(all + windows);
	b->held += (double)(all + windows);
	b->sides[f].probe = i;
	note_ticks(b, i, (double)all);
}

/* Counts were told by probe, and are asked for by function. Exits are counted, too, but are no
 * calls. Counts of sites that are not taken in yet wait. */
void fl_budget_gather(struct fl_budget *b)
{
	for (uint32_t w = 0; w * 64 < b->n_taken; w++) {
		uint32_t left = b->n_taken - w * 64;
		uint64_t taken = left < 64 ? (1ull << left) - 1 : UINT64_MAX, bits = 0;

		if (load_relaxed(&b->fresh[w]))	/* (F) pairs with (E) */
			bits = __atomic_fetch_and(&b->fresh[w], ~taken, __ATOMIC_ACQUIRE);
		for (bits &= taken; bits; bits &= bits - 1) {
			uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (is_entry(b->s, i))
				gather_one(b, i);
		}
	}
}
