/*
 * timed.c - run a command, write how long it took to a file.
 *
 *	timed FILE COMMAND ARGS    FILE: wall seconds, user + system seconds
 *
 * The second number is the command's and of all its children that it waited
 * for. Ends with the command's own exit status.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int write_times(const char *path, double wall)
{
	struct rusage u;
	FILE *out = fopen(path, "w");

	if (!out || getrusage(RUSAGE_CHILDREN, &u))
		return 1;
	fprintf(out, "%.6f %.6f\n", wall,
		seconds_of(u.ru_utime) + seconds_of(u.ru_stime));
	return fclose(out) != 0;
}

int main(int argc, char **argv)
{
	double start = seconds_now();
	int status = 0;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: timed FILE COMMAND ARGS\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	if (write_times(argv[1], seconds_now() - start))
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
