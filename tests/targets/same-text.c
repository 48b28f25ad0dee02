/*
 * same-text PID: is all code of the process as in its files, and may none be written to?
 * Prints what is not; 1 then.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare(int mem, const char *path, unsigned long lo, unsigned long hi,
		   unsigned long offset)
{
	size_t n = hi - lo;
	unsigned char *is = calloc(n, 1), *was = calloc(n, 1);
	int fd = open(path, O_RDONLY), bad = 0;

	if (fd < 0)
		return 0;
	if (pread(fd, was, n, (off_t)offset) < 0 || pread(mem, is, n, (off_t)lo) != (ssize_t)n)
		bad = 1;
	for (size_t i = 0; i < n && !bad; i++)
		if (is[i] != was[i]) {
			printf("%s differs at 0x%lx: %02x, not %02x\n", path, offset + i, is[i],
			       was[i]);
			bad = 1;
		}
	close(fd);
	free(is);
	free(was);
	return bad;
}

int main(int argc, char **argv)
{
	char name[64], line[4096], prot[8], path[4096];
	unsigned long lo, hi, offset, inode;
	int bad = argc != 2, mem;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%s/mem", argv[1]);
	mem = open(name, O_RDONLY);
	snprintf(name, sizeof(name), "/proc/%s/maps", argv[1]);
	maps = fopen(name, "r");
	if (mem < 0 || !maps)
		return 2;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu %4095[^\n]", &lo, &hi, prot, &offset,
			   &inode, path) != 6 || prot[2] != 'x' || path[0] != '/' || !inode ||
		    strstr(path, "(deleted)"))
			continue;
		if (prot[1] == 'w') {
			printf("may be written: %s", line);
			bad = 1;
		}
		bad |= compare(mem, path, lo, hi, offset);
	}
	return bad;
}
