/*
 * cyg.c - calls to __cyg_profile_func_enter and _exit (-finstrument-functions).
 *
 * Hides how a call is given its function: the body a call belongs to is what
 * its first argument says, whatever symbol contains it, since compilers inline
 * instrumented bodies. Text is decoded once, in order. A range that has nothing to
 * do with others is named at once and its steps are forgotten; the others, and those
 * with jumps through tables, when all has been read.
 *
 * INVARIANT  A site's function is the value of its first argument each time it
 *	runs, or its glue asks at each (fl_probe_ask). A jump that asks is taken
 *	for the end of the body around it; a call is told by its first run.
 * WHY	flow.c. A name from a straight line holds unless something lands in between:
 *	labels has a bit for every place where something may land, except the targets of
 *	switches, and ranges with a switch wait for these. A branch or an address that is
 *	met later and leads into what was named takes the names back.
 * FAILURE    No room for steps, notes or links, as only made-up code needs it:
 *	nothing is named.
 */
#include <string.h>

#include "cyg.h"

struct scan {
	struct fl_code c;
	struct fl_body body;		/* scratch for each in turn */
	fl_site_each *each;
	void *arg;
	bool rest;			/* tell the calls that have no name, and no others */
	bool keeps;			/* what is told, for the next run */
};

/* ---- names --------------------------------------------------------------- */

static bool has_name(const struct fl_note *n)
{
	return n->source != FL_STEP_LOST;
}

static void forget_names(struct fl_code *c, const struct fl_part *p)
{
	for (uint32_t i = 0; i < p->n_notes; i++)
		c->notes[p->note + i].source = FL_STEP_LOST;
}

/* Name calls by the code right before each. How many are left. */
static size_t name_lines(struct fl_code *c, const struct fl_part *p)
{
	size_t left = 0;

	for (struct fl_note *n = &c->notes[p->note]; n < &c->notes[p->note + p->n_notes]; n++)
		left += !has_name(n) && !fl_flow_line(c, p, n);
	return left;
}

/* Name calls by what registers hold all along. How many are left. */
static size_t name_kept(struct fl_code *c, uint32_t first)
{
	struct fl_kept k = { 0 };
	size_t left = 0;

	for (uint32_t p = first; p != FL_NOWHERE; p = c->parts[p].next)
		fl_flow_keep(&k, c, &c->parts[p]);
	for (uint32_t p = first; p != FL_NOWHERE; p = c->parts[p].next)
		for (uint32_t i = 0; i < c->parts[p].n_notes; i++) {
			struct fl_note *n = &c->notes[c->parts[p].note + i];

			left += !has_name(n) && !fl_flow_kept(c, &k, n);
		}
	return left;
}

static void name_paths(struct fl_body *b, const struct fl_part *p)
{
	struct fl_note *notes = b->c->notes;

	for (struct fl_note *n = &notes[p->note]; n < &notes[p->note + p->n_notes]; n++)
		if (!has_name(n))
			fl_flow_paths(b, n);
}

/* Name the calls of the body that begins with part `first`. */
static int name_body(struct scan *s, uint32_t first)
{
	struct fl_code *c = &s->c;
	bool has_switch = false;
	size_t left = 0;
	int err;

	for (uint32_t p = first; p != FL_NOWHERE; p = c->parts[p].next) {
		forget_names(c, &c->parts[p]);	/* of when less was known */
		left += name_lines(c, &c->parts[p]);
		has_switch |= c->parts[p].has_switch && c->parts[p].n_notes;
	}
	if (left)
		left = name_kept(c, first);
	if (!left && !has_switch)
		return 0;
	err = fl_body_make(&s->body, first);
	if (!err)
		err = fl_flow_open(&s->body);
	if (err)
		return err;
	for (uint32_t p = first; p != FL_NOWHERE; p = c->parts[p].next)
		if (!s->body.is_strange)
			name_paths(&s->body, &c->parts[p]);
		else if (has_switch)
			forget_names(c, &c->parts[p]);
	return 0;
}

/* ---- ranges -------------------------------------------------------------- */

static bool is_named(const struct fl_code *c, const struct fl_part *p)
{
	for (uint32_t i = 0; i < p->n_notes; i++)
		if (!has_name(&c->notes[p->note + i]))
			return false;
	return true;
}

/* Is an address inside of it known to code? */
static bool has_inner_entry(const struct fl_code *c, const struct fl_part *p)
{
	return !fl_no_bit(c->entries, fl_part_start(c, p) + 1, p->end);
}

/* Its address is known to code, so it is no part of another function. */
static bool is_function(const struct fl_code *c, const struct fl_part *p)
{
	return fl_bit(c->entries, fl_part_start(c, p));
}

static int read_range(struct scan *s, size_t range)
{
	struct fl_code *c = &s->c;
	struct fl_part *p = &c->parts[range];
	int err;

	fl_code_read(c, range);
	if (p->has_links || c->is_lost)
		return 0;
	if (p->n_notes && (p->has_switch || !is_function(c, p) || has_inner_entry(c, p)))
		return 0;
	err = name_body(s, (uint32_t)range);
	if (err || !is_named(c, p))
		return err;
	c->n_steps = p->first;
	p->n = 0;
	p->is_done = 1;
	return 0;
}

uint32_t fl_cyg_owner(struct fl_code *c, uint32_t p)
{
	while (c->parts[p].owner != p)
		p = c->parts[p].owner = c->parts[c->parts[p].owner].owner;
	return p;
}

/* Ranges that branches join are one body. */
static void join(struct fl_code *c, const struct fl_link *l)
{
	size_t to = fl_code_range(c, l->target);
	bool is_start = to < c->ranges.n && c->ranges.r[to].start == c->lo + l->target;
	uint32_t a, b;

	if (to == c->ranges.n || (is_start && fl_bit(c->entries, l->target)))
		return;				/* a function's: a tail call */
	if (c->parts[to].is_done) {
		if (!is_start)
			forget_names(c, &c->parts[to]);
		return;
	}
	a = fl_cyg_owner(c, l->range);
	b = fl_cyg_owner(c, (uint32_t)to);
	if (a < b)
		c->parts[b].owner = a;
	else
		c->parts[a].owner = b;
}

int fl_cyg_join(struct fl_code *c)
{
	int err = fl_switch_find(c);

	for (size_t i = 0; i < c->n_links; i++)
		join(c, &c->links[i]);
	for (uint32_t i = (uint32_t)c->ranges.n; i-- > 0;) {
		uint32_t owner = fl_cyg_owner(c, i);

		if (owner != i) {
			c->parts[i].next = c->parts[owner].next;
			c->parts[owner].next = i;
		}
	}
	return err;
}

static int name_joined(struct scan *s)
{
	struct fl_code *c = &s->c;
	int err = fl_cyg_join(c);

	for (size_t i = 0; i < c->ranges.n; i++)
		if (c->parts[i].is_done && has_inner_entry(c, &c->parts[i]))
			forget_names(c, &c->parts[i]);
	for (uint32_t i = 0; i < c->ranges.n && !err; i++)
		if (c->parts[i].owner == i && !c->parts[i].is_done)
			err = name_body(s, i);
	return err;
}

/* ---- telling ------------------------------------------------------------- */

/* The function of a note, 0 when it is not known. */
static uintptr_t function_of(const struct fl_code *c, const struct fl_note *n)
{
	uintptr_t v = 0;

	if (n->source == FL_STEP_CODE)
		v = c->lo + n->v;
	else if (n->source == FL_STEP_POINTER)
		memcpy(&v, (const void *)(c->m->lo + n->v), sizeof v);
	return v;
}

/* Where the loader would write the function of a note, if this were more than a file. */
static uintptr_t pointer_of(const struct fl_code *c, const struct fl_note *n)
{
	return c->m->laid_out && n->source == FL_STEP_POINTER && !function_of(c, n) ?
	       c->m->lo + n->v : 0;
}

/* Where the loader has written the function; 0: code says it. */
static uintptr_t filled_pointer_of(const struct fl_code *c, const struct fl_note *n)
{
	return n->source == FL_STEP_POINTER && function_of(c, n) ? c->m->lo + n->v : 0;
}

/* Does the range's own function say that it is entered? */
static void find_entry(struct fl_code *c, const struct fl_note *n)
{
	if (n->kind == FL_ENTRY && function_of(c, n) == c->ranges.r[n->range].start)
		c->parts[n->range].has_entry = 1;
}

static bool is_jump(uint8_t form)
{
	return form == FL_FORM_JUMP || form == FL_FORM_JUMP_POINTER;
}

/* A body that was inlined leaves by a call. So a jump leaves the range's own function, if one
 * of the range's entries says so. The first run of a jump would not tell, as that of a call
 * does: a jump leaves no trace. */
static uintptr_t guess(const struct fl_code *c, const struct fl_note *n)
{
	bool may = is_jump(n->form) && c->parts[n->range].has_entry;

	return may ? c->ranges.r[n->range].start : 0;
}

/* Is it the jump of a stub? It is a call like any other to whoever reads its bytes. */
static bool is_stub(const struct fl_code *c, const struct fl_note *n)
{
	for (size_t i = 0; i < c->reach.n_stubs; i++)
		if (c->lo + n->at - c->reach.stubs[i].at <= FL_ARCH_LANDING_BYTES)
			return true;
	return false;
}

static int tell(struct scan *s, const struct fl_note *n)
{
	uintptr_t function = function_of(&s->c, n), pointer = pointer_of(&s->c, n);
	struct fl_site site = {
		.at = s->c.lo + n->at, .pointer = pointer,
		.function = function || pointer ? function : guess(&s->c, n),
		.kind = n->kind, .form = n->form, .room = n->room,
		.asks = !function && !pointer,
	};
	bool is_known = site.function || pointer;

	if (s->rest ? is_known || has_name(n) || is_stub(&s->c, n) : !is_known)
		return 0;
	if (s->c.reach.is_one) {
		site.kind = FL_CALLSITE;
		site.refusal = FLE_ONEHOOK;
	} else if (site.form == FL_FORM_NONE) {
		site.refusal = FLE_UNKNOWN;
		site.datum = n->opcode;
	}
	s->keeps = s->keeps && fl_found_add(s->c.m, &site, filled_pointer_of(&s->c, n));
	return s->each(s->arg, &site);
}

static int scan_all(struct scan *s)
{
	int err = 0;

	for (size_t i = 0; i < s->c.ranges.n && !err; i++)
		err = read_range(s, i);
	if (!err && !s->c.is_lost)
		err = name_joined(s);
	for (size_t i = 0; i < s->c.ranges.n && s->c.is_lost; i++)
		forget_names(&s->c, &s->c.parts[i]);
	for (size_t i = 0; i < s->c.n_notes; i++)
		find_entry(&s->c, &s->c.notes[i]);
	s->keeps = !s->rest && !s->c.is_lost && fl_found_is_wished(s->c.m);
	if (s->keeps)
		fl_found_begin();
	for (size_t i = 0; i < s->c.n_notes && !err; i++)
		err = tell(s, &s->c.notes[i]);
	if (s->keeps && !err)
		fl_found_end();
	return err;
}

static int scan_module(const struct fl_module *m, bool rest, fl_site_each *each,
		       void *arg)
{
	struct scan s = { .each = each, .arg = arg, .rest = rest };
	int err;

	s.body.c = &s.c;
	if (!fl_reach_open(&s.c.reach, m))
		return 0;
	if (!rest && fl_found_is_given(m))
		return fl_found_tell(&s.c.reach, each, arg);
	err = fl_code_open(&s.c, m);
	if (!err && s.c.ranges.n)
		err = scan_all(&s);
	fl_body_close(&s.body);
	fl_code_close(&s.c);
	return err;
}

static int scan_cyg(const struct fl_module *m, fl_site_each *each, void *arg)
{
	return scan_module(m, false, each, arg);
}

int fl_site_unnamed(const struct fl_module *m, fl_site_each *each, void *arg)
{
	return scan_module(m, true, each, arg);
}

const struct fl_provider fl_provider_cyg = {
	.name = "cyg",
	.about = "calls from -finstrument-functions",
	.scan = scan_cyg,
};
