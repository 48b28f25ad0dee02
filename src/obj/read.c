/*
 * read.c - an ELF file that somebody else may write, read once.
 *
 * READER code: it stays out of the target.
 *
 * The reader may be root and the file's owner not. So the file is opened without waiting,
 * must be a regular one, and is not mapped: a mapped file that becomes shorter would raise
 * SIGBUS, and a mapped file could change after it was checked. The bytes that were read lie
 * at the file's own offsets, and are checked there as if they were mapped.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obj/look.h"

#define MOST_BYTES (8ull << 30)		/* of a file that is read as a whole */
#define MOST_SECTIONS (1u << 20)
#define MOST_SYMBOLS (1ull << 28)	/* bytes: some 10 M of them */
#define MOST_NAMES (1ull << 30)
#define MOST_NOTES (1u << 16)

/* A user has a group of his own where it has his number, as most systems give him one: all that
 * he makes may be writable by that group there. */
int fl_obj_open_plain(const char *path, uint64_t *bytes, bool *is_own)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : FLE_NOTELF;
	if (err) {
		close(fd);
		return err;
	}
	*bytes = (uint64_t)st.st_size;
	*is_own = (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH) &&
		  (!(st.st_mode & S_IWGRP) || st.st_gid == st.st_uid);
	return fd;
}

/* Read bytes [at, at + n) of the file; bytes that cannot be read stay 0. */
static void take_to(char *to, int fd, uint64_t at, uint64_t n)
{
	while (n) {
		ssize_t done = pread(fd, to, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		to += done;
		at += (uint64_t)done;
		n -= (uint64_t)done;
	}
}

static void take(struct fl_obj *o, int fd, uint64_t at, uint64_t n)
{
	if (at <= o->n_bytes && n <= o->n_bytes - at)
		take_to((char *)(uintptr_t)o->bytes + at, fd, at, n);
}

/* Read all headers. */
static void take_headers(struct fl_obj *o, int fd)
{
	const Elf64_Ehdr *eh = o->eh;
	const Elf64_Shdr *first;
	uint64_t n;

	take(o, fd, 0, o->n_bytes < sizeof(*eh) ? o->n_bytes : sizeof(*eh));
	if (o->n_bytes < sizeof(*eh))
		return;
	take(o, fd, eh->e_phoff, eh->e_phnum * sizeof(Elf64_Phdr));
	if (eh->e_shoff % 8 || eh->e_shoff > o->n_bytes - sizeof(*eh))
		return;
	take(o, fd, eh->e_shoff, sizeof(*first));
	first = (const void *)(o->bytes + eh->e_shoff);
	n = eh->e_shnum ? eh->e_shnum : first->sh_size;
	if (n <= MOST_SECTIONS)
		take(o, fd, eh->e_shoff, n * sizeof(*first));
}

/* Those that may tell the build id. */
static void take_notes(struct fl_obj *o, int fd)
{
	for (size_t i = 0; i < o->eh->e_phnum; i++)
		if (o->ph[i].p_type == PT_NOTE && o->ph[i].p_filesz <= MOST_NOTES)
			take(o, fd, o->ph[i].p_offset, o->ph[i].p_filesz);
}

static int take_section(struct fl_obj *o, int fd, size_t i, uint64_t most)
{
	if (i >= o->n_sh)
		return 0;			/* its user will find it missing */
	if (o->sh[i].sh_size > most)
		return -EFBIG;
	take(o, fd, o->sh[i].sh_offset, o->sh[i].sh_size);
	return 0;
}

static int fill(struct fl_obj *o, int fd, enum fl_obj_part part)
{
	size_t symbols;
	int err;

	if (part == FL_OBJ_ALL)
		take(o, fd, 0, o->n_bytes);
	else
		take_headers(o, fd);
	err = fl_obj_check(o);
	if (err || part == FL_OBJ_ALL)
		return err;
	if (o->n_sh > MOST_SECTIONS)
		return FLE_TRUNCATED;
	take_notes(o, fd);
	take_section(o, fd, fl_obj_find_names(o), MOST_NAMES);
	symbols = fl_obj_find_symbols(o);
	if (!symbols)
		return 0;
	err = take_section(o, fd, symbols, MOST_SYMBOLS);
	return err ? err : take_section(o, fd, o->sh[symbols].sh_link, MOST_NAMES);
}

static int copy_part(struct fl_obj *out, int fd, uint64_t bytes, enum fl_obj_part part)
{
	struct fl_obj o = { .n_bytes = bytes };
	void *p;
	int err;

	if (!bytes)
		return FLE_NOTELF;
	if (part == FL_OBJ_ALL && bytes > MOST_BYTES)
		return -EFBIG;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	o.bytes = p;
	o.eh = p;
	err = fill(&o, fd, part);
	if (err)
		fl_obj_close(&o);
	else
		*out = o;
	return err;
}

/* ---- tables, where the loader would put them ----------------------------------------- */

const char *const fl_obj_stubs[FL_OBJ_STUBS] = { ".plt", ".plt.sec", ".plt.got", ".plt.bnd" };

/* Read bytes [at, at + n) of the file into each segment that has all of them. A file of holes
 * takes no disk however many bytes it has, so no more than `left` are read. */
static int lay_bytes(const struct fl_module *m, int fd, uint64_t at, uint64_t n,
		     uint64_t *left)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *ph = &m->ph[i];
		uint64_t in = at - ph->p_offset;

		if (ph->p_type != PT_LOAD || in >= ph->p_filesz || n > ph->p_filesz - in)
			continue;
		if (n > *left)
			return -EFBIG;
		*left -= n;
		take_to((char *)(m->bias + ph->p_vaddr + in), fd, at, n);
	}
	return 0;
}

/* Do the sections say which bytes are code? They do if each of the tables for unwinding and
 * the dynamic section begins where a section does. */
static bool sections_tell(const struct fl_module *m)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		bool is_told = m->ph[i].p_type != PT_GNU_EH_FRAME &&
			       m->ph[i].p_type != PT_DYNAMIC;

		for (size_t k = 0; k < m->file.n_sh && !is_told; k++)
			is_told = m->file.sh[k].sh_flags & SHF_ALLOC &&
				  m->file.sh[k].sh_offset == m->ph[i].p_offset;
		if (!is_told)
			return false;
	}
	return true;
}

/* Read the sections that are no code, and stubs. Sections that lie may overlap, so in all no
 * more bytes are read than the file has. */
static int lay_sections(const struct fl_module *m, int fd)
{
	uint64_t left = m->file.n_bytes < MOST_BYTES ? m->file.n_bytes : MOST_BYTES;
	Elf64_Shdr stub;
	int err = 0;

	for (size_t i = 0; i < m->file.n_sh && !err; i++) {
		const Elf64_Shdr *s = &m->file.sh[i];

		if (s->sh_type != SHT_NOBITS && s->sh_flags & SHF_ALLOC &&
		    !(s->sh_flags & SHF_EXECINSTR))
			err = lay_bytes(m, fd, s->sh_offset, s->sh_size, &left);
	}
	for (size_t i = 0; i < FL_OBJ_STUBS && !err; i++)
		if (fl_obj_section(&m->file, fl_obj_stubs[i], &stub))
			err = lay_bytes(m, fd, stub.sh_offset, stub.sh_size, &left);
	return err;
}

static int lay_segments(const struct fl_module *m, int fd)
{
	uint64_t left = MOST_BYTES;
	int err = 0;

	for (size_t i = 0; i < m->n_ph && !err; i++)
		if (m->ph[i].p_type == PT_LOAD)
			err = lay_bytes(m, fd, m->ph[i].p_offset, m->ph[i].p_filesz, &left);
	return err;
}

static int lay_parts(struct fl_module *out, const struct fl_obj *file, const char *path,
		     int fd, enum fl_obj_part part)
{
	int err = fl_obj_make_room(out, file, path);

	if (!err)
		err = part == FL_OBJ_TABLES && sections_tell(out) ? lay_sections(out, fd) :
								    lay_segments(out, fd);
	if (!err && part == FL_OBJ_CODE)
		fl_obj_relocate(out);
	return err;
}

int fl_obj_copy(struct fl_module *out, const char *path, enum fl_obj_part part)
{
	struct fl_module m = { 0 };
	struct fl_obj file;
	bool is_own;
	uint64_t bytes;
	int fd = fl_obj_open_plain(path, &bytes, &is_own), err;

	if (fd < 0)
		return fd;
	err = copy_part(&file, fd, bytes, part);
	if (!err) {
		err = part == FL_OBJ_ALL ? fl_obj_lay_out(&m, &file, path) :
		      part != FL_OBJ_SYMBOLS ? lay_parts(&m, &file, path, fd, part) : 0;
		m.file = file;
		m.is_copy = true;
	}
	close(fd);
	if (err)
		fl_obj_unlay(&m);
	else
		*out = m;
	return err;
}
