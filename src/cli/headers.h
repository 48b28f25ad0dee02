/*
 * headers.h - private to cli/: what is where in an ELF file (headers.c).
 */
#ifndef FL_HEADERS_H
#define FL_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FL_HEADERS_MOST = 64 };
/* A copy. */
struct fl_headers {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[FL_HEADERS_MOST];		/* eh.e_phnum, checked */
};

/* A descriptor of the file, which the caller closes; -1: it is no ELF file, or `path` is the
 * name of a mapping of no file. */
int fl_headers_open(struct fl_headers *, const char *path);
bool fl_headers_read(int fd, void *to, uint64_t offset, size_t n);
/* A place in the file as an ELF address, and the other way round, with how many bytes follow.
 * False: it is in nothing that is loaded. */
bool fl_headers_address(const Elf64_Phdr *, size_t n, uint64_t offset, uint64_t *at);
bool fl_headers_offset(const struct fl_headers *, uint64_t at, uint64_t *offset,
		       uint64_t *left);

struct fl_symbols;
/* Does the function that begins at ELF address `at` call nothing (leaf.c)? False, too, where
 * that is not known. */
bool fl_leaf_is(struct fl_symbols *, const char *path, uint64_t at);

#endif
