/*
 * discover.c - from the modules of the process to lines of the probe table.
 *
 * Hides when a module is new and when it is gone: every walk stamps the modules that it meets
 * (known.c), and a module that was not met has been unloaded. A module that is gone takes its
 * probes with it; its text is not there to be put back. Hides, too, that the processes of a
 * process tree share rows: a file whose sites another process has brought, and which has the
 * same sites here, brings no new ones.
 */
#include <sys/mman.h>

#include "glue.h"
#include "goal.h"
#include "known.h"
#include "late.h"
#include "os/os.h"
#include "switch.h"

struct walk {
	enum fl_moment moment;
	struct fl_origin origin;	/* of the one that is new */
	uint32_t module;		/* row of the one being scanned */
	uint32_t from;			/* lowest id that awaits arming */
	uint32_t n_new;
	int err;
};

/* ---- a module that was not there before --------------------------------------- */

static int take_site(void *arg, const struct fl_site *s)
{
	const struct walk *w = arg;

	return fl_table_append(s, w->module) ? 0 : FLE_FULL;
}

/* To tell sites of a module's image where the module is: `by` further on. */
struct shifted {
	fl_site_each *each;
	void *arg;
	uintptr_t by;
};

static int shift_site(void *arg, const struct fl_site *s)
{
	const struct shifted *to = arg;
	struct fl_site here = *s;

	if (!fl_probe_builder && s->provider == FL_PROVIDER_BODY)
		return 0;		/* a program's own session has none */
	if (s->pointer)
		return 0;		/* its first call tells, when the pointer is filled */
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

/* Sites match rows one to one, in order; `by`: from there to here. */
struct match {
	uint32_t id, end, module;
	uint64_t by;
};

/* A library's function that was inlined lies with the library: outside, here and there. */
static bool is_same_function(const struct match *m, const struct fl_shm_site *row,
			     const struct fl_site *s)
{
	const struct fl_shm_module *module = &fl_shm_modules(fl_table.shm)[row->module];

	return row->owner == row->module ? row->function + m->by == s->function :
	       s->function - m->by - module->lo >= module->hi - module->lo;
}

static int match_site(void *arg, const struct fl_site *s)
{
	struct match *m = arg;
	const struct fl_shm_site *row = &fl_table.rows[m->id];

	if (m->id == m->end || row->at + m->by != s->at || row->kind != s->kind ||
	    !is_same_function(m, row, s) || row->provider != s->provider ||
	    fl_table.probes[m->id].state != FL_PROBE_OTHERS)
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
	struct fl_region *shm = fl_table.shm;

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

/* The sites of `m` get the ids that they have elsewhere. */
static bool share_module(struct walk *w, struct fl_known *k, const struct fl_module *m)
{
	struct match from;

	if (!fl_table_is_shared() || !find_match(w, m, &from))
		return false;
	k->module = from.module;
	k->first = from.id;
	k->end = from.end;
	scan(w->moment, m, put_site, &from);
	fl_glue_make(k, k->first, k->end, FL_UNDECIDED);
	w->n_new += k->end - k->first;
	w->from = k->first < w->from ? k->first : w->from;
	return true;
}

/* ---- a module that is new to all ------------------------------------------------- */

/* Scan it. A module without sites has no row. */
static int scan_new(struct walk *w, struct fl_known *k, const struct fl_module *m)
{
	struct fl_table *t = &fl_table;
	int err;

	if (!fl_known_give_row(k, m->path))
		return FLE_FULL;
	w->module = k->module;
	err = scan(w->moment, m, take_site, w);
	k->end = t->n;
	if (k->end == k->first) {
		fl_known_take_row(k);
		return err;
	}
	fl_shm_modules(t->shm)[k->module].first = k->first;
	fl_shm_modules(t->shm)[k->module].n = k->end - k->first;
	fl_glue_make(k, k->first, k->end, FL_UNDECIDED);
	w->n_new += k->end - k->first;
	return err;
}

/* libflick.so: what calls the profiling functions is elsewhere. A program or library that has
 * libflick.a in it is another case. */
static bool is_libflick(const struct fl_module *m)
{
	uintptr_t here = (uintptr_t)is_libflick;
	uint64_t flags;

	return here - m->lo < m->hi - m->lo && fl_obj_dynamic(m, DT_FLAGS_1, &flags) &&
	       flags & DF_1_INITFIRST;
}

/* Take sites that no scan has found here, and other processes have met. A module that the
 * loader has not relocated does not tell yet where it calls. */
static void share_late(struct walk *w, struct fl_known *k, const struct fl_module *m)
{
	uint32_t from = fl_table_is_shared() && w->moment != FL_LOADING ?
			fl_late_share(k, m->path) : FL_NO_PROBE;

	w->n_new += from != FL_NO_PROBE;
	w->from = from < w->from ? from : w->from;
}

static int take_module(struct walk *w, struct fl_module *m)
{
	struct fl_known *k = fl_known_add(m);
	int err = k ? 0 : FLE_FULL;

	if (!err && !is_libflick(m)) {
		if (!share_module(w, k, m))
			err = scan_new(w, k, m);
		share_late(w, k, m);
	}
	if (err >= 0)
		fl_known_note(k, &w->origin);
	return err == FLE_FULL || err == -ENOMEM ? err : 0;
}

/* ---- a module that is back ------------------------------------------------------ */

struct compare {
	uint32_t id, end;		/* what the next site should be */
};

/* What stands in a body has the form by now that it got when the body was built. */
static bool has_form(const struct fl_probe *p, uint8_t form)
{
	return p->form == form ||
	       (fl_probe_is_apart(p) && fl_probe_is_apart(&(struct fl_probe){ .form = form }));
}

static int same_site(void *arg, const struct fl_site *s)
{
	struct compare *c = arg;
	const struct fl_shm_site *old = &fl_table.sites[c->id];

	if (c->id == c->end || old->at != s->at || old->function != s->function ||
	    old->kind != s->kind || !has_form(&fl_table.probes[c->id], s->form))
		return 1;
	c->id++;
	return 0;
}

/* A site that nobody wanted had no glue; by now somebody may want it. */
static void revive_site(uint32_t id)
{
	struct fl_probe *p = &fl_table.probes[id];

	if (p->reached == FL_REACHED_NEVER && fl_table_wants_too(id))
		p->reached = FL_REACHED_UNKNOWN;
	fl_goal_move(id, fl_table_found(id));
}

static void revive(struct walk *w, struct fl_known *k)
{
	uint32_t late;

	fl_known_is_back(k);
	for (uint32_t id = k->first; id < k->end; id++)
		revive_site(id);
	for (uint32_t id = k->late; id != FL_NO_PROBE; id = fl_table.probes[id].late)
		revive_site(id);
	late = fl_late_revive(k);
	w->from = k->first < k->end && k->first < w->from ? k->first : w->from;
	w->from = late < w->from ? late : w->from;
}

static bool has_its_bodies(const struct fl_module *m, const struct fl_known *k)
{
	return !fl_probe_builder || fl_probe_builder->hold(m, k->module);
}

/* The program stored to its code when it was there last: it is not known with which sites. */
static bool was_overwritten(const struct fl_known *k)
{
	for (uint32_t id = k->first; id < k->end; id++)
		if (load_relaxed(&fl_table.sites[id].refusal) == FLE_OVERWRITTEN)
			return true;
	return false;
}

/* Whose bodies these are its build id tells, or else its file. */
static bool may_be_told(struct fl_module *m)
{
	uint8_t id[FL_OBJ_ID];

	return fl_obj_build_id(m, id) || m->file.bytes || !fl_obj_open_module(m);
}

/* Nobody has written to the file since its sites were found, in a module just loaded as this
 * one. */
static bool revive_unread(struct walk *w, struct fl_known *k, struct fl_module *m)
{
	if (!k || !fl_known_is_of(k, &w->origin) ||
	    (k->first < k->end && (!may_be_told(m) || !has_its_bodies(m, k))))
		return false;
	revive(w, k);
	return true;
}

/* The same file at the same place with the same sites gets its probes back, so
 * a program that loads and unloads a plugin all day fills no table. */
static bool revive_read(struct walk *w, struct fl_known *k, const struct fl_module *m)
{
	struct compare c;

	if (!k)
		return false;
	c = (struct compare){ k->first, k->end };
	if (scan(w->moment, m, same_site, &c) < 0 || c.id != c.end || !has_its_bodies(m, k))
		return false;
	fl_known_note(k, &w->origin);
	revive(w, k);
	return true;
}

/* ---- the walk ---------------------------------------------------------------------- */

static bool is_met(void *arg, const struct fl_module *m)
{
	struct fl_known *k = fl_known_find(m);

	(void)arg;
	if (k)
		k->seen = fl_table.stamp;
	return k;
}

/* The loader has just mapped it. The program, which may ask other rights for its text, has not
 * got it yet. */
static void tell_text(const struct fl_module *m, const struct fl_origin *o)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];
		uintptr_t at = m->bias + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags == (PF_R | PF_X))
			fl_text_told(&(struct fl_mapping){
				.lo = fl_round_down(at, FL_PAGE),
				.hi = fl_round_up(at + p->p_filesz, FL_PAGE),
				.prot = PROT_READ | PROT_EXEC, .inode = o->file.inode,
				.offset = fl_round_down(p->p_offset, FL_PAGE),
				.path = m->path });
	}
}

/* A module's file is read when the module is met first. Where there is no memory for that now,
 * the module is met again. */
static int each_new(void *arg, struct fl_module *m)
{
	struct walk *w = arg;
	struct fl_known *k;
	int err;

	w->origin.is_known = false;
	if (w->moment == FL_LOADING)
		fl_known_look(&w->origin, m);
	if (w->origin.is_known)
		tell_text(m, &w->origin);
	k = fl_known_find_gone(m, &w->origin);
	k = k && was_overwritten(k) ? NULL : k;
	if (revive_unread(w, k, m))
		return 0;
	err = m->file.bytes ? 0 : fl_obj_open_module(m);
	if (!err && !revive_read(w, k, m))
		err = take_module(w, m);
	w->err = err ? err : w->err;
	return 0;
}

/* A body is still there when its module is back, and its places are armed again. Nobody runs it
 * now. */
static void put_old_back(uint32_t id)
{
	struct fl_patch *p = &fl_table.patches[id];

	if (!fl_probe_is_apart(&fl_table.probes[id]) || !fl_switches_may_store())
		return;
	fl_arch_store_bytes(p->at + (uintptr_t)p->view, p->bytes[FL_OLD], p->len);
	p->state = FL_OLD;
}

static void forget_site(uint32_t id)
{
	bool was_armed = fl_table.probes[id].state == FL_PROBE_ARMED;

	fl_goal_move(id, FL_PROBE_GONE);
	if (was_armed)
		put_old_back(id);
	if (fl_table.probes[id].form == FL_FORM_BODY_BEFORE && fl_probe_builder)
		fl_probe_builder->forget(fl_table.patches[id].at);
	if (fl_table.probes[id].reached != FL_REACHED_NEVER)
		fl_unclaim(&fl_table.patches[id]);
}

static void forget(struct fl_known *k)
{
	uint64_t signals;

	fl_text_forget(k->lo, k->hi);
	fl_claims_lock(&signals);
	for (uint32_t id = k->first; id < k->end; id++)
		forget_site(id);
	for (uint32_t id = k->late; id != FL_NO_PROBE; id = fl_table.probes[id].late)
		forget_site(id);
	fl_claims_unlock(&signals);
	fl_late_forget(k);
}

void fl_table_forget_gone(void (*each_loaded)(void (*see)(uintptr_t bias)))
{
	uint64_t signals;

	fl_table_lock(&signals);
	fl_table.stamp++;
	each_loaded(fl_known_see);
	fl_known_each_unseen(forget);
	fl_table_unlock(&signals);
}

uint32_t fl_probes_count(void)
{
	return fl_table.n;
}

int fl_probes_list(struct fl_modules *now)
{
	uint32_t unloads;
	int err;

	do {
		fl_switches_wait_for_thaw();
		unloads = fl_switches_unloads();
	} while (fl_switches_are_unloading() && !fl_switches_is_unloader());
	err = fl_obj_list(now);
	if (!err && fl_table.unheard)
		fl_obj_keep(now);
	now->unloads = unloads;
	return err;
}

/* Are the listed modules there, and do they stay until the lock is left? */
static bool is_there(const struct fl_modules *now)
{
	return fl_switches_is_unloader() || (!fl_switches_are_unloading() &&
					     fl_switches_unloads() == now->unloads);
}

/* Whose functions are those of the new sites? The modules of these get rows, too: all modules
 * are known by now. */
static void find_owners(uint32_t from, const struct fl_modules *now)
{
	const struct fl_known *at = NULL;

	for (uint32_t id = from; id < fl_table.n; id++) {
		struct fl_shm_site *s = &fl_table.sites[id];
		struct fl_known *k;
		int row;

		if (at && fl_known_has(at, s->at) && fl_known_has(at, s->function))
			continue;
		at = fl_known_around(s->at);
		if (!at || fl_known_has(at, s->function))
			continue;
		k = fl_known_around(s->function);
		if (k)
			fl_known_need_row(k, now);
		row = k ? fl_known_own_row(k) : FLE_NOPROBE;
		s->owner = row < 0 ? FL_NO_MODULE : (uint16_t)row;
	}
}

/* Both locks are held: a module that is scanned stays where it is. Where the thread
 * itself loads, nobody else unloads. */
static void walk_locked(struct walk *w, const struct fl_modules *now)
{
	uint32_t n = fl_table.n;

	fl_table.stamp++;
	fl_obj_each(now, is_met, each_new, w);
	fl_known_each_unseen(forget);
	find_owners(n, now);
}

static int walk_there(struct walk *w, const struct fl_modules *now)
{
	uint64_t signals;
	bool there;

	if (w->moment == FL_LOADING) {
		walk_locked(w, now);
		return 0;
	}
	fl_switches_lock(&signals);
	there = is_there(now);
	if (there)
		walk_locked(w, now);
	fl_switches_unlock(&signals);
	return there ? 0 : -EAGAIN;
}

static void keep_list(struct fl_modules *now)
{
	fl_obj_unlist(&fl_table.modules);
	fl_table.modules = *now;
	*now = (struct fl_modules){ 0 };
}

int fl_probes_discover(struct fl_modules *now, enum fl_moment moment, uint32_t *from)
{
	struct walk w = { .moment = moment };
	uint64_t signals;
	int err;

	fl_table_lock(&signals);
	fl_table_begin();
	w.from = fl_table.unarmed < fl_table.n ? fl_table.unarmed : fl_table.n;
	err = walk_there(&w, now);
	fl_table_end(w.from);
	keep_list(now);
	fl_table_unlock(&signals);
	*from = w.from;
	return err ? err : w.err ? w.err : (int)w.n_new;
}

void fl_probes_unheard(void)
{
	fl_table.unheard = true;
}

bool fl_probes_await_arming(void)
{
	return load_relaxed(&fl_table.unarmed) != FL_NO_PROBE;
}
