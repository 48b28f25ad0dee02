/*
 * known.c - the modules that this process has, or had.
 *
 * Hides how a module is found again: by its place, in the hash of places.c, so that a walk
 * over thousands costs a look at each. A module in which a scan has found nothing is known,
 * too, and not scanned again; it has no row in the shared table until a call in it is met.
 *
 * Hides, too, when a file is the one that it was. Programs load and unload a library thousands
 * of times, and to read its code each time takes longer than all else that is done then. The
 * kernel says whether anybody has written to the file or put another one in its place: nobody
 * sets a file's time of change. It says nothing of what is stored to a shared mapping of a
 * file; nor is the file that has the path now the one that is mapped, where it was renamed; and
 * who patches a file leaves its build id. So what the loader has mapped to be read alone, code
 * and constants, must have the same hash as well, before anybody stores there. And some file
 * systems know seconds alone: such a file is read once more, seconds after it was first met
 * with that time; who writes to it after that does so in another second.
 */
#include "known.h"
#include "late.h"
#include "os/os.h"
#include "table.h"

enum { NONE = UINT32_MAX };

static uint64_t key_of(uintptr_t bias)
{
	return 1ull << 62 | bias;
}

/* The newest one at that place; the others are behind it. */
static uint32_t newest(uintptr_t bias)
{
	int i = fl_place_find(key_of(bias));

	return i < 0 ? NONE : (uint32_t)i;
}

static bool is_same(const struct fl_known *k, const struct fl_module *m)
{
	return k->lo == m->lo && k->hi == m->hi && k->bias == m->bias;
}

static bool has_probes(const struct fl_known *k)
{
	return k->first != k->end || k->late != FL_NO_PROBE;
}

static void live(struct fl_known *k)
{
	struct fl_table *t = &fl_table;

	k->gone = false;
	k->seen = t->stamp;
	k->next = t->live;
	t->live = (uint32_t)(k - t->known);
}

struct fl_known *fl_known_find(const struct fl_module *m)
{
	struct fl_known *known = fl_table.known;

	for (uint32_t i = newest(m->bias); i != NONE; i = known[i].before)
		if (!known[i].gone && is_same(&known[i], m))
			return &known[i];
	return NULL;
}

static bool has_path(const struct fl_known *k, const char *path)
{
	return k->module != FL_NO_MODULE &&
	       !__builtin_strcmp(fl_shm_modules(fl_table.shm)[k->module].path, path);
}

/* ---- where a module comes from --------------------------------------------------- */

static uint64_t hash_path(const char *path)
{
	const uint64_t prime = 0x100000001b3;	/* FNV-1a */
	uint64_t hash = 0xcbf29ce484222325;

	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * prime;
	return hash;
}

/* Does its time tell one change from the next? */
static bool has_fine_time(const struct fl_file *f)
{
	return f->changed_ns % 1000000000 != 0;
}

/* The kernel is asked before the file is read: who writes to it meanwhile makes it another. */
void fl_known_look(struct fl_origin *o, const struct fl_module *m)
{
	*o = (struct fl_origin){ .path = hash_path(m->path) };
	o->since = fl_arch_ticks();
	if (fl_os_file_facts_at(m->path, &o->file) || !o->file.is_plain)
		return;
	o->is_settled = has_fine_time(&o->file);
	o->is_known = fl_obj_hash_loaded(m, o->file.bytes, &o->loaded);
}

static bool is_same_code(const struct fl_origin *a, const struct fl_origin *b)
{
	return a->is_known && b->is_known && a->loaded == b->loaded;
}

static bool is_unwritten(const struct fl_file *a, const struct fl_file *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       a->changed_ns == b->changed_ns;
}

static bool is_same_origin(const struct fl_origin *a, const struct fl_origin *b)
{
	return is_same_code(a, b) && is_unwritten(&a->file, &b->file) && a->path == b->path;
}

bool fl_known_is_of(const struct fl_known *k, const struct fl_origin *o)
{
	return k->origin.is_settled && is_same_origin(&k->origin, o);
}

void fl_known_note(struct fl_known *k, const struct fl_origin *o)
{
	const uint64_t seconds = 1ull << 34;	/* two at least, at 8 GHz */
	uint64_t since = is_same_origin(&k->origin, o) ? k->origin.since : o->since;

	k->origin = *o;
	k->origin.since = since;
	k->origin.is_settled |= o->since - since > seconds;
}

/* One of other code was another one. One that has no row has no path to be compared. */
static bool may_be(const struct fl_known *k, const struct fl_module *m,
		   const struct fl_origin *o)
{
	if (k->module == FL_NO_MODULE)
		return fl_known_is_of(k, o);
	return has_path(k, m->path) &&
	       (!k->origin.is_known || !o->is_known || is_same_code(&k->origin, o));
}

struct fl_known *fl_known_find_gone(const struct fl_module *m, const struct fl_origin *o)
{
	struct fl_known *known = fl_table.known;

	for (uint32_t i = newest(m->bias); i != NONE; i = known[i].before)
		if (known[i].gone && is_same(&known[i], m) && may_be(&known[i], m, o))
			return &known[i];
	return NULL;
}

/* A module that is gone and had no probes makes room for another. */
static struct fl_known *find_empty(const struct fl_module *m)
{
	struct fl_known *known = fl_table.known;

	for (uint32_t i = newest(m->bias); i != NONE; i = known[i].before)
		if (known[i].gone && !has_probes(&known[i]))
			return &known[i];
	return NULL;
}

static struct fl_known *append(uintptr_t bias)
{
	struct fl_table *t = &fl_table;
	uint32_t before = newest(bias);
	struct fl_known *k = &t->known[t->n_known];

	if (t->n_known == t->max_known || fl_place_note(key_of(bias), (int)t->n_known)) {
		fl_table_leave_out(FL_LEFT_MODULES);
		return NULL;
	}
	t->n_known++;
	k->before = before;
	return k;
}

struct fl_known *fl_known_add(const struct fl_module *m)
{
	struct fl_known *k = find_empty(m);
	uint32_t before;

	if (!k)
		k = append(m->bias);
	if (!k)
		return NULL;
	before = k->before;
	*k = (struct fl_known){
		.lo = m->lo, .hi = m->hi, .bias = m->bias, .before = before,
		.module = FL_NO_MODULE, .first = fl_table.n, .end = fl_table.n,
		.late = FL_NO_PROBE,
	};
	live(k);
	return k;
}

void fl_known_is_back(struct fl_known *k)
{
	live(k);
}

bool fl_known_give_row(struct fl_known *k, const char *path)
{
	struct fl_region *shm = fl_table.shm;
	struct fl_shm_module *row = &fl_shm_modules(shm)[shm->n_modules];
	size_t n = 0;

	if (shm->n_modules == shm->max_modules) {
		fl_table_leave_out(FL_LEFT_MODULES);
		return false;
	}
	row->base = k->bias;
	row->lo = k->lo;
	row->hi = k->hi;
	for (; path[n] && n + 1 < sizeof row->path; n++)
		row->path[n] = path[n];
	row->path[n] = 0;
	row->n = 0;
	k->module = shm->n_modules++;
	return true;
}

void fl_known_take_row(struct fl_known *k)
{
	k->module = FL_NO_MODULE;
	fl_table.shm->n_modules--;
}

static bool is_another(void *arg, const struct fl_module *m)
{
	const struct fl_known *k = arg;

	return m->lo != k->lo || m->bias != k->bias;
}

static int give_listed(void *arg, struct fl_module *m)
{
	return fl_known_give_row(arg, m->path);
}

void fl_known_need_row(struct fl_known *k, const struct fl_modules *listed)
{
	if (k->module == FL_NO_MODULE)
		fl_obj_each(listed, is_another, give_listed, k);
}

static const char *path_of(const struct fl_known *k)
{
	return fl_shm_modules(fl_table.shm)[k->module].path;
}

int fl_known_own_row(const struct fl_known *k)
{
	struct fl_region *shm = fl_table.shm;
	struct fl_shm_module *rows = fl_shm_modules(shm);
	uint32_t n = shm->n_modules;

	if (k->module == FL_NO_MODULE)
		return FLE_FULL;
	if (rows[k->module].base == k->bias)
		return (int)k->module;
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].base == k->bias && !__builtin_strcmp(rows[i].path, path_of(k)))
			return (int)i;
	if (n == shm->max_modules) {
		fl_table_leave_out(FL_LEFT_MODULES);
		return FLE_FULL;
	}
	rows[n] = rows[k->module];
	rows[n].base = k->bias;
	rows[n].lo = k->lo;
	rows[n].hi = k->hi;
	rows[n].n = 0;
	shm->n_modules++;
	return (int)n;
}

struct fl_known *fl_known_around(uintptr_t at)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = t->live; i != NONE; i = t->known[i].next)
		if (fl_known_has(&t->known[i], at))
			return &t->known[i];
	return NULL;
}

void fl_known_see(uintptr_t bias)
{
	struct fl_known *known = fl_table.known;

	for (uint32_t i = newest(bias); i != NONE; i = known[i].before)
		known[i].seen = fl_table.stamp;
}

void fl_known_each(void (*each)(const struct fl_known *, void *arg), void *arg)
{
	struct fl_table *t = &fl_table;

	for (uint32_t i = t->live; i != NONE; i = t->known[i].next)
		each(&t->known[i], arg);
}

void fl_known_each_unseen(void (*forget)(struct fl_known *))
{
	struct fl_table *t = &fl_table;

	for (uint32_t *link = &t->live; *link != NONE;) {
		struct fl_known *k = &t->known[*link];

		if (k->seen == t->stamp) {
			link = &k->next;
			continue;
		}
		*link = k->next;
		k->gone = true;
		forget(k);
	}
}

int fl_known_open(void)
{
	struct fl_table *t = &fl_table;
	uint32_t n = 4 * t->shm->max_modules;

	t->live = NONE;
	t->known = fl_table_map_again(t->known, t->max_known, n, sizeof *t->known);
	t->max_known = n;
	return t->known ? 0 : -ENOMEM;
}
