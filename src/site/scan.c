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
	[FL_N_PROVIDERS] = NULL,
};

struct scan {
	const struct fl_module *m;
	fl_site_each *each;
	void *arg;
	bool has_textrel;
	uint8_t provider;
	int n;
};

static int tell(void *arg, const struct fl_site *site)
{
	struct scan *s = arg;
	struct fl_site out = *site;

	out.provider = s->provider;
	if (!fl_obj_is_text(s->m, out.at, out.room ? out.room : 1)) {
		out.refusal = FLE_NOTEXT;
		out.datum = out.at;
	} else if (s->has_textrel) {
		out.refusal = FLE_TEXTREL;
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

int fl_site_scan(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct scan s = { .m = m, .each = each, .arg = arg };

	s.has_textrel = has_textrel(m);
	for (; fl_providers[s.provider]; s.provider++) {
		int err = 0;

		if (s.provider != FL_PROVIDER_BODY || fl_site_wants_bodies(m, s.n))
			err = fl_providers[s.provider]->scan(m, tell, &s);
		if (err)
			return err;
	}
	return s.n;
}
