/* sigtrap [LIBRARY]: owns SIGTRAP, executes a breakpoint itself, and loads the library
 * (see dlopen.c) meanwhile: its handler sees its own traps and no others. Of the
 * signals for urgent data that it sends itself it misses none. */
#include <dlfcn.h>
#include <signal.h>
#define FUNCTIONS(X) X(main) X(leaf) X(on_trap) X(trapper) X(on_urgent) X(urge)
#include "truth.h"

__attribute__((visibility("default"))) unsigned long library_calls[6];

#ifdef __x86_64__
#define TRAP() __asm__ volatile("int3")
#define PASS_TRAP(context) ((void)(context))
#else
#include <ucontext.h>
#define TRAP() __asm__ volatile("brk #1")		/* the thread stands at it still */
#define PASS_TRAP(context) (((ucontext_t *)(context))->uc_mcontext.pc += 4)
#endif

BODY static long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY static void on_trap(int sig, siginfo_t *info, void *context)
{
	CALLED(on_trap);
	CHECK(sig == SIGTRAP && info && context);
	if (info->si_code > 0)			/* the kernel's, no raise() */
		PASS_TRAP(context);
	KEEP(leaf(sig));
}

BODY static void on_urgent(int sig)
{
	CALLED(on_urgent);
	KEEP(leaf(sig));
}

/* Flick may send some, too (docs/GUEST.md). */
BODY static void urge(void)
{
	unsigned long before = CALLS(on_urgent);

	CALLED(urge);
	raise(SIGURG);
	CHECK(CALLS(on_urgent) > before);
}

BODY static void trapper(void)
{
	CALLED(trapper);
	TRAP();
	KEEP(leaf(1));
}

QUIET static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (*work)(long) = lib ? (long (*)(long))dlsym(lib, "lib_work") : NULL;

	CHECK(work && work(10) == 55);
	if (lib)
		dlclose(lib);
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct sigaction was;

	CALLED(main);
	CHECK(!sigaction(SIGTRAP, &act, &was));
	CHECK(was.sa_handler == SIG_DFL);	/* nobody else's shows */
	for (int i = 0; i < 100; i++)
		trapper();
	signal(SIGURG, on_urgent);
	for (int i = 0; argc > 1 && i < 20; i++) {
		load(argv[1]);
		urge();
	}
	for (int i = 0; i < 100; i++)
		trapper();
	raise(SIGTRAP);
	CHECK(!sigaction(SIGTRAP, NULL, &was));
	CHECK(was.sa_sigaction == on_trap);
	CHECK(CALLS(on_trap) == 201);
	truth_print();
	return truth_failed;
}
