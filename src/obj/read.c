/*
 * read.c - an ELF file that somebody else may write, read once.
 *
 * READER code: it stays out of the target.
 *
 * The reader may be root and who owns the file not. So it is opened without waiting
 * and must be a regular one, and nothing is mapped: a file that becomes shorter would
 * be SIGBUS, one that changes would be another one when it is looked at again. What
 * was read lies where the file has it, and is checked there as if it were mapped.
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
	*is_own = (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH);
	return fd;
}

/* Bytes [at, at + n), as far as there are such: what cannot be read stays 0. */
static void take(struct fl_obj *o, int fd, uint64_t at, uint64_t n)
{
	char *to = (char *)(uintptr_t)o->bytes;

	if (at > o->n_bytes || n > o->n_bytes - at)
		return;
	while (n) {
		ssize_t done = pread(fd, to + at, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		at += (uint64_t)done;
		n -= (uint64_t)done;
	}
}

/* All headers. */
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

static int take_section(struct fl_obj *o, int fd, size_t i, uint64_t most)
{
	if (i >= o->n_sh)
		return 0;			/* whoever wants it will see that */
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
	symbols = fl_obj_find_symbols(o);
	if (!symbols)
		return 0;
	err = take_section(o, fd, symbols, MOST_SYMBOLS);
	return err ? err : take_section(o, fd, o->sh[symbols].sh_link, MOST_NAMES);
}

int fl_obj_read(struct fl_obj *out, const char *path, enum fl_obj_part part)
{
	struct fl_obj o = { 0 };
	bool is_own;
	uint64_t bytes;
	int fd = fl_obj_open_plain(path, &bytes, &is_own), err = 0;
	void *p;

	if (fd < 0)
		return fd;
	if (!bytes)
		err = FLE_NOTELF;
	else if (part == FL_OBJ_ALL && bytes > MOST_BYTES)
		err = -EFBIG;
	p = err ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!err && p == MAP_FAILED)
		err = -errno;
	if (!err) {
		o = (struct fl_obj){ .bytes = p, .n_bytes = bytes, .eh = p };
		err = fill(&o, fd, part);
	}
	close(fd);
	if (err)
		fl_obj_close(&o);
	else
		*out = o;
	return err;
}
