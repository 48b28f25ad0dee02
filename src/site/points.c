/*
 * points.c - single instructions at which the reader asked for probes.
 *
 * Paper 1 has its probes at any instruction. Here such a place is made where code is laid out
 * anew anyway: in the second body of the function that has the instruction, whatever its
 * length is. Hides which points there are, by the reader's rules, and which can be had: those
 * at which an instruction begins that is moved.
 *
 * A point is told as a function of its own: `function` is the instruction. So it is counted
 * apart from the function that it is in, whose entry leads to the body as long as there are
 * points in it (fl_site.carries).
 */
#include "shape.h"

/* ---- which ---------------------------------------------------------------------- */

struct points {
	const struct fl_module *m;
	uintptr_t *at;
	uint32_t n;
};

static bool add_point(void *arg, uint64_t offset)
{
	struct points *p = arg;
	uintptr_t at = p->m->bias + offset;
	size_t i = fl_rows_from(p->at, p->n, sizeof *p->at, at);

	if (i && p->at[i - 1] == at)
		return true;
	for (size_t k = p->n++; k > i; k--)
		p->at[k] = p->at[k - 1];
	p->at[i] = at;
	return p->n < FL_POINTS_MOST;
}

uint32_t fl_site_points(const struct fl_module *m, uintptr_t at[FL_POINTS_MOST])
{
	struct points p = { .m = m, .at = at };

	fl_site_each_point(m, add_point, &p);
	return p.n;
}

bool fl_points_in(const struct fl_outline *o, const struct fl_extent *f, const uintptr_t *at,
		  uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		size_t k = fl_outline_find(o, at[i]);

		if (k < o->n && &o->extents[o->extents[k].owner] == f)
			return true;
	}
	return false;
}

/* ---- which can be had ------------------------------------------------------------- */

static bool begins_step(const struct fl_outline *o, const struct fl_extent *f, uintptr_t at)
{
	struct fl_shape s;
	uint64_t datum;
	bool begins = false;

	if (fl_shape_open(&s, o, f))
		return false;
	if (fl_shape_of(&s, o, f->start, &datum))
		s.n_steps = 0;
	for (uint32_t i = 0; i < s.n_steps && !begins; i++)
		begins = s.steps[i].at == at && s.steps[i].len;
	fl_shape_close(&s);
	return begins;
}

/* 0, or why there can be no probe. */
static int check_point(const struct fl_outline *o, uintptr_t at, uint64_t *datum)
{
	unsigned char place[FL_ARCH_PLACE_MAX];
	size_t i = fl_outline_find(o, at);
	const struct fl_extent *f = i < o->n ? &o->extents[o->extents[i].owner] : NULL;

	*datum = at;
	if (!fl_arch_put_place(place, FL_FORM_BODY_POINT, NULL, 0))
		return FLE_NOPORT;
	if (!f || f->kind != FL_EXTENT_FUNCTION || f->flags & X_STUB)
		return FLE_NOINSN;
	if (f->refusal) {
		*datum = f->datum;
		return f->refusal;
	}
	return begins_step(o, f, at) ? 0 : FLE_NOINSN;
}

static int tell_point(const struct fl_outline *o, uintptr_t at, fl_site_each *each, void *arg)
{
	uint64_t datum;
	int err = check_point(o, at, &datum);

	return each(arg, &(struct fl_site){
		.at = at, .function = at, .kind = FL_AT_POINT, .bare = 1, .datum = datum,
		.room = 1, .refusal = err, .form = err ? FL_FORM_NONE : FL_FORM_BODY_POINT,
	});
}

static int scan_points(const struct fl_module *m, fl_site_each *each, void *arg)
{
	uintptr_t at[FL_POINTS_MOST];
	uint32_t n = fl_site_points(m, at);
	struct fl_outline o;
	int err;

	if (!n)
		return 0;
	err = fl_outline_open(&o, m);
	for (uint32_t i = 0; i < n && !err; i++)
		err = tell_point(&o, at[i], each, arg);
	fl_outline_keep(&o);
	return err;
}

const struct fl_provider fl_provider_point = {
	.name = "point",
	.about = "single instructions that a pattern names, in second bodies",
	.scan = scan_points,
};
