#!/bin/sh
# However large the shared region is (most with --rate and with counters), it and
# all else of flick's lies apart from the program and its libraries: every probe of
# each finds memory for its glue within a branch's reach, also of a library that is
# loaded later.
. "$(dirname "$0")/lib"
alias=$(aliased)
need sqlite3 "$CC"
cat >"$work/maps.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 4096, FLICKS = 8 << 20 };
static struct { unsigned long lo, hi; char prot[8], name[256]; } m[MAX];

int alpha(int), beta(int);

static int read_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	while (n < MAX && fgets(line, sizeof(line), f)) {
		m[n].name[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &m[n].lo, &m[n].hi,
			   m[n].prot, m[n].name) >= 3)
			n++;
	}
	fclose(f);
	return n;
}

/* What only flick maps here, but for glue and text, which are to be near. */
static int is_flicks(int i)
{
	return m[i].hi - m[i].lo >= FLICKS &&
	       (!m[i].name[0] || strstr(m[i].name, "memfd:flick"));
}

static int is_code(int i)
{
	return m[i].name[0] == '/' && m[i].prot[2] == 'x' && !strstr(m[i].name, "memfd:");
}

static unsigned long distance(int i, int j)
{
	return m[i].lo >= m[j].hi ? m[i].lo - m[j].hi :
	       m[j].lo >= m[i].hi ? m[j].lo - m[i].hi : 0;
}

int main(int argc, char **argv)
{
	void *later = dlopen(argv[1], RTLD_NOW);
	int n, flicks = 0, code = 0;

	if (!later || ((int (*)(int))dlsym(later, "gamma_"))(1) != 2 || alpha(1) + beta(1) != 4)
		return 1;
	n = read_maps();
	for (int i = 0; i < n; i++) {
		flicks += is_flicks(i);
		code += is_code(i);
		for (int j = 0; j < n; j++)
			if (is_flicks(i) && is_code(j) && distance(i, j) < 8ul << 30)
				printf("wrong: %lx-%lx %s near %s\n", m[i].lo, m[i].hi,
				       m[i].name, m[j].name);
	}
	if (argc > 2 && (flicks < 2 || code < 3))
		printf("wrong: %d of flick's, %d of code\n", flicks, code);
	printf("count alpha 1\ncount beta 1\ncount gamma_ 1\ncount main 1\n");
	return 0;
}
END
for f in alpha beta gamma_; do
	echo "__attribute__((noipa)) int $f(int x) { return x + 1; }" >"$work/$f.c"
	compile "$work/lib$f.so" "$work/$f.c" -O2 $sites -shared -fPIC
done
libraries="-L$work -lalpha -lbeta -Wl,-rpath,$work"
for pie in "-fpie -pie" "-fno-pie -no-pie"; do
	compile "$work/maps" "$work/maps.c" -O2 $sites $pie
	run "$work/maps" "$work/libgamma_.so"
	succeeded
	for how in "-a counts" "--rate=5%" "-a latency --all" "-a counts --follow" \
		${alias:+"-a counts --text=alias"}; do
		label="$pie $how:"
		record $how -- "$work/maps" "$work/libgamma_.so" flick
		succeeded
		lossless
		tail -n 1 "$err" | grep -q '; probes: [1-9][0-9]* active, 0 refused' ||
			fail "$label some are refused"
		case $how in
		*counts*) exact counts ;;
		esac
	done
done
