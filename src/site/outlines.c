/*
 * outlines.c - an outline is read once, for the scan and for the first bodies.
 *
 * Hides where it waits in between, while the reader decides. Whoever opens the same file,
 * loaded at the same place, has it: by the build id, without which nothing is kept. Nothing is
 * kept of a file that is laid out, which is nowhere a moment later.
 */
#include "shape.h"

enum { KEPT = 64 };			/* modules; of others the outline is read again */

static struct waiting {
	struct fl_outline o;		/* o.n 0: none */
	uintptr_t bias;
	uint8_t id[FL_OBJ_ID];
} kept[KEPT];

int fl_outline_open(struct fl_outline *o, const struct fl_module *m)
{
	uint8_t id[FL_OBJ_ID];

	for (size_t i = 0; i < KEPT && !m->laid_out; i++) {
		struct waiting *k = &kept[i];

		if (!k->o.n || k->bias != m->bias || !fl_obj_file_id(&m->file, id) ||
		    __builtin_memcmp(id, k->id, sizeof id))
			continue;
		*o = k->o;
		o->m = m;
		k->o.n = 0;
		return 0;
	}
	return fl_outline_read(o, m);
}

void fl_outline_keep(struct fl_outline *o)
{
	struct waiting *k = kept;

	while (k < kept + KEPT && k->o.n)
		k++;
	if (k == kept + KEPT || !o->n || o->m->laid_out ||
	    !fl_obj_file_id(&o->m->file, k->id)) {
		fl_outline_close(o);
		return;
	}
	k->bias = o->m->bias;
	k->o = *o;
	*o = (struct fl_outline){ 0 };
}

void fl_outline_forget(void)
{
	for (size_t i = 0; i < KEPT; i++)
		if (kept[i].o.n)
			fl_outline_close(&kept[i].o);
}
