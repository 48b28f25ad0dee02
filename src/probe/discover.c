/*
 * discover.c - from the modules of the process to lines of the probe table.
 *
 * Hides when a module is new and when it is gone: every walk stamps the modules
 * it meets, and one that was not met has been unloaded. A module that is gone
 * takes its probes with it; its text is not there to be put back. Hides, too,
 * that the processes of a family share rows: a file whose sites another has
 * brought, and which has the same ones here, brings no new ones.
 */
#include "os/os.h"
#include "table.h"

struct walk {
	enum fl_moment moment;
	uint32_t module;		/* row of the one being scanned */
	uint32_t from;			/* lowest id that awaits arming */
	uint32_t n_new;
	int err;
};

static bool is_same(const struct fl_known *k, const struct fl_module *m)
{
	return k->lo == m->lo && k->hi == m->hi && k->bias == m->bias;
}

static const char *path_of(const struct fl_known *k)
{
	return fl_shm_modules(fl_table.shm)[k->module].path;
}

/* ---- a module that was not there before --------------------------------------- */

static int take_site(void *arg, const struct fl_site *s)
{
	const struct walk *w = arg;

	return fl_table_append(s, w->module) ? 0 : FLE_FULL;
}

/* Rows for `m` in both tables; NULL when there is no room. */
static struct fl_known *know(const struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	struct fl_shm_module *row = &fl_shm_modules(t->shm)[t->shm->n_modules];
	struct fl_known *k = &t->known[t->n_known];
	size_t n = 0;

	if (t->n_known == t->shm->max_modules || t->shm->n_modules == t->shm->max_modules)
		return NULL;
	row->base = m->bias;
	row->lo = m->lo;
	row->hi = m->hi;
	for (; m->path[n] && n + 1 < sizeof row->path; n++)
		row->path[n] = m->path[n];
	row->path[n] = 0;
	row->n = 0;
	*k = (struct fl_known){
		.lo = m->lo, .hi = m->hi, .bias = m->bias, .seen = t->stamp,
		.module = t->shm->n_modules++, .first = t->n, .end = t->n,
	};
	t->n_known++;
	return k;
}

/* Sites of a module's image at another place. */
struct shifted {
	fl_site_each *each;
	void *arg;
	uintptr_t by;
};

static int shift_site(void *arg, const struct fl_site *s)
{
	const struct shifted *to = arg;
	struct fl_site here = *s;

	here.at += to->by;
	here.function += to->by;
	return to->each(to->arg, &here);
}

/* While the loader has not relocated a module, what its pointers say is read
 * from an image of the file that we relocate ourselves. */
static int scan_file(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct fl_module image;
	struct shifted to = { .each = each, .arg = arg };
	int n = fl_obj_lay_out(&image, &m->file, m->path);

	if (n < 0)
		return n;
	to.by = m->bias - image.bias;
	n = fl_site_scan(&image, shift_site, &to);
	fl_obj_unlay(&image);
	return n;
}

static int scan(enum fl_moment moment, const struct fl_module *m, fl_site_each *each,
		void *arg)
{
	return moment == FL_LOADING ? scan_file(m, each, arg) : fl_site_scan(m, each, arg);
}

/* ---- a module that another process has brought ---------------------------------- */

/* A row a site, in order; `by` from there to here. */
struct match {
	uint32_t id, end, module;
	uint64_t by;
};

static int match_site(void *arg, const struct fl_site *s)
{
	struct match *m = arg;
	const struct fl_shm_site *row = &fl_table.rows[m->id];

	if (m->id == m->end || row->at + m->by != s->at || row->kind != s->kind ||
	    row->function + m->by != s->function || row->provider != s->provider ||
	    fl_table.sites[m->id].state != FL_SITE_OTHERS)
		return 1;
	m->id++;
	return 0;
}

static int put_site(void *arg, const struct fl_site *s)
{
	struct match *m = arg;

	if (m->id == m->end)
		return 1;
	fl_table_put(m->id++, s, m->module);
	return 0;
}

static bool find_match(const struct walk *w, const struct fl_module *m, struct match *to)
{
	struct fl_shm *shm = fl_table.shm;

	for (uint32_t i = 0; i < shm->n_modules; i++) {
		const struct fl_shm_module *row = &fl_shm_modules(shm)[i];
		struct match try = { .id = row->first, .end = row->first + row->n,
				     .module = i, .by = m->bias - row->base };

		if (!row->n || try.end > fl_table.n || __builtin_strcmp(row->path, m->path))
			continue;
		*to = try;
		if (scan(w->moment, m, match_site, &try) >= 0 && try.id == try.end)
			return true;
	}
	return false;
}

/* The sites of `m` get the ids that they have elsewhere. A site that was met at
 * its first call is not among them: each process brings its own. */
static bool share_module(struct walk *w, const struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	struct match from;
	struct fl_known *k;

	if (!fl_table_is_shared() || m->busy || t->n_known == t->shm->max_modules ||
	    !find_match(w, m, &from))
		return false;
	k = &t->known[t->n_known++];
	*k = (struct fl_known){
		.lo = m->lo, .hi = m->hi, .bias = m->bias, .seen = t->stamp,
		.module = from.module, .first = from.id, .end = from.end,
	};
	scan(w->moment, m, put_site, &from);
	fl_glue_make(k, k->first, k->end);
	w->n_new += k->end - k->first;
	w->from = k->first < w->from ? k->first : w->from;
	return true;
}

/* ---- a module that is new to all ------------------------------------------------- */

/* Scan it. One without sites is not remembered: to look again costs
 * no more than its dynamic section. */
static void take_module(struct walk *w, struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	struct fl_known *k = m->busy ? NULL : know(m);
	int err;

	if (!k) {
		w->err = m->busy ? m->busy : FLE_FULL;
		return;
	}
	w->module = k->module;
	err = scan(w->moment, m, take_site, w);
	if (err == FLE_FULL || err == -ENOMEM)
		w->err = err;
	k->end = t->n;
	if (k->end == k->first) {
		t->n_known--;
		t->shm->n_modules--;
		return;
	}
	fl_shm_modules(t->shm)[k->module].first = k->first;
	fl_shm_modules(t->shm)[k->module].n = k->end - k->first;
	fl_glue_make(k, k->first, k->end);
	w->n_new += k->end - k->first;
}

/* ---- a module that is back ------------------------------------------------------ */

struct compare {
	uint32_t id, end;		/* what the next site should be */
};

static int same_site(void *arg, const struct fl_site *s)
{
	struct compare *c = arg;
	const struct fl_shm_site *old = &fl_table.sites[c->id];

	if (c->id == c->end || old->at != s->at || old->function != s->function ||
	    old->kind != s->kind || fl_table.probes[c->id].form != s->form)
		return 1;
	c->id++;
	return 0;
}

/* What has no site comes back with the module that its function is in. */
static void revive_virtual(struct walk *w, const struct fl_known *k)
{
	for (uint32_t id = 0; id < fl_table.n; id++) {
		struct fl_shm_site *s = &fl_table.sites[id];

		if (!fl_table.probes[id].is_virtual || s->state != FL_SITE_GONE ||
		    s->module != k->module || !fl_known_has(k, s->at))
			continue;
		s->state = FL_SITE_FOUND;
		w->from = id < w->from ? id : w->from;
	}
}

static void revive(struct walk *w, struct fl_known *k)
{
	k->gone = false;
	k->seen = fl_table.stamp;
	for (uint32_t i = k->first; i < k->end; i++)
		fl_table.sites[i].state = fl_table.sites[i].refusal ? FL_SITE_REFUSED
								    : FL_SITE_FOUND;
	if (k->first < w->from)
		w->from = k->first;
}

/* The same file at the same place with the same sites gets its probes back, so
 * a program that loads and unloads a plugin all day fills no table. Its first
 * row stands for what a scan finds; later ones are sites met at a call. */
static bool revive_module(struct walk *w, struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	uint32_t first = 0;
	struct compare c;

	while (first < t->n_known && !(t->known[first].gone && is_same(&t->known[first], m) &&
				       !__builtin_strcmp(path_of(&t->known[first]), m->path)))
		first++;
	if (first == t->n_known)
		return false;
	c = (struct compare){ t->known[first].first, t->known[first].end };
	if (scan(w->moment, m, same_site, &c) < 0 || c.id != c.end)
		return false;
	for (uint32_t i = first; i < t->n_known; i++)
		if (t->known[i].gone && is_same(&t->known[i], m) &&
		    t->known[i].module == t->known[first].module)
			revive(w, &t->known[i]);
	revive_virtual(w, &t->known[first]);
	return true;
}

/* ---- the walk ---------------------------------------------------------------------- */

/* Stamp every row of a module that is still there. */
static bool stamp(const struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	bool known = false;

	for (uint32_t i = 0; i < t->n_known; i++) {
		if (t->known[i].gone || !is_same(&t->known[i], m))
			continue;
		t->known[i].seen = t->stamp;
		known = true;
	}
	return known;
}

static int each_module(void *arg, struct fl_module *m)
{
	struct walk *w = arg;

	if (!stamp(m) && !revive_module(w, m) && !share_module(w, m))
		take_module(w, m);
	return 0;
}

static struct fl_known *known_around(uintptr_t at)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = t->n_known; i-- > 0;)
		if (fl_known_has(&t->known[i], at))
			return &t->known[i];
	return NULL;
}

static void forget(struct fl_known *k)
{
	struct fl_table *t = &fl_table;
	uint64_t signals;

	k->gone = true;
	fl_text_forget(k->lo, k->hi);
	fl_claims_lock(&signals);
	for (uint32_t i = k->first; i < k->end; i++) {
		t->sites[i].state = FL_SITE_GONE;
		t->switches[i].armed = t->switches[i].is_on = 0;
		fl_unclaim(&t->probes[i].patch);
	}
	fl_claims_unlock(&signals);
}

/* Another module may come to lie where the function of a virtual probe was. */
static void forget_virtual(void)
{
	struct fl_table *t = &fl_table;

	for (uint32_t id = 0; id < t->n; id++) {
		struct fl_shm_site *s = &t->sites[id];

		if (!t->probes[id].is_virtual || s->module >= t->shm->n_modules ||
		    known_around(s->at))
			continue;
		store_relaxed(&s->state, FL_SITE_GONE);
		t->switches[id].is_on = 0;
	}
}

static void forget_unseen(void)
{
	struct fl_table *t = &fl_table;
	bool any = false;

	for (uint32_t i = 0; i < t->n_known; i++) {
		if (t->known[i].gone || t->known[i].seen == t->stamp)
			continue;
		forget(&t->known[i]);
		any = true;
	}
	if (any)
		forget_virtual();
}

static int stamp_known(void *arg, struct fl_module *m)
{
	(void)arg;
	stamp(m);
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

int fl_probes_discover(enum fl_moment moment, uint32_t *from)
{
	struct walk w = { .moment = moment };
	uint64_t signals;

	fl_table_lock(&signals);
	fl_table_begin();
	w.from = fl_table.n;
	fl_table.stamp++;
	fl_obj_loaded(each_module, &w);
	forget_unseen();
	fl_table_end(w.from);
	fl_table_unlock(&signals);
	*from = w.from;
	return w.err ? w.err : (int)w.n_new;
}

/* ---- one site, met at its first call --------------------------------------------------- */

static int know_if_around(void *arg, struct fl_module *m)
{
	const uintptr_t *at = arg;

	return *at - m->lo < m->hi - m->lo && know(m);
}

/* The row of the module around `at`, made for one in which no scan found a
 * site; NULL when there is none. */
static struct fl_known *module_around(uintptr_t at)
{
	struct fl_known *k = known_around(at);

	if (!k && fl_obj_loaded(know_if_around, &at))
		k = &fl_table.known[fl_table.n_known - 1];
	return k;
}

/* The row of `k` as a module of this process: one that it shares says where the
 * module is elsewhere. FLE_FULL. */
static int own_row(const struct fl_known *k)
{
	struct fl_shm *shm = fl_table.shm;
	struct fl_shm_module *rows = fl_shm_modules(shm);
	uint32_t n = shm->n_modules;

	if (rows[k->module].base == k->bias)
		return (int)k->module;
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].base == k->bias && !__builtin_strcmp(rows[i].path, path_of(k)))
			return (int)i;
	if (n == shm->max_modules)
		return FLE_FULL;
	rows[n] = rows[k->module];
	rows[n].base = k->bias;
	rows[n].lo = k->lo;
	rows[n].hi = k->hi;
	rows[n].n = 0;
	shm->n_modules++;
	return (int)n;
}

/* A single site gets a row of its own, the module's newest, which has what is left of
 * the block of glue that the one before took its own from. */
static int add_locked(const struct fl_site *s)
{
	struct fl_table *t = &fl_table;
	struct fl_known *around = module_around(s->at), *k;
	struct fl_probe *p;
	int row = around ? own_row(around) : FLE_FULL;

	if (row < 0 || t->n_known == t->shm->max_modules)
		return FLE_FULL;
	p = fl_table_append(s, (uint32_t)row);
	if (!p)
		return FLE_FULL;
	k = &t->known[t->n_known++];
	*k = *around;
	k->module = (uint32_t)row;
	k->first = fl_probe_id(p);
	k->end = t->n;
	fl_glue_late(k, k->first);
	return (int)k->first;
}

static int append_locked(const struct fl_site *s)
{
	uint32_t from;
	int id;

	fl_table_begin();
	from = fl_table.n;
	id = add_locked(s);
	fl_table_end(from);
	return id;
}

int fl_probe_add(const struct fl_site *s)
{
	uint64_t signals;
	int id;

	fl_table_lock(&signals);
	id = fl_probe_at(s->at);
	if (id < 0)
		id = append_locked(s);
	fl_table_unlock(&signals);
	return id;
}

static int find_virtual(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	uint32_t i = fl_table_probes_of(function);

	for (; i != FL_NO_PROBE; i = fl_table.next[i])
		if (fl_table.probes[i].is_virtual && fl_table.sites[i].kind == kind &&
		    fl_table.probes[i].form == form &&
		    load_relaxed(&fl_table.sites[i].state) != FL_SITE_GONE)
			return (int)i;
	return -ENOENT;
}

int fl_probe_virtual_ready(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	int id = find_virtual(function, kind, form);

	/* (A) pairs with (B) in state.c */
	if (id >= 0 && load_acquire(&fl_table.sites[id].state) != FL_SITE_READY)
		return -ENOENT;
	return id;
}

static int add_virtual(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	struct fl_known *k = module_around(function);
	struct fl_site s = {
		.at = function, .function = function, .kind = (uint8_t)kind,
		.provider = FL_PROVIDER_CYG, .form = form, .is_virtual = 1,
	};
	int row = k ? own_row(k) : UINT16_MAX;
	struct fl_probe *p = row < 0 ? NULL : fl_table_append(&s, (uint32_t)row);

	return p ? (int)fl_probe_id(p) : FLE_FULL;
}

static int append_virtual(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	uint32_t from;
	int id;

	fl_table_begin();
	from = fl_table.n;
	id = add_virtual(function, kind, form);
	fl_table_end(from);
	return id;
}

int fl_probe_virtual(uintptr_t function, enum fl_kind kind, uint8_t form, bool *is_new)
{
	uint64_t signals;
	int id;

	fl_table_lock(&signals);
	id = find_virtual(function, kind, form);
	*is_new = id < 0;
	if (*is_new)
		id = append_virtual(function, kind, form);
	fl_table_unlock(&signals);
	return id;
}
