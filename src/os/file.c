/*
 * file.c - questions about files.
 *
 * Hides the structures and flags of the calls that say what a file is, how long it is,
 * where it has holes, how it is sealed, and what a link names.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "os/os.h"
#include "os/syscall.h"

enum { FROM_END = 2, DATA, HOLE };	/* SEEK_END, ... */

int64_t fl_os_file_bytes(int fd)
{
	return SYS_OR_FAULT(lseek, SYS_lseek, fd, 0, FROM_END);
}

bool fl_os_file_data(int fd, uint64_t *from, uint64_t *to)
{
	int64_t data, hole;

	if (*from >= *to)
		return false;
	data = SYS(SYS_lseek, fd, *from, DATA);
	if (data == -ENXIO || data >= (int64_t)*to)
		return false;
	if (data < 0)
		return true;
	hole = SYS(SYS_lseek, fd, data, HOLE);
	*from = (uint64_t)data;
	*to = hole < 0 || (uint64_t)hole > *to ? *to : (uint64_t)hole;
	return true;
}

static int take_facts(struct fl_file *out, int err, const struct stat *st)
{
	if (!err)
		*out = (struct fl_file){ .device = st->st_dev, .inode = st->st_ino,
					 .bytes = (uint64_t)st->st_size,
					 .owner = st->st_uid,
					 .changed_ns = fl_ns(st->st_ctim.tv_sec,
							     st->st_ctim.tv_nsec),
					 .is_plain = S_ISREG(st->st_mode) };
	return err;
}

int fl_os_file_facts(int fd, struct fl_file *out)
{
	struct stat st;
	int err = (int)SYS_OR_FAULT(fstat, SYS_fstat, fd, &st);

	return take_facts(out, err, &st);
}

int fl_os_file_facts_at(const char *path, struct fl_file *out)
{
	struct stat st;
	int err = (int)SYS_OR_FAULT(fstat, SYS_newfstatat, AT_FDCWD, path, &st, 0);

	return take_facts(out, err, &st);
}

int fl_os_file_seals(int fd)
{
	return (int)SYS_OR_FAULT(fcntl, SYS_fcntl, fd, F_GET_SEALS);
}

int fl_os_file_seal(int fd, int seals)
{
	return (int)SYS_OR_FAULT(fcntl, SYS_fcntl, fd, F_ADD_SEALS, seals);
}

int fl_os_file_resize(int fd, uint64_t bytes)
{
	return (int)SYS_OR_FAULT(ftruncate, SYS_ftruncate, fd, bytes);
}

long fl_os_readlink(const char *path, char *to, size_t room)
{
	long n = SYS_OR_FAULT(readlink, SYS_readlinkat, AT_FDCWD, path, to, room);

	if (n < 0)
		return n;
	if ((size_t)n >= room)
		return -ENAMETOOLONG;
	to[n] = '\0';
	return n;
}
