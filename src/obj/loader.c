/*
 * loader.c - what the loader tells debuggers, and a function of the C library's own.
 *
 * Hides that others may have a function of the same name. A sanitizer's stands before the
 * C library's, and must not be called before the sanitizer has begun, which is after
 * libflick.so; and a function of the program's may have probes. So the function is looked
 * up in the C library itself.
 */
#include <link.h>
#include <string.h>

#include "obj/obj.h"
#include "os/os.h"

const struct r_debug *fl_obj_loader(void)
{
	const Elf64_Phdr *ph = (const void *)fl_os_auxiliary(AT_PHDR);
	size_t n = ph ? fl_os_auxiliary(AT_PHNUM) : 0;
	struct fl_module program = { .ph = ph, .n_ph = n };
	uint64_t at;

	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_PHDR)
			program.bias = (uintptr_t)ph - ph[i].p_vaddr;
	return fl_obj_dynamic(&program, DT_DEBUG, &at) ? (const void *)at : NULL;
}

/* ---- a module that the loader has read ------------------------------------------ */

/* The address that dynamic tag `tag` has. In most tags the loader has replaced the ELF address
 * by the address in memory. */
static const void *named(const struct link_map *m, int64_t tag)
{
	for (const Elf64_Dyn *d = m->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return (const void *)(d->d_un.d_ptr < m->l_addr ?
					      d->d_un.d_ptr + m->l_addr : d->d_un.d_ptr);
	return NULL;
}

/* Is there a tag of a name which begins so? */
static bool tells_name(const struct link_map *m, int64_t tag, const char *begin)
{
	const char *names = named(m, DT_STRTAB);

	for (const Elf64_Dyn *d = m->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag && !strncmp(names + d->d_un.d_val, begin, strlen(begin)))
			return true;
	return false;
}

/* Is it the C library? Its loader, which is a file of its own, counts as well. */
static bool is_c_library(const struct link_map *m)
{
	return tells_name(m, DT_SONAME, "libc.so.") || tells_name(m, DT_SONAME, "ld-linux");
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

/* DT_GNU_HASH: four words, a filter, the first symbol of each bucket, and for each
 * symbol its hash, of which the lowest bit ends a bucket. */
static void *look_up(const struct link_map *m, const char *name)
{
	const uint32_t *table = named(m, DT_GNU_HASH), *buckets, *hashes, hash = gnu_hash(name);
	const char *names = named(m, DT_STRTAB);
	const Elf64_Sym *y = named(m, DT_SYMTAB);
	uint32_t i;

	if (!table || !names || !y || !table[0])
		return NULL;
	buckets = table + 4 + 2 * table[2];
	hashes = buckets + table[0] - table[1];
	for (i = buckets[hash % table[0]]; i; i = hashes[i] & 1 ? 0 : i + 1)
		if ((hashes[i] | 1) == (hash | 1) && !strcmp(names + y[i].st_name, name) &&
		    ELF64_ST_TYPE(y[i].st_info) == STT_FUNC && y[i].st_shndx != SHN_UNDEF)
			return (void *)(m->l_addr + y[i].st_value);
	return NULL;
}

void *fl_obj_c_function(const char *name)
{
	const struct r_debug *loader = fl_obj_loader();
	const struct link_map *m = loader ? loader->r_map : NULL;
	void *found = NULL;

	for (; m && !found; m = m->l_next)
		found = is_c_library(m) ? look_up(m, name) : NULL;
	return found;
}

/* ---- which of several a caller means --------------------------------------------- */

/* The module in which `at` is: none is loaded in the middle of another. */
static const struct link_map *map_around(const struct link_map *m, uintptr_t at)
{
	const struct link_map *last = NULL;

	for (; m; m = m->l_next)
		if (m->l_addr <= at && (!last || m->l_addr > last->l_addr))
			last = m;
	return last;
}

/* What others call a module: its soname, or else its file. */
static const char *soname_of(const struct link_map *m)
{
	const char *names = named(m, DT_STRTAB);

	for (const Elf64_Dyn *d = m->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return names + d->d_un.d_val;
	return fl_base_name(m->l_name);
}

static bool needs(const struct link_map *caller, const struct link_map *m)
{
	return caller && tells_name(caller, DT_NEEDED, soname_of(m));
}

bool fl_obj_needs(uintptr_t caller, const void *function)
{
	const struct link_map *all = fl_obj_loader()->r_map;
	const struct link_map *m = map_around(all, (uintptr_t)function);

	return m && needs(map_around(all, caller), m);
}

/* Modules up to this one are never unloaded, and each name leads to the first of these that has
 * it. W fl_obj_note_start(). */
static const struct link_map *last_at_start;

void fl_obj_note_start(void)
{
	const struct r_debug *loader = fl_obj_loader();
	const struct link_map *m = loader ? loader->r_map : NULL;

	while (m && m->l_next)
		m = m->l_next;
	last_at_start = m;
}

struct follower {
	const char *name;
	const void *own;
	uintptr_t caller;
	const struct link_map *in;	/* NULL while none is found */
	void *function;
};

static bool offers(struct follower *c, const struct link_map *m)
{
	void *f = look_up(m, c->name);

	if (!f || f == c->own)
		return false;
	c->in = m;
	c->function = f;
	return true;
}

static void find_from_the_start(struct follower *c, const struct link_map *m)
{
	bool is_behind = !c->own;

	for (; m && !c->in; m = m == last_at_start ? NULL : m->l_next)
		if (!is_behind)
			is_behind = look_up(m, c->name) == c->own;
		else
			offers(c, m);
}

static void find_since(struct follower *c, const struct link_map *first)
{
	const struct link_map *caller = map_around(first, c->caller);
	struct follower other = *c;

	for (const struct link_map *m = last_at_start->l_next; m; m = m->l_next)
		if (offers(&other, m) && (!c->in || needs(caller, m)))
			*c = other;
}

static void tell_callee(struct fl_callee *to, const struct follower *c)
{
	*to = (struct fl_callee){ .function = c->function };
	if (c->in)
		to->is_of_libgcc = tells_name(c->in, DT_SONAME, "libgcc_s.so.");
}

struct late_follower {
	struct follower c;
	struct fl_callee *to;
};

/* Called once, with the loader's lock, as what came since may go. */
static int look_behind(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct late_follower *l = arg;

	(void)info;
	(void)size;
	find_since(&l->c, fl_obj_loader()->r_map);
	tell_callee(l->to, &l->c);
	return 1;
}

void fl_obj_callee(struct fl_callee *to, const char *name, const void *own, uintptr_t caller)
{
	int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	struct late_follower l = { { .name = name, .own = own, .caller = caller }, to };

	*to = (struct fl_callee){ .function = NULL };
	if (!last_at_start)
		return;
	find_from_the_start(&l.c, fl_obj_loader()->r_map);
	tell_callee(to, &l.c);
	to->stays = to->function;
	iterate = fl_obj_c_function("dl_iterate_phdr");
	if (!to->function && iterate)
		iterate(look_behind, &l);
}
