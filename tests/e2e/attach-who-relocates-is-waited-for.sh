#!/bin/sh
# record -p of a program with one thread that is within dlopen(): code of the library that is being
# relocated (a resolver of STT_GNU_IFUNC), or of a C library of another list of modules, which was
# not there a moment before. The loader has a lock there that who creates a thread waits for, so
# that is asked behind it; it was "stopped meanwhile" after a second in which it had been held.
#
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
. "$(dirname "$0")/attach-lib"
cat >"$work/slow.c" <<'END'
#include <sys/syscall.h>
#include <time.h>

static long call(long number, long a, const void *b, long c)
{
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return number;
}

static double now(void)
{
	struct timespec t;

	call(SYS_clock_gettime, CLOCK_MONOTONIC, &t, 0);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int one(void) { return 1; }

/* Nothing is relocated yet. */
static int (*resolve(void))(void)
{
	double begin = now();

	call(SYS_write, 1, "ready\n", 6);
	while (now() - begin < 1.8)
		;
	return one;
}

int slow(void) __attribute__((ifunc("resolve")));
int use(void) { return slow(); }
int getppid(void);
int parent(void) { return getppid(); }
END
cat >"$work/loads.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static volatile long sum;
static void end(int sig) { (void)sig; over = 1; }
__attribute__((noipa)) static void work(int i) { sum += i; }

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int once(const char *file)
{
	void *library = dlopen(file, RTLD_NOW);
	int (*use)(void) = library ? (int (*)(void))dlsym(library, "use") : NULL;

	while (!over)
		work(usleep(1000));
	return !use || use() != 1;
}

/* As long out of the loader as in it, or in a machine of slow page faults nobody would ever be
 * met there. */
static int pass(const char *file)
{
	double begin = now(), end;
	void *apart = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);

	if (!apart || dlclose(apart))
		return 1;
	for (end = now(); now() - end < end - begin;)
		work(1);
	return 0;
}

int main(int argc, char **argv)
{
	int wrong = 0;

	signal(SIGTERM, end);
	if (argc > 2) {
		puts("ready");
		fflush(stdout);
	} else {
		wrong = once(argv[1]);
	}
	while (!over && !wrong)
		wrong = pass(argv[1]);
	puts(wrong ? "a module cannot be loaded" : "fine");
	return wrong;
}
END
compile "$work/slow.so" "$work/slow.c" -O2 -shared -fPIC
plug
compile "$work/loads" "$work/loads.c" -O2 -D_GNU_SOURCE
program=loads
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT

label="resolver:"
begin "$work/slow.so"
[ "$line" = ready ] || fail "$label it says $line"
attach -a counts -P work
finish

# Each one anew: behind the first recording it has had a second thread, and may be asked anywhere.
label="all the time:"
for i in 1 2 3 4 5 6 7 8 9 10; do
	begin "$work/plug.so" again
	for=0.05 attach -a counts -P work
	[ $i -gt 2 ] || attach --all
	finish
done
