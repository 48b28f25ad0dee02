/*
 * bodies.c - functions as they are, which get second bodies.
 *
 * Hides which of a module's ranges are functions (outline.c), and where each is left. Sites
 * stand where the original's instructions do: the entry, each return and each jump that
 * may leave. What an exit becomes stands in the body, which nobody has made yet.
 */
#include "shape.h"

struct teller {
	const struct fl_outline *o;
	fl_site_each *each;
	void *arg;
	uintptr_t points[FL_POINTS_MOST];
	uint32_t n_points;
};

static int tell(struct teller *t, const struct fl_extent *f, uintptr_t at, uint8_t len,
		enum fl_shape_kind kind)
{
	bool is_ret = kind == FL_SHAPE_RET;

	return t->each(t->arg, &(struct fl_site){
		.at = at, .function = f->start, .room = len, .bare = 1,
		.kind = is_ret ? FL_EXIT : FL_TAIL,
		.form = is_ret ? FL_FORM_BODY_RET : FL_FORM_BODY_TAIL,
	});
}

static int tell_entry(struct teller *t, const struct fl_extent *f)
{
	return t->each(t->arg, &(struct fl_site){
		.at = fl_extent_entry(f), .function = f->start, .kind = FL_ENTRY,
		.form = f->refusal ? FL_FORM_NONE :
			f->before ? FL_FORM_BODY_BEFORE : FL_FORM_BODY, .bare = 1,
		.before = f->before,
		.room = FL_ARCH_PAD_BYTES, .refusal = f->refusal, .datum = f->datum,
		.carries = fl_points_in(t->o, f, t->points, t->n_points),
	});
}

/* The steps of a function that is not understood in a line tell where it is left. */
static int tell_steps(struct teller *t, const struct fl_extent *x, const struct fl_extent *f)
{
	struct fl_shape s;
	uint64_t datum;
	int err = fl_shape_open(&s, t->o, f);

	if (err)
		return err;
	if (fl_shape_of(&s, t->o, f->start, &datum))
		s.n_steps = 0;
	for (uint32_t i = 0; i < s.n_steps && !err; i++) {
		const struct fl_shape_step *p = &s.steps[i];

		if (p->at - x->start < x->end - x->start && p->kind >= FL_SHAPE_TAIL &&
		    p->kind <= FL_SHAPE_RET)
			err = tell(t, f, p->at, p->len, p->kind);
	}
	fl_shape_close(&s);
	return err;
}

static int tell_extent(struct teller *t, const struct fl_extent *x)
{
	const struct fl_outline *o = t->o;
	const struct fl_extent *f = &o->extents[x->owner];
	int err = 0;

	if (x->kind == FL_EXTENT_OTHER || x->flags & X_STUB || f->kind == FL_EXTENT_PART)
		return 0;	/* the last: a part of nobody's function */
	if (x == f)
		err = tell_entry(t, f);
	if (!err && !f->refusal && (f->flags & X_READ))
		return tell_steps(t, x, f);
	for (uint32_t i = 0; i < x->n_left && !err && !f->refusal; i++) {
		const struct fl_leaving *l = &o->lefts[x->left + i];

		if (l->kind >= FL_SHAPE_TAIL)
			err = tell(t, f, o->lo + l->at, l->len, l->kind);
	}
	return err;
}

/* In a module whose functions have no bodies one site says why: where its code begins. */
static int tell_never(const struct fl_module *m, int never, fl_site_each *each, void *arg)
{
	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_LOAD && m->ph[i].p_flags & PF_X)
			return each(arg, &(struct fl_site){
				.at = m->bias + m->ph[i].p_vaddr, .refusal = never,
				.function = m->bias + m->ph[i].p_vaddr, .bare = 1 });
	return 0;
}

static int scan_bodies(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct fl_outline o;
	struct teller t = { .o = &o, .each = each, .arg = arg };
	int err = fl_site_never_bodies(m);

	t.n_points = fl_site_points(m, t.points);
	if (err)
		return tell_never(m, err, each, arg);
	err = fl_outline_open(&o, m);
	for (size_t k = 0; k < o.n && !err; k++)
		err = tell_extent(&t, &o.extents[k]);
	fl_outline_keep(&o);
	return err;
}

const struct fl_provider fl_provider_body = {
	.name = "body",
	.about = "functions as they are, which get a second body",
	.scan = scan_bodies,
};

/* ---- stubs of the linkage table ------------------------------------------------- */

/* A stub has an entry and no more: what it jumps to has its own exits, if it has a body. */
static int scan_stubs(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct fl_outline o;
	struct teller t = { .o = &o, .each = each, .arg = arg };
	int err;

	if (!fl_site_wants_stubs(m))
		return 0;
	err = fl_outline_open(&o, m);
	for (size_t k = 0; k < o.n && !err; k++)
		if (o.extents[k].flags & X_STUB)
			err = tell_entry(&t, &o.extents[k]);
	fl_outline_keep(&o);
	return err;
}

const struct fl_provider fl_provider_plt = {
	.name = "plt",
	.about = "calls of other modules, by stubs of the linkage table",
	.scan = scan_stubs,
};
