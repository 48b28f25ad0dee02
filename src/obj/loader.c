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

/* Is it the C library? Its loader, which is a file of its own, counts as well. */
static bool is_c_library(const struct link_map *m)
{
	static const char library[] = "libc.so.", loader[] = "ld-linux";
	const char *names = named(m, DT_STRTAB);

	for (const Elf64_Dyn *d = m->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SONAME)
			return !strncmp(names + d->d_un.d_val, library, sizeof(library) - 1) ||
			       !strncmp(names + d->d_un.d_val, loader, sizeof(loader) - 1);
	return false;
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

void *fl_obj_next_function(const char *name, const void *own)
{
	const struct r_debug *loader = fl_obj_loader();
	const struct link_map *m = loader ? loader->r_map : NULL;
	void *found = NULL;

	for (; m && found != own; m = m->l_next)
		found = look_up(m, name);
	for (found = NULL; m && !found; m = m->l_next)
		found = look_up(m, name);
	return found ? found : fl_obj_c_function(name);
}
