#!/bin/sh
# A handler of SIGSEGV looks at the instruction that has faulted, the first one of a function,
# and has its thread go on behind it. Flick comes in again and again, and makes that instruction
# a part of a jump: never while such a handler, or the thread that is about to be told of
# a fault, still has the old address. Calls of that function are recorded.
. "$(dirname "$0")/lib"
[ "$(uname -m)" = x86_64 ] || skip "the instruction is of x86-64"
need "$CC" sqlite3
. "$here/attach-lib"
cat >"$work/faults.c" <<'END2'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
static volatile sig_atomic_t is_over;
static volatile unsigned long told, wrong;
/* mov %esi,(%rdi); lea 1(%rsi),%eax; ret */
__attribute__((noipa)) int poke(volatile int *p, int v)
{
	*p = v;
	return v + 1;
}
__attribute__((noipa)) void handled(void)
{
	told++;
}
static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const volatile unsigned char *at = (void *)regs[REG_RIP];

	(void)sig;
	if (info->si_addr != (void *)0x1000 || at[0] != 0x89 || at[1] != 0x37)
		wrong++;
	handled();
	regs[REG_RIP] = (greg_t)(at + 2);
}
static void on_term(int sig)
{
	(void)sig;
	is_over = 1;
}
int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	unsigned long n = 0;

	sigaction(SIGSEGV, &sa, NULL);
	signal(SIGTERM, on_term);
	puts("ready");
	fflush(stdout);
	for (int i = 0; !is_over; i++, n++)
		if (poke((int *)0x1000, i) != i + 1)
			wrong++;
	if (wrong || n != told)
		printf("%lu wrong, %lu of %lu faults\n", wrong, told, n);
	else
		puts("fine");
	return 0;
}
END2
compile "$work/faults" "$work/faults.c" -O1

program=faults
begin
recorded=0
for i in $(seq 12); do
	label="attach $i:"
	for=0.1
	attach -a counts
	recorded=$((recorded + $(sql "select count(*) from $(rows counts)
		where name = 'poke' and calls > 0")))
done
is_as_it_was
finish
[ $recorded -ge 6 ] || fail "calls were recorded by $recorded of 12"
