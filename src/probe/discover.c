/*
 * discover.c - from the modules of the process to lines of the probe table.
 *
 * Hides when a module is new and when it is gone: every walk stamps the modules
 * it meets, and one that was not met has been unloaded. A module that is gone
 * takes its probes with it; its text is not there to be put back.
 */
#include "os/os.h"
#include "table.h"

struct walk {
	enum fl_moment moment;
	uint32_t module;		/* index of the one being scanned */
	uint32_t n_new;
	int err;
};

static int take_site(void *arg, const struct fl_site *s)
{
	const struct walk *w = arg;

	return fl_table_append(s, w->module) ? 0 : FLE_FULL;
}

static struct fl_known *find_known(const struct fl_module *m)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = 0; i < t->n_known; i++)
		if (!t->known[i].gone && t->known[i].lo == m->lo &&
		    t->known[i].bias == m->bias)
			return &t->known[i];
	return NULL;
}

static void publish_module(struct walk *w, const struct fl_module *m)
{
	struct fl_shm *shm = fl_table.shm;
	struct fl_shm_module *out = &fl_shm_modules(shm)[shm->n_modules];
	size_t n = 0;

	out->base = m->bias;
	out->lo = m->lo;
	out->hi = m->hi;
	for (; m->path[n] && n + 1 < sizeof out->path; n++)
		out->path[n] = m->path[n];
	out->path[n] = 0;
	w->module = shm->n_modules++;
}

/* Scan a new module. One without sites is not remembered: it costs nothing
 * more than the scan of its dynamic section to look again. */
static void take_module(struct walk *w, struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	struct fl_known *k = &t->known[t->n_known];
	uint32_t first = t->n;
	int err;

	if (t->n_known == t->shm->max_modules || t->shm->n_modules == t->shm->max_modules)
		return;
	publish_module(w, m);
	m->laid_out = w->moment == FL_LOADING;	/* its GOT is not filled yet */
	err = fl_site_scan(m, take_site, w);
	w->err = err == FLE_FULL ? err : w->err;
	if (err < 0 && t->n == first)
		t->shm->n_modules--;
	if (t->n == first)
		return;
	*k = (struct fl_known){
		.lo = m->lo, .hi = m->hi, .bias = m->bias, .first = first,
		.end = t->n, .prot = fl_text_prot(t->sites[first].at),
	};
	t->n_known++;
	k->seen = t->stamp;
	fl_glue_make(k, first, t->n);
	w->n_new += t->n - first;
}

static int each_module(void *arg, struct fl_module *m)
{
	struct fl_known *k = find_known(m);

	if (k)
		k->seen = fl_table.stamp;
	else
		take_module(arg, m);
	return 0;
}

static void forget(struct fl_known *k)
{
	struct fl_table *t = &fl_table;

	k->gone = true;
	for (uint32_t i = k->first; i < k->end; i++) {
		t->sites[i].state = FL_SITE_GONE;
		t->probes[i].armed = t->probes[i].is_on = 0;
	}
}

static void forget_unseen(void)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = 0; i < t->n_known; i++)
		if (!t->known[i].gone && t->known[i].seen != t->stamp)
			forget(&t->known[i]);
}

static int stamp_known(void *arg, struct fl_module *m)
{
	struct fl_known *k = find_known(m);

	(void)arg;
	if (k)
		k->seen = fl_table.stamp;
	return 0;
}

void fl_table_forget_gone(void)
{
	fl_table.stamp++;
	fl_obj_loaded(stamp_known, NULL);
	forget_unseen();
}

uint32_t fl_probes_count(void)
{
	return fl_table.n;
}

int fl_probes_discover(enum fl_moment moment)
{
	struct walk w = { .moment = moment };
	uint64_t signals;

	fl_table_lock(&signals);
	fl_table.stamp++;
	fl_obj_loaded(each_module, &w);
	forget_unseen();
	fl_table.shm->n_sites = fl_table.n;
	fl_table_unlock(&signals);
	return w.err ? w.err : (int)w.n_new;
}

static struct fl_known *module_around(uintptr_t at)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = t->n_known; i-- > 0;)
		if (!t->known[i].gone && at - t->known[i].lo < t->known[i].hi - t->known[i].lo)
			return &t->known[i];
	return NULL;
}

/* A single site gets a module entry of its own, with glue of its own. */
static int add_locked(const struct fl_site *s)
{
	struct fl_table *t = &fl_table;
	struct fl_known *around = module_around(s->at), *k;
	uint32_t id = t->n;

	if (!around || t->n_known == t->shm->max_modules)
		return FLE_FULL;
	if (!fl_table_append(s, t->sites[around->first].module))
		return FLE_FULL;
	k = &t->known[t->n_known++];
	*k = *around;
	k->first = id;
	k->end = t->n;
	fl_glue_make(k, id, t->n);
	t->shm->n_sites = t->n;
	return (int)id;
}

int fl_probe_add(const struct fl_site *s)
{
	uint64_t signals;
	int id;

	fl_table_lock(&signals);
	id = fl_probe_at(s->at);
	if (id < 0)
		id = add_locked(s);
	fl_table_unlock(&signals);
	return id;
}

static int find_virtual(uint32_t function, enum fl_kind kind)
{
	uint32_t i = fl_table.functions[function].probes;

	for (; i != FL_NO_PROBE; i = fl_table.probes[i].next)
		if (fl_table.probes[i].is_virtual && fl_table.sites[i].kind == kind)
			return (int)i;
	return -ENOENT;
}

static int add_virtual(uintptr_t function, enum fl_kind kind)
{
	struct fl_known *k = module_around(function);
	struct fl_site s = {
		.at = function, .function = function, .kind = (uint8_t)kind,
		.provider = FL_PROVIDER_CYG, .form = FL_FORM_NONE,
	};
	uint32_t module = k ? fl_table.sites[k->first].module : UINT16_MAX;
	struct fl_probe *p = fl_table_append(&s, module);

	if (!p)
		return FLE_FULL;
	p->is_virtual = 1;
	fl_table.shm->n_sites = fl_table.n;
	return (int)fl_probe_id(p);
}

int fl_probe_virtual(uintptr_t function, enum fl_kind kind, bool *is_new)
{
	uint64_t signals;
	int id;

	fl_table_lock(&signals);
	id = find_virtual(fl_table_function(function), kind);
	*is_new = id < 0;
	if (*is_new)
		id = add_virtual(function, kind);
	fl_table_unlock(&signals);
	return id;
}
