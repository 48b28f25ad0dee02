/*
 * returns: says where calls return to, as offsets in its modules, by each function that tells
 * it: from the end of a function that is left for good, deep in a recursion, with as much room
 * as there are calls and more and less, behind a signal, from the C library, and while a
 * thread that was cancelled is unwound.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define APART __attribute__((noinline, noipa))

enum { DEEP = 200, ROOM = 1000 };

static jmp_buf back;
static int size;

static void say(const char *how, uintptr_t at)
{
	Dl_info in = { .dli_fname = "?" };
	const char *slash;

	dladdr((void *)at, &in);
	slash = strrchr(in.dli_fname, '/');
	printf(" %s%s+%lx", how, slash ? slash + 1 : in.dli_fname,
	       at - (uintptr_t)in.dli_fbase);
}

static _Unwind_Reason_Code note(struct _Unwind_Context *c, void *arg)
{
	int before, *left = arg;
	uintptr_t ip = _Unwind_GetIPInfo(c, &before);

	say(before ? "at " : "", ip);
	if (ip != _Unwind_GetIP(c))
		printf(" not %lx", (unsigned long)_Unwind_GetIP(c));
	return --*left ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

APART static void show(const char *what)
{
	void *at[ROOM];
	int n, left = 8, all = -1;

	memset(at, 0xee, sizeof at);
	n = backtrace(at, size);
	printf("%s: %d of %d:", what, n, size);
	for (int i = 0; i < n && (i < 6 || i > n - 3); i++)
		say("", (uintptr_t)at[i]);
	printf("%s\n%s, unwound:", at[size] == at[ROOM - 1] ? "" : " and more", what);
	printf(" %d", _Unwind_Backtrace(note, &left));
	printf("; %d\n", _Unwind_Backtrace(note, &all));
}

__attribute__((noreturn)) APART static void leave(const char *what)
{
	show(what);
	longjmp(back, 1);
}

APART static void leave_at_its_end(int n)
{
	if (n)
		puts("the last instruction is a call");
	leave("left");
}

APART static int deep(int n)
{
	static volatile int returned;

	if (n)
		returned += deep(n - 1);
	else
		show("deep");
	return returned;
}

APART static int choose(int n)
{
	switch (n) {
	case 0: show("0"); return 3;
	case 1: puts("1"); return 1;
	case 2: show("2"); return 4;
	case 3: show("3"); return 1;
	case 4: puts("4"); return 5;
	case 5: show("5"); return 9;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	if (size) {
		show("sorted");
		size = 0;
	}
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	show("handled");
}

static void clean(void *arg)
{
	(void)arg;
	show("cleaned");
}

static void *thread(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	pthread_cancel(pthread_self());
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return arg;
}

APART static int raised(void)
{
	raise(SIGUSR1);
	return size;
}

int main(void)
{
	static const int sizes[] = { -1, 0, 1, 2, 3, 128, 129, DEEP, DEEP + 1, DEEP + 9,
				     ROOM - 1 };
	int numbers[] = { 3, 1, 2 }, sum = 0;
	pthread_t t;

	for (unsigned int i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size = sizes[i];
		if (size > 0)
			sum += deep(DEEP);
		else
			printf("%d of %d\n", backtrace((void **)&t, size), size);
	}
	size = 30;
	for (int i = 0; i < 7; i++)
		sum += choose(i);
	for (int i = 0; i < 2; i++)
		if (!setjmp(back))
			leave_at_its_end(i);
	signal(SIGUSR1, on_signal);
	sum += raised();
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	qsort(numbers, 3, sizeof *numbers, compare);
	printf("sum %d\n", sum);
	return 0;
}
