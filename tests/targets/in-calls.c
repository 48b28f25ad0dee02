/*
 * in-calls far|ring|pipe|CALL: a program of one thread that nearly always is in one system
 * call, which a signal would end with EINTR, or with a part of its work. `far`: it waits for
 * events for 50 ms (epoll_wait) on a stack of its own, whose end nobody knows. `ring`: the same
 * for completions of io_uring. `pipe`: it fills a pipe that is emptied slowly, by one write
 * after the other. CALL: a call on a socket that has a time to wait (SO_RCVTIMEO, SO_SNDTIMEO)
 * and nobody at its other end; or `fallocate` of a memory file. Prints `ready`, then at SIGTERM
 * `fine`, or how many calls told something else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <ucontext.h>
#include <unistd.h>

enum { WAIT_MS = 50, STACK = 1 << 18, MUCH = 1 << 20, FEW = 100 };

static volatile sig_atomic_t is_over;
static long odd;
static int fd;
static char much[MUCH];
volatile long sink;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

__attribute__((noinline)) long work(long x)
{
	sink = x;
	return x * 3;
}

static void await_events(void)
{
	struct epoll_event event;

	while (!is_over) {
		work(1);
		odd += epoll_wait(fd, &event, 1, WAIT_MS) != 0 && !is_over;
	}
}

/* Below it, too, is memory that may be written. */
static void await_events_far(void)
{
	char *area = mmap(NULL, 4 * STACK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static ucontext_t back, far;

	fd = epoll_create1(0);
	getcontext(&far);
	far.uc_stack.ss_sp = area + STACK;
	far.uc_stack.ss_size = STACK;
	far.uc_link = &back;
	makecontext(&far, await_events, 0);
	swapcontext(&back, &far);
}

static void await_completions(void)
{
	struct { int64_t s, ns; } time = { 0, WAIT_MS * 1000000L };
	struct io_uring_getevents_arg arg = { .sigmask_sz = 8, .ts = (uintptr_t)&time };

	while (!is_over) {
		work(1);
		odd += syscall(SYS_io_uring_enter, fd, 0, 1,
			       IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &arg,
			       sizeof(arg)) >= 0 || (errno != ETIME && !is_over);
	}
}

/* How many writes of a megabyte are cut short? A stop does it; but not each. */
static void fill_pipe(void)
{
	char few[4096];
	int ends[2];

	if (pipe(ends))
		exit(2);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(ends[0], few, sizeof(few)) > 0)
			usleep(50);
		_exit(0);
	}
	while (!is_over) {
		work(1);
		odd += write(ends[1], much, sizeof(much)) != sizeof(much);
	}
	odd = odd < FEW ? 0 : odd;
}

/* ---- calls that end when their time is over -------------------------------- */

static int pair[2];			/* of a pair of sockets */
static int hole[2];			/* of a pipe */
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static struct iovec part = { much, 4096 };
static struct mmsghdr message = { .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } };

static void set_up(void)
{
	struct timeval time = { .tv_usec = WAIT_MS * 1000 };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || pipe(hole))
		exit(2);
	for (int i = 0; i < 2; i++) {
		setsockopt(pair[i], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
		setsockopt(pair[i], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
	}
	while (send(pair[1], much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	fd = memfd_create("much", 0);
}

static bool receives(void)
{
	return recvmmsg(pair[1], &message, 1, 0, NULL) < 0 && errno == EAGAIN;
}

static bool sends(void)
{
	return sendmmsg(pair[1], &message, 1, 0) < 0 && errno == EAGAIN;
}

static bool splices(void)
{
	return splice(pair[1], NULL, hole[1], NULL, 4096, 0) < 0 && errno == EAGAIN;
}

static bool sends_file(void)
{
	off_t from = 0;

	return ftruncate(fd, 4096) == 0 && sendfile(pair[1], fd, &from, 4096) < 0 &&
	       errno == EAGAIN;
}

/* The one place in the queue of who listens is taken. */
static bool connects(void)
{
	static int listens, s[2];
	struct timeval time = { .tv_usec = WAIT_MS * 1000 };
	socklen_t length = sizeof(sa_family_t);

	if (!listens) {
		listens = socket(AF_UNIX, SOCK_STREAM, 0);
		bind(listens, (struct sockaddr *)&name, length);
		length = sizeof(name);
		getsockname(listens, (struct sockaddr *)&name, &length);
		listen(listens, 0);
		for (int i = 0; i < 2; i++)
			s[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		connect(s[0], (struct sockaddr *)&name, sizeof(sa_family_t) + 6);
		setsockopt(s[1], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
	}
	return connect(s[1], (struct sockaddr *)&name, sizeof(sa_family_t) + 6) < 0 &&
	       errno == EAGAIN;
}

static bool allots(void)
{
	return !fallocate(fd, 0, 0, 128 << 20) && !ftruncate(fd, 0);
}

static const struct {
	const char *name;
	bool (*is_made)(void);		/* does it say what it says where nobody stops it? */
} calls[] = {
	{ "recvmmsg", receives }, { "sendmmsg", sends }, { "splice", splices },
	{ "sendfile", sends_file }, { "connect", connects }, { "fallocate", allots },
};

static void call(const char *how)
{
	set_up();
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		while (!strcmp(how, calls[i].name) && !is_over) {
			work(1);
			odd += !calls[i].is_made() && !is_over;
		}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct io_uring_params params = { 0 };

	signal(SIGTERM, on_term);
	if (!strcmp(how, "ring")) {
		fd = (int)syscall(SYS_io_uring_setup, 4, &params);
		if (fd < 0 || !(params.features & IORING_FEAT_EXT_ARG))
			return 77;
	}
	puts("ready");
	fflush(stdout);
	if (!strcmp(how, "far"))
		await_events_far();
	else if (!strcmp(how, "ring"))
		await_completions();
	else if (!strcmp(how, "pipe"))
		fill_pipe();
	else
		call(how);
	if (odd)
		printf("%ld calls were cut short\n", odd);
	else
		puts("fine");
	return odd != 0;
}
