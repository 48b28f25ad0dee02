/*
 * headers.c - what is where in an ELF file: its headers, by copies.
 *
 * READER code: it stays out of the target.
 *
 * The file is the target's own, which may write to it, or cut it off, at any time: so it is
 * read, not mapped, and what was read is checked.
 */
#include <string.h>
#include <unistd.h>

#include "obj/look.h"

bool fl_headers_read(int fd, void *to, uint64_t offset, size_t n)
{
	return pread(fd, to, n, (off_t)offset) == (ssize_t)n;
}

int fl_headers_open(struct fl_headers *h, const char *path)
{
	uint64_t bytes;
	bool is_own;
	int fd = *path == '/' ? fl_obj_open_plain(path, &bytes, &is_own) : -1;

	if (fd < 0)
		return -1;
	if (fl_headers_read(fd, &h->eh, 0, sizeof(h->eh)) &&
	    !memcmp(h->eh.e_ident, ELFMAG, SELFMAG) &&
	    h->eh.e_ident[EI_CLASS] == ELFCLASS64 && h->eh.e_phentsize == sizeof(*h->ph) &&
	    h->eh.e_phnum <= FL_HEADERS_MOST &&
	    fl_headers_read(fd, h->ph, h->eh.e_phoff, h->eh.e_phnum * sizeof(*h->ph)))
		return fd;
	close(fd);
	return -1;
}

bool fl_headers_address(const Elf64_Phdr *ph, size_t n, uint64_t offset, uint64_t *at)
{
	for (size_t i = 0; i < n; i++) {
		if (ph[i].p_type != PT_LOAD || offset - ph[i].p_offset >= ph[i].p_filesz)
			continue;
		*at = offset - ph[i].p_offset + ph[i].p_vaddr;
		return true;
	}
	return false;
}

bool fl_headers_offset(const struct fl_headers *h, uint64_t at, uint64_t *offset,
		       uint64_t *left)
{
	for (size_t i = 0; i < h->eh.e_phnum; i++) {
		const Elf64_Phdr *ph = &h->ph[i];

		if (ph->p_type != PT_LOAD || at - ph->p_vaddr >= ph->p_filesz)
			continue;
		*offset = at - ph->p_vaddr + ph->p_offset;
		*left = ph->p_filesz - (at - ph->p_vaddr);
		return true;
	}
	return false;
}

bool fl_headers_id(const struct fl_headers *h, int fd, uint8_t id[FL_OBJ_ID])
{
	unsigned char notes[4096];		/* a linker's own have less */

	for (size_t i = 0; i < h->eh.e_phnum; i++) {
		size_t n = h->ph[i].p_filesz < sizeof(notes) ? h->ph[i].p_filesz :
							       sizeof(notes);

		if (h->ph[i].p_type == PT_NOTE &&
		    fl_headers_read(fd, notes, h->ph[i].p_offset, n) &&
		    fl_obj_find_id(notes, n, id))
			return true;
	}
	return false;
}
