/*
 * unit/attach.c - only the region that a reader made for this process is mapped,
 * and what FLICK_SHM names else does not feel that it was looked at.
 *
 * timeout: 60
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "channel/channel.h"
#include "os/os.h"

static struct fl_region *region;
static int region_fd;

static int make(void **state)
{
	struct fl_shm_options o = { .n_slots = 2, .max_sites = 16, .ring_kib = 64 };

	(void)state;
	if (fl_shm_create(&o, &region, &region_fd))
		return -1;
	region->target_pid = getpid();
	return 0;
}

static int destroy(void **state)
{
	(void)state;
	fl_shm_destroy(region, region_fd);
	return 0;
}

/* What the environment would hold of descriptor `fd`. */
static const char *named(int fd, int64_t further)
{
	static char name[96];
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	snprintf(name, sizeof name, "/proc/%d/fd/%d:%lld", getpid(), fd,
		 (long long)st.st_ino + further);
	return name;
}

static bool takes(const char *given)
{
	struct fl_region *m = NULL;
	uint64_t mapped = 0;
	int err = fl_shm_attach(given, &m, &mapped);

	assert_true(!err == !!m);
	if (m) {
		assert_int_equal(mapped, region->bytes);
		assert_int_equal(m->magic, FL_SHM_MAGIC);
		munmap(m, mapped);
	}
	return m;
}

static void a_readers_region_is_mapped(void **state)
{
	(void)state;
	assert_true(takes(named(region_fd, 0)));
}

static void the_name_is_of_one_file(void **state)
{
	static const char *const wrong[] = { "", ":", ":7", "/proc/self/fd/0", "x:", "/:-1" };
	char *name = strdup(named(region_fd, 0)), path[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		assert_false(takes(wrong[i]));
	assert_false(takes(named(region_fd, 1)));	/* the next recorder's */
	*strrchr(name, ':') = '\0';
	assert_false(takes(name));
	snprintf(path, sizeof path, "%0400d:1", 0);
	assert_false(takes(path));
	free(name);
}

/* A value of the header, for a moment. */
#define WITH(field, value) do { \
	__auto_type was_ = region->field; \
	region->field = (value); \
	assert_false(takes(named(region_fd, 0))); \
	region->field = was_; \
} while (0)

static void a_header_that_is_not_ours_is_refused(void **state)
{
	(void)state;
	WITH(magic, FL_SHM_MAGIC + 1);
	WITH(version, FL_SHM_VERSION + 1);
	WITH(bytes, region->bytes + FL_PAGE);
	WITH(bytes, region->bytes - FL_PAGE);
	assert_true(takes(named(region_fd, 0)));
}

static void it_is_for_one_process_unless_followed(void **state)
{
	(void)state;
	WITH(target_pid, getpid() + 1);
	WITH(pid_space[5], 'x');	/* the same number in another namespace */
	region->target_pid = getpid() + 1;
	region->follow = 1;
	assert_true(takes(named(region_fd, 0)));
}

static void its_size_is_sealed(void **state)
{
	(void)state;
	assert_int_equal(ftruncate(region_fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(region_fd, (off_t)region->bytes + 1), -1);
	assert_int_equal(fcntl(region_fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_int_equal(errno, EPERM);
}

/* The same bytes, in a file that anybody may cut. */
static int copy(int to)
{
	assert_true(to >= 0);
	assert_int_equal(ftruncate(to, (off_t)region->bytes), 0);
	assert_int_equal(pwrite(to, region, sizeof *region, 0), sizeof *region);
	return to;
}

static void what_may_be_cut_is_refused(void **state)
{
	int fd = copy(memfd_create("flick", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	char path[] = "/tmp/flick-attach-XXXXXX";
	int file = copy(mkstemp(path));

	(void)state;
	assert_false(takes(named(fd, 0)));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	assert_false(takes(named(fd, 0)));	/* writing can still be forbidden */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
	assert_true(takes(named(fd, 0)));
	assert_false(takes(named(file, 0)));
	unlink(path);
	close(file);
	close(fd);
}

static void another_users_is_refused(void **state)
{
	(void)state;
	if (fchown(region_fd, 65534, (gid_t)-1))
		skip();			/* only root gives files away */
	assert_false(takes(named(region_fd, 0)));
	assert_int_equal(fchown(region_fd, geteuid(), (gid_t)-1), 0);
	assert_true(takes(named(region_fd, 0)));
}

static void a_pipe_keeps_its_data(void **state)
{
	int ends[2];
	char data[8];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_false(takes(named(ends[0], 0)));	/* empty: nobody waits */
	assert_int_equal(write(ends[1], "theirs", 6), 6);
	assert_false(takes(named(ends[0], 0)));
	assert_false(takes(named(ends[1], 0)));
	assert_int_equal(read(ends[0], data, sizeof data), 6);
	close(ends[0]);
	close(ends[1]);
}

/* poll() tells the reader of a FIFO that a writer has come and gone. */
static void a_fifo_is_not_opened(void **state)
{
	char path[64], given[96];
	struct pollfd p = { .events = POLLIN };
	struct stat st;

	(void)state;
	snprintf(path, sizeof path, "/tmp/flick-attach-%d", getpid());
	assert_int_equal(mkfifo(path, 0600), 0);
	p.fd = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(p.fd >= 0);
	assert_int_equal(fstat(p.fd, &st), 0);
	snprintf(given, sizeof given, "%s:%llu", path, (unsigned long long)st.st_ino);
	assert_false(takes(given));
	assert_int_equal(poll(&p, 1, 0), 0);
	unlink(path);
	close(p.fd);
}

static void sockets_devices_and_directories_are_refused(void **state)
{
	int ends[2], null = open("/dev/null", O_RDWR), dir = open("/", O_RDONLY);

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(write(ends[1], "theirs", 6), 6);
	assert_false(takes(named(ends[0], 0)));
	assert_false(takes(named(null, 0)));
	assert_false(takes(named(dir, 0)));
	close(ends[0]);
	close(ends[1]);
	close(null);
	close(dir);
}

/* No descriptor stays, whatever was found. */
static void no_descriptor_is_left(void **state)
{
	int before = dup(0), after;

	(void)state;
	close(before);
	takes(named(region_fd, 0));
	takes(named(region_fd, 1));
	WITH(magic, 0);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_readers_region_is_mapped),
		TEST(the_name_is_of_one_file),
		TEST(a_header_that_is_not_ours_is_refused),
		TEST(it_is_for_one_process_unless_followed),
		TEST(its_size_is_sealed),
		TEST(what_may_be_cut_is_refused),
		TEST(another_users_is_refused),
		TEST(a_pipe_keeps_its_data),
		TEST(a_fifo_is_not_opened),
		TEST(sockets_devices_and_directories_are_refused),
		TEST(no_descriptor_is_left),
	};

	alarm(50);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
