/*
 * build.c - a body: from the list of its items to bytes, and to what is known of them.
 *
 * Hides the steps: make a plan, measure its items (emit.c), reserve ground, write bytes. Beside
 * the bytes it writes the place of each site, the tables of indirect jumps, and the rows for
 * unwinders (pieces.c).
 *
 * INVARIANT  A build that fails leaves the ground as it was: ground is taken when all is right.
 */
#include <string.h>
#include <sys/mman.h>

#include "copy/emit.h"
#include "os/os.h"

/* The next free one of the cells that a thread's slot has for one path each. With the table's
 * lock. */
static uint32_t next_cell;

/* ---- places and tables ------------------------------------------------------------- */

static enum fl_form place_form(const struct fl_item *i)
{
	switch (i->kind) {
	case FL_ITEM_NOP:
		return FL_FORM_BODY_TAIL;
	case FL_ITEM_POINT:
		return FL_FORM_BODY_POINT;
	case FL_ITEM_RET:
		return FL_FORM_BODY_RET;
	case FL_ITEM_SWITCH:
		return FL_FORM_BODY_SWITCH;
	}
	return FL_FORM_NONE;			/* no place */
}

/* The offset of the call of glue from the place on; 0: none. */
static uint16_t call_of(const struct fl_item *i)
{
	switch (i->kind) {
	case FL_ITEM_SWITCH:
		return (uint16_t)(i[2].at - i->at);
	case FL_ITEM_NOP:
		return FL_ARCH_TAIL_CALL;
	case FL_ITEM_POINT:
		return FL_ARCH_POINT_CALL;
	}
	return 0;
}

/* Insert a place. Places ascend by their address in the original, in which order parts may not
 * be. A point stands in front of an exit at the same address. */
static void keep_place(struct fl_build *b, const struct fl_item *i, uint32_t n)
{
	uintptr_t at = fl_plan_step(&b->plan, i)->at;

	for (; n && b->places[n - 1].at > at; n--)
		b->places[n] = b->places[n - 1];
	b->places[n] = (struct fl_copy_place){
		.at = at, .offset = i->at + b->pad, .form = place_form(i),
		.call = call_of(i),
	};
}

static void keep_places(struct fl_build *b)
{
	const struct fl_item *i = b->plan.items;

	for (uint32_t n = 0; n < b->plan.n_places; i++)
		if (i->kind != FL_ITEM_STEP && place_form(i) != FL_FORM_NONE)
			keep_place(b, i, n++);
}

static size_t table_bytes(const struct fl_plan *p, uint32_t part)
{
	const struct fl_shape_part *of = &p->shape->parts[part];
	size_t row = p->has_numbers ? sizeof(uint16_t) : sizeof(int32_t);

	return fl_round_up((of->end - of->start) * row, sizeof(int32_t));
}

static size_t data_bytes(const struct fl_build *b)
{
	const struct fl_shape *s = b->plan.shape;
	size_t n = b->plan.n_places * sizeof *b->places;

	for (uint32_t k = 0; b->plan.n_lookups && k < s->n_parts; k++)
		n += table_bytes(&b->plan, k);
	n = fl_round_up(n, sizeof(uintptr_t));
	if (b->plan.n_tells)
		n += FL_N_PATH_WHATS * sizeof *b->routines +
		     b->plan.n_tells * sizeof *b->tells;
	if (b->plan.n_groups || b->plan.n_tells)	/* aligned */
		n += 2 * FL_ARCH_CS_BYTES + sizeof *b->gate +
		     (b->plan.n_groups + b->plan.n_tells) * (size_t)FL_ARCH_CS_BYTES;
	return n;
}

static void lay_tells(struct fl_build *b)
{
	for (uint32_t k = 0; k < b->plan.n_tells; k++) {
		const struct fl_plan_tell *t = &b->plan.tells[k];

		b->tells[k] = t->of;
		b->tells[k].cell = b->cells;
		b->routines[fl_plan_routine(t)] = fl_path_routine(fl_plan_routine(t));
	}
}

static void lay_data(struct fl_build *b)
{
	unsigned char *at = b->ground.data + b->plan.n_places * sizeof *b->places;

	b->places = (struct fl_copy_place *)b->ground.data;
	for (uint32_t k = 0; b->plan.n_lookups && k < b->plan.shape->n_parts; k++) {
		b->tables[k] = at;
		at += table_bytes(&b->plan, k);
	}
	b->routines = (uintptr_t *)fl_round_up((uintptr_t)at, sizeof *b->routines);
	b->tells = (struct fl_path_tell *)(b->routines + FL_N_PATH_WHATS);
	at = b->plan.n_tells ? (unsigned char *)(b->tells + b->plan.n_tells) : at;
	b->gate = (struct fl_gate *)fl_round_up((uintptr_t)at, FL_ARCH_CS_BYTES);
	b->sequences = (unsigned char *)(b->gate + 1);
}

/* ---- a body ------------------------------------------------------------------------ */

enum { CACHE_LINE = 64 };

/* Bytes to leave unused. Then the body lies in lines of the cache as the original does, whose
 * loops the compiler aligned. And the two displacements of the entry's jump, to `on` and to
 * `off`, have the same high bytes, because both are within one line. Where the jump stands
 * before the entry they may be in two lines; then a line more is left. */
static uint32_t bytes_to_leave(const struct fl_build *b, uintptr_t at)
{
	const struct fl_shape *s = b->plan.shape;
	uintptr_t body = at + FL_ARCH_CALL_BYTES, from = s->entry - s->before;
	uint32_t leave = (uint32_t)(s->entry - body) % CACHE_LINE;

	_Static_assert(FL_ARCH_CALL_BYTES + FL_ARCH_BRANCH_BYTES < CACHE_LINE,
		       "from a line's end so far back is the same line");
	if (s->before && (uint8_t)(body + leave - from - FL_ARCH_BRANCH_BYTES) <
			 FL_ARCH_CALL_BYTES)
		leave += CACHE_LINE;
	return leave;
}

/* 0, or why there is no ground for the body. */
static int take_ground(struct fl_build *b)
{
	size_t n = b->n_code + (b->plan.shape->before ? 2 : 1) * CACHE_LINE;
	int err = fl_copies_reserve(b->copies, n, data_bytes(b), &b->ground);

	if (err)
		return err;
	b->pad = bytes_to_leave(b, b->ground.at);
	b->ground.at += b->pad;
	b->ground.write += b->pad;
	lay_data(b);
	lay_tells(b);
	return 0;
}

/* Tell where a thread goes on that stands in instructions covered by the entry's jump; but only
 * if no thread can come there later. */
static void tell_copies(const struct fl_plan *p, uint8_t copies[FL_ARCH_INNER])
{
	uint32_t n = p->may_go_on ||	/* that has checked all covered steps */
		     fl_plan_switches_avoid(p->shape, 1) ? p->shape->covered : 0;

	for (uint32_t k = 1; k < n; k++) {
		const struct fl_shape_step *step = &p->shape->steps[p->entry + k];
		uint32_t at = fl_plan_offset(p, p->entry + k) - FL_ARCH_CALL_BYTES;

		if (step->at - p->shape->entry < FL_ARCH_INNER && at <= UINT8_MAX)
			copies[step->at - p->shape->entry] = (uint8_t)at;
	}
}

static int write_body(struct fl_build *b, struct fl_copy *copy)
{
	const struct fl_plan *p = &b->plan;
	uintptr_t code = b->ground.at - b->pad;
	int err = fl_emit_write(b);

	if (!err) {
		keep_places(b);
		err = fl_pieces_tell(b);
	}
	if (err) {
		memset(b->ground.data, 0, data_bytes(b));
		return err;
	}
	*copy = (struct fl_copy){
		.function = p->shape->function, .entry = p->shape->entry, .code = code,
		.on = b->ground.at, .off = b->ground.at + FL_ARCH_CALL_BYTES,
		.call = b->pad, .places = b->places,
		.n_places = p->n_places, .n_code = b->n_code + b->pad,
		.tells = b->tells, .n_tells = p->n_tells,
		.first = (uint8_t)p->shape->window,
	};
	tell_copies(p, copy->copies);
	if (p->n_groups)
		fl_gate_open(b->gate);
	if (p->n_cells)			/* then there is one builder (make.c) */
		next_cell += p->n_cells;
	fl_copies_take(b->copies, copy->n_code, data_bytes(b));
	return 0;
}

/* Memory of at least `n` bytes that is kept until the copies end. NULL: there is none. Pages of
 * it are had when they are touched, and plans use few of what they may need: so it is large
 * from the first on, as one that is replaced takes its pages along. */
static void *get_scratch(struct fl_copies *c, size_t n)
{
	enum { LEAST = 1 << 25 };	/* most modules need no more */
	size_t bytes = 2 * n > LEAST ? 2 * n : LEAST;
	void *p;

	if (c->scratch_bytes >= n)
		return c->scratch;
	p = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(p))
		return NULL;
	if (c->scratch)
		fl_os_unmap(c->scratch, c->scratch_bytes);
	c->scratch_bytes = bytes;
	return c->scratch = p;
}

/* Lay out arrays for `most` told accesses, those with the largest alignment first. Returns the
 * end. */
enum { TOLD_BYTES = sizeof(struct fl_tellable) + sizeof(struct fl_group) +
		    2 * sizeof(uint32_t) };

static unsigned char *lay_told(struct fl_plan *p, unsigned char *at, size_t most)
{
	p->told = (struct fl_tellable *)at;
	p->groups = (struct fl_group *)(p->told + most);
	p->told_at = (uint32_t *)(p->groups + most);
	p->tell_of = p->told_at + most;
	return at + fl_round_up(most * TOLD_BYTES, sizeof(uintptr_t));
}

/* Places are numbered from `first` on. */
static bool is_told_in_words(const struct fl_plan *p, const struct fl_group *g, uint32_t first)
{
	uint32_t end = g->first + g->n;

	for (uint32_t k = g->first; k < end; k++)
		if (p->told[k].operand.is_32 || p->told[k].operand.repeats)
			return false;
	return first + end <= FL_WORD_PLACES;
}

static bool are_alike(const struct fl_operand *a, const struct fl_operand *b)
{
	return a->base == b->base && a->index == b->index && a->shift == b->shift &&
	       a->is_fs == b->is_fs;
}

/*
 * Accesses in a row by the same registers share the word of the first one, if the bytes that
 * they touch are seldom in two lines of a cache. Nothing comes between these accesses, so an
 * access in the same line hits the line that the first one has touched: a reader only counts
 * it.
 */
static void join_words(struct fl_plan *p, const struct fl_group *g)
{
	enum { NEAR = 16, MOST = 64 };		/* MOST: where the access adds no bytes */
	struct fl_tellable *first = &p->told[g->first], *end = first + g->n;
	int64_t from = first->operand.target, to = from + first->operand.size;

	for (struct fl_tellable *t = first + 1; t < end; t++) {
		int64_t lo = t->operand.target, hi = lo + t->operand.size;
		bool is_more = lo < from || hi > to;

		lo = lo < from ? lo : from;
		hi = hi > to ? hi : to;
		t->is_with = are_alike(&t->operand, &first->operand) &&
			     t - first < FL_PLACES_IN_WORD &&
			     hi - lo <= (is_more ? NEAR : MOST);
		if (!t->is_with) {
			first = t;
			lo = t->operand.target;
			hi = lo + t->operand.size;
		}
		from = lo;
		to = hi;
		first->below = (uint8_t)(first->operand.target - from);
	}
}

static uint32_t what_of(const struct fl_operand *o)
{
	return o->size | (o->what & FL_OPERAND_STORE ? FLICK_ACCESS_STORE : 0) |
	       (o->what & FL_OPERAND_LOAD ? FLICK_ACCESS_LOAD : 0);
}

static uint64_t access_word(uint32_t place)
{
	return FL_ACCESS_WORD | (uint64_t)place << FL_WORD_ADDRESS_BITS;
}

/* The second half of a record, behind the address. */
static uint64_t belongs_to(const struct fl_operand *o, uint32_t place)
{
	return o->repeats ? fl_typed(FLICK_TYPE_STRING, place) :
	       fl_typed(FLICK_TYPE_ACCESS, place) | (uint64_t)what_of(o) << 32;
}

/* Places are numbered from `first` on. */
static void number_group(struct fl_build *b, const struct fl_group *g, uint32_t first)
{
	const struct fl_plan *p = &b->plan;
	bool in_words = is_told_in_words(p, g, first);
	int64_t from = 0;			/* the address of the word */

	if (in_words)
		join_words(&b->plan, g);
	for (uint32_t k = g->first; k < g->first + g->n; k++) {
		struct fl_tellable *t = &p->told[k];
		uint32_t what = what_of(&t->operand);

		if (!t->is_with)
			from = t->operand.target - t->below;
		what |= (uint32_t)(t->operand.target - from) << FL_PLACE_ABOVE;
		what |= t->is_with ? FL_PLACE_WITH : 0;
		t->word = in_words ? access_word(first + k) :
			  belongs_to(&t->operand, first + k);
		fl_channel_tell_place(first + k, &(struct fl_place_row){
			.at = p->shape->steps[p->told_at[k]].at - b->copies->bias,
			.function = p->shape->function - b->copies->bias,
			.module = b->copies->module, .what = what,
		});
	}
}

/* Number the places of all accesses that are told. */
static int number_places(struct fl_build *b)
{
	const struct fl_plan *p = &b->plan;
	uint32_t first = p->n_told ? fl_channel_claim_places(p->n_told) : 0;

	if (first == FL_MAX_PLACES)
		return -EFBIG;
	for (uint32_t g = 0; g < p->n_groups; g++)
		number_group(b, &p->groups[g], first);
	return 0;
}

/* How many own cells one function may have. The second half of all cells is for small
 * functions, of which there are many. */
static uint32_t cells_for_one(void)
{
	enum { SMALL = 4096 };
	uint32_t left = FL_PATH_OWN_CELLS - next_cell;
	uint32_t most = next_cell < FL_PATH_OWN_CELLS / 2 ? FL_PATHS_OWN : SMALL;

	return left < most ? left : most;
}

/* What a plan takes, at most. */
struct room {
	size_t items, rows, told;	/* how many */
	size_t first, paths;		/* bytes */
};

static bool tells_paths(const struct fl_build *b)
{
	return b->copies->weaves & FL_WEAVE_PATHS;
}

static struct room room_for(const struct fl_build *b)
{
	const struct fl_plan *p = &b->plan;
	const struct fl_shape *s = p->shape;
	bool paths = tells_paths(b);
	struct room r = { .told = p->accesses ? (size_t)s->n_steps * FL_PLAN_TOLD : 0 };

	r.items = fl_plan_items(s) + 2 * r.told;
	r.items += paths ? r.items : 0;			/* rounds stand there twice */
	r.rows = (paths ? 2 * FL_PATH_DEPTHS : 3) * r.items +
		 r.items * FL_ARCH_LOOKUP_DEPTHS / 4 +	/* a look-up has 4 items */
		 s->n_points * FL_ARCH_POINT_DEPTHS + r.told * (FL_TELL_DEPTHS + 3ul);
	r.first = fl_round_up((s->n_steps + 2ul) * sizeof *p->first, sizeof(uintptr_t));
	if (paths)
		r.paths = r.items * sizeof *p->tells +
			  fl_round_up(fl_blocks_memory(s) +
				      (2 * s->n_steps + 1ul) * sizeof(uint32_t) +
				      s->n_steps * sizeof *p->uses,
				      sizeof(uintptr_t));
	return r;
}

/* Lay out memory for a plan. Most of it is for the worst case, so what is used should lie
 * together, in few pages: items come last, and rows for unwinders begin behind the items in
 * use. Returns the part that is for paths. */
static unsigned char *lay_plan(struct fl_plan *p, unsigned char *at, const struct room *r)
{
	unsigned char *paths;

	p->first = (uint32_t *)at;
	at = lay_told(p, at + r->first, r->told);
	p->tells = (struct fl_plan_tell *)at;
	paths = r->paths ? at + r->items * sizeof *p->tells : NULL;
	p->items = (struct fl_item *)(at + r->paths);
	return paths;
}

static int make_plan(struct fl_build *b)
{
	const struct fl_shape *s = b->plan.shape;
	struct fl_plan *p = &b->plan;
	bool paths = tells_paths(b);
	unsigned char *memory;
	struct room r;
	int err;

	p->accesses = b->copies->weaves & FL_WEAVE_ACCESSES && !paths;
	r = room_for(b);
	memory = get_scratch(b->copies, r.first + fl_round_up(r.told * TOLD_BYTES,
							      sizeof(uintptr_t)) +
			     r.paths + r.items * sizeof *p->items + r.rows * sizeof *b->rows);
	if (!memory)
		return -ENOMEM;
	memory = lay_plan(p, memory, &r);
	p->cells = cells_for_one();
	b->path_at = paths ? fl_path_at_thread() : 0;
	err = paths ? fl_plan_paths(p, memory, &b->datum) : fl_plan_entry(p, &b->datum);
	b->cells = p->n_cells ? FL_PATH_CELLS + next_cell : fl_path_cell(s->function);
	b->rows = (struct fl_unwind_row *)(p->items + p->n);
	if (!err)
		err = number_places(b);
	return err ? err : fl_plan_check(p, b->copies->exclusive, &b->datum);
}

static int build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		 uint64_t *datum)
{
	struct fl_build b = { .copies = c, .plan.shape = s, .datum = s->function };
	int err = make_plan(&b);

	if (!err)
		err = fl_emit_measure(&b);
	if (!err) {
		fl_emit_shorten(&b);
		err = take_ground(&b);
	}
	if (!err)
		err = write_body(&b, copy);
	*datum = b.datum;
	return err;
}

static void note_extent(struct fl_copies *c, const struct fl_shape *s)
{
	c->from = s->parts[0].start;
	c->to = s->parts[0].end;
	for (uint32_t k = 1; k < s->n_parts; k++) {
		c->from = c->from < s->parts[k].start ? c->from : s->parts[k].start;
		c->to = c->to > s->parts[k].end ? c->to : s->parts[k].end;
	}
}

/* -ENOSPC: a block may be full of tables for unwinders while it has room for code. Then another
 * block is begun. */
int fl_copy_build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		  uint64_t *datum)
{
	int err;

	note_extent(c, s);
	err = build(c, s, copy, datum);

	if (err != -ENOSPC)
		return err;
	fl_copies_fill(c);
	return build(c, s, copy, datum);
}
