#!/bin/sh
# The thread that flick borrows when it comes into a program has flags set that compiled code
# does not expect: it copies downwards (DF), and has alignment checked (AC). What flick begins
# there has not, and the thread finds its own.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "there are no such flags"
need "$CC" sqlite3
. "$here/attach-lib"
cat >"$work/downwards.c" <<'END2'
#include <signal.h>
#include <stdio.h>
#include <string.h>
static volatile sig_atomic_t is_over;
static char from[1 << 16], to[1 << 16];
volatile long sum;
__attribute__((noinline)) void work(void)
{
	sum++;
}
static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}
/* Both flags are set nearly all of the time. */
__attribute__((noinline)) static unsigned long copy(void)
{
	char *s = from + sizeof(from) - 1, *t = to + sizeof(to) - 1;
	unsigned long n = sizeof(from), flags;

	__asm__ volatile("sub $128, %%rsp\n\tpushf\n\torl $0x40400, (%%rsp)\n\tpopf\n\t"
			 "rep movsb\n\tpushf\n\tpop %3\n\t"
			 "pushf\n\tandl $~0x40400, (%%rsp)\n\tpopf\n\tadd $128, %%rsp"
			 : "+S"(s), "+D"(t), "+c"(n), "=r"(flags) : : "memory", "cc");
	return flags & 0x40400;
}
int main(void)
{
	unsigned long set = 0x40400;

	signal(SIGTERM, on_term);
	for (int i = 0; i < (int)sizeof(from); i++)
		from[i] = (char)(i * 7);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		work();
		set &= copy();
	}
	puts(set != 0x40400 || memcmp(from, to, sizeof(from)) ? "not what it had" : "fine");
	return 0;
}
END2
compile "$work/downwards" "$work/downwards.c" -O1

program=downwards
begin
for i in $(seq 8); do
	label="attach $i:"
	attach -a counts
	[ "$(sql "select count(*) from $(rows counts) where name = 'work' and calls > 0")" = 1 ] ||
		fail "$label no calls"
done
is_as_it_was
finish
