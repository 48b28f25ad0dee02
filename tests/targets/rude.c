/*
 * rude.c - a client of `flick ctl` that does what none should: rude SOCKET HOW
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *path;

static int go(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(at.sun_path, path, sizeof(at.sun_path) - 1);
	if (fd >= 0 && connect(fd, (void *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void garbage(void)
{
	unsigned seed = 1;

	for (int i = 0; i < 20; i++) {
		char bytes[1 << 13];
		int fd = go();

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (char)((seed = seed * 1103515245 + 12345) >> 16);
		send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		close(fd);
	}
}

/* Each begins a line, and says no more; some say that a change is theirs. */
static void half(void)
{
	for (int i = 0; i < 40; i++) {
		int fd = go();

		send(fd, "stage on a", 10, MSG_NOSIGNAL);
		if (i % 2)
			close(fd);
	}
}

static void thousand(void)
{
	for (int i = 0; i < 1000; i++)
		go();			/* stays open, as far as the limit allows */
}

/* It asks, and does not read. */
static void deaf(void)
{
	int fd = go();

	for (int i = 0; i < 200000; i++)
		if (send(fd, "status\n", 7, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
}

int main(int argc, char **argv)
{
	path = argv[1];
	if (argc != 3)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	alarm(60);			/* a test that fails leaves nobody behind */
	switch (*argv[2]) {
	case 'g': garbage(); break;
	case 'h': half(); break;
	case 't': thousand(); break;
	case 'd': deaf(); break;
	}
	puts("said");
	fflush(stdout);
	if (*argv[2] != 'g')
		pause();
	return 0;
}
