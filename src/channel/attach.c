/*
 * attach.c - the region that the environment names, if it is one.
 *
 * GUEST code: the target's side. FLICK_SHM is inherited by processes that it was
 * not made for: a child that is not recorded, or a daemon whose recorder is gone
 * and whose place in /proc another process has by now. So nothing that FLICK_SHM
 * says is believed. The file is looked at before it is opened, because opening a
 * pipe or a device is felt at its other end. It is read and mapped only if it is
 * what fl_shm_create() makes: a memory file of this user's, of the inode that was
 * named, sealed in its size.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "channel/channel.h"
#include "channel/slot.h"
#include "os/os.h"

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* Split "PATH:INODE". */
static bool split(const char *given, char *path, size_t room, uint64_t *inode)
{
	size_t n = __builtin_strlen(given), colon = n;

	while (colon && given[colon - 1] != ':')
		colon--;
	if (!colon || colon == n || colon > room)
		return false;
	*inode = 0;
	for (size_t i = colon; i < n; i++) {
		if (given[i] < '0' || given[i] > '9')
			return false;
		*inode = *inode * 10 + (uint64_t)(given[i] - '0');
	}
	__builtin_memcpy(path, given, colon - 1);
	path[colon - 1] = '\0';
	return true;
}

static bool is_region(int fd, uint64_t inode, uint64_t *bytes)
{
	struct fl_file f;

	if (fl_os_file_facts(fd, &f) || !f.is_plain || f.inode != inode ||
	    f.owner != (uint32_t)fl_os_user())
		return false;
	*bytes = f.bytes;
	return true;
}

/* The file is opened through /proc/self: so it is the very file that was looked at. */
static int open_region(const char *path, uint64_t inode, uint64_t *bytes)
{
	int place = fl_os_open(path, O_PATH | O_CLOEXEC), fd = -ENOENT;

	if (place < 0)
		return place;
	if (is_region(place, inode, bytes))
		fd = fl_os_reopen(place, O_RDWR | O_CLOEXEC);
	fl_os_close(place);
	if (fd >= 0 && (fl_os_file_seals(fd) & SEALS) != SEALS) {
		fl_os_close(fd);
		return -ENOENT;
	}
	return fd;
}

/* A pid means a process only in the reader's namespace. */
bool fl_shm_is_in_space(const struct fl_region *m)
{
	char here[sizeof m->pid_space];
	long n = fl_os_readlink("/proc/self/ns/pid", here, sizeof here);

	return n > 0 && !__builtin_strcmp(here, m->pid_space);
}

/* Without `follow` no other process of the process tree is meant. With `follow` the decision
 * comes later, because a process that is not recorded is counted. */
static bool is_meant(const struct fl_region *head)
{
	return head->follow ||
	       (head->target_pid == fl_os_pid() && fl_shm_is_in_space(head));
}

static bool is_for_us(struct fl_region *head, uint64_t bytes, uint64_t mapped)
{
	return fl_region_is_valid(head) && head->bytes == bytes && is_meant(head) &&
	       head->modules_at <= mapped && !fl_process_is_emulated(head);
}

/* A core file would hold the whole region, because a memory file has no name: so no dump. */
static struct fl_region *map(int fd, uint64_t bytes)
{
	void *m = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!fl_is_err(m))
		fl_os_advise(m, bytes, MADV_DONTDUMP);	/* else only a larger file */
	return m;
}

/* The head tells whether the region is for us, and an error is told to the reader there: so
 * mapping it is tried twice. It is not copied: a small stack has no room for it. */
static int map_head(int fd, uint64_t bytes, struct fl_region **head)
{
	int err = 0;

	*head = map(fd, bytes);
	if (fl_is_err(*head)) {
		err = -ENOMEM;
		*head = map(fd, bytes);
	}
	if (fl_is_err(*head))
		*head = NULL;
	return err;
}

int fl_shm_attach(const char *given, struct fl_region **m, uint64_t *mapped)
{
	const uint64_t n = fl_round_up(sizeof **m, FL_PAGE) +	/* with its processes */
			   fl_round_up(FL_MAX_PROCESSES * sizeof(struct fl_process), FL_PAGE) +
			   fl_round_up(FL_PROCESS_INDEX * sizeof(uint32_t), FL_PAGE);
	struct fl_region *head = NULL, *whole;
	char path[64];
	uint64_t inode, bytes = 0;
	int fd, err = -ENOENT;

	if (!split(given, path, sizeof path, &inode))
		return -ENOENT;
	fd = open_region(path, inode, &bytes);
	if (fd < 0)
		return fd;
	if (bytes >= n)
		err = map_head(fd, n, &head);
	if (head && !is_for_us(head, bytes, n)) {
		fl_os_unmap(head, n);
		fl_os_close(fd);
		return -ENOENT;
	}
	whole = err ? NULL : map(fd, bytes);
	fl_os_close(fd);
	if (err || fl_is_err(whole)) {
		*m = head;
		*mapped = n;
		return err ? err : -ENOMEM;
	}
	fl_os_unmap(head, n);
	*m = whole;
	*mapped = bytes;
	return 0;
}
