/*
 * body.c - the ranges of one function as a graph of blocks.
 *
 * Hides how control goes on: by falling through, by branches, by switches (all
 * of them meet in one block without steps, the last), to the landing pads of
 * calls. A block that nothing leads to is a root: come to with anything.
 *
 * INVARIANT  A path that the function can take is a path of the graph, between
 *	two roots.
 * WHY	Blocks begin where code.c set a bit, that is, wherever a branch, a table, an
 *	exception or an address that is known may lead; these are edges or roots. A
 *	range's start that another range branches to is a part of the same function
 *	(cyg.c joins the two), or a function: whose calls depend on nothing its
 *	caller had. A body with a switch where some steps have no way in is strange:
 *	the switch may lead there, and elsewhere. So is one with a bit inside of an
 *	instruction, or code that is not understood. Nothing is said of these.
 */
#include "cyg.h"

/* ---- blocks -------------------------------------------------------------- */

/* Labels of a part in word `w` of the map. */
static uint64_t labels_of(const struct fl_code *c, const struct fl_part *p, uint32_t w)
{
	uint32_t start = fl_part_start(c, p);
	uint64_t bits = c->labels[w];

	if (w == start / 64)
		bits &= ~0ull << start % 64;
	if (w == p->end / 64)
		bits &= (1ull << p->end % 64) - 1;
	return bits;
}

static uint32_t count_bits(uint64_t w)
{
	w -= w >> 1 & 0x5555555555555555;
	w = (w & 0x3333333333333333) + (w >> 2 & 0x3333333333333333);
	w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return (uint32_t)(w * 0x0101010101010101 >> 56);
}

/* The part of the body that holds an offset; NULL: none of them. */
static const struct fl_part *part_at(const struct fl_body *b, uint32_t at)
{
	const struct fl_part *p = &b->c->parts[b->first];
	size_t i;

	if (p->next != FL_NOWHERE) {
		i = fl_code_range(b->c, at);
		p = i < b->c->ranges.n ? &b->c->parts[i] : NULL;
	}
	return p && p->owner == b->c->parts[b->first].owner &&
	       at - fl_part_start(b->c, p) < p->end - fl_part_start(b->c, p) ? p : NULL;
}

/* As many blocks come before it as there are labels. */
uint32_t fl_body_block(const struct fl_body *b, uint32_t at)
{
	const struct fl_part *p = part_at(b, at);
	uint32_t w = at / 64;

	return b->ranks[p->rank + w - fl_part_start(b->c, p) / 64] +
	       count_bits(labels_of(b->c, p, w) << (63 - at % 64)) - 1;
}

uint32_t fl_body_at(const struct fl_body *b, uint32_t at)
{
	return at != FL_NOWHERE && part_at(b, at) ? fl_body_block(b, at) : FL_NOWHERE;
}

/* Registers that the step changes, and all that were changed since the one before. */
static uint32_t changes(const struct fl_step *s)
{
	if (s->op <= FL_STEP_LAST_LOAD)
		return s->kills | 1u << (s->reg & FL_STEP_REG) % 32;
	return s->kills;
}

/* Steps before `at` are the last block's. */
static uint32_t fill_block(struct fl_body *b, uint32_t s, uint32_t last, uint32_t at)
{
	struct fl_block *k = &b->blocks[b->n_blocks - 1];

	for (; s < last && b->c->steps[s].at < at; s++)
		k->kills |= changes(&b->c->steps[s]);
	k->end = s;
	return s;
}

static void cut_part(struct fl_body *b, struct fl_part *p)
{
	const struct fl_code *c = b->c;
	uint32_t start = fl_part_start(c, p), s = p->first, last = p->first + p->n;

	b->is_strange |= fl_code_is_torn(c, p);
	p->rank = b->n_ranks;
	for (uint32_t w = start / 64; w <= p->end / 64; w++) {
		b->ranks[b->n_ranks++] = b->n_blocks;
		for (uint64_t bits = labels_of(c, p, w); bits; bits &= bits - 1) {
			uint32_t at = w * 64 + (uint32_t)__builtin_ctzll(bits);

			if (at > start)
				s = fill_block(b, s, last, at);
			b->blocks[b->n_blocks++] = (struct fl_block){
				.at = at, .first = s, .taken = FL_NOWHERE,
				.preds = FL_NOWHERE, .part = p - c->parts,
			};
		}
	}
	fill_block(b, s, last, p->end);
}

static size_t count_blocks(const struct fl_body *b, size_t *n_targets, size_t *n_words)
{
	const struct fl_code *c = b->c;
	size_t n = 1;

	for (const struct fl_part *p = &c->parts[b->first]; p; p = fl_part_next(b->c, p)) {
		for (uint32_t w = fl_part_start(c, p) / 64; w <= p->end / 64; w++, ++*n_words)
			n += count_bits(labels_of(c, p, w));
		for (uint32_t t = p->targets; t != FL_NOWHERE; t = c->targets[t].next)
			++*n_targets;
	}
	return n;
}

/* ---- edges --------------------------------------------------------------- */

static bool is_start(const struct fl_body *b, const struct fl_block *k)
{
	return k->at == fl_part_start(b->c, &b->c->parts[k->part]);
}

/* Block `i` goes on to `to`. A range's start that another one branches to is a part
 * of the same function. */
static void lead(struct fl_body *b, uint32_t i, uint32_t to)
{
	struct fl_block *k = &b->blocks[to];

	if (to + 1 < b->n_blocks && is_start(b, k) && k->part != b->blocks[i].part)
		k->flags |= FL_BLOCK_PART;
}

/* How block `i` ends. */
static void end_block(struct fl_body *b, uint32_t i)
{
	struct fl_block *k = &b->blocks[i];
	const struct fl_step *s = &b->c->steps[k->end - 1];
	uint8_t op = k->end > k->first ? s->op : FL_STEP_LOST;

	if (op < FL_STEP_JUMP && i + 2 < b->n_blocks &&
	    (k[1].part == k->part || k[1].at == b->c->parts[k->part].end))
		k->flags |= FL_BLOCK_FALLS;
	if (op == FL_STEP_SWITCH)
		k->taken = b->n_blocks - 1;
	else if (op == FL_STEP_CALL || op == FL_STEP_BRANCH || op == FL_STEP_JUMP)
		k->taken = fl_body_at(b, s->v);
	if (k->flags & FL_BLOCK_FALLS)
		lead(b, i, i + 1);
	if (k->taken != FL_NOWHERE)
		lead(b, i, k->taken);
	if (k->taken != FL_NOWHERE && op == FL_STEP_CALL)
		b->blocks[k->taken].flags |= FL_BLOCK_PAD;
}

void fl_body_targets(struct fl_body *b, void (*each)(struct fl_body *, uint32_t block))
{
	for (const struct fl_part *p = &b->c->parts[b->first]; p; p = fl_part_next(b->c, p))
		for (uint32_t t = p->targets; t != FL_NOWHERE; t = b->c->targets[t].next) {
			uint32_t to = fl_body_at(b, b->c->targets[t].at);

			if (to != FL_NOWHERE)
				each(b, to);
		}
}

static void lead_from_switch(struct fl_body *b, uint32_t to)
{
	lead(b, b->n_blocks - 1, to);
}

static void make_root(struct fl_body *b, uint32_t block)
{
	b->blocks[block].flags |= FL_BLOCK_ROOT;
}

/* ---- life ---------------------------------------------------------------- */

static void reach(struct fl_body *b, uint32_t block)
{
	if (b->blocks[block].flags & FL_BLOCK_LIVE)
		return;
	b->blocks[block].flags |= FL_BLOCK_LIVE;
	b->queue[b->n_queue++] = block;
}

/* Reach everything that this block leads to. */
static void reach_from(struct fl_body *b, uint32_t block)
{
	reach(b, block);
	while (b->n_queue) {
		uint32_t i = b->queue[--b->n_queue];
		const struct fl_block *k = &b->blocks[i];

		if (k->taken != FL_NOWHERE)
			reach(b, k->taken);
		if (k->flags & FL_BLOCK_FALLS)
			reach(b, i + 1);
		if (i == b->n_blocks - 1)
			fl_body_targets(b, reach);
	}
}

/* Where the body may be come to from outside. */
static void find_roots(struct fl_body *b)
{
	for (uint32_t i = 0; i + 1 < b->n_blocks; i++) {
		struct fl_block *k = &b->blocks[i];
		bool is_known = fl_bit(b->c->entries, k->at);

		if (is_known || (is_start(b, k) && !(k->flags & FL_BLOCK_PART)))
			k->flags |= FL_BLOCK_ROOT;
		if (is_known && is_start(b, k))
			k->flags |= FL_BLOCK_FUNCTION;
		if (k->flags & FL_BLOCK_ROOT)
			reach_from(b, i);
	}
}

/* Steps that no root leads to are come to all the same; padding is not. */
static void find_strangers(struct fl_body *b, bool has_switch)
{
	for (uint32_t i = 0; i + 1 < b->n_blocks; i++) {
		struct fl_block *k = &b->blocks[i];

		if ((k->flags & FL_BLOCK_LIVE) || k->end == k->first)
			continue;
		k->flags |= FL_BLOCK_ROOT;
		b->is_strange |= has_switch;
		reach_from(b, i);
	}
}

static void add_edge(struct fl_body *b, uint32_t from, uint32_t to)
{
	b->edges[b->n_edges] = (struct fl_edge){ from, b->blocks[to].preds };
	b->blocks[to].preds = b->n_edges++;
}

static void add_edge_from_switch(struct fl_body *b, uint32_t to)
{
	add_edge(b, b->n_blocks - 1, to);
}

static void add_edges(struct fl_body *b)
{
	for (uint32_t i = 0; i + 1 < b->n_blocks; i++) {
		const struct fl_block *k = &b->blocks[i];

		if (!(k->flags & FL_BLOCK_LIVE))
			continue;
		if (k->taken != FL_NOWHERE)
			add_edge(b, i, k->taken);
		if (k->flags & FL_BLOCK_FALLS)
			add_edge(b, i, i + 1);
	}
}

static void link_blocks(struct fl_body *b)
{
	bool has_switch = false;

	for (uint32_t i = 0; i + 1 < b->n_blocks; i++) {
		end_block(b, i);
		has_switch |= b->blocks[i].taken == b->n_blocks - 1;
	}
	fl_body_targets(b, has_switch ? lead_from_switch : make_root);
	find_roots(b);
	find_strangers(b, has_switch);
	add_edges(b);
	if (has_switch)
		fl_body_targets(b, add_edge_from_switch);
}

/* ---- set-up -------------------------------------------------------------- */

static void unmap(struct fl_body *b)
{
	fl_scratch_close(b->blocks, b->room_blocks * sizeof *b->blocks);
	fl_scratch_close(b->edges, b->room_edges * sizeof *b->edges);
	fl_scratch_close(b->queue, b->room_blocks * sizeof *b->queue);
	fl_scratch_close(b->ranks, b->room_ranks * sizeof *b->ranks);
	b->blocks = NULL;
	b->edges = NULL;
	b->queue = b->ranks = NULL;
}

/* Room for so many; what is there is forgotten. */
static bool make_room(struct fl_body *b, size_t n_blocks, size_t n_edges, size_t n_words)
{
	if (n_blocks <= b->room_blocks && n_edges <= b->room_edges &&
	    n_words <= b->room_ranks)
		return true;
	unmap(b);
	b->room_blocks = n_blocks * 2 + 4096;
	b->room_edges = n_edges * 2 + 8192;
	b->room_ranks = n_words * 2 + 4096;
	b->blocks = fl_scratch_open(b->room_blocks * sizeof *b->blocks);
	b->edges = fl_scratch_open(b->room_edges * sizeof *b->edges);
	b->queue = fl_scratch_open(b->room_blocks * sizeof *b->queue);
	b->ranks = fl_scratch_open(b->room_ranks * sizeof *b->ranks);
	return b->blocks && b->edges && b->queue && b->ranks;
}

int fl_body_make(struct fl_body *b, uint32_t first)
{
	struct fl_code *c = b->c;
	size_t n_targets = 0, n_words = 0, n;

	b->first = first;
	n = count_blocks(b, &n_targets, &n_words);
	if (!make_room(b, n, 2 * n + n_targets, n_words))
		return -ENOMEM;
	b->n_blocks = b->n_edges = b->n_queue = b->n_ranks = 0;
	b->is_strange = false;
	b->has_frame = false;
	b->aligned_at = FL_NOWHERE;
	b->hook_sp = FL_FRAME_UNKNOWN;
	for (struct fl_part *p = &c->parts[first]; p; p = fl_part_next(b->c, p))
		cut_part(b, p);
	b->blocks[b->n_blocks++] = (struct fl_block){	/* the switch */
		.at = FL_NOWHERE, .part = FL_NOWHERE, .taken = FL_NOWHERE, .preds = FL_NOWHERE,
	};
	link_blocks(b);
	return 0;
}

void fl_body_close(struct fl_body *b)
{
	unmap(b);
	fl_flow_close(b);
}
