#!/bin/sh
# An unwinder that looks for a body's table among the modules of dl_iterate_phdr(), as LLVM's,
# nongnu's and older libgcc's do, finds it there; who lists modules for anything else
# sees those that are there without flick; and one of the program's that leads on to the next one
# of that name (RTLD_NEXT) gets there. Exceptions of libc++ are caught, where it is there, in
# a program that is started, and in one that runs.
# timeout: 120
. "$(dirname "$0")/lib"
need sqlite3 "$CC" "$(cxx)"
cat >"$work/lists.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct first { uintptr_t pc; int found; };			/* libgcc's, nongnu's */
struct third { void *a, *b; uintptr_t pc; int found; };		/* LLVM's */
static int n, n_nameless;

static int covers(const struct dl_phdr_info *m, uintptr_t pc)
{
	int is_code = 0, has_table = 0;

	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &m->dlpi_phdr[i];
		uintptr_t lo = m->dlpi_addr + p->p_vaddr;

		is_code |= p->p_type == PT_LOAD && pc - lo < p->p_memsz;
		has_table |= p->p_type == PT_GNU_EH_FRAME && *(const char *)lo == 1;
	}
	return is_code && has_table;
}

static int first(struct dl_phdr_info *m, size_t size, void *arg)
{
	return ((struct first *)arg)->found |= covers(m, ((struct first *)arg)->pc);
}

static int third(struct dl_phdr_info *m, size_t size, void *arg)
{
	return ((struct third *)arg)->found |= covers(m, ((struct third *)arg)->pc);
}

static int count(struct dl_phdr_info *m, size_t size, void *arg)
{
	n += !strstr(m->dlpi_name, "flick");
	n_nameless += !*m->dlpi_name;
	return 0;
}

/* Returns whether the place that it returns to is found. */
__attribute__((noinline)) int looks(void)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);
	struct first f = { .pc = pc };
	struct third t = { .pc = pc };

	dl_iterate_phdr(first, &f);
	dl_iterate_phdr(third, &t);
	return f.found && t.found;
}

__attribute__((noinline)) int calls(void)
{
	return 2 * looks();
}

int main(void)
{
	int found = calls(), word = 1;

	dl_iterate_phdr(count, NULL);
	dl_iterate_phdr(count, &word);
	dl_iterate_phdr(count, (void *)1);
	printf("found %d, %d modules, %d nameless\n", found, n, n_nameless);
	return 0;
}
END_OF_C
compile "$work/lists" "$work/lists.c" -O1 -Wno-unused-parameter
"$work/lists" >"$work/alone"
grep -q '^found 2' "$work/alone" || fail "by itself: $(cat "$work/alone")"
for how in "--all" ""; do
	record $how -- "$work/lists"
	cmp -s "$work/alone" "$out" || fail "$how: $(cat "$out"), not $(cat "$work/alone")"
done
[ "$(sql "select count(*) from $(rows latency) where name = 'calls'")" = 1 ] ||
	fail "calls() has no body"

cat >"$work/own.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

typedef int each_function(struct dl_phdr_info *, size_t, void *);

int dl_iterate_phdr(each_function *each, void *arg)
{
	int (*next)(each_function *, void *) = dlsym(RTLD_NEXT, "dl_iterate_phdr");

	return next(each, arg);
}

static int end(struct dl_phdr_info *m, size_t size, void *arg)
{
	return 7;
}

int main(void)
{
	printf("%d\n", dl_iterate_phdr(end, NULL));
	return 0;
}
END_OF_C
compile "$work/own" "$work/own.c" -O1 -Wno-unused-parameter -ldl
record --all -- "$work/own"
[ "$(cat "$out")" = 7 ] || fail "the program's own: $(cat "$out" "$err")"

cat >"$work/throws.cc" <<'END_OF_CC'
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <unistd.h>

static volatile std::sig_atomic_t ended;
static void on_end(int) { ended = 1; }

__attribute__((noinline)) int deep(int n)
{
	if (!n)
		throw std::runtime_error("deep");
	return deep(n - 1) + 1;
}

int main(int argc, char **)
{
	long thrown = 0, caught = 0;

	std::signal(SIGTERM, on_end);
	std::puts("begun");
	std::fflush(stdout);
	do {
		thrown++;
		try {
			deep((int)(thrown % 7));
		} catch (const std::exception &) {
			caught++;
		}
		usleep(200);
	} while (argc > 1 ? !ended : thrown < 100);
	std::puts(thrown == caught ? "fine" : "no");
	return 0;
}
END_OF_CC
clang++ -O2 -stdlib=libc++ -o "$work/throws" "$work/throws.cc" 2>"$err" &&
	"$work/throws" >"$work/alone" || exit 0
for how in "--all" ""; do
	record $how -- "$work/throws"
	cmp -s "$work/alone" "$out" || fail "$how: $(cat "$out" "$err")"
done
. "$here/attach-lib"
program=throws
begin on
attach -a counts
finish
