/*
 * http-load SOCKET PATH BODY N: N connections ask a server at a unix socket for PATH, again and
 * again, each on its own connection, which stays open as long as the server lets it; every
 * answer must be 200 with the bytes BODY. Prints each tenth of a second how many there were so
 * far, and at the first other answer what it was, and ends with status 1. SIGTERM: `fine`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static const char *where, *body;
static char ask[256];
static unsigned long answers;

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

static void fail(const char *what, const char *seen)
{
	if (is_over)
		return;
	printf("failed: %s (%s): %.200s\n", what, strerror(errno), seen);
	exit(1);
}

static int dial(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", where);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("connect", where);
	return fd;
}

/* The whole answer: 1, the last one of this connection 0. */
static int take_answer(int fd)
{
	char text[4096] = "", *end;
	size_t n = 0, want = strlen(body);
	ssize_t got;

	do {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		if (got <= 0)
			fail("read", text);
		n += got > 0 ? (size_t)got : 0;
		text[n] = '\0';
		end = strstr(text, "\r\n\r\n");
	} while (got > 0 && (!end || n < (size_t)(end + 4 - text) + want));
	if (!end || strncmp(text, "HTTP/1.1 200", 12) || strcmp(end + 4, body))
		fail("answer", text);
	return !strstr(text, "Connection: close");
}

static void *run(void *arg)
{
	int fd = -1;

	while (!is_over) {
		fd = fd < 0 ? dial() : fd;
		if (write(fd, ask, strlen(ask)) != (ssize_t)strlen(ask))
			fail("write", ask);
		if (!take_answer(fd)) {
			close(fd);
			fd = -1;
		}
		__atomic_fetch_add(&answers, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_term };
	pthread_t t;

	if (argc != 5)
		return 2;
	where = argv[1];
	body = argv[3];
	snprintf(ask, sizeof(ask), "GET %s HTTP/1.1\r\nHost: here\r\n\r\n", argv[2]);
	sigaction(SIGTERM, &act, NULL);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < atoi(argv[4]); i++)
		pthread_create(&t, NULL, run, NULL);
	while (!is_over) {
		usleep(100000);
		printf("%lu\n", __atomic_load_n(&answers, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	puts("fine");
	fflush(stdout);
	_exit(0);
}
