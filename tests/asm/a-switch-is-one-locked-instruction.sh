#!/bin/sh
# flick_patch_switch() of a place that is switched by one store, instruction by
# instruction as the processor runs it: a bound on their number, one of them
# locked for the claim, for a flip no call, and nothing that waits. A program
# sets the trap flag and lists what it executes. Planted: the paths that lock
# twice and call do not pass for a flip, nor does a flip under a lower bound.
set -u
cat >"$TMP/step.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "flick/patch.h"

enum { MOST = 4096 };
static const unsigned char *met[MOST];
static size_t n;
static uintptr_t back;			/* where the call returns to */
static int returned;

static void step(int sig, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)regs[REG_RIP];

	(void)sig, (void)info;
	if (!back)
		back = *(uintptr_t *)regs[REG_RSP];
	returned |= pc == back;
	if (!returned && n < MOST)
		met[n++] = (const unsigned char *)pc;
}

static int stepped(int (*f)(struct flick_patch *, enum flick_state),
		   struct flick_patch *p, enum flick_state to)
{
	int result;

	n = back = returned = 0;
	__asm__ volatile("sub $256, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
			 "call *%1\n\t"
			 "pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $256, %%rsp"
			 : "=a"(result) : "r"(f), "D"(p), "S"(to)
			 : "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
	return result;
}

static int is_prefix(unsigned char c)
{
	return memchr("\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65", c, 10) || c >> 4 == 4;
}

/* l: locked, c: a call, w: may wait, or orders more than it needs; else 0. */
static char kind(const unsigned char *i)
{
	for (;; i++)
		if (*i == 0xf0)
			return 'l';
		else if (!is_prefix(*i))
			break;
	if (*i == 0xe8 || (*i == 0xff && (i[1] >> 3 & 7) == 2))
		return 'c';
	if ((*i == 0x86 || *i == 0x87) && i[1] < 0xc0)
		return 'l';
	return *i == 0x0f && memchr("\x05\x34\xa2\xae\x01", i[1], 5) ? 'w' : 0;
}

static size_t count(char which)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += kind(met[i]) == which;
	return found;
}

/* A switch between `mov`s at `at`; the second time, when all is bound. */
static int show(const char *name, unsigned char *at, const void *on)
{
	struct flick_patch p;

	memcpy(at, "\xb8\1\1\1\1", 5);
	if (flick_patch_init(&p, at, on, 5) || flick_call_on(&p) || flick_call_off(&p) ||
	    stepped(flick_patch_switch, &p, FLICK_ON) || memcmp(at, on, 5) || !n)
		return 1;
	printf("%s %s %zu %zu %zu %zu\n", name, flick_patch_tactic(&p), n, count('l'),
	       count('c'), count('w'));
	return flick_patch_release(&p);
}

int main(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &sa, NULL);
	return flick_patch_open(NULL) || show("flip", code, "\xb8\2\1\1\1") ||
		show("word2", code + 1, "\xb8\2\2\1\1") ||
		show("word4", code + 8, "\xb8\2\2\2\2") ||
		show("word3", code + 16, "\xb8\2\2\2\1");
}
END
${CC:-cc} -O2 -w -D_GNU_SOURCE -I"$ROOT/include" "$TMP/step.c" "$BUILD/libflick.so" \
	-Wl,-rpath,"$BUILD" -Wl,-z,now -o "$TMP/step" || exit 1
"$TMP/step" >"$TMP/paths" || { echo "the program failed"; exit 1; }
cat "$TMP/paths"

is()			# PATH TACTIC MOST LOCKED CALLS
{
	awk -v p="$1" -v t="$2" -v most="$3" -v locked="$4" -v calls="$5" '
		$1 == p { ok = $2 == t && $3 > 10 && $3 <= most && $4 == locked &&
			$5 <= calls && $6 == 0 }
		END { exit !ok }' "$TMP/paths"
}

bad=0
must()
{
	is "$@" || { echo "not so: $*"; bad=1; }
}
must flip flip 42 1 0
must word2 word 64 1 1
must word4 word 67 1 1
must word3 word 99 2 2
is word3 word 99 1 2 && { echo "a second lock is not seen"; bad=1; }
is word2 word 64 1 0 && { echo "a call is not seen"; bad=1; }
is flip flip 36 1 0 && { echo "the bound of flip is loose"; bad=1; }
exit $bad
