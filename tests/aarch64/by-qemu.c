/*
 * by-qemu.c - an AArch64 program is run by the emulator, where the kernel runs none.
 *
 *	BY_QEMU="qemu-aarch64 -L SYSROOT" by-qemu PROGRAM ARGUMENT...
 *
 * As a program it is static: libraries in LD_PRELOAD are for PROGRAM, and the loader of this
 * CPU would complain of them. As a library (-DPRELOADED, -shared) it is preloaded into this
 * CPU's programs, as a test's shell and timeout: what they execute is given to the program,
 * $BY_QEMU_PROGRAM, when it is AArch64. What an emulated program executes is not seen here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MOST = 8192 };

#ifdef PRELOADED
extern char **environ;

static bool is_aarch64(const char *path)
{
	Elf64_Ehdr head;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, &head, sizeof head);
	close(fd);
	return n == sizeof head && !memcmp(head.e_ident, ELFMAG, SELFMAG) &&
		head.e_machine == EM_AARCH64;
}

static int execute(const char *path, char *const argv[], char *const env[])
{
	char *args[ARGS_MOST];
	int (*original)(const char *, char *const[], char *const[]) =
		(int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execve");
	char *by = getenv("BY_QEMU_PROGRAM");
	if (!by || access(path, X_OK) || !is_aarch64(path))
		return original(path, argv, env);
	size_t n = 0;
	args[n++] = by;
	args[n++] = (char *)path;
	for (size_t i = 1; argv[i]; i++) {
		if (n == ARGS_MOST - 1) {
			errno = E2BIG;
			return -1;
		}
		args[n++] = argv[i];
	}
	args[n] = NULL;
	return original(by, args, env);
}

int execve(const char *path, char *const argv[], char *const env[])
{
	return execute(path, argv, env);
}

int execv(const char *path, char *const argv[])
{
	return execute(path, argv, environ);
}

int execvpe(const char *name, char *const argv[], char *const env[])
{
	char path[PATH_MAX];
	if (strchr(name, '/'))
		return execute(name, argv, env);
	const char *dirs = getenv("PATH");
	errno = ENOENT;
	for (const char *d = dirs ? dirs : "/usr/bin:/bin"; *d; d += *d == ':') {
		size_t n = strcspn(d, ":");
		snprintf(path, sizeof path, "%.*s/%s", (int)n, d, name);
		d += n;
		if (n && !access(path, X_OK))
			execute(path, argv, env);
	}
	return -1;
}

int execvp(const char *name, char *const argv[])
{
	return execvpe(name, argv, environ);
}

#else

/* LD_PRELOAD=LIBRARIES without the one that is this CPU's, or null. */
static char *for_program(void)
{
	static char set[2 * PATH_MAX];
	const char *given = getenv("LD_PRELOAD"), *own = getenv("BY_QEMU_PRELOADED");
	if (!given)
		return NULL;
	if (own && !strncmp(given, own, strlen(own)))
		given += strlen(own);
	given += strspn(given, ": ");
	if (!*given)
		return NULL;
	snprintf(set, sizeof set, "LD_PRELOAD=%s", given);
	return set;
}

int main(int argc, char **argv)
{
	char *args[ARGS_MOST];
	char *by = getenv("BY_QEMU"), *libraries = for_program();
	size_t n = 0;
	if (!by || argc < 2 || argc > ARGS_MOST - 16) {
		fputs("by-qemu: no BY_QEMU, or no program\n", stderr);
		return 125;
	}
	by = strdup(by);
	for (char *word = strtok(by, " "); word && n < 8; word = strtok(NULL, " "))
		args[n++] = word;
	if (libraries) {
		args[n++] = (char *)"-E";
		args[n++] = libraries;
	}
	unsetenv("LD_PRELOAD");
	for (int i = 1; i < argc; i++)
		args[n++] = argv[i];
	args[n] = NULL;
	execvp(args[0], args);
	perror(args[0]);
	return 126;
}
#endif
