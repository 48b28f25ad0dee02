/*
 * glue.c - one glue a probe, in near memory, and the plan of its patch.
 *
 * Hides where glue lives: per module one block of code and one of data, where a word for each
 * probe says where its glue goes. What a probe does is thus data; the code of a glue never
 * changes once its block is sealed. Where calls are counted, the glue of an entry counts by
 * itself, as its mask says; where all are recorded, each glue puts its record. A profiling call
 * that the reader does not want has no glue and no plan: it is muted (arm.c). Sites that are
 * met one by one take their glue from blocks made for many, whose ids are data, too.
 *
 * Where nothing is free within branch reach of the whole module, each half of it has a block of
 * its own, and so on. Where a small part has none, since all around is taken, its glue stands
 * anywhere, and its sites lead there by veneers (island.c).
 */
#include <sys/mman.h>

#include "again.h"
#include "glue.h"
#include "goal.h"
#include "known.h"
#include "os/os.h"
#include "table.h"

const struct fl_builder *fl_probe_builder;

static struct fl_plan_in plan_in(const struct fl_probe *p, uintptr_t glue)
{
	return (struct fl_plan_in){
		.at = fl_table.sites[fl_probe_id(p)].at, .form = p->form, .room = p->room,
		.before = p->before, .glue = glue, .probe = fl_probe_id(p),
	};
}

/* A call that no glue can serve, for `err`, reaches the profiling function. A site that is no
 * call is refused. */
static void go_without(uint32_t id, int err, uint64_t datum)
{
	struct fl_probe *p = &fl_table.probes[id];

	p->go = NULL;
	if (fl_table.sites[id].refusal)
		return;
	if (p->bare)
		fl_table_refuse(id, err, datum);
	else
		p->reached = FL_REACHED_BY_CALL;
}

/* The place of a body's site. The body is built if need be: then its form is known. */
static int place_in_body(uint32_t id, struct fl_plan_in *in, uint64_t *datum)
{
	const struct fl_shm_site *s = &fl_table.sites[id];
	struct fl_probe *p = &fl_table.probes[id];
	int err;

	if (!fl_probe_is_body(p))
		return 0;
	err = fl_probe_builder->place(s->function, s->at, s->kind, in, datum);
	if (!err)
		p->form = (uint8_t)in->form;
	return err;
}

static void end_plan(uint32_t id, int err, uint64_t datum)
{
	fl_table.sites[id].tactic = fl_table.patches[id].tactic;
	if (err == FLE_NOREACH || err == FLE_STRADDLE)
		go_without(id, err, datum);
	else if (err)
		fl_table_refuse(id, err, datum);
}

static void plan(struct fl_probe *p, uintptr_t glue)
{
	uint32_t id = fl_probe_id(p);
	struct fl_made made = { .in = plan_in(p, glue), .go = p->go, .does = p->does,
				.is_planned = 1 };

	made.err = place_in_body(id, &made.in, &made.datum);
	if (!made.err)
		made.err = fl_arch_plan(&fl_table.patches[id], &made.in, &made.datum);
	fl_again_keep(id, &made);
	end_plan(id, made.err, made.datum);
}

/* The same, by what an earlier recording has made. */
static void plan_again(uint32_t set, uint32_t id)
{
	const struct fl_made *made = fl_again_made(set, id);
	uint64_t datum = made->datum;
	int err = made->err;

	fl_table.probes[id].form = (uint8_t)made->in.form;
	if (!err)
		err = fl_arch_plan(&fl_table.patches[id], &made->in, &datum);
	if (!err && !fl_again_is_as_before(set, id)) {
		datum = made->in.at;
		err = FLE_CHANGED;
	}
	end_plan(id, err, datum);
}

static bool has_counter(const struct fl_probe *p)
{
	return fl_probe_id(p) < fl_table.session->counter_bytes / sizeof(uint64_t);
}

static enum fl_convention convention(const struct fl_probe *p)
{
	if (fl_probe_is_body(p))
		return FL_BODY;
	return p->asks ? FL_ASK : p->bare ? FL_BARE : FL_ABI;
}

/* A routine that counts does not look whether there is a counter. */
uintptr_t fl_glue_routine(const struct fl_probe *p, enum fl_action action)
{
	if (!has_counter(p) && (action == FL_ACT_COUNT || action == FL_ACT_AFTER))
		return fl_probe_routine_uncounted(action, convention(p));
	return fl_probe_routine(action, convention(p));
}

static uintptr_t mask_of(const struct fl_probe *p, enum fl_action action)
{
	enum fl_action own = p->does == FL_GLUE_COUNTS ? FL_ACT_COUNT : FL_ACT_TIME;

	return action == own ? FL_ARCH_MASK_DOES : FL_ARCH_MASK_DOES_NOT;
}

/* In a glue that does it by itself the mask alone says whether it does. A thread that finds one
 * word new and the other old does what the probe did, or what it is to do. */
void fl_glue_direct(const struct fl_probe *p, enum fl_action action)
{
	uintptr_t go = fl_glue_routine(p, action);

	/* ordering: none other, a glue that finds the word finds what is bound (handler.c) */
	if (*p->go != go)
		store_release(p->go, go);
	if (p->does != FL_GLUE_GOES && p->go[1] != mask_of(p, action))
		store_relaxed(&p->go[1], mask_of(p, action));
}

void fl_glue_idle(const struct fl_probe *p)
{
	if (*p->go != fl_probe_routine_idle())
		store_relaxed(p->go, fl_probe_routine_idle());
}

/* ---- a module's ------------------------------------------------------------------ */

/* Glues that do it by themselves come first. Code: what is executed of them, the rest of them,
 * the other glues. Data: where glues that count go when blocks are full, by convention; a word
 * and a mask for each of these; a word for each of the others. */
struct block {
	uintptr_t from, to;			/* sites that are there have it ... */
	uintptr_t lo, hi;			/* ... and are of that module, or part of it */
	struct fl_near near;
	struct fl_islands *islands;		/* sites' branches lead there first; or NULL */
	size_t n_doing, n_plain;
	size_t doing, plain;			/* that were made */
};

/* In a session all glues that do something by themselves do the same. */
static bool does_record(void)
{
	return fl_table.session->action == FL_ACT_TIME;
}

static size_t hot_bytes(size_t n_doing)
{
	return n_doing * (does_record() ? FL_ARCH_RECORDING_BYTES : FL_ARCH_COUNTING_BYTES);
}

static size_t rest_bytes(size_t n_doing)
{
	return n_doing * (does_record() ? FL_ARCH_RECORDING_REST_BYTES :
					  FL_ARCH_COUNTING_REST_BYTES);
}

static size_t code_bytes(size_t n_doing, size_t n_plain)
{
	return hot_bytes(n_doing) + rest_bytes(n_doing) + n_plain * FL_ARCH_GLUE_BYTES;
}

static size_t data_words(size_t n_doing, size_t n_plain)
{
	return FL_N_CONVENTIONS + n_doing * 2 + n_plain;
}

/* Where the glue goes on, and what it keeps. */
static uintptr_t back_of(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	return fl_probe_is_body(p) ? FL_GLUE_KEEPS :
				     fl_arch_back(p->form, fl_table.sites[id].at);
}

/* Where a veneer does that, the glue does not. */
static uintptr_t back_of_glue(const struct block *b, uint32_t id)
{
	return b->islands && FL_ARCH_VENEER_KEEPS ? 0 : back_of(id);
}

static uintptr_t make_plain(struct block *b, uint32_t id)
{
	size_t offset = code_bytes(b->n_doing, b->plain);
	uintptr_t at = (uintptr_t)b->near.code + offset;
	struct fl_probe *p = &fl_table.probes[id];

	p->go = (uintptr_t *)b->near.data + data_words(b->n_doing, b->plain++);
	fl_arch_glue(b->near.write + offset, at, id, (uintptr_t)p->go, back_of_glue(b, id));
	return at;
}

static uintptr_t make_doing(struct block *b, uint32_t id)
{
	size_t hot = hot_bytes(b->doing);
	size_t rest = hot_bytes(b->n_doing) + rest_bytes(b->doing);
	uintptr_t *data = (uintptr_t *)b->near.data, back = back_of_glue(b, id);
	struct fl_probe *p = &fl_table.probes[id];

	p->go = data + data_words(b->doing++, 0);
	p->go[1] = FL_ARCH_MASK_DOES_NOT;
	fl_arch_glue_doing(&(struct fl_doing_glue){
		.does = p->does,
		.out = b->near.write + hot, .at = (uintptr_t)b->near.code + hot,
		.rest = b->near.write + rest, .rest_at = (uintptr_t)b->near.code + rest,
		.id = id, .counter = FL_SLOT_HEADER_BYTES + id * (uint32_t)sizeof(uint64_t),
		.go = (uintptr_t)p->go, .mask = (uintptr_t)&p->go[1],
		.full = (uintptr_t)&data[convention(p)], .keeps = back == FL_GLUE_KEEPS,
		.back = back == FL_GLUE_KEEPS ? 0 : back,
	});
	return (uintptr_t)b->near.code + hot;
}

/* In a program's own region handlers are called: a glue that does it by itself would be in the
 * way. */
static inline enum fl_glue_does to_do(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];
	enum fl_glue_does does = FL_GLUE_GOES;

	if (does_record())
		does = fl_table.session->precise ? FL_GLUE_RECORDS_PRECISELY : FL_GLUE_RECORDS;
	else if (fl_kind_counts(fl_table.sites[id].kind) && has_counter(p))
		does = FL_GLUE_COUNTS;
	return !p->asks && !fl_table.session->own && fl_arch_glue_can(does) ? does :
									      FL_GLUE_GOES;
}

/* A veneer to the glue, for the site; 0: there is none. */
static uintptr_t lead_to(struct block *b, uint32_t id, uintptr_t glue)
{
	struct fl_veneer v = { .glue = glue, .back = back_of(id),
			       .form = fl_table.probes[id].form };
	size_t more = b->n_doing - b->doing + b->n_plain - b->plain;

	return fl_islands_veneer(b->islands, fl_table.sites[id].at, &v, more);
}

static void make_one(struct block *b, uint32_t id)
{
	enum fl_glue_does does = b->n_doing ? to_do(id) : FL_GLUE_GOES;
	uintptr_t code;

	fl_table.probes[id].does = (uint8_t)does;
	code = does ? make_doing(b, id) : make_plain(b, id);

	if (b->islands && !fl_table.sites[id].refusal)
		code = lead_to(b, id, code);
	if (!code) {
		go_without(id, FLE_NOREACH, fl_table.sites[id].at);
		return;
	}
	fl_function_of[id] = fl_table.probes[id].function;
	fl_goal_direct(id, fl_goal_action(id));
	if (!fl_table.sites[id].refusal)
		plan(&fl_table.probes[id], code);
	else
		fl_again_keep(id, &(struct fl_made){ .in = plan_in(&fl_table.probes[id], code),
						     .go = fl_table.probes[id].go,
						     .does = fl_table.probes[id].does });
}

static void make_again(uint32_t set, uint32_t id)
{
	const struct fl_made *made = fl_again_made(set, id);
	struct fl_probe *p = &fl_table.probes[id];

	p->go = made->go;
	p->does = made->does;
	fl_function_of[id] = p->function;
	fl_goal_direct(id, fl_goal_action(id));
	if (made->is_planned)
		plan_again(set, id);
}

static bool keeps_registers(uint32_t id)
{
	return id < fl_table.n && fl_probe_is_body(&fl_table.probes[id]);
}

int fl_glue_seal(struct fl_near *near, int err)
{
	uintptr_t lo = (uintptr_t)near->code, hi = lo + near->code_bytes;

	if (!err)
		err = fl_near_seal(near);
	if (err) {
		fl_near_free(near);
		return err;
	}
	fl_channel_tell_glue((struct fl_glue_range){ .lo = lo, .hi = hi });
	if (fl_probe_builder)
		fl_probe_builder->glue(lo, hi, keeps_registers);
	return 0;
}

/* Calls that nobody wants are as many as all others, and are never on: they wait for what the
 * reader says. Sites that are no calls do not wait, because the reader has to know their
 * refusals. A body is built when it is wanted. */
static inline bool is_due(uint32_t id, enum fl_decided decided)
{
	const struct fl_probe *p = &fl_table.probes[id];

	if (p->reached != FL_REACHED_UNKNOWN)
		return false;
	if (fl_probe_is_body(p))
		return decided == FL_DECIDED && p->state == FL_PROBE_FOUND &&
		       (fl_table_wants_too(id) || p->carries);
	return decided == FL_DECIDED || p->bare || fl_table_wants_all();
}

/* May it be on? A refused call has glue all the same; a refused site that is no call has
 * none. */
static inline bool needs_glue(uint32_t id)
{
	const struct fl_probe *p = &fl_table.probes[id];

	if (p->bare && fl_table.sites[id].refusal)
		return false;
	return p->bare || p->asks || !fl_arch_mutes(p->form) || fl_table_wants_all() ||
	       fl_table_wants_too(id);
}

/* Where there is no memory for glues that do it by themselves, all are plain ones. */
static int alloc_block(struct block *b)
{
	uintptr_t lo = b->islands ? 0 : b->lo, hi = b->islands ? 0 : b->hi;
	int err = fl_near_alloc(&b->near, FL_NEAR_TO(lo, hi),
				code_bytes(b->n_doing, b->n_plain),
				data_words(b->n_doing, b->n_plain) * sizeof(uintptr_t));

	if (!err) {			/* all of it is used: a fault for each takes longer */
		fl_os_advise(b->near.write, b->near.code_bytes, MADV_POPULATE_WRITE);
		fl_os_advise(b->near.data, b->near.data_bytes, MADV_POPULATE_WRITE);
	}
	if (!err || !b->n_doing)
		return err;
	b->n_plain += b->n_doing;
	b->n_doing = 0;
	return alloc_block(b);
}

/* Probes that are asked for, of one module. */
struct asked {
	const struct fl_known *k;
	uint32_t first, end;
	enum fl_decided decided;
	bool has_bodies, has_begun;
};

static bool asks_for(const struct asked *a, uint32_t id)
{
	return is_due(id, a->decided) && needs_glue(id);
}

static bool asks_for_body(const struct asked *a, uint32_t id)
{
	return fl_probe_is_body(&fl_table.probes[id]) && asks_for(a, id);
}

static bool is_of_block(const struct block *b, const struct asked *a, uint32_t id)
{
	uintptr_t at = fl_table.sites[id].at;

	return at >= b->from && at < b->to && asks_for(a, id);
}

/* Points that nobody wants by now are named, too: a body is built once. */
static void begin_bodies(struct asked *a)
{
	const struct fl_known *k = a->k;

	a->has_begun = true;
	if (fl_again_is_any(k->lo, k->hi) && !fl_probe_builder->again(k->lo))
		fl_again_forget(k->lo, k->hi);
	fl_again_begin(k, a->first, a->end);
	fl_probe_builder->begin(k->lo, k->hi, k->module);
	for (uint32_t id = k->first; fl_table.has_points && id < k->end; id++)
		if (fl_table.probes[id].form == FL_FORM_BODY_POINT)
			fl_probe_builder->point(fl_table.sites[id].at);
	for (uint32_t id = a->first; id < a->end; id++)
		if (asks_for_body(a, id))
			fl_probe_builder->want(fl_table.sites[id].function);
}

/* Say where bodies stand whose sites' glue is in the block: with islands it may be anywhere. */
static void lead_bodies(const struct block *b)
{
	uintptr_t lo = (uintptr_t)b->near.code;

	if (b->islands)
		fl_probe_builder->lead(0, 0);
	else
		fl_probe_builder->lead(lo, lo + b->near.code_bytes);
}

/* Most of these are planned, and armed then. */
static void expect_plans(uint32_t first, uint32_t end)
{
	struct fl_table *t = &fl_table;

	fl_os_expect(&t->patches[first], (end - first) * sizeof *t->patches);
	fl_os_expect(&t->switches[first], (end - first) * sizeof *t->switches);
}

/* Put glue into the block, which is sealed before anything leads there. */
static int fill_glue(struct block *b, struct asked *a)
{
	int err, other = 0;

	if (a->has_bodies && !a->has_begun)
		begin_bodies(a);
	if (a->has_bodies)
		lead_bodies(b);
	if (2 * (b->n_doing + b->n_plain) > a->end - a->first)
		expect_plans(a->first, a->end);
	for (int how = 0; how < FL_N_CONVENTIONS; how++)
		((uintptr_t *)b->near.data)[how] = fl_probe_routine_full(how);
	for (uint32_t id = a->first; id < a->end; id++)
		if (is_of_block(b, a, id))
			make_one(b, id);
	err = fl_glue_seal(&b->near, 0);
	if (b->islands)
		other = fl_islands_end(b->islands);
	return err ? err : other;
}

static int make_block_of(struct block, struct asked *);

/* A half that can have no glue goes without, as if there were no other half. */
static int make_halves(const struct block *b, struct asked *a)
{
	uintptr_t mid = b->lo + (b->hi - b->lo) / 2;
	const struct block halves[] = {
		{ .from = b->from, .to = mid, .lo = b->lo, .hi = mid },
		{ .from = mid, .to = b->to, .lo = mid, .hi = b->hi },
	};

	for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
		int err = make_block_of(halves[i], a);

		for (uint32_t id = a->first; err && id < a->end; id++)
			if (is_of_block(&halves[i], a, id))
				go_without(id, err, halves[i].lo);
	}
	return 0;
}

/* The block is empty yet. */
static int make_block_of(struct block b, struct asked *a)
{
	enum { HALVES = FL_ARCH_REACH / 8 };
	struct fl_islands islands = { .next = 0 };
	int err;

	for (uint32_t id = a->first; id < a->end; id++) {
		bool due = is_of_block(&b, a, id), does = due && to_do(id) != FL_GLUE_GOES;

		b.n_doing += does;
		b.n_plain += due && !does;
	}
	if (!b.n_doing && !b.n_plain)
		return 0;
	err = alloc_block(&b);
	if (err == FLE_NOREACH && b.hi - b.lo > HALVES)
		return make_halves(&b, a);
	if (err == FLE_NOREACH) {
		b.islands = &islands;
		err = alloc_block(&b);
	}
	return err ? err : fill_glue(&b, a);
}

static bool all_stand_in(uint32_t set, uint32_t first, uint32_t end, enum fl_decided decided)
{
	for (uint32_t id = first; id < end; id++)
		if (is_due(id, decided) && needs_glue(id) &&
		    !fl_again_has(set, id, to_do(id)))
			return false;
	return true;
}

/* Use a set of an earlier recording's that has all that is wanted now. */
static bool use_again(const struct fl_known *k, uint32_t first, uint32_t end,
		      enum fl_decided decided)
{
	uint32_t set = fl_again_before(0, k);

	while (set && !all_stand_in(set, first, end, decided))
		set = fl_again_before(set, k);
	if (!set || !fl_probe_builder->again(k->lo))
		return false;
	for (uint32_t id = first; id < end; id++)
		if (is_due(id, decided) && needs_glue(id))
			make_again(set, id);
	fl_again_tell(set);
	return true;
}

static int make_all(struct asked *a)
{
	const struct fl_known *k = a->k;
	int err, built = 0;

	for (uint32_t id = a->first; id < a->end; id++)
		a->has_bodies |= asks_for_body(a, id);
	if (a->has_bodies && !fl_table.has_points &&
	    use_again(k, a->first, a->end, a->decided))
		return 0;
	err = make_block_of((struct block){ .to = UINTPTR_MAX, .lo = k->lo, .hi = k->hi }, a);
	if (a->has_begun) {
		built = fl_probe_builder->end();
		fl_again_end(err ? err : built);
	}
	return err ? err : built;
}

/* Calls come first in a scan: the last site tells whether any is due. */
void fl_glue_make(const struct fl_known *k, uint32_t first, uint32_t end,
		  enum fl_decided decided)
{
	int err;

	if (first == end || (decided == FL_UNDECIDED && !is_due(end - 1, FL_UNDECIDED)))
		return;
	err = make_all(&(struct asked){ .k = k, .first = first, .end = end,
					.decided = decided });
	for (uint32_t id = first; id < end; id++) {
		if (!is_due(id, decided))
			continue;
		fl_table.probes[id].reached = needs_glue(id) ? FL_REACHED_BY_GLUE :
							       FL_REACHED_NEVER;
		if (err && needs_glue(id))
			go_without(id, err, k->lo);
	}
}

/* ---- one by one ------------------------------------------------------------------ */

/* Data of a glue that was made before its probe. */
struct late {
	uintptr_t go;
	uint32_t id;
};

enum { FIRST_BLOCK = FL_PAGE / FL_ARCH_GLUE_BYTES, LAST_BLOCK = 64 * FIRST_BLOCK };

/* Each block is twice the one before, because to find room means to look at all mappings. Where
 * none is within reach of the module, the block is near the site at `at`. Nothing jumps there
 * yet. */
static int make_block(struct fl_known *k, uintptr_t at)
{
	struct fl_near *near = &k->near;
	uint32_t n = k->n_block ? 2 * k->n_block : FIRST_BLOCK;
	int err;

	n = n < LAST_BLOCK ? n : LAST_BLOCK;
	err = fl_near_alloc(near, FL_NEAR_TO(k->lo, k->hi), n * FL_ARCH_GLUE_BYTES,
			    n * sizeof(struct late));
	if (err == FLE_NOREACH) {
		n = FIRST_BLOCK;
		err = fl_near_alloc(near, FL_NEAR_TO(at, at + FL_ARCH_SITE_MAX),
				    n * FL_ARCH_GLUE_BYTES, n * sizeof(struct late));
	}
	for (size_t i = 0; i < n && !err; i++) {
		const struct late *l = (const struct late *)near->data + i;
		size_t offset = i * FL_ARCH_GLUE_BYTES;

		fl_arch_glue_late(near->write + offset, (uintptr_t)near->code + offset,
				  (uintptr_t)&l->id, (uintptr_t)&l->go);
	}
	err = fl_glue_seal(near, err);
	k->n_block = err ? k->n_block : n;
	k->n_spare = err ? 0 : n;
	k->n_without = err ? FIRST_BLOCK : 0;
	return err;
}

/* Is there a glue to be had? Where there was no memory nobody looks again for a while. */
static int have_glue(struct fl_known *k, uintptr_t at)
{
	uintptr_t code = (uintptr_t)k->near.code;

	if (k->n_spare && code - at + FL_ARCH_REACH < 2 * FL_ARCH_REACH - k->near.code_bytes)
		return 0;
	if (k->n_without) {
		k->n_without--;
		return FLE_NOREACH;
	}
	return make_block(k, at);
}

int fl_glue_late(struct fl_known *k, uint32_t id)
{
	struct fl_probe *p = &fl_table.probes[id];
	int err = k->may_go ? FLE_GONE : have_glue(k, fl_table.sites[id].at);
	struct late *l;
	size_t i;

	p->reached = FL_REACHED_BY_GLUE;
	if (err) {
		go_without(id, err, k->lo);
		return err;
	}
	i = k->n_block - k->n_spare--;
	l = (struct late *)k->near.data + i;
	fl_function_of[id] = p->function;
	l->id = id;
	p->go = &l->go;
	fl_goal_direct(id, fl_goal_action(id));
	if (!fl_table.sites[id].refusal)
		plan(p, (uintptr_t)k->near.code + i * FL_ARCH_GLUE_BYTES);
	return 0;
}
