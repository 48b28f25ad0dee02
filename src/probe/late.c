/*
 * late.c - probes of profiling calls that no scan has named, met one by one.
 *
 * Hides what a call is known by at its later calls (places.c): the address that it returns to,
 * if that shows a site, else its function. Hides, too, how such a probe belongs to its module,
 * and goes and comes back with it.
 */
#include <limits.h>

#include "glue.h"
#include "goal.h"
#include "known.h"
#include "late.h"
#include "os/os.h"

/* A key for a call that is known by its function: one for each kind and form. User addresses
 * leave the highest bits free. */
static uint64_t key_of(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	return 1ull << 63 | (uint64_t)(kind == FL_EXIT) << 62 |
	       (uint64_t)(form == FL_FORM_JUMP) << 61 | function;
}

/* ---- asked at each call -------------------------------------------------------- */

/* False: a thread that is still to decide about the probe holds the agent's lock, so ask again
 * with that lock. In a module that is gone other calls were here. */
static bool is_decided(uint32_t id)
{
	/* (A) pairs with (B) in goal.c */
	uint8_t state = load_acquire(&fl_table.probes[id].state);

	return state != FL_PROBE_OTHERS && state != FL_PROBE_FOUND && state != FL_PROBE_GONE;
}

static int find_decided(uint64_t key)
{
	int what = fl_place_find(key);

	return what >= 0 && !is_decided((uint32_t)what) ? -ENOENT : what;
}

int fl_probe_met(uintptr_t ret)
{
	return find_decided(ret);
}

int fl_probe_virtual_ready(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	return find_decided(key_of(function, kind, form));
}

/* ---- whose module ---------------------------------------------------------------- */

/* For a module that nobody has listed, because the loader says nothing, and that the loader was
 * not told to keep. */
static struct fl_known *know_mapped(uintptr_t at)
{
	struct fl_known *k = NULL;
	struct fl_module m;
	char path[PATH_MAX];

	if (!fl_table.unheard || fl_obj_around(&m, at, path, sizeof path))
		return NULL;
	k = fl_known_add(&m);
	if (k) {
		k->may_go = true;
		fl_known_give_row(k, path);
	}
	fl_obj_close(&m.file);
	return k;
}

/* The module around `at`, or NULL. It gets a row if it has none, because no scan found a site
 * in it, unless there is no room. The loader is not asked: a thread inside the loader may wait
 * for a lock that the caller's program has. */
static struct fl_known *module_around(uintptr_t at)
{
	struct fl_known *k = fl_known_around(at);

	if (!k)
		k = know_mapped(at);
	else
		fl_known_need_row(k, &fl_table.modules);
	return k;
}

/* ---- a call that has a site -------------------------------------------------------- */

/* A scan lists sites by provider, and ascending. */
static int find_scanned(const struct fl_known *k, uintptr_t at)
{
	const struct fl_shm_site *sites = fl_table.sites;
	uint32_t lo = k->first, hi = k->end;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sites[mid].provider == FL_PROVIDER_CYG && sites[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < k->end && sites[lo].at == at ? (int)lo : -ENOENT;
}

static void count_met(void)
{
	__atomic_fetch_add(&fl_table.shm->n_met, 1, __ATOMIC_RELAXED);
}

/* A function of a library may have been inlined in the module `k`. */
static void own_function(uint32_t id, const struct fl_known *k)
{
	struct fl_shm_site *s = &fl_table.sites[id];
	const struct fl_known *owner;
	int row;

	if (fl_known_has(k, s->function))
		return;
	owner = module_around(s->function);
	row = owner ? fl_known_own_row(owner) : FLE_NOPROBE;
	s->owner = row < 0 ? FL_NO_MODULE : (uint16_t)row;
}

static int append_late(struct fl_known *k, const struct fl_site *s)
{
	int row = fl_known_own_row(k);
	struct fl_probe *p = row < 0 ? NULL : fl_table_append(s, (uint32_t)row);
	uint32_t id;

	if (!p)
		return FLE_FULL;
	id = fl_probe_id(p);
	p->late = k->late;
	k->late = id;
	own_function(id, k);
	count_met();
	fl_glue_late(k, id);
	return (int)id;
}

/* Code that is in no module has no site. */
static int find_or_append(const struct fl_site *s, bool *is_new)
{
	struct fl_known *k = module_around(s->at);
	int id = k ? find_scanned(k, s->at) : FLE_NOPROBE;

	*is_new = id == -ENOENT;
	return *is_new ? append_late(k, s) : id;
}

static int add(const struct fl_site *s, bool *is_new)
{
	uint32_t from;
	int id;

	fl_table_begin();
	from = fl_table.n;
	id = find_or_append(s, is_new);
	fl_table_end(from);
	return id;
}

/* What was noted, unless its module is gone; it may still be to be decided about. */
static int find_there(uint64_t key)
{
	int id = fl_place_find(key);

	return id >= 0 && fl_table.probes[id].state == FL_PROBE_GONE ? -ENOENT : id;
}

/* A call that cannot be noted is not taken in: it would be taken in anew each time. */
int fl_probe_add(const struct fl_site *s, bool *is_new)
{
	uintptr_t ret = s->at + s->room;
	uint64_t signals;
	int id;

	fl_table_lock(&signals);
	*is_new = false;
	id = find_there(ret);
	if (id == -ENOENT && !fl_place_note(ret, -ENOENT)) {
		id = add(s, is_new);
		fl_place_note(ret, id);
	}
	fl_table_unlock(&signals);
	return id == -ENOENT ? FLE_FULL : id;
}

/* ---- a call that has none ------------------------------------------------------------ */

static int append_virtual(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	struct fl_known *k = module_around(function);
	struct fl_site s = {
		.at = function, .function = function, .kind = (uint8_t)kind,
		.provider = FL_PROVIDER_CYG, .form = form, .is_virtual = 1,
	};
	int row = k ? fl_known_own_row(k) : FL_NO_MODULE;
	struct fl_probe *p = row < 0 ? NULL : fl_table_append(&s, (uint32_t)row);

	if (!p)
		return FLE_FULL;
	p->late = fl_table.virtuals;
	fl_table.virtuals = fl_probe_id(p);
	count_met();
	return (int)fl_probe_id(p);
}

static int add_virtual(uintptr_t function, enum fl_kind kind, uint8_t form)
{
	uint32_t from;
	int id;

	fl_table_begin();
	from = fl_table.n;
	id = append_virtual(function, kind, form);
	fl_table_end(from);
	return id;
}

int fl_probe_virtual(uintptr_t function, enum fl_kind kind, uint8_t form, bool *is_new)
{
	uint64_t signals, key = key_of(function, kind, form);
	int id;

	fl_table_lock(&signals);
	id = find_there(key);
	*is_new = id == -ENOENT && !fl_place_note(key, -ENOENT);
	if (*is_new) {
		id = add_virtual(function, kind, form);
		fl_place_note(key, id);
	}
	fl_table_unlock(&signals);
	return id == -ENOENT ? FLE_FULL : id;
}

void fl_probe_no_site(uintptr_t ret)
{
	uint64_t signals;

	fl_table_lock(&signals);
	fl_place_note(ret, FLE_NOPROBE);
	fl_table_unlock(&signals);
}

/* ---- met by another process ------------------------------------------------------------ */

/* Find it by the address that it returns to, which a row does not have. */
static bool find_here(struct fl_site *out, const struct fl_shm_site *row, uintptr_t by)
{
	enum { LONGEST = 8 };		/* bytes of a call */

	for (uintptr_t n = 1; n <= LONGEST; n++)
		if (fl_site_at_return(out, row->at + by + n, row->function + by, row->kind) &&
		    out->at == row->at + by)
			return true;
	return false;
}

/* Two processes that ran at the same time may both have brought the same call. */
static bool take_met(struct fl_known *k, uint32_t id, const struct fl_shm_module *m)
{
	const struct fl_shm_site *row = &fl_table.rows[id];
	struct fl_site s;
	struct fl_probe *p;

	if (row->provider != FL_PROVIDER_CYG || row->at == row->function ||
	    row->at - m->lo >= m->hi - m->lo || !find_here(&s, row, k->bias - m->base) ||
	    fl_place_find(s.at + s.room) != -ENOENT ||
	    fl_place_note(s.at + s.room, (int)id))
		return false;
	p = fl_table_put(id, &s, row->module);
	p->late = k->late;
	k->late = id;
	fl_glue_late(k, id);
	return true;
}

uint32_t fl_late_share(struct fl_known *k, const char *path)
{
	const struct fl_shm_module *rows = fl_shm_modules(fl_table.shm), *m = NULL;
	uint32_t lowest = FL_NO_PROBE;
	bool is_it = false;

	for (uint32_t id = 0; id < fl_table.n; id++) {
		uint32_t module = fl_table.rows[id].module;

		if (fl_table.probes[id].state != FL_PROBE_OTHERS ||
		    module >= fl_table.shm->n_modules)
			continue;
		if (m != &rows[module]) {
			m = &rows[module];
			is_it = !__builtin_strcmp(m->path, path);
		}
		if (!is_it || id - m->first < m->n)
			continue;
		if (k->module == FL_NO_MODULE)
			k->module = (uint16_t)module;
		if (take_met(k, id, m) && lowest == FL_NO_PROBE)
			lowest = id;
	}
	return lowest;
}

/* ---- with its module -------------------------------------------------------------------- */

/* Another module may come to lie where the function of a virtual probe was. */
void fl_late_forget(const struct fl_known *k)
{
	uint32_t id = fl_table.virtuals;

	for (; id != FL_NO_PROBE; id = fl_table.probes[id].late) {
		if (fl_table.sites[id].at - k->lo < k->hi - k->lo &&
		    fl_table.probes[id].state != FL_PROBE_GONE)
			fl_goal_move(id, FL_PROBE_GONE);
	}
}

/* A probe without a site comes back with the module that its function is in. Calls of another
 * module may have been noted since. */
uint32_t fl_late_revive(const struct fl_known *k)
{
	struct fl_table *t = &fl_table;
	uint32_t id, lowest = FL_NO_PROBE;

	for (id = k->late; id != FL_NO_PROBE; id = t->probes[id].late) {
		fl_place_note(t->sites[id].at + t->probes[id].room, (int)id);
		lowest = id < lowest ? id : lowest;
	}
	for (id = t->virtuals; id != FL_NO_PROBE; id = t->probes[id].late) {
		struct fl_shm_site *s = &t->sites[id];

		if (t->probes[id].state != FL_PROBE_GONE || s->module != k->module ||
		    !fl_known_has(k, s->at))
			continue;
		fl_goal_move(id, FL_PROBE_FOUND);
		fl_place_note(key_of(s->function, s->kind, t->probes[id].form), (int)id);
		lowest = id < lowest ? id : lowest;
	}
	return lowest;
}
