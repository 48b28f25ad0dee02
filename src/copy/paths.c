/*
 * paths.c - which number a path has, and what to add where so that the sum is it.
 *
 * Ball and Larus, "Efficient path profiling" (1996). An edge that leads back to a block which
 * is still open in a depth-first search is cut: one path ends there, the next begins at the
 * edge's target. Without cut edges the graph has no cycle. So the ways from a block to a
 * path's end can be counted, later blocks first. An edge's value is the number of ways by the
 * edges before it; a start's value is the number of paths from the starts before it. Where
 * that would be more paths than fit, edges are cut where ways become many, and all is counted
 * again.
 *
 * Paths that each have a cell of a thread are told in half the time. So a function of more
 * paths is cut down to FL_PATHS_OWN, if few edges must be cut for that. A function whose paths
 * begin anywhere (an interpreter) is not: there cuts take more time than is won.
 *
 * The sum of the values would do. But most values are moved to edges that are gone seldom:
 *
 *	add(u -> v) = value(u -> v) + height(u) - height(v)
 *
 * has the same sum over each path, whatever the heights are, if the outside, where paths begin
 * and end, has height 0. A tree of edges that spans all blocks and the outside sets the heights
 * so that the tree's own edges add nothing. Edges in loops are taken into the tree first. An
 * addition at a path's start or end costs nothing, so those edges come last.
 *
 * All is done modulo 2^32: a sum may be below 0 on its way.
 *
 * INVARIANT  Each path has one number below n, each number one path.
 * WHY	The value of an edge is the sum of the ways by its block's edges before it. So a way's
 *	number, which is below `count`, says which edge the way took; the rest of the number,
 *	which is below that edge's ways, says how the way went on. The same holds for starts.
 */
#include <errno.h>
#include <string.h>

#include "copy/paths.h"

enum { NEW, OPEN, DONE, DEEPEST = 8, DISTANT = 4 };

size_t fl_paths_memory(uint32_t n_blocks)
{
	enum { BY_BLOCK = 10 };

	return (n_blocks + 1ul) * BY_BLOCK * sizeof(uint32_t);
}

static void lay_memory(struct fl_paths *p, uint32_t *at)
{
	uint32_t **const arrays[] = {
		&p->first, &p->begins, &p->count, &p->order, &p->stack,
		&p->next, &p->state, &p->depth, &p->parent, &p->offset,
	};

	memset(at, 0, fl_paths_memory(p->n_blocks));
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		*arrays[i] = at;
		at += p->n_blocks + 1;
	}
}

static void find_first_edges(struct fl_paths *p)
{
	uint32_t e = 0;

	for (uint32_t b = 0; b <= p->n_blocks; b++) {
		while (e < p->n_edges && p->edges[e].from < b)
			e++;
		p->first[b] = e;
	}
	for (e = 0; e < p->n_edges; e++)
		p->edges[e].cut = FL_PATH_GOES_ON;
}

/* ---- cuts, and an order ------------------------------------------------------------ */

/* Search from block `root` on, if it is new. Returns how many blocks have an order now. */
static uint32_t search(struct fl_paths *p, uint32_t root, uint32_t n)
{
	uint32_t depth = 0;

	if (p->state[root] == NEW)
		p->stack[depth++] = root;
	while (depth) {
		uint32_t b = p->stack[depth - 1];
		struct fl_path_edge *e;

		if (p->state[b] == NEW) {
			p->state[b] = OPEN;
			p->next[b] = p->first[b];
		}
		if (p->next[b] == p->first[b + 1]) {
			p->state[b] = DONE;
			p->order[n++] = b;
			depth--;
			continue;
		}
		e = &p->edges[p->next[b]++];
		if (e->to == FL_PATH_NONE)
			continue;
		if (p->state[e->to] == OPEN)
			e->cut = FL_PATH_CUT_BACK;
		else if (p->state[e->to] == NEW)
			p->stack[depth++] = e->to;
	}
	return n;
}

/* A path that begins behind a cut has a start of its own, one for each target. */
static void begin_at(struct fl_paths *p, uint32_t block)
{
	if (p->begins[block] != FL_PATH_NONE)
		return;
	p->begins[block] = p->n_starts;
	p->starts[p->n_starts++].block = block;
}

/* Search from all starts. No thread should come to a block that no start leads to; if one does,
 * that is a path, too. Returns how many blocks have an order: all. */
static uint32_t search_all(struct fl_paths *p, uint32_t n)
{
	for (uint32_t b = 0; b < p->n_blocks; b++)
		p->begins[b] = FL_PATH_NONE;
	p->n_starts = p->n_given;
	for (uint32_t i = 0; i < p->n_given; i++)
		n = search(p, p->starts[i].block, n);
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		if (p->state[b] != NEW)
			continue;
		begin_at(p, b);
		n = search(p, b, n);
	}
	return n;
}

/* Find, by block, how many blocks there are up to an edge that `jumps`; in `count`. */
static void find_jumps(struct fl_paths *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t b = p->order[i], least = DISTANT;

		for (uint32_t e = p->first[b]; e < p->first[b + 1]; e++) {
			const struct fl_path_edge *edge = &p->edges[e];
			uint32_t by = edge->jumps ? 1 : fl_path_ends(edge) ? DISTANT :
				      p->count[edge->to] + 1;

			least = by < least ? by : least;
		}
		p->count[b] = least;
	}
}

/* Do cuts back lead to where such a jump comes soon? Marks the blocks that they leave, in
 * `parent`. */
static bool find_latches(struct fl_paths *p)
{
	bool has = false;

	for (uint32_t e = 0; e < p->n_edges; e++) {
		const struct fl_path_edge *edge = &p->edges[e];

		if (edge->cut != FL_PATH_CUT_BACK || p->count[edge->to] == DISTANT)
			continue;
		p->parent[edge->from] = has = true;
	}
	return has;
}

/*
 * An interpreter's loop leads back to its head, which soon jumps to the next instruction's
 * code. A path that ends at the edge back is followed by a short one to that jump, where paths
 * end anyway. So blocks with such an edge back are searched first. Then what leads from the
 * loop's head to such a block, without a jump, is cut in place of the edge back.
 */
static void find_order(struct fl_paths *p)
{
	uint32_t n = 0;

	find_jumps(p, search_all(p, 0));
	if (!find_latches(p))
		return;
	for (uint32_t b = 0; b < p->n_blocks; b++)
		p->state[b] = NEW;
	for (uint32_t e = 0; e < p->n_edges; e++)
		p->edges[e].cut = FL_PATH_GOES_ON;
	for (uint32_t b = 0; b < p->n_blocks; b++)
		if (p->parent[b])
			n = search(p, b, n);
	search_all(p, n);
}

/* ---- numbers ----------------------------------------------------------------------- */

static uint64_t count_ways(struct fl_paths *p, uint32_t block)
{
	uint64_t n = 0;

	for (uint32_t e = p->first[block]; e < p->first[block + 1]; e++) {
		p->edges[e].value = (uint32_t)n;
		n += fl_path_ends(&p->edges[e]) ? 1 : p->count[p->edges[e].to];
	}
	return n;
}

/* Cut where there are more than `most` ways from a block: one way by each edge is left. */
static void cut_long(struct fl_paths *p, uint64_t most)
{
	for (uint32_t i = 0; i < p->n_blocks; i++) {
		uint32_t b = p->order[i];
		uint64_t n = count_ways(p, b);

		for (uint32_t e = p->first[b]; n > most && e < p->first[b + 1]; e++)
			if (!fl_path_ends(&p->edges[e]) && p->count[p->edges[e].to] > 1)
				p->edges[e].cut = FL_PATH_CUT_LONG;
		p->count[b] = (uint32_t)(n > most ? count_ways(p, b) : n);
	}
}

static uint64_t count_paths(struct fl_paths *p)
{
	uint64_t n = 0;

	for (uint32_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].cut)
			begin_at(p, p->edges[e].to);
	for (uint32_t i = 0; i < p->n_starts; i++) {
		p->starts[i].value = (uint32_t)n;
		n += p->count[p->starts[i].block];
	}
	return n;
}

/* Take all long cuts back. Starts from index `n` on are those of long cuts. */
static void uncut(struct fl_paths *p, uint32_t n)
{
	for (uint32_t i = n; i < p->n_starts; i++)
		p->begins[p->starts[i].block] = FL_PATH_NONE;
	p->n_starts = n;
	for (uint32_t e = 0; e < p->n_edges; e++)
		if (p->edges[e].cut == FL_PATH_CUT_LONG)
			p->edges[e].cut = FL_PATH_GOES_ON;
}

static bool are_few_cut(const struct fl_paths *p)
{
	enum { OF = 16 };
	uint32_t n = 0;

	for (uint32_t e = 0; e < p->n_edges; e++)
		n += p->edges[e].cut == FL_PATH_CUT_LONG;
	return n <= p->n_edges / OF;
}

/* Number at most `limit` paths. Without long cuts there are `without` starts. */
static int number_up_to(struct fl_paths *p, uint32_t limit, uint32_t without)
{
	enum { A_STEP_LESS = 4 };

	for (uint64_t most = limit; most; most /= A_STEP_LESS) {
		uint64_t n;

		uncut(p, without);
		cut_long(p, most);
		n = count_paths(p);
		p->n = (uint32_t)n;
		if (n <= limit)
			return 0;
	}
	return -E2BIG;
}

static int number_paths(struct fl_paths *p)
{
	enum { BLOCKS_A_START = 16 };
	uint32_t without = p->n_starts;

	if (p->n_given <= p->n_blocks / BLOCKS_A_START + 1 &&
	    !number_up_to(p, FL_PATHS_OWN, without) && are_few_cut(p))
		return 0;
	return number_up_to(p, FL_PATHS_MAX, without);
}

/* ---- where sums are made ------------------------------------------------------------- */

/* All blocks between a loop's head and its branch back are taken to be in the loop. */
static void find_depths(struct fl_paths *p)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < p->n_edges; i++) {
		const struct fl_path_edge *e = &p->edges[i];

		if (e->cut != FL_PATH_CUT_BACK || e->to > e->from)
			continue;
		p->depth[e->to]++;
		p->depth[e->from + 1]--;
	}
	for (uint32_t b = 0; b < p->n_blocks; b++) {
		depth += p->depth[b];
		p->depth[b] = depth < DEEPEST ? depth : DEEPEST;
	}
}

/* The root of a block's tree; *height: the block's height above that root. */
static uint32_t find_root(struct fl_paths *p, uint32_t block, uint32_t *height)
{
	*height = 0;
	while (p->parent[block] != block) {
		uint32_t up = p->parent[block];

		p->offset[block] += p->offset[up];
		p->parent[block] = p->parent[up];
		*height += p->offset[block];
		block = p->parent[block];
	}
	return block;
}

/* If the blocks are in two trees, join these, so that an edge of that value between them adds
 * nothing. */
static void tie(struct fl_paths *p, uint32_t from, uint32_t to, uint32_t value)
{
	uint32_t h_from, h_to;
	uint32_t r_from = find_root(p, from, &h_from), r_to = find_root(p, to, &h_to);

	if (r_from == r_to)
		return;
	p->parent[r_to] = r_from;
	p->offset[r_to] = h_from + value - h_to;
}

static uint32_t edge_depth(const struct fl_paths *p, const struct fl_path_edge *e)
{
	uint32_t from = p->depth[e->from], to = p->depth[e->to];

	return from < to ? from : to;
}

static void tie_all(struct fl_paths *p)
{
	uint32_t outside = p->n_blocks;

	for (uint32_t b = 0; b <= outside; b++)
		p->parent[b] = b;
	for (uint32_t depth = DEEPEST + 1; depth--;)
		for (uint32_t i = 0; i < p->n_edges; i++) {
			const struct fl_path_edge *e = &p->edges[i];

			if (!fl_path_ends(e) && edge_depth(p, e) == depth)
				tie(p, e->from, e->to, e->value);
		}
	for (uint32_t i = 0; i < p->n_edges; i++)
		if (fl_path_ends(&p->edges[i]))
			tie(p, p->edges[i].from, outside, p->edges[i].value);
	for (uint32_t i = 0; i < p->n_starts; i++)
		tie(p, outside, p->starts[i].block, p->starts[i].value);
}

/* A block's height above the outside: both are in one tree now. */
static uint32_t height_of(struct fl_paths *p, uint32_t block)
{
	uint32_t height, outside;

	find_root(p, block, &height);
	find_root(p, p->n_blocks, &outside);
	return height - outside;
}

static void place_sums(struct fl_paths *p)
{
	find_depths(p);
	tie_all(p);
	for (uint32_t i = 0; i < p->n_edges; i++) {
		struct fl_path_edge *e = &p->edges[i];

		e->add = e->value + height_of(p, e->from);
		if (!fl_path_ends(e))
			e->add -= height_of(p, e->to);
	}
	for (uint32_t i = 0; i < p->n_starts; i++)
		p->starts[i].set = p->starts[i].value - height_of(p, p->starts[i].block);
}

int fl_paths_number(struct fl_paths *p, void *memory)
{
	int err;

	lay_memory(p, memory);
	find_first_edges(p);
	find_order(p);
	err = number_paths(p);
	if (!err)
		place_sums(p);
	return err;
}

/* ---- back ------------------------------------------------------------------------------ */

uint32_t fl_paths_find(const struct fl_paths *p, uint32_t number, uint32_t *start,
		       uint32_t *edges)
{
	uint32_t i = p->n_starts, n = 0, e, block;

	if (number >= p->n)
		return 0;
	while (p->starts[--i].value > number)
		;
	*start = i;
	number -= p->starts[i].value;
	block = p->starts[i].block;
	do {
		e = p->first[block + 1];
		while (p->edges[--e].value > number)
			;
		number -= p->edges[e].value;
		edges[n++] = e;
		block = p->edges[e].to;
	} while (!fl_path_ends(&p->edges[e]));
	return n;
}
