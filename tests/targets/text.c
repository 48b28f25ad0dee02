/*
 * text HOW - what flick.h leaves of the text. FLICK_TEXT says how it is written.
 *
 *	close	threads run, a library comes and goes; after flick_close() all text
 *		is that of the files, and the mappings are those of before
 *	wx	no mapping is writable and executable at any time
 *	protect	the program takes the right to write from its own code meanwhile
 *	fork	a child's switches are its own, its parent's too
 *	clone	a child that no handler knows of keeps the text it was born with
 */
#define PLAIN __attribute__((no_instrument_function))

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flick.h"

extern char **environ;

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("wrong: line %d: %s\n", __LINE__, #what); \
			fflush(stdout); \
			_exit(1); \
		} \
	} while (0)

__attribute__((noipa)) int leaf(int x) { return x + 1; }
__attribute__((noipa)) int work(int x) { return leaf(x) * 2; }

static flick *f;
static uint32_t entry = -1u;
static int over;

PLAIN static void on_discovered(const struct flick_probe *p, void *arg)
{
	(void)arg;
	if (p->function == (void *)work && p->kind == FLICK_ENTRY)
		entry = p->id;
}

PLAIN static int open_flick(void)
{
	struct flick_opt o = { .size = sizeof o, .max_probes = 4096,
			       .discovered = on_discovered };

	return flick_open(&f, &o);
}

PLAIN static void *caller(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		work(1);
	return arg;
}

/* ---- /proc/self/maps ---------------------------------------------------------- */

struct line { unsigned long lo, hi, offset; char prot[5], path[300]; };

PLAIN static int parse(const char *text, struct line *l)
{
	*l = (struct line){ 0 };
	return sscanf(text, "%lx-%lx %4s %lx %*s %*s %299[^\n]", &l->lo, &l->hi, l->prot,
		      &l->offset, l->path) >= 4;
}

/* Each line; the sum of what `each` says. */
PLAIN static int each_line(int (*each)(const struct line *))
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char text[600];
	struct line l;
	int sum = 0;

	while (maps && fgets(text, sizeof text, maps))
		if (parse(text, &l))
			sum += each(&l);
	if (maps)
		fclose(maps);
	return sum;
}

PLAIN static int say(const struct line *l, int is_bad)
{
	if (is_bad)
		printf("%lx-%lx %s %lx %s\n", l->lo, l->hi, l->prot, l->offset, l->path);
	return is_bad;
}

PLAIN static int is_wx(const struct line *l)
{
	return say(l, l->prot[1] == 'w' && l->prot[2] == 'x');
}

PLAIN static int is_view(const struct line *l)
{
	return say(l, strstr(l->path, "memfd:flick-text") != NULL);
}

/* Bytes that are not the file's. */
PLAIN static int differs(const struct line *l)
{
	size_t n = l->hi - l->lo;
	int file = l->prot[2] == 'x' && *l->path == '/' ? open(l->path, O_RDONLY) : -1;
	int mem = open("/proc/self/mem", O_RDONLY), bad = 0;
	unsigned char *a = calloc(1, n), *b = calloc(1, n);

	if (file >= 0) {
		CHECK(pread(file, a, n, (off_t)l->offset) > 0);
		CHECK(pread(mem, b, n, (off_t)l->lo) == (ssize_t)n);
		bad = say(l, memcmp(a, b, n) != 0);
		close(file);
	}
	close(mem);
	free(a);
	free(b);
	return bad;
}

/* The lines of files' code, in order. */
PLAIN static char *code_lines(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char text[600], *all = calloc(1, 1 << 16);

	while (maps && fgets(text, sizeof text, maps))
		if (strstr(text, " /") && !strstr(text, "/memfd:") &&
		    strlen(all) + strlen(text) < 1 << 16)
			strcat(all, text);
	fclose(maps);
	return all;
}

/* ---- the cases -------------------------------------------------------------------- */

PLAIN static void toggle(void)
{
	for (int i = 0; i < 200; i++) {
		CHECK(flick_stage(f, "*", i % 2 ? FLICK_ON : FLICK_OFF) > 0);
		CHECK(flick_commit(f) > 0);
		work(i);
	}
}

PLAIN static void *load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	int (*call)(int) = (int (*)(int))dlsym(lib, "library_work");

	CHECK(lib && call && call(1) == 2);
	return lib;
}

PLAIN static int by_close(const char *library)
{
	void *kept = load(library), *lib;
	char *before, *after;
	pthread_t t;

	free(code_lines());
	before = code_lines();
	pthread_create(&t, NULL, caller, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK(open_flick() == 0);
		toggle();
		CHECK(dlclose(kept) == 0);
		lib = load(library);
		toggle();
		kept = lib;
		flick_close(f);
		CHECK(each_line(differs) == 0);
		CHECK(each_line(is_view) == 0);
		CHECK(each_line(is_wx) == 0);
		work(1);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	after = code_lines();
	if (strcmp(before, after))
		printf("wrong: mappings before:\n%safter:\n%s", before, after);
	return strcmp(before, after) != 0;
}

PLAIN static void *sampler(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		CHECK(each_line(is_wx) == 0);
	return arg;
}

PLAIN static int by_wx(const char *library)
{
	pthread_t t;

	pthread_create(&t, NULL, sampler, NULL);
	for (int i = 0; i < 20; i++) {
		void *lib;

		CHECK(open_flick() == 0);
		lib = load(library);
		toggle();
		CHECK(each_line(is_wx) == 0);
		CHECK(dlclose(lib) == 0);
		flick_close(f);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	return 0;
}

PLAIN static int by_protect(void)
{
	char *page = (char *)((unsigned long)work & ~4095ul);

	for (int i = 0; i < 3; i++) {
		CHECK(open_flick() == 0);
		toggle();
		CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
		toggle();
		CHECK(flick_on(f, entry, NULL, NULL) == 0 && flick_off(f, entry) == 0);
		flick_close(f);
		CHECK(each_line(differs) == 0);
		CHECK(each_line(is_wx) == 0);
	}
	return 0;
}

PLAIN static const unsigned char *site(void)
{
	struct flick_probe p = { .size = sizeof p };

	CHECK(flick_describe(f, entry, &p) == 0);
	return p.site;
}

PLAIN static void reap(pid_t pid, int expected)
{
	int status = -1;

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
}

PLAIN static uint64_t hits_of(int calls)
{
	uint64_t before = flick_hits(f, entry);

	for (int i = 0; i < calls; i++)
		work(i);
	return flick_hits(f, entry) - before;
}

/* The child's text is off from its start, and what the parent does later is
 * the parent's. */
PLAIN static void forked(int tell, int hear, unsigned char on)
{
	char c;

	CHECK(*site() != on);
	CHECK(hits_of(10) == 0);
	CHECK(write(tell, "", 1) == 1 && read(hear, &c, 1) == 1);
	CHECK(*site() != on);
	flick_on(f, entry, NULL, NULL);
	work(1);
	_exit(7);
}

PLAIN static int by_fork(void)
{
	char *argv[] = { "sh", "-c", "exit 6", NULL };
	int up[2], down[2];
	unsigned char on;
	pid_t pid;
	char c;

	CHECK(open_flick() == 0 && !pipe(up) && !pipe(down));
	CHECK(flick_on(f, entry, NULL, NULL) == 0);
	on = *site();
	for (int i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0)
			forked(up[1], down[0], on);
		CHECK(read(up[0], &c, 1) == 1);
		CHECK(*site() == on && hits_of(10) == 10);
		CHECK(flick_off(f, entry) == 0 && hits_of(10) == 0);
		CHECK(write(down[1], "", 1) == 1);
		reap(pid, 7);
		CHECK(*site() != on && hits_of(10) == 0);
		CHECK(flick_on(f, entry, NULL, NULL) == 0 && hits_of(10) == 10);
		pid = vfork();
		if (pid == 0) {
			execl("/bin/sh", "sh", "-c", "exit 4", (char *)NULL);
			_exit(127);
		}
		reap(pid, 4);
		CHECK(!posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ));
		reap(pid, 6);
		CHECK(*site() == on && hits_of(10) == 10);
	}
	flick_close(f);
	return each_line(differs);
}

/* Its parent restores all text meanwhile: the child is not synchronised with
 * that, so its own must not change. */
PLAIN static void cloned(int tell, int hear, const unsigned char *at)
{
	unsigned char then[5];
	char c;

	memcpy(then, at, sizeof then);
	work(1);
	if (getenv("FLICK_TEXT") && !strcmp(getenv("FLICK_TEXT"), "alias"))
		CHECK(flick_off(f, entry) < 0);
	CHECK(write(tell, "", 1) == 1 && read(hear, &c, 1) == 1);
	CHECK(memcmp(then, at, sizeof then) == 0);
	work(2);
	_exit(5);
}

PLAIN static int by_clone(void)
{
	int up[2], down[2];
	const unsigned char *at;
	pid_t pid;
	char c;

	CHECK(open_flick() == 0 && !pipe(up) && !pipe(down));
	at = site();
	CHECK(flick_on(f, entry, NULL, NULL) == 0 && hits_of(10) == 10);
	CHECK(flick_off(f, entry) == 0);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		cloned(up[1], down[0], at);
	CHECK(read(up[0], &c, 1) == 1);
	flick_close(f);
	CHECK(write(down[1], "", 1) == 1);
	reap(pid, 5);
	return each_line(differs);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "close") && argc > 2)
		return by_close(argv[2]);
	if (!strcmp(how, "wx") && argc > 2)
		return by_wx(argv[2]);
	if (!strcmp(how, "protect"))
		return by_protect();
	if (!strcmp(how, "fork"))
		return by_fork();
	if (!strcmp(how, "clone"))
		return by_clone();
	return 2;
}
