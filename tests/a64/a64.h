/*
 * a64.h - for tests of the AArch64 port's pure parts on any CPU: words from an assembler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

#define TOOLS "aarch64-linux-gnu-"

static inline bool is_torture(void)
{
	return getenv("FLICK_TORTURE") != NULL;
}

static inline uint64_t next_random(uint64_t *s)
{
	return *s = fl_random_next(*s);
}

static inline bool has_tools(void)
{
	return !system("command -v " TOOLS "as >/dev/null");
}

/* Words of an assembler's text; how many, at most `most`. */
static inline size_t assemble(const char *text, uint32_t *words, size_t most)
{
	char dir[] = "/tmp/flick-a64.XXXXXX", cmd[512];
	size_t n = 0;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(cmd, sizeof cmd, "%s/t.s", dir);
	f = fopen(cmd, "w");
	assert_non_null(f);
	fprintf(f, ".arch armv8.7-a+memtag+sve+flagm+pauth\n.text\n%s\n", text);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cd %s && " TOOLS "as -o t.o t.s && " TOOLS
		 "objcopy -O binary -j .text t.o t.bin", dir);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof cmd, "%s/t.bin", dir);
	f = fopen(cmd, "r");
	assert_non_null(f);
	n = fread(words, sizeof *words, most, f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
	return n;
}
