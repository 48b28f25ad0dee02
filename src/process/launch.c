/*
 * launch.c - start the target with libflick.so in it.
 *
 * What can be known to fail is found before anything starts: the program's
 * file is read the way the kernel will read it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "obj/obj.h"
#include "os/os.h"
#include "patch/patch.h"
#include "process/attach.h"

#define FL_EMULATOR_ENV "FLICK_EMULATOR"

/* ---- libflick.so --------------------------------------------------------------- */

static bool take_library(char out[4096], const char *dir, const char *below)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s%s", dir, below) >= (int)sizeof(path))
		return false;
	return realpath(path, out) && !access(out, R_OK);
}

bool fl_launch_find_library(char out[4096])
{
	const char *given = getenv("FLICK_LIB");
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (given && *given)
		return take_library(out, given, "");
	if (n < 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return take_library(out, self, "/" FLICK_LIBRARY) ||
	       take_library(out, self, "/" FLICK_LIBDIR_FROM_BIN "/" FLICK_LIBRARY) ||
	       take_library(out, FLICK_LIBDIR, "/" FLICK_LIBRARY);
}

/* ---- the program --------------------------------------------------------------- */

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* As execvp does: a name without a slash is looked up in PATH. */
static bool find_program(char out[4096], const char *name)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(out, 4096, "%s", name) < 4096 && is_file(out);
	for (path = path ? path : "/bin:/usr/bin"; *path;) {
		size_t n = strcspn(path, ":");

		snprintf(out, 4096, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
		if (is_file(out) && !access(out, X_OK))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

/* A name without a slash is not taken from the current directory. */
static const char *why_no_program(const char *name)
{
	struct stat st;

	if (!strchr(name, '/') && (stat(name, &st) || !S_ISDIR(st.st_mode)))
		return is_file(name) ? "not found in PATH; put ./ before it for the one in "
				       "this directory" : "not found in PATH";
	if (stat(name, &st))
		return errno == ENOENT ? "no such program" : strerror(errno);
	return S_ISDIR(st.st_mode) ? "is a directory, no program" : "is no regular file";
}

void fl_launch_interpreter(char out[4096], const char *path)
{
	char line[4096];
	FILE *f = fopen(path, "re");
	bool is_script = f && fgets(line, sizeof(line), f) && !strncmp(line, "#!", 2);
	char *start;

	if (f)
		fclose(f);
	*out = '\0';
	if (!is_script)
		return;
	start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\r\n")] = '\0';
	snprintf(out, 4096, "%s", start);
}

/* Built with -finstrument-functions, whether or not a scan will see its calls. */
static bool names_hooks(const struct fl_obj *obj)
{
	static const char hook[] = "__cyg_profile_func_enter";
	Elf64_Shdr s;

	return fl_obj_section(obj, ".dynstr", &s) &&
	       memmem(obj->bytes + s.sh_offset, s.sh_size, hook, sizeof(hook));
}

static int note_flick(void *found, const char *name, uint64_t value, uint64_t size)
{
	(void)value;
	(void)size;
	*(bool *)found |= !strcmp(name, "flick_open");
	return 0;
}

void fl_launch_loader(char out[128], const struct fl_obj *obj)
{
	*out = '\0';
	for (size_t i = 0; obj->ph && i < obj->eh->e_phnum; i++) {
		const Elf64_Phdr *ph = &obj->ph[i];

		if (ph->p_type == PT_INTERP && ph->p_filesz <= obj->n_bytes &&
		    ph->p_offset <= obj->n_bytes - ph->p_filesz)
			snprintf(out, 128, "%.*s", (int)ph->p_filesz,
				 (const char *)obj->bytes + ph->p_offset);
	}
}

bool fl_launch_loads(const char *loader)
{
	return *loader && !strstr(loader, "ld-musl");
}

/* A library names no loader, either; but a program that can be loaded anywhere says that it is
 * a program. */
bool fl_launch_is_static(const char *path)
{
	enum { DF_PIE = 0x08000000 };		/* of DT_FLAGS_1 */
	struct fl_module m = { 0 };
	bool is_program = false, has_flick = false;
	uint64_t flags = 0;
	char loader[128];
	struct fl_obj obj;

	if (fl_obj_open(&obj, path))
		return false;
	is_program = obj.eh->e_type == ET_EXEC;
	if (!is_program && !fl_obj_lay_out(&m, &obj, path)) {
		is_program = fl_obj_dynamic(&m, DT_FLAGS_1, &flags) && flags & DF_PIE;
		fl_obj_unlay(&m);
	}
	fl_launch_loader(loader, &obj);
	is_program = is_program && !*loader;
	if (is_program)
		fl_obj_functions(&obj, note_flick, &has_flick);
	fl_obj_close(&obj);
	return is_program && !has_flick;
}

/* A shell runs any text; the kernel does not. */
static void tell_no_elf(const struct fl_launch *l, int err)
{
	if (*l->interpreter)
		fl_say("%s is a script for %s: %s", l->program, l->interpreter,
		       fl_reason(err));
	else if (err == FLE_NOTELF)
		fl_say("%s: not an ELF file, nor a script that begins with #!; a shell's "
		       "script is recorded as `sh %s`", l->program, l->program);
	else
		fl_say("%s: %s", l->program, fl_reason(err));
}

static int check_elf(struct fl_launch *l, const char *path)
{
	struct fl_obj obj;
	int err = fl_obj_open(&obj, path);
	char loader[128];

	if (err) {
		tell_no_elf(l, err);
		return -1;
	}
	if (!realpath(path, l->file))
		strcpy(l->file, path);
	fl_launch_loader(loader, &obj);
	l->is_closed = !fl_launch_loads(loader);
	l->calls_hooks = names_hooks(&obj);
	fl_obj_close(&obj);
	if (!l->is_closed || l->may_be_closed)
		return 0;
	fl_say("%s is linked %s, so libflick.so cannot be loaded into it, and samples alone "
	       "tell of it (flick record without options)%s", path,
	       *loader ? "for the C library musl" : "statically",
	       *loader ? "" : "; link it without -static, or link libflick.a and use flick.h");
	return -1;
}

/* The rules are the kernel's (execve(2)); files' capabilities give root nothing. */
bool fl_launch_gains_rights(const char *path, const char **how)
{
	const mode_t group = S_ISGID | S_IXGRP;
	struct statvfs fs;
	struct stat st;

	*how = "set-user-ID";
	if (stat(path, &st) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    statvfs(path, &fs) || fs.f_flag & ST_NOSUID)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return true;
	*how = "set-group-ID";
	if ((st.st_mode & group) == group && st.st_gid != getegid())
		return true;
	*how = "a file with capabilities";
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Such programs run without LD_PRELOAD. */
static int check_privilege(const char *path)
{
	const char *how;

	if (!fl_launch_gains_rights(path, &how))
		return 0;
	fl_say("%s is %s, so the loader ignores LD_PRELOAD; record it as the user it runs as, "
	       "or a copy", path, how);
	return -1;
}

/* ---- how flick works in it -------------------------------------------------------- */

const char *fl_text_each(size_t i)
{
	static const char *const ways[] = { "mprotect", "alias", "kick" };

	return i < ARRAY_LEN(ways) ? ways[i] : NULL;
}

const char *fl_sync_each(size_t i)
{
	const char *about;

	return fl_patch_sync_row(i, &about);
}

static int check_faults(const char *spec)
{
	const char *wrong;
	char names[1024] = "";

	if (!fl_os_fault_check(spec, &wrong))
		return 0;
	for (size_t i = 0, n = 0; fl_os_fault_name(i) && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "",
				      fl_os_fault_name(i));
	fl_say(FL_FAULT_ENV " takes up to 16 CALL:N or CALL:N+, not `%s`; a CALL is one "
	       "of %s", wrong, names);
	return -1;
}

/* Check what the user has said in the environment, and the kernel's pages: flick stores to text
 * by pages of one size. */
static int check_environment(const struct fl_launch *l)
{
	const char *text = getenv(FL_TEXT_ENV), *sync = getenv(FL_SYNC_ENV);
	long page = sysconf(_SC_PAGESIZE);

	if (page != FL_PAGE) {
		fl_say("pages of this kernel have %ld KiB; flick is built for those of %d",
		       page / 1024, FL_PAGE / 1024);
		return -1;
	}
	if (text && fl_choose(FL_TEXT_ENV, fl_text_each, text) < 0)
		return -1;
	if (!l->sync && sync && *sync && fl_choose(FL_SYNC_ENV, fl_sync_each, sync) < 0)
		return -1;
	return check_faults(getenv(FL_FAULT_ENV));
}

/* What the target inherits for these, which may be to ignore them (nohup, some supervisors).
 * Flick itself ignores SIGPIPE from its first session on, and SIGXFSZ from the start: a write
 * that passes a limit fails, which is said. Of who ignores SIGCHLD the kernel keeps no child
 * for that to be waited for, neither its status nor its CPU time. */
static const int kept[] = { SIGPIPE, SIGXFSZ, SIGCHLD };
static __sighandler_t inherited[ARRAY_LEN(kept)];

void fl_launch_keep_signals(void)
{
	struct sigaction act;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (!sigaction(kept[i], NULL, &act))
			inherited[i] = act.sa_handler;
	signal(SIGCHLD, SIG_DFL);
	signal(SIGXFSZ, SIG_IGN);
}

static int check_library(struct fl_launch *l)
{
	if (check_environment(l))
		return -1;
	if (fl_launch_find_library(l->library))
		return 0;
	fl_say("cannot find " FLICK_LIBRARY " beside flick, nor in " FLICK_LIBDIR
	       "; set FLICK_LIB to its path");
	return -1;
}

/* To the loader a list in LD_PRELOAD has blanks and colons between its files. */
static int check_preload(const struct fl_launch *l)
{
	if (!strpbrk(l->library, " :"))
		return 0;
	fl_say("%s: the loader preloads no file with a blank or a colon in its path; put flick "
	       "elsewhere, or set FLICK_LIB to another path of it", l->library);
	return -1;
}

int fl_launch_check_attached(struct fl_launch *l, const char *file)
{
	struct fl_obj obj;

	snprintf(l->program, sizeof(l->program), "%s", file);
	snprintf(l->file, sizeof(l->file), "%s", file);
	if (!fl_obj_open(&obj, file)) {
		l->calls_hooks = names_hooks(&obj);
		fl_obj_close(&obj);
	}
	return check_library(l);
}

int fl_launch_check(struct fl_launch *l, const char *name)
{
	if (check_library(l) || check_preload(l))
		return -1;
	if (!find_program(l->program, name)) {
		fl_say("%s: %s", name, why_no_program(name));
		return -1;
	}
	if (access(l->program, X_OK)) {
		fl_say("%s: %s; chmod +x makes it a program", l->program, strerror(errno));
		return -1;
	}
	if (check_privilege(l->program))
		return -1;
	fl_launch_interpreter(l->interpreter, l->program);
	return check_elf(l, *l->interpreter ? l->interpreter : l->program);
}

/* ---- starting ------------------------------------------------------------------- */

/* "A:B", or the one that there is. */
static int set_list(const char *name, const char *a, const char *b)
{
	bool both = a && *a && b && *b;
	char *list = NULL;
	int err;

	if (asprintf(&list, "%s%s%s", a ? a : "", both ? ":" : "", b ? b : "") < 0)
		return -1;
	err = setenv(name, list, 1);
	free(list);
	return err;
}

/*
 * Among sanitizers, AddressSanitizer alone asks to be the first library. It must be the
 * first only where another library defines what it defines, and libflick.so does not. To
 * preload AddressSanitizer would put it into the program's children as well, which may be
 * any program; and it cannot be seen here which of them have it. So all of them are told
 * not to ask.
 */
static int set_environment(const struct fl_launch *l, int fd, int reader_pid)
{
	struct stat region;
	char shm[64];

	if (fstat(fd, &region))
		return -1;
	snprintf(shm, sizeof(shm), "/proc/%d/fd/%d:%llu", reader_pid, fd,
		 (unsigned long long)region.st_ino);
	if ((l->text && setenv(FL_TEXT_ENV, l->text, 1)) ||
	    (l->sync && setenv(FL_SYNC_ENV, l->sync, 1)))
		return -1;
	if (set_list("LD_PRELOAD", l->library, getenv("LD_PRELOAD")) ||
	    set_list("ASAN_OPTIONS", getenv("ASAN_OPTIONS"), "verify_asan_link_order=0"))
		return -1;
	return setenv(FL_SHM_ENV, shm, 1);
}

/* The terminal is flick's own. */
static int set_files(int output)
{
	int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (none < 0 || dup2(none, STDIN_FILENO) < 0)
		return -1;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		if (isatty(fd) && dup2(output, fd) < 0)
			return -1;
	return 0;
}

/* Execute the program; where the kernel runs no programs of this CPU, by what FL_EMULATOR_ENV
 * names, words with spaces between. */
static void be_program(const char *program, char **argv)
{
	enum { MOST = 64 };
	char *words = getenv(FL_EMULATOR_ENV), *all[2 * MOST];
	size_t n = 0;

	if (!words) {
		execv(program, argv);
		return;
	}
	for (char *w = strtok(strdup(words), " "); w && n < MOST; w = strtok(NULL, " "))
		all[n++] = w;
	all[n++] = (char *)program;
	for (argv++; *argv && n < 2 * MOST - 1; argv++)
		all[n++] = *argv;
	all[n] = NULL;
	unsetenv(FL_EMULATOR_ENV);
	execvp(all[0], all);
}

/* What a child that is to become the program has of flick's. */
struct birth {
	int region;
	int failed[2];			/* its errno goes in; closed by an exec */
	int held[2];			/* a byte comes out when it may go on; where it waits */
};

/* Never returns. A failed exec sends its errno through the pipe, which closes
 * without a word when it succeeds. */
static void be_target(const struct fl_launch *l, char **argv, struct fl_region *shm,
		      const struct birth *b)
{
	char go;
	int err;

	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		signal(kept[i], inherited[i]);
	close(b->held[1]);
	if (l->before && read(b->held[0], &go, 1) != 1)
		_exit(127);
	if ((!l->output || !set_files(l->output)) &&
	    (!l->cpus || !sched_setaffinity(0, sizeof(*l->cpus), l->cpus)) &&
	    ((l->is_closed && !l->follows) ||
	     !set_environment(l, b->region, shm->session[0].reader_pid))) {
		shm->target_pid = getpid();
		be_program(l->program, argv);
	}
	err = errno;
	if (write(b->failed[1], &err, sizeof(err)) < 0)
		_exit(127);
	_exit(127);
}

void fl_launch_introduce(struct fl_region *shm)
{
	shm->session[0].reader_pid = getpid();
	if (sched_getaffinity(0, sizeof(shm->reader_cpus), (cpu_set_t *)shm->reader_cpus))
		memset(shm->reader_cpus, 0, sizeof(shm->reader_cpus));
}

/* The program's number, or -1 and a line. */
static int see_born(const struct fl_launch *l, const struct birth *b, int pid)
{
	int err = 0, held = l->before ? l->before(l->before_arg, pid) : 0;

	if (!held && l->before && write(b->held[1], "", 1) != 1)
		err = errno;
	close(b->held[1]);
	if (held)
		return -1;
	if (!err && read(b->failed[0], &err, sizeof(err)) != sizeof(err))
		return pid;
	fl_say("%s: %s", l->program, strerror(err));
	return -1;
}

int fl_launch_start(const struct fl_launch *l, char **argv, struct fl_region *shm, int fd)
{
	struct birth b = { .region = fd };
	int pid;

	if (pipe2(b.failed, O_CLOEXEC) || pipe2(b.held, O_CLOEXEC)) {
		fl_say("pipe: %s", strerror(errno));
		return -1;
	}
	fl_launch_introduce(shm);
	pid = fork();
	if (pid == 0)
		be_target(l, argv, shm, &b);
	close(b.failed[1]);
	close(b.held[0]);
	if (pid < 0)
		fl_say("fork: %s", strerror(errno));
	else
		pid = see_born(l, &b, pid);
	close(b.failed[0]);
	return pid;
}
