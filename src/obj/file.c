/*
 * file.c - an ELF file as it lies on disk.
 *
 * Hides the checks: whatever another function may follow (program and section
 * headers, loaded segments) is inside the file, or the file is refused as a
 * whole; names and symbols are checked one by one where they are used.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "obj/look.h"
#include "os/os.h"

/* `n` units of `unit` bytes from `offset` on lie in the file, aligned to 8. */
static bool holds(const struct fl_obj *o, uint64_t offset, uint64_t n, uint64_t unit)
{
	return offset <= o->n_bytes && offset % 8 == 0 &&
	       n <= (o->n_bytes - offset) / unit;
}

static int check_header(const struct fl_obj *o)
{
	const Elf64_Ehdr *eh = o->eh;

	if (o->n_bytes < SELFMAG || memcmp(o->bytes, ELFMAG, SELFMAG))
		return FLE_NOTELF;
	if (o->n_bytes < sizeof *eh)
		return FLE_TRUNCATED;
	if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
	    eh->e_machine != FL_ARCH_ELF_MACHINE)
		return FLE_MACHINE;
	return 0;
}

static int check_segments(struct fl_obj *o)
{
	const Elf64_Ehdr *eh = o->eh;

	if (!eh->e_phnum)
		return 0;
	if (eh->e_phentsize != sizeof *o->ph ||
	    !holds(o, eh->e_phoff, eh->e_phnum, sizeof *o->ph))
		return FLE_TRUNCATED;
	o->ph = (const void *)(o->bytes + eh->e_phoff);
	for (size_t i = 0; i < eh->e_phnum; i++) {
		const Elf64_Phdr *p = &o->ph[i];

		if (p->p_type == PT_LOAD &&
		    (p->p_offset > o->n_bytes || p->p_filesz > o->n_bytes - p->p_offset ||
		     p->p_filesz > p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr))
			return FLE_TRUNCATED;
	}
	return 0;
}

static int check_sections(struct fl_obj *o)
{
	const Elf64_Ehdr *eh = o->eh;
	const Elf64_Shdr *sh;

	if (!eh->e_shoff)
		return 0;
	if (eh->e_shentsize != sizeof *sh || !holds(o, eh->e_shoff, 1, sizeof *sh))
		return FLE_TRUNCATED;
	sh = (const void *)(o->bytes + eh->e_shoff);
	o->n_sh = eh->e_shnum ? eh->e_shnum : sh->sh_size;
	if (!holds(o, eh->e_shoff, o->n_sh, sizeof *sh))
		return FLE_TRUNCATED;
	o->sh = o->n_sh ? sh : NULL;
	return 0;
}

int fl_obj_check(struct fl_obj *o)
{
	int err = check_header(o);

	if (!err)
		err = check_segments(o);
	if (!err)
		err = check_sections(o);
	return err;
}

/* The kernel stores the traps of uprobes in each private mapping of a file's code, and in no
 * shared one. So a shared one has the file's bytes. Some file systems have none. */
static int map_file(struct fl_obj *o, int fd)
{
	int64_t n = fl_os_file_bytes(fd);
	void *p;

	if (n <= 0)
		return n ? (int)n : FLE_NOTELF;
	p = fl_os_map(NULL, n, PROT_READ, MAP_SHARED, fd, 0);
	if (fl_is_err(p))
		p = fl_os_map(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fl_is_err(p))
		return (int)(intptr_t)p;
	o->bytes = p;
	o->n_bytes = n;
	o->eh = p;
	return 0;
}

int fl_obj_open(struct fl_obj *out, const char *path)
{
	struct fl_obj o = { 0 };
	/* Never wait for the writer of a pipe. */
	int fd = fl_os_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int err;

	if (fd < 0)
		return fd;
	err = map_file(&o, fd);
	fl_os_close(fd);
	if (!err)
		err = fl_obj_check(&o);
	if (err) {
		fl_obj_close(&o);
		return err;
	}
	*out = o;
	return 0;
}

void fl_obj_close(struct fl_obj *o)
{
	if (o->bytes)
		fl_os_unmap((void *)o->bytes, o->n_bytes);
	*o = (struct fl_obj){ 0 };
}

/* ---- sections and names ---------------------------------------------------- */

/* Bytes of section `i`; NULL when the file does not hold them. */
static const unsigned char *section_bytes(const struct fl_obj *o, size_t i)
{
	const Elf64_Shdr *s = &o->sh[i];

	if (i >= o->n_sh || s->sh_type == SHT_NOBITS || s->sh_offset > o->n_bytes ||
	    s->sh_size > o->n_bytes - s->sh_offset)
		return NULL;
	return o->bytes + s->sh_offset;
}

struct names {
	const char *text;
	size_t n;			/* text[n - 1] is NUL */
};

/* False: section `i` is no table of names. */
static bool open_names(struct names *t, const struct fl_obj *o, size_t i)
{
	t->text = i < o->n_sh ? (const char *)section_bytes(o, i) : NULL;
	t->n = t->text ? o->sh[i].sh_size : 0;
	return t->n && !t->text[t->n - 1];
}

static const char *name_at(const struct names *t, uint32_t offset)
{
	return offset < t->n ? t->text + offset : "";
}

size_t fl_obj_find_names(const struct fl_obj *o)
{
	return !o->sh ? 0 :
	       o->eh->e_shstrndx == SHN_XINDEX ? o->sh->sh_link : o->eh->e_shstrndx;
}

bool fl_obj_section(const struct fl_obj *o, const char *name, Elf64_Shdr *out)
{
	struct names t;

	if (!open_names(&t, o, fl_obj_find_names(o)))
		return false;
	for (size_t i = 1; i < o->n_sh; i++)
		if (!strcmp(name_at(&t, o->sh[i].sh_name), name)) {
			if (o->sh[i].sh_type != SHT_NOBITS && !section_bytes(o, i))
				return false;
			*out = o->sh[i];
			return true;
		}
	return false;
}

size_t fl_obj_find_symbols(const struct fl_obj *o)
{
	size_t dynamic = 0;

	for (size_t i = 1; o->sh && i < o->n_sh; i++) {
		if (o->sh[i].sh_type == SHT_SYMTAB)
			return i;
		if (o->sh[i].sh_type == SHT_DYNSYM)
			dynamic = i;
	}
	return dynamic;
}

int fl_obj_symbols(const struct fl_obj *o,
		   int (*each)(void *arg, const char *name, const Elf64_Sym *), void *arg)
{
	size_t at = fl_obj_find_symbols(o), n;
	const Elf64_Sym *s;
	struct names t;

	if (!at || !open_names(&t, o, o->sh[at].sh_link))
		return 0;
	s = (const void *)section_bytes(o, at);
	if (!s || o->sh[at].sh_offset % 8)
		return 0;
	n = o->sh[at].sh_size / sizeof *s;
	for (size_t i = 1; i < n; i++) {
		int err = each(arg, name_at(&t, s[i].st_name), &s[i]);

		if (err)
			return err;
	}
	return 0;
}

struct functions {
	int (*each)(void *arg, const char *name, uint64_t value, uint64_t size);
	void *arg;
};

static int tell_function(void *arg, const char *name, const Elf64_Sym *s)
{
	const struct functions *f = arg;

	return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF &&
	       s->st_value ? f->each(f->arg, name, s->st_value, s->st_size) : 0;
}

int fl_obj_functions(const struct fl_obj *o,
		     int (*each)(void *arg, const char *name, uint64_t value,
				 uint64_t size), void *arg)
{
	return fl_obj_symbols(o, tell_function, &(struct functions){ each, arg });
}
