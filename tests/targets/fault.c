/*
 * fault LIBRARY - opens flick.h, switches, closes; one of flick's system calls
 * fails meanwhile (FLICK_FAULT). Whatever comes of it: each probe is refused
 * with a reason or counts exactly, results are right, and afterwards text and
 * descriptors are those of before. Prints `mappings N` for who compares.
 */
#define PLAIN __attribute__((no_instrument_function))

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flick.h"

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("wrong: line %d: %s\n", __LINE__, #what); \
			fflush(stdout); \
			_exit(1); \
		} \
	} while (0)

enum { CALLS = 100 };

__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) int work(int x) { return leaf(x) * 2; }

static flick *f;
static int over;

PLAIN static void *caller(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		CHECK(leaf(1) == 2);
	return arg;
}

PLAIN static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Code that is not its file's, by address: what is mapped there does not
 * matter. */
PLAIN static int compare(const char *before)
{
	FILE *then = fmemopen((void *)before, strlen(before), "r");
	char text[600], path[300], prot[5];
	unsigned long lo, hi, offset;
	int mem = open("/proc/self/mem", O_RDONLY), bad = 0;

	CHECK(then && mem >= 0);
	while (fgets(text, sizeof text, then)) {
		unsigned char *a, *b;
		int file;

		if (sscanf(text, "%lx-%lx %4s %lx %*s %*s %299[^\n]", &lo, &hi, prot,
			   &offset, path) < 5 || prot[2] != 'x' || *path != '/')
			continue;
		file = open(path, O_RDONLY);
		if (file < 0)
			continue;
		a = calloc(1, hi - lo);
		b = calloc(1, hi - lo);
		CHECK(pread(file, a, hi - lo, (off_t)offset) > 0);
		CHECK(pread(mem, b, hi - lo, (off_t)lo) == (ssize_t)(hi - lo));
		if (memcmp(a, b, hi - lo) && ++bad)
			printf("changed: %s", text);
		free(a);
		free(b);
		close(file);
	}
	fclose(then);
	close(mem);
	return bad;
}

PLAIN static char *read_maps(void)
{
	char *text = calloc(1, 1 << 17);
	FILE *maps = fopen("/proc/self/maps", "re");

	CHECK(text && maps && fread(text, 1, (1 << 17) - 1, maps) > 0);
	fclose(maps);
	return text;
}

PLAIN static int count_lines(int (*takes)(const char *))
{
	char *maps = read_maps(), *rest = maps, *line;
	int n = 0;

	while ((line = strsep(&rest, "\n")))
		n += takes(line);
	free(maps);
	return n;
}

PLAIN static int any(const char *line)
{
	return *line != 0;
}

PLAIN static int is_wx(const char *line)
{
	return strstr(line, " rwx") != NULL;
}

/* Every probe: refused, and says why; or on, and counts each call. */
PLAIN static void check_probes(void)
{
	uint32_t n = flick_count(f);
	int refused = 0, err = 0;

	for (uint32_t id = 0; id < n; id++) {
		struct flick_probe p = { .size = sizeof p };
		uint64_t before;
		char why[200];

		CHECK(flick_describe(f, id, &p) == 0);
		if (p.refusal) {
			CHECK(flick_why(f, id, why, sizeof why) == p.refusal && *why);
			CHECK(flick_on(f, id, NULL, NULL) < 0);
			refused++;
			continue;
		}
		/* what failed may have been its own call, which does not fail again */
		if (flick_on(f, id, NULL, NULL))
			err = flick_on(f, id, NULL, NULL);
		if (err)
			printf("on, for the second time: %s\n", flick_error(err));
		CHECK(err == 0);
		before = flick_hits(f, id);
		for (int i = 0; i < CALLS; i++)
			CHECK(work(i) == (i + 1) * 2);
		if (p.function == (void *)work && p.kind == FLICK_ENTRY)
			CHECK(flick_hits(f, id) - before == CALLS);
		CHECK(flick_off(f, id) == 0);
	}
	printf("%u probes, %d refused\n", n, refused);
}

PLAIN static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*call)(int) = lib ? (int (*)(int))dlsym(lib, "library_work") : NULL;

	CHECK(call && call(1) == 2);
	CHECK(dlclose(lib) == 0);
}

PLAIN static void use(const char *library)
{
	struct flick_opt o = { .size = sizeof o, .max_probes = 4096 };
	int err = flick_open(&f, &o);

	if (err) {
		printf("refused: %s\n", flick_error(err));
		CHECK(*flick_error(err));
		return;
	}
	check_probes();
	load(library);
	CHECK(flick_stage(f, "*", FLICK_ON) > 0);
	CHECK(flick_commit(f) >= 0);
	CHECK(work(1) == 4);
	flick_close(f);
}

int main(int argc, char **argv)
{
	char *before;
	int descriptors;
	pthread_t t;

	if (argc < 2)
		return 2;
	load(argv[1]);
	pthread_create(&t, NULL, caller, NULL);
	descriptors = count_descriptors();
	before = read_maps();
	use(argv[1]);
	CHECK(compare(before) == 0);
	CHECK(count_descriptors() == descriptors);
	CHECK(work(1) == 4);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	printf("mappings %d, %d writable and executable\n", count_lines(any),
	       count_lines(is_wx));
	return 0;
}
