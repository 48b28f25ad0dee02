/*
 * place.c - where a probe of a second body is: builds the body that it is in.
 *
 * Hides when a body is built: when a site of its function is first wanted; and that the
 * original may not be what its file says: then it has none. A module that is unloaded
 * leaves its bodies there, as a frame or a jmp_buf may be in one; they are its own again
 * when it is back as it was.
 */
#include <sys/mman.h>

#include "copy/build.h"
#include "os/os.h"
#include "probe/probe.h"

enum { FIRST_STEPS = 1 << 14, PATH = 4096 };

/* Between begin and end: the module whose bodies are wanted. */
static struct session {
	struct fl_module m;
	char path[PATH];
	struct fl_outline outline;
	struct fl_copies copies;
	struct fl_shape_step *steps;
	uint32_t room;			/* of steps */
	uintptr_t points[FL_POINTS_MOST];	/* ascending */
	uint32_t n_points;
	int err;			/* no body can be built */
	struct made {			/* by extent of the outline */
		struct fl_copy copy;
		uint64_t datum;		/* explains `refusal` */
		int refusal;
		bool is_made, is_named;
	} *made;
	size_t n;
} now;

/* Modules that have bodies, by place. */
struct owner {
	struct owner *next;
	uintptr_t lo, hi;
	uint8_t id[FL_OBJ_ID];
	bool has_id;
};
static struct owner *owners;

/* ---- which module ------------------------------------------------------------------- */

static struct owner *owner_at(uintptr_t lo, uintptr_t hi)
{
	struct owner *o = owners;

	while (o && (o->lo != lo || o->hi != hi))
		o = o->next;
	return o;
}

static int note_owner(const struct fl_module *m)
{
	struct owner *o = owner_at(m->lo, m->hi);

	if (!o) {
		o = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fl_is_err(o))
			return -ENOMEM;
		*o = (struct owner){ .next = owners, .lo = m->lo, .hi = m->hi };
		owners = o;
	}
	o->has_id = fl_obj_build_id(m, o->id);
	return 0;
}

/* Where nothing tells two files apart they are taken for different ones. */
static bool is_same_module(const struct fl_module *m)
{
	const struct owner *o = owner_at(m->lo, m->hi);
	uint8_t id[FL_OBJ_ID];

	return !o || (o->has_id && fl_obj_build_id(m, id) &&
		      !__builtin_memcmp(id, o->id, sizeof id));
}

static int map_steps(uint32_t room)
{
	struct fl_shape_step *steps =
		fl_os_map(NULL, room * sizeof *steps, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fl_is_err(steps))
		return -ENOMEM;
	if (now.steps)
		fl_os_unmap(now.steps, now.room * sizeof *now.steps);
	now.steps = steps;
	now.room = room;
	return 0;
}

/* Pages that no function comes to are never touched. */
static int map_made(void)
{
	now.n = now.outline.n;
	now.made = fl_os_map(NULL, (now.n + 1) * sizeof *now.made, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!fl_is_err(now.made))
		return 0;
	now.made = NULL;
	return -ENOMEM;
}

static void begin_module(uintptr_t lo, uintptr_t hi)
{
	now.err = fl_obj_around(&now.m, lo, now.path, sizeof now.path);
	if (!now.err)
		now.err = note_owner(&now.m);
	if (!now.err)
		now.err = fl_outline_open(&now.outline, &now.m);
	if (!now.err)
		now.err = map_steps(FIRST_STEPS);
	if (!now.err)
		now.err = map_made();
	fl_copies_begin(&now.copies, lo, hi);
	now.copies.pid = fl_os_pid();
	now.copies.weaves = fl_channel_weaves();
	fl_copies_pairs(&now.copies);
}

/* What is its function's name. Of several the first one. */
static int name_copy(void *arg, const char *name, uint64_t value, uint64_t size)
{
	uintptr_t at = now.m.bias + value;
	size_t i = fl_outline_find(&now.outline, at);
	struct made *made = &now.made[i];
	struct fl_ground_block *b;

	(void)arg;
	(void)size;
	if (i == now.n || !made->is_made || made->refusal || made->is_named ||
	    now.outline.extents[i].start != at)
		return 0;
	b = fl_copies_block(&now.copies, made->copy.code);
	made->is_named = true;
	if (b)
		fl_jit_name(b, &made->copy, name);
	return 0;
}

static int end_module(void)
{
	int err;

	if (now.made)
		fl_obj_functions(&now.m.file, name_copy, NULL);
	err = fl_copies_end(&now.copies);

	fl_outline_close(&now.outline);
	fl_obj_close(&now.m.file);
	if (now.steps)
		fl_os_unmap(now.steps, now.room * sizeof *now.steps);
	if (now.made)
		fl_os_unmap(now.made, (now.n + 1) * sizeof *now.made);
	now = (struct session){ .err = 0 };
	return err;
}

/* ---- a body ------------------------------------------------------------------------- */

static int find_shape(struct fl_shape *s, uintptr_t function, uint64_t *datum)
{
	int err;

	for (;;) {
		*s = (struct fl_shape){ .steps = now.steps, .room = now.room };
		err = fl_shape_of(s, &now.outline, function, datum);
		if (err != -ENOSPC)
			return err;
		err = map_steps(s->n_steps > 2 * now.room ? s->n_steps : 2 * now.room);
		if (err)
			return err;
	}
}

static void note_point(uintptr_t at)
{
	if (now.n_points < FL_POINTS_MOST)
		now.points[now.n_points++] = at;
}

/* Those in its parts: others are none of its steps. */
static void add_points(struct fl_shape *s)
{
	bool has_any = false;

	for (uint32_t i = 0; i < now.n_points; i++)
		for (uint32_t k = 0; k < s->n_parts; k++)
			has_any |= now.points[i] - s->parts[k].start <
				   s->parts[k].end - s->parts[k].start;
	s->points = now.points;
	s->n_points = has_any ? now.n_points : 0;
}

/* Whoever has changed the bytes that the jump takes, a debugger or the program itself,
 * wants to change them back. */
static bool is_as_in_file(const struct fl_shape *s)
{
	uintptr_t at = s->entry;

	for (uint32_t i = 0; i < s->n_steps && at < s->entry + FL_ARCH_PAD_BYTES; i++) {
		const struct fl_shape_step *step = &s->steps[i];

		if (step->at != at)
			continue;
		if (__builtin_memcmp((const void *)at, fl_shape_bytes(s, step), step->len))
			return false;
		at += step->len;
	}
	return true;
}

static int build(uintptr_t function, struct fl_copy *c, uint64_t *datum)
{
	struct fl_shape shape;
	int err = find_shape(&shape, function, datum);

	add_points(&shape);
	if (!err && !is_as_in_file(&shape)) {
		*datum = shape.entry;
		err = FLE_CHANGED;
	}
	if (!err)
		err = fl_copy_build(&now.copies, &shape, c, datum);
	if (!err)			/* time in it is the function's, but the call of glue */
		fl_channel_tell_body(now.copies.pid, function, c->off,
				     c->code + c->n_code - c->off);
	return err;
}

/* Sites of a function are asked for one by one, and those of its parts elsewhere apart. */
static int build_once(uintptr_t function, const struct fl_copy **c, uint64_t *datum)
{
	size_t i = fl_outline_find(&now.outline, function);
	struct made *made = &now.made[i];

	if (i == now.n)
		return FLE_UNKNOWN;
	if (!made->is_made)
		made->refusal = build(function, &made->copy, &made->datum);
	made->is_made = true;
	*c = &made->copy;
	*datum = made->datum;
	return made->refusal;
}

/* ---- a place in it ---------------------------------------------------------------------- */

static int call_glue(uintptr_t at, uintptr_t glue)
{
	return fl_arch_put_branch(fl_copies_write(&now.copies, at), FL_BRANCH_CALL, at,
				  glue) ? 0 : FLE_NOREACH;
}

static int place_entry(const struct fl_copy *c, uintptr_t at, struct fl_plan_in *in)
{
	if (at != c->entry)
		return FLE_UNKNOWN;
	in->at = at;
	in->form = FL_FORM_BODY;
	in->on = c->on;
	in->off = c->off;
	__builtin_memcpy(in->copies, c->copies, sizeof in->copies);
	for (uint32_t k = 0; k < c->n_tells; k++)
		c->tells[k].probe = fl_typed(FLICK_TYPE_PATH, in->probe);
	return call_glue(c->code + c->call, in->glue);
}

/* At the exit there may be a point, in front of it. */
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

/* A point is told as a function of its own. */
static uintptr_t function_around(uintptr_t at)
{
	size_t i = now.err ? 0 : fl_outline_find(&now.outline, at);

	return i < now.n ? now.outline.extents[now.outline.extents[i].owner].start : 0;
}

static int place_site(uintptr_t function, uintptr_t at, enum fl_kind kind,
		      struct fl_plan_in *in, uint64_t *datum)
{
	const struct fl_copy *c;
	uintptr_t in_it = kind == FL_AT_POINT ? function_around(at) : function;
	int err = now.err ? now.err : build_once(in_it, &c, datum);

	if (err)
		return err;
	in->room = FL_ARCH_PAD_BYTES;
	return kind == FL_ENTRY ? place_entry(c, at, in) : place_inside(c, at, kind, in);
}

/* Nobody who is told apart by nothing is the same. */
static bool is_built_for(uintptr_t at)
{
	struct fl_module m;
	char path[PATH];
	bool is;

	if (fl_obj_around(&m, at, path, sizeof path))
		return false;
	is = owner_at(m.lo, m.hi) && is_same_module(&m);
	fl_obj_close(&m.file);
	return is;
}

const struct fl_builder fl_copy_builder = {
	.begin = begin_module, .point = note_point, .place = place_site, .end = end_module,
	.hold = is_same_module, .again = is_built_for, .hush = fl_copy_hush,
};
