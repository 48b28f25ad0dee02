#!/bin/sh
# Self times have no time in the kernel. How much a process spent there the report says, and
# results.db has it: what getrusage(2) tells the program, more or less. Where it is little, and of
# a process tree, nothing is said.
. "$(dirname "$0")/lib"
no_emulator samples
need sqlite3 gcc

cat >"$work/both.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static struct rusage now;
static volatile int turns;
static char bytes[1 << 16];

static long ms(const struct timeval *t)
{
	return t->tv_sec * 1000 + t->tv_usec / 1000;
}

/* Until the kernel has had so many milliseconds, and then the program. */
int main(int argc, char **argv)
{
	long kernel = atol(argv[1]), own = atol(argv[2]);
	int fd = open("/dev/zero", O_RDONLY);

	(void)argc;
	for (getrusage(RUSAGE_SELF, &now); ms(&now.ru_stime) < kernel; getrusage(RUSAGE_SELF, &now))
		for (int i = 0; i < 20; i++)
			if (read(fd, bytes, sizeof(bytes)) < 0)
				return 1;
	for (; ms(&now.ru_utime) < own; getrusage(RUSAGE_SELF, &now))
		for (int i = 0; i < 100000; i++)
			turns++;
	fprintf(stderr, "kernel %ld own %ld\n", ms(&now.ru_stime), ms(&now.ru_utime));
	return 0;
}
C
gcc -O1 -o "$work/both" "$work/both.c" || fail "it does not compile"

says() {
	run "$FLICK" report "$data"
	succeeded
	grep -q "^  no self time has the kernel's part: $1 s, $2 % of the program's CPU time" "$out"
}

label="two thirds:"
record -- "$work/both" 600 300
succeeded
kernel=$(sql "select value / 1000000 from session where key = 'kernel_ns'")
knew=$(sed -n 's/^kernel \([0-9]*\) .*/\1/p' "$err")
own=$(sed -n 's/^kernel .* own \([0-9]*\)$/\1/p' "$err")
[ "$kernel" -ge $((knew * 8 / 10 - 20)) ] && [ "$kernel" -le $((knew * 12 / 10 + 40)) ] ||
	fail "$label $kernel ms, and getrusage has $knew, and $own of its own"
says '[0-9.]*' '[567][0-9]' || fail "$label the report does not say it"

label="little:"
record -- "$work/both" 1 900
succeeded
! says '.*' '.*' || fail "$label the report says something"

# Each lives for less than a sample takes to come.
label="short threads:"
cat >"$work/threads.c" <<'C'
#include <pthread.h>

static volatile int n;

static void *turn(void *arg)
{
	for (int i = 0; i < 400000; i++)
		n++;
	return arg;
}

int main(void)
{
	pthread_t t;

	for (int i = 0; i < 1000; i++)
		if (pthread_create(&t, NULL, turn, NULL) || pthread_join(t, NULL))
			return 1;
	return 0;
}
C
gcc -O1 -pthread -o "$work/threads" "$work/threads.c" || fail "it does not compile"
record -- "$work/threads"
succeeded
! says '.*' '.*' || fail "$label the report says something"

# With few samples for self times the kernel's part is known all the same.
label="nearly all:"
record -- "$work/both" 400 1
succeeded
says '[0-9.]*' '[6789][0-9]' || fail "$label the report does not say it"

# Of every call with few samples self times are the clock's, which have the kernel's part.
label="every call:"
record --all -- "$work/both" 200 1
succeeded
[ "$(sql "select value from session where key = 'self'")" = clock ] || fail "$label samples tell"
! says '.*' '.*' || fail "$label the report says something"

label="a tree:"
record --follow -- "$work/both" 300 300
succeeded
! says '.*' '.*' || fail "$label the report says something"
