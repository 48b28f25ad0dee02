/*
 * scan.c - every provider over one module.
 *
 * Hides what is the same for all of them: which modules and places are refused
 * whatever the provider says.
 */
#include "scan.h"

const struct fl_provider *const fl_providers[] = {
	[FL_PROVIDER_CYG] = &fl_provider_cyg,
	[FL_PROVIDER_PATCHABLE] = &fl_provider_patchable,
	[FL_PROVIDER_XRAY] = &fl_provider_xray,
	[FL_PROVIDER_BODY] = &fl_provider_body,
	[FL_PROVIDER_PLT] = &fl_provider_plt,
	[FL_PROVIDER_POINT] = &fl_provider_point,
	[FL_N_PROVIDERS] = NULL,
};

struct scan {
	const struct fl_module *m;
	fl_site_each *each;
	void *arg;
	bool has_textrel, has_bodies;
	uint8_t provider;
	int n;
	uintptr_t points[FL_POINTS_MOST];
	uint32_t n_points;
	uint64_t known;			/* bit a point: a site is there, or a function */
	struct fl_between between;
};

_Static_assert(FL_POINTS_MOST == 64, "bits of known");

/* Where a provider finds a site or a function, an offset names that. Only other instructions
 * are points, and those that leave a body, where a point is another probe. */
static void note_known(struct scan *s, const struct fl_site *site)
{
	bool is_inside = s->provider == FL_PROVIDER_BODY && site->kind != FL_ENTRY;

	for (uint32_t i = 0; i < s->n_points && !is_inside; i++)
		if (s->points[i] == site->at || s->points[i] == site->function)
			s->known |= 1ull << i;
}

static bool is_known(const struct scan *s, const struct fl_site *site)
{
	size_t i = fl_rows_from(s->points, s->n_points, sizeof *s->points, site->at);

	return site->kind == FL_AT_POINT && i && s->known >> (i - 1) & 1;
}

static int tell(void *arg, const struct fl_site *site)
{
	struct scan *s = arg;
	struct fl_site out = *site;

	if (is_known(s, site))
		return 0;
	note_known(s, site);
	out.provider = s->provider;
	if (site->kind == FL_AT_POINT && !s->has_bodies)
		out.refusal = FLE_SITES;
	if (!fl_obj_is_text(s->m, out.at, out.room ? out.room : 1)) {
		out.refusal = FLE_NOTEXT;
		out.datum = out.at;
	} else if (s->has_textrel) {
		out.refusal = FLE_TEXTREL;
	} else if (!out.refusal && s->provider < FL_PROVIDER_BODY) {
		out.refusal = fl_between(&s->between, out.at, &out.datum);
	}
	s->n++;
	return s->each(s->arg, &out);
}

static bool has_textrel(const struct fl_module *m)
{
	uint64_t v;

	if (fl_obj_dynamic(m, DT_TEXTREL, &v))
		return true;
	return fl_obj_dynamic(m, DT_FLAGS, &v) && (v & DF_TEXTREL);
}

/* Code that may be executed and not read: to look at it ends the program. */
static bool may_be_read(const struct fl_module *m)
{
	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_LOAD && (m->ph[i].p_flags & (PF_X | PF_R)) == PF_X)
			return false;
	return true;
}

int fl_site_scan(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct scan s = { .m = m, .each = each, .arg = arg };
	int err;

	if (!may_be_read(m))
		return 0;
	s.has_textrel = has_textrel(m);
	s.n_points = fl_site_points(m, s.points);
	err = fl_between_open(&s.between, m);
	for (; fl_providers[s.provider] && !err; s.provider++) {
		if (s.provider == FL_PROVIDER_BODY)
			s.has_bodies = fl_site_wants_bodies(m, s.n);
		if (s.provider != FL_PROVIDER_BODY || s.has_bodies)
			err = fl_providers[s.provider]->scan(m, tell, &s);
	}
	fl_between_close(&s.between);
	return err ? err : s.n;
}
