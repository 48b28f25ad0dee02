/*
 * asked-late early|late: asks by backtrace(), by _Unwind_Backtrace(), and by the address of the
 * first that was kept, where calls return to, again and again: `late`, for the first time once
 * SIGUSR1 has come. Each time the innermost calls return into the functions that made them.
 * Prints `ready`; at SIGTERM `fine`, if the first two never found other places, or how often
 * each did.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define APART __attribute__((noinline, noipa))

enum { CALLS = 3, ROOM = 64 };

static const char *const names[CALLS] = { "ask", "inner", "outer" };
static volatile sig_atomic_t is_over, may_ask;
static unsigned long asked, others, unwound, kept;
static int (*volatile keeps)(void **, int);

static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}

static void on_go(int sig)
{
	(void)sig;
	may_ask = 1;
}

static int is_in(void *at, const char *name)
{
	Dl_info in = { .dli_sname = NULL };

	return dladdr((char *)at - 1, &in) && in.dli_sname && !strcmp(in.dli_sname, name);
}

static _Unwind_Reason_Code take(struct _Unwind_Context *c, void *arg)
{
	int *i = arg;

	if (*i < CALLS && !is_in((void *)_Unwind_GetIP(c), names[*i]))
		*i = 2 * ROOM;
	++*i;
	return _URC_NO_REASON;
}

static int are_others(void **at, int n)
{
	for (int i = 0; i < CALLS; i++)
		if (i >= n || !is_in(at[i], names[i]))
			return 1;
	return 0;
}

APART void ask(void)
{
	void *at[ROOM];
	int i = 0;

	others += are_others(at, backtrace(at, ROOM)) != 0;
	if (keeps)
		kept += are_others(at, keeps(at, ROOM)) != 0;
	_Unwind_Backtrace(take, &i);
	unwound += i < CALLS || i > ROOM;
	asked++;
}

APART void inner(void)
{
	ask();
	asked++;
}

APART void outer(void)
{
	inner();
	asked++;
}

int main(int argc, char **argv)
{
	signal(SIGTERM, on_term);
	signal(SIGUSR1, on_go);
	if (argc > 1 && !strcmp(argv[1], "early")) {
		keeps = (int (*)(void **, int))dlsym(RTLD_DEFAULT, "backtrace");
		may_ask = 1;
		outer();
	}
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		if (may_ask)
			outer();
		usleep(100);
	}
	if (asked > 30 && !others && !unwound)
		puts("fine");
	else
		printf("asked %lu: others %lu, unwound %lu, kept %lu\n", asked / 3, others,
		       unwound, kept);
	return 0;
}
