/*
 * again.c - glue and second bodies that an earlier recording has made, for the next one.
 *
 * Hides when they are the same. A recorder that attaches finds the table empty. What the one
 * before has made cannot be unmapped, because a frame may return there. So it is used again, or
 * each recording would leave as much.
 *
 * INVARIANT	1. A glue that is used again reports what its probe is.
 *		2. A function's probes are all in one body, or in its original.
 *		3. A body is that of the function that stands there.
 *		4. A body does what this recording wants.
 * WHY		1. A glue knows an id, what it does itself, and how it is left. It is used for
 *		   a site of the same id, place, function and kind, if it is to do just as
 *		   then. Its word and mask are data, and set anew.
 *		2. All that is wanted of a module is taken from one set, which was made at
 *		   once; or none of it is, and all is made anew as one set more. Older sets
 *		   stay, so a recorder that attaches by turns with two selections makes two.
 *		3. The module is the one that the builder has built for last (by its build id),
 *		   and each place has the bytes that it had. When the builder builds for
 *		   another module, sets at its addresses are forgotten.
 *		4. Bodies that tell paths or accesses say so to one region: they are not kept.
 * FAILURE	What cannot be kept is made again by the next recording.
 *
 * A thread that an earlier recording has left in a body, or between a glue and its word, is
 * where a thread of this one may be as well, and goes on by the same bytes. The exit of a call
 * that began then is like one of any call that began before flick came.
 */
#include <sys/mman.h>

#include "again.h"
#include "os/os.h"

struct earlier {
	struct fl_made made;
	uintptr_t at, function;
	uint8_t is_kept, kind, len;
	uint8_t old[FL_ARCH_SITE_MAX];
};

/* What was made of a module at once, and where: rows of the region as they were. */
struct set {
	uintptr_t lo, hi;		/* the module */
	uint32_t first, end;		/* probes */
	struct earlier *made;		/* by id, from `first` on */
	uint32_t n_glue, n_bodies;
	struct fl_glue_range *glue;
	struct fl_body_row *bodies;
	bool is_whole;
};

enum { SETS = 1 << 14 };

static struct set *sets;		/* all that is here W under the lock */
static uint32_t n_sets;
static struct set *open_set;		/* NULL: nothing is kept now */
static uint32_t first_glue;
static uint32_t first_body[FL_BODY_BLOCKS];	/* rows that each block had */

/* May another recording use what this one makes, and the other way round? */
static bool is_shared(const struct fl_region *m)
{
	return m->is_attached && !(m->weaves & (FL_WEAVE_ACCESSES | FL_WEAVE_PATHS));
}

bool fl_again_is_any(uintptr_t lo, uintptr_t hi)
{
	for (uint32_t i = 0; i < n_sets; i++)
		if (sets[i].is_whole && sets[i].lo < hi && lo < sets[i].hi)
			return true;
	return false;
}

void fl_again_forget(uintptr_t lo, uintptr_t hi)
{
	for (uint32_t i = 0; i < n_sets; i++)
		if (sets[i].lo < hi && lo < sets[i].hi)
			sets[i].is_whole = false;
}

/* Rows of a block of bodies. All are this process's, because no other one is recorded. */
static uint32_t rows_of(uint32_t block)
{
	const struct fl_region *m = fl_table.shm;
	uint32_t n = load_relaxed(&fl_shm_body_blocks(fl_table.shm)[block].n);

	return n < m->body_rows ? n : m->body_rows;
}

void fl_again_begin(const struct fl_known *k, uint32_t first, uint32_t end)
{
	const struct fl_region *m = fl_table.shm;
	struct set *set;

	open_set = NULL;
	if (!is_shared(m))
		return;
	if (!sets)
		sets = fl_table_map(SETS * sizeof *sets);
	if (!sets || n_sets == SETS)
		return;
	set = &sets[n_sets];
	*set = (struct set){ .lo = k->lo, .hi = k->hi, .first = first, .end = end };
	set->made = fl_table_map((end - first) * sizeof *set->made);
	if (!set->made)
		return;
	n_sets++;
	open_set = set;
	first_glue = load_relaxed(&m->n_glue);
	for (uint32_t i = 0; i < m->n_body_blocks; i++)
		first_body[i] = rows_of(i);
}

void fl_again_keep(uint32_t id, const struct fl_made *made)
{
	const struct fl_shm_site *s = &fl_table.sites[id];
	const struct fl_patch *p = &fl_table.patches[id];
	struct earlier *to;

	if (!open_set || id < open_set->first || id >= open_set->end)
		return;
	to = &open_set->made[id - open_set->first];
	*to = (struct earlier){
		.made = *made, .at = s->at, .function = s->function, .kind = s->kind,
		.is_kept = 1, .len = p->len,
	};
	__builtin_memcpy(to->old, p->bytes[FL_OLD], sizeof to->old);
}

/* Keep all bodies that were told since the set began; false: no memory. */
static bool remember_bodies(struct set *set)
{
	struct fl_region *m = fl_table.shm;
	const struct fl_body_row *rows = fl_shm_bodies(m);
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_body_blocks; i++)
		n += rows_of(i) - first_body[i];
	set->bodies = n ? fl_table_map(n * sizeof *set->bodies) : NULL;
	if (n && !set->bodies)
		return false;
	for (uint32_t i = 0; i < m->n_body_blocks; i++)
		for (uint32_t k = first_body[i]; k < rows_of(i); k++)
			set->bodies[set->n_bodies++] = rows[i * m->body_rows + k];
	return true;
}

/* A set that is not whole leaves the memory in which its probes were kept. It is not whole
 * where a row had no room. */
void fl_again_end(int err)
{
	struct fl_region *m = fl_table.shm;
	struct set *set = open_set;
	uint32_t glue = load_relaxed(&m->n_glue);

	open_set = NULL;
	if (!set || err || load_relaxed(&m->left_out) & FL_LEFT_BODIES)
		return;
	if (glue > m->max_glue || glue <= first_glue)
		return;
	glue -= first_glue;
	set->glue = fl_table_map(glue * sizeof *set->glue);
	if (!set->glue)
		return;
	__builtin_memcpy(set->glue, fl_shm_glue(m) + first_glue, glue * sizeof *set->glue);
	set->n_glue = glue;
	set->is_whole = remember_bodies(set);
}

uint32_t fl_again_before(uint32_t set, const struct fl_known *k)
{
	if (!is_shared(fl_table.shm))
		return 0;
	for (set = set && set <= n_sets ? set - 1 : n_sets; set; set--)
		if (sets[set - 1].is_whole && sets[set - 1].lo == k->lo &&
		    sets[set - 1].hi == k->hi)
			return set;
	return 0;
}

static const struct earlier *earlier(uint32_t set, uint32_t id)
{
	const struct set *s = &sets[set - 1];

	return id >= s->first && id < s->end ? &s->made[id - s->first] : NULL;
}

bool fl_again_has(uint32_t set, uint32_t id, enum fl_glue_does does)
{
	const struct fl_shm_site *s = &fl_table.sites[id];
	const struct earlier *k = earlier(set, id);

	return k && k->is_kept && k->at == s->at && k->function == s->function &&
	       k->kind == s->kind && k->made.does == does &&
	       k->made.is_planned == !s->refusal &&
	       (fl_probe_is_body(&fl_table.probes[id]) ||
		k->made.in.form == (enum fl_form)fl_table.probes[id].form);
}

const struct fl_made *fl_again_made(uint32_t set, uint32_t id)
{
	return &earlier(set, id)->made;
}

bool fl_again_is_as_before(uint32_t set, uint32_t id)
{
	const struct fl_patch *p = &fl_table.patches[id];
	const struct earlier *k = earlier(set, id);

	return p->len == k->len && !__builtin_memcmp(p->bytes[FL_OLD], k->old, p->len);
}

void fl_again_tell(uint32_t set)
{
	const struct set *of = &sets[set - 1];

	for (uint32_t i = 0; i < of->n_glue; i++)
		fl_channel_tell_glue(of->glue[i]);
	for (uint32_t i = 0; i < of->n_bodies; i++)
		fl_channel_tell_body(fl_os_pid(), of->bodies[i].function,
				     of->bodies[i].lo, of->bodies[i].bytes);
}
