/*
 * fuzz.h - what the fuzzers share: how they run without arguments, as a test.
 *
 * A fuzzer that is given nothing runs for FUZZ_SECONDS (2; minutes where
 * FLICK_TORTURE is set) on the kept corpus, tests/fuzz/corpus/NAME. In two seconds it goes
 * the same way each time, so that a change is judged by what it changed; new ways are for
 * `make torture` and `make fuzz`. What it finds it leaves in $BUILD/fuzz/found; new inputs
 * in $BUILD/fuzz/corpus/NAME, from where the small ones that reach something new are kept
 * by hand.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Looking for leaks needs ptrace, which may be denied. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:allocator_may_return_null=1";
}

static inline char *fuzz_path(const char *format, const char *root, const char *name)
{
	char *path = NULL;

	if (asprintf(&path, format, root, name) < 0)
		abort();
	return path;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char *with[16];
	const char *root = getenv("ROOT"), *build = getenv("BUILD");
	const char *seconds = getenv("FUZZ_SECONDS"), *name = strrchr(**argv, '/');
	bool is_short;
	int n = 0;

	name = name ? name + 1 : **argv;
	if (*argc > 1)
		return 0;
	root = root ? root : ".";
	build = build ? build : "build";
	is_short = !seconds && !getenv("FLICK_TORTURE");
	if (!seconds)
		seconds = getenv("FLICK_TORTURE") ? "240" : "2";
	mkdir(fuzz_path("%s/fuzz%.0s", build, name), 0777);
	mkdir(fuzz_path("%s/fuzz/found%.0s", build, name), 0777);
	mkdir(fuzz_path("%s/fuzz/corpus%.0s", build, name), 0777);
	mkdir(fuzz_path("%s/fuzz/corpus/%s", build, name), 0777);
	with[n++] = **argv;
	if (is_short)
		with[n++] = (char *)"-seed=1";
	with[n++] = fuzz_path("-max_total_time=%s%.0s", seconds, name);
	with[n++] = fuzz_path("-artifact_prefix=%s/fuzz/found/%s-", build, name);
	with[n++] = (char *)"-timeout=10";
	with[n++] = (char *)"-error_exitcode=1";	/* its own, 77, leaves a test out */
	with[n++] = (char *)"-rss_limit_mb=1500";
	with[n++] = (char *)"-detect_leaks=0";
	with[n++] = (char *)"-print_final_stats=1";
	with[n++] = (char *)"-verbosity=1";
	with[n++] = fuzz_path("%s/fuzz/corpus/%s", build, name);
	with[n++] = fuzz_path("%s/tests/fuzz/corpus/%s", root, name);
	*argc = n;
	*argv = with;
	return 0;
}

/* A file of memory that has these bytes; its name. */
static inline const char *fuzz_file(const uint8_t *data, size_t n)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	return path;
}

/* A directory of results, with `file` in it. */
static inline const char *fuzz_directory(const char *file, const uint8_t *data, size_t n)
{
	static char dir[256];
	char path[300];
	FILE *f;

	if (!*dir) {
		const char *in = getenv("TMPDIR");	/* a test's own is taken away */

		snprintf(dir, sizeof(dir), "%s/fuzz.XXXXXX", in ? in : "build/fuzz");
		if (!mkdtemp(dir))
			abort();
	}
	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, n, f) != n || fclose(f))
		abort();
	return dir;
}

#endif
