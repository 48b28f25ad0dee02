/*
 * place.c - finds the place of a probe in a second body, and has the body built.
 *
 * Hides when a body is built: when a site of its function is first wanted. Also hides that
 * the original may not be what its file says: then there is no body. A module that is
 * unloaded leaves its bodies mapped, because a frame or a jmp_buf may lead into one. The
 * bodies are the module's again when it comes back to the same place unchanged.
 */
#include <sys/mman.h>

#include "copy/copy.h"
#include "copy/make.h"
#include "os/os.h"
#include "probe/probe.h"

enum { PATH = 4096 };

/* Between begin and end: the module whose bodies are wanted. */
static struct session {
	struct fl_module m;
	char path[PATH];
	struct fl_outline outline;
	int err;			/* no body can be built */
} now;

/* A module that has bodies, known by its addresses and its row: several may be at a place by
 * turns, and each keeps its bodies. */
struct owner {
	struct owner *next;		/* the one that bodies were built of before */
	uintptr_t lo, hi;
	uint32_t row;
	uint8_t id[FL_OBJ_ID];
	bool has_id;
};
static struct owner *owners;

/* ---- which module ------------------------------------------------------------------- */

/* The one that bodies were built of last, of all that were at that place. */
static struct owner *owner_at(uintptr_t lo, uintptr_t hi)
{
	struct owner *o = owners;

	while (o && (o->lo != lo || o->hi != hi))
		o = o->next;
	return o;
}

/* Where the one of that place and row hangs; at a NULL: there is none. */
static struct owner **owner_in_row(uintptr_t lo, uintptr_t hi, uint32_t row)
{
	struct owner **o = &owners;

	while (*o && ((*o)->lo != lo || (*o)->hi != hi || (*o)->row != row))
		o = &(*o)->next;
	return o;
}

/* Owners stay: they are cut from whole pages. */
static struct owner *new_owner(const struct fl_module *m, uint32_t row)
{
	enum { MANY = 4 * FL_PAGE / sizeof(struct owner) };
	static struct owner *spare;
	static size_t n_spare;
	struct owner *o;

	if (!n_spare) {
		o = fl_os_map(NULL, MANY * sizeof *o, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fl_is_err(o))
			return NULL;
		spare = o;
		n_spare = MANY;
	}
	o = &spare[--n_spare];
	*o = (struct owner){ .lo = m->lo, .hi = m->hi, .row = row };
	return o;
}

static int note_owner(const struct fl_module *m, uint32_t row)
{
	struct owner **at = owner_in_row(m->lo, m->hi, row), *o = *at;

	if (o)
		*at = o->next;
	else
		o = new_owner(m, row);
	if (!o)
		return -ENOMEM;
	o->next = owners;
	owners = o;
	o->has_id = fl_obj_identify(m, o->id);
	return 0;
}

/* Two files that cannot be read are taken for different ones. */
static bool is_built_of(const struct owner *o, const struct fl_module *m)
{
	uint8_t id[FL_OBJ_ID];

	return o->has_id && fl_obj_identify(m, id) && !__builtin_memcmp(id, o->id, sizeof id);
}

/* Where an earlier recording's bodies are used, its rows, not this one's, are the owners'. */
static bool is_same_module(const struct fl_module *m, uint32_t row)
{
	const struct owner *o = *owner_in_row(m->lo, m->hi, row);

	o = o ? o : owner_at(m->lo, m->hi);
	return !o || is_built_of(o, m);
}

static void begin_module(uintptr_t lo, uintptr_t hi, uint32_t row)
{
	now.err = fl_obj_around(&now.m, lo, now.path, sizeof now.path);
	if (!now.err)
		now.err = note_owner(&now.m, row);
	if (!now.err)
		now.err = fl_outline_open(&now.outline, &now.m);
	if (!now.err)
		now.err = fl_make_begin(&now.outline, lo, hi, row);
}

/* Name a body after its function. If the function has several names, the first one counts. */
static int name_copy(void *arg, const char *name, uint64_t value, uint64_t size)
{
	uintptr_t at = now.m.bias + value;
	size_t i = fl_outline_find(&now.outline, at);
	struct fl_built *made = i < now.outline.n ? fl_make_built(i) : NULL;
	struct fl_ground_block *b;

	(void)arg;
	(void)size;
	if (!made || made->is_named || now.outline.extents[i].start != at)
		return 0;
	b = fl_make_block(made->copy.code);
	made->is_named = true;
	if (b)
		fl_jit_name(b, &made->copy, name);
	return 0;
}

static int end_module(void)
{
	int err;

	fl_make_stop();
	if (!now.err)
		fl_obj_functions(&now.m.file, name_copy, NULL);
	err = fl_make_end();
	fl_outline_close(&now.outline);
	fl_obj_close(&now.m.file);
	now = (struct session){ .err = 0 };
	return err;
}

/* Called for each site by itself; `function` may also lie in a part that is elsewhere. */
static int find_body(uintptr_t function, const struct fl_copy **c, uint64_t *datum)
{
	size_t i = fl_outline_find(&now.outline, function);
	const struct fl_built *made;

	if (i == now.outline.n)
		return FLE_UNKNOWN;
	made = fl_make_body(i);
	*c = &made->copy;
	*datum = made->datum;
	return made->refusal;
}

/* ---- a place in it ---------------------------------------------------------------------- */

static int call_glue(uintptr_t at, uintptr_t glue)
{
	return fl_arch_put_branch(fl_make_write(at), FL_BRANCH_CALL, at,
				  glue) ? 0 : FLE_NOREACH;
}

static int place_entry(const struct fl_copy *c, uintptr_t at, struct fl_plan_in *in)
{
	if (at != c->entry)
		return FLE_UNKNOWN;
	in->at = at;
	if (in->form == FL_FORM_BODY_BEFORE)
		in->room = c->first;
	in->on = c->on;
	in->off = c->off;
	__builtin_memcpy(in->copies, c->copies, sizeof in->copies);
	for (uint32_t k = 0; k < c->n_tells; k++)
		c->tells[k].probe = fl_typed(FLICK_TYPE_PATH, in->probe);
	return call_glue(c->code + c->call, in->glue);
}

/* An exit and a point may be at the same address; the point's place comes first. */
static int place_inside(const struct fl_copy *c, uintptr_t at, enum fl_kind kind,
			struct fl_plan_in *in)
{
	size_t i = fl_rows_from(c->places, c->n_places, sizeof c->places[0], at);

	if (kind == FL_AT_POINT && i > 1 && c->places[i - 2].at == at)
		i--;
	if (!i || c->places[i - 1].at != at ||
	    (kind == FL_AT_POINT) != (c->places[i - 1].form == FL_FORM_BODY_POINT))
		return FLE_UNKNOWN;
	in->at = c->code + c->places[i - 1].offset;
	in->form = c->places[i - 1].form;
	return c->places[i - 1].call ?
	       call_glue(in->at + c->places[i - 1].call, in->glue) : 0;
}

/* The function that has the point. The point itself counts as a function of its own. */
static uintptr_t function_around(uintptr_t at)
{
	size_t i = now.err ? 0 : fl_outline_find(&now.outline, at);

	return i < now.outline.n ? now.outline.extents[now.outline.extents[i].owner].start : 0;
}

static int place_site(uintptr_t function, uintptr_t at, enum fl_kind kind,
		      struct fl_plan_in *in, uint64_t *datum)
{
	const struct fl_copy *c;
	uintptr_t in_it = kind == FL_AT_POINT ? function_around(at) : function;
	int err = now.err ? now.err : find_body(in_it, &c, datum);

	if (err)
		return err;
	in->room = FL_ARCH_PAD_BYTES;
	return kind == FL_ENTRY ? place_entry(c, at, in) : place_inside(c, at, kind, in);
}

/* Were bodies built for the module that is at `at` now, and for no other one there since? */
static bool is_built_for(uintptr_t at)
{
	const struct owner *last = owners;
	struct fl_module m;
	char path[PATH];
	bool is;

	while (last && at - last->lo >= last->hi - last->lo)
		last = last->next;
	if (!last || fl_obj_around(&m, at, path, sizeof path))
		return false;
	last = owner_at(m.lo, m.hi);
	is = last && is_built_of(last, &m);
	fl_obj_close(&m.file);
	return is;
}

const struct fl_builder fl_copy_builder = {
	.begin = begin_module, .lead = fl_make_lead, .point = fl_make_point,
	.want = fl_make_want, .place = place_site, .end = end_module,
	.hush = fl_copy_hush, .hold = is_same_module, .again = is_built_for,
	.before = fl_before_note, .forget = fl_before_forget, .glue = fl_in_glue_note,
};
