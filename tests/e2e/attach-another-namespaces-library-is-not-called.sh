#!/bin/sh
# record -p of a program in which dlmopen() has loaded a C library more, below its own: what it is
# asked to call is its own. The other one may be unloaded at any moment; here it cannot be called
# at all.
#
# timeout: 120
. "$(dirname "$0")/lib"
no_emulator ptrace
. "$(dirname "$0")/attach-lib"
cat >"$work/apart.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const names[] = { "pthread_create", "pthread_self", "pthread_detach",
	"dlopen", "dlsym", "dlerror" };
static volatile sig_atomic_t over;
static volatile long sum;

static void end(int sig) { (void)sig; over = 1; }

__attribute__((noipa)) static void work(int i) { sum += i; }

/* Whoever calls it ends the program. */
static int spoil(unsigned char *f)
{
	char *page = (char *)((uintptr_t)f & ~4095ul);

	if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	f[0] = 0x0f;			/* ud2 */
	f[1] = 0x0b;
	return mprotect(page, 8192, PROT_READ | PROT_EXEC);
}

static int spoil_all(void *apart)
{
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		unsigned char *f = dlsym(apart, names[i]);

		if (!f || f == dlsym(RTLD_DEFAULT, names[i]) || spoil(f))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int wrong = argc < 2 || spoil_all(dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));

	signal(SIGTERM, end);
	puts(wrong ? "no" : "ready");
	fflush(stdout);
	while (!over && !wrong)
		work(usleep(1000));
	puts(wrong ? "it cannot be written to" : "fine");
	return wrong;
}
END
compile "$work/apart" "$work/apart.c" -O2 -D_GNU_SOURCE -ldl
plug
program=apart
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT

label="spoiled:"
begin "$work/plug.so"
[ "$line" = ready ] || skip "the other C library cannot be written to"
attach -a counts -P work
[ -e /proc/$pid/exe ] || fail "$label the program has ended"
libc=$(getconf GNU_LIBC_VERSION)
[ "$(printf '%s\n' 'glibc 2.35' "$libc" | sort -V | head -n 1)" != "glibc 2.35" ] ||
	grep -q '^flick: modules in other link-map namespaces (dlmopen) are not recorded$' "$err" ||
	fail "$label that the other list is not recorded is not said"
finish
