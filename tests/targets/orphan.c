/*
 * orphan HOW: what flick has in a program whose reader has gone. Counted are the
 * instructions that a call executes outside of the program itself.
 *
 *	kill	kills the reader, its parent, and goes on
 *	stay	a daemon that is left behind
 *
 * Calls: of a function with probes; at a place that no scan names, met before the
 * end, and another that is met after it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include "truth.h"

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
extern const char __executable_start, etext;

BODY long probed(long x)
{
	return x + 1;
}

BODY long unrelated(long x)
{
	return x + 2;
}

/* Its argument says whose the call is: no scan can. */
QUIET __attribute__((noipa)) static void met_early(void *function)
{
	__cyg_profile_func_enter(function, NULL);
	__cyg_profile_func_exit(function, NULL);
	__asm__ volatile("");
}

QUIET __attribute__((noipa)) static void met_late(void *function)
{
	__cyg_profile_func_enter(function, NULL);
	__cyg_profile_func_exit(function, NULL);
	__asm__ volatile("");
}

QUIET static void call_probed(void)
{
	KEEP(probed(1));
}

QUIET static void call_early(void)
{
	met_early((void *)probed);
}

QUIET static void call_late(void)
{
	met_late((void *)probed);
}

/* The same again, the function being another than at first. */
QUIET static void call_other(void)
{
	met_early((void *)call_other);
}

/* ---- step by step ------------------------------------------------------------- */

enum { MOST = 100000 };
static unsigned long all, outside, calls_of_system;

QUIET static void step(int sig, siginfo_t *info, void *context)
{
	const char *pc = (const char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (++all > MOST)
		_exit(1);	/* a restartable sequence begins again at each step */
	outside += pc < &__executable_start || pc >= &etext;
	calls_of_system += pc[0] == 0x0f && pc[1] == 0x05;
}

QUIET static void run_stepped(void (*f)(void))
{
	all = outside = calls_of_system = 0;
	__asm__ volatile("sub $256, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "call *%0\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $256, %%rsp"
			 : "+D"(f) : : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
}

/* At most `most` instructions of others' in a call of `f`. */
QUIET static void at_most(const char *name, unsigned long most, void (*f)(void))
{
	f();				/* bound, and paged in */
	run_stepped(f);
	printf("%s: %lu instructions, %lu outside\n", name, all, outside);
	CHECK(all > 3 && outside <= most && calls_of_system == 0);
}

/* ---- the reader goes ------------------------------------------------------------ */

QUIET static int count_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Does process `pid` wait for flick beside this one? */
QUIET static int is_beside(const char *pid)
{
	char path[300], name[32] = "", exe[512], own[512];
	FILE *f;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof name, f))
		*name = 0;
	if (f)
		fclose(f);
	if (strcmp(name, "flick-watch\n"))
		return 0;
	snprintf(path, sizeof path, "/proc/%s/exe", pid);
	n = readlink(path, exe, sizeof exe);
	return n > 0 && n == readlink("/proc/self/exe", own, sizeof own) &&
	       !memcmp(exe, own, n);
}

QUIET static int count_flicks(void)
{
	int n = count_threads() - 1;
	DIR *d = opendir("/proc");

	for (struct dirent *e; (e = readdir(d));)
		n += is_beside(e->d_name);
	closedir(d);
	return n;
}

/* Calls go on while flick lets go. */
QUIET static void wait_for_the_end(void)
{
	for (int i = 0; i < 20000 && count_flicks(); i++) {
		call_probed();
		call_early();
		usleep(1000);
	}
	CHECK(!count_flicks());
}

QUIET static void be_daemon(void)
{
	if (fork())
		_exit(0);
	setsid();
	if (fork())
		_exit(0);
}

/* Nothing of the program's stays writable and executable. */
QUIET static void look_at_text(void)
{
	char line[4096], rights[5];
	unsigned long lo, hi;
	FILE *f = fopen("/proc/self/maps", "re");

	while (fgets(line, sizeof line, f)) {
		CHECK(sscanf(line, "%lx-%lx %4s", &lo, &hi, rights) == 3);
		CHECK(rights[1] != 'w' || rights[2] != 'x');
	}
	fclose(f);
}

QUIET int main(int argc, char **argv)
{
	struct sigaction act = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "stay"))
		be_daemon();
	for (int i = 0; i < 2000 && count_flicks() != 1; i++)
		usleep(1000);		/* those of parents are about to end */
	CHECK(count_flicks() == 1);
	for (int i = 0; i < 1000; i++) {
		call_probed();
		call_early();
		call_other();
		KEEP(unrelated(i));
	}
	if (!strcmp(argv[1], "kill"))
		kill(getppid(), SIGKILL);
	wait_for_the_end();
	sigaction(SIGTRAP, &act, NULL);
	at_most("probed", 0, call_probed);
	at_most("early", 0, call_early);
	at_most("other", 0, call_other);
	at_most("late", 20, call_late);
	look_at_text();
	puts("done");
	fflush(stdout);
	return truth_failed;
}
