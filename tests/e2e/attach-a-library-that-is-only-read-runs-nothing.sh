#!/bin/sh
# record -p of a program that has mapped the C library's file below the library itself, to
# read it, as flick's own scan does: what it is asked to call is in the one that runs.
. "$(dirname "$0")/lib"
no_emulator ptrace
need "$CC"
cat >"$work/reads.c" <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noipa)) static void work(int i) { sum += i; }
int main(void)
{
	Dl_info c;
	int fd = dladdr(dlsym(RTLD_DEFAULT, "malloc"), &c) ? open(c.dli_fname, O_RDONLY) : -1;

	if (mmap((void *)0x10000000, 1 << 22, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED)
		return 77;
	puts("ready");
	fflush(stdout);
	for (int i = 0;; i++, usleep(1000))
		work(i);
}
END
compile "$work/reads" "$work/reads.c" -O2 -D_GNU_SOURCE $sites
mkfifo "$work/from"
"$work/reads" >"$work/from" 2>/dev/null </dev/null &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$work"' EXIT
read -r ready <"$work/from" || skip "the file cannot be mapped there"
run "$FLICK" record -p $pid -o "$data" -d 0.2
kill -0 $pid || fail "the program has ended"
succeeded
kill $pid
