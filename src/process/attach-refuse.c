/*
 * attach-refuse.c - processes that cannot be attached to: one line, and what to
 * do.
 *
 * Hides where the system says what a process is. All of this is before the
 * process is touched; what only shows inside of it, its agent says
 * (agent/attach.c).
 */
#include <elf.h>
#include <linux/auxvec.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "obj/obj.h"
#include "os/os.h"
#include "process/attach.h"

/* ---- what /proc says -------------------------------------------------------------- */

static FILE *open_of(int pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return fopen(path, "re");
}

/* The line `key` of /proc/PID/status, behind its colon. */
static bool read_status(int pid, const char *key, char out[128])
{
	FILE *f = open_of(pid, "status");
	size_t n = strlen(key);
	bool found = false;
	char line[256];

	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':') {
			snprintf(out, 128, "%s", line + n + 1 + strspn(line + n + 1, " \t"));
			out[strcspn(out, "\n")] = '\0';
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static long status_number(int pid, const char *key)
{
	char text[128];

	return read_status(pid, key, text) ? atol(text) : 0;
}

static int check_there(const struct fl_attached *a)
{
	char text[128];
	long group;

	if (!read_status(a->pid, "Tgid", text)) {
		fl_say("there is no process %d", a->pid);
		return -1;
	}
	group = atol(text);
	if (group != a->pid) {
		fl_say("%d is a thread of process %ld; use -p %ld", a->pid, group, group);
		return -1;
	}
	if (a->pid == getpid()) {
		fl_say("%d is flick itself", a->pid);
		return -1;
	}
	if (fl_os_outside_is(a->pid)) {
		fl_say(FL_ATTACH_FLICKS, a->pid);
		return -1;
	}
	return 0;
}

/* As /proc has it: R, S, T and others; 0: it is gone. */
static char process_state(const struct fl_attached *a)
{
	char text[128] = "";

	read_status(a->pid, "State", text);
	return *text;
}

bool fl_attach_is_stopped(const struct fl_attached *a)
{
	return process_state(a) == 'T';
}

/* A debugger stays. But where the reader of an earlier recording was killed, a tracer holds all
 * threads while that recording ends, and is gone in a moment. 0, or who traces the process. */
static long await_tracer(const struct fl_attached *a)
{
	enum { PATIENCE_US = 3000000, PAUSE_US = 1000 };
	long tracer = status_number(a->pid, "TracerPid");

	for (int us = 0; tracer && us < PATIENCE_US; us += PAUSE_US) {
		fl_os_sleep_us(PAUSE_US);
		tracer = status_number(a->pid, "TracerPid");
	}
	return tracer;
}

static bool is_zombie(char state)
{
	return state == 'Z' || state == 'X';
}

/* Its first thread was a zombie. Another one may be there, or, behind an exec, be the first one
 * by now. */
static bool lives_on(const struct fl_attached *a)
{
	return fl_os_thread_count(a->pid) > 1 ||
	       (!is_zombie(process_state(a)) && !kill(a->pid, 0));
}

static int check_state(const struct fl_attached *a)
{
	long tracer = await_tracer(a);
	char state = process_state(a);

	if (is_zombie(state) && lives_on(a))
		fl_say("process %d becomes another program just now (exec; then try again), or "
		       "its main thread has ended: the kernel shows nothing of such a one",
		       a->pid);
	else if (is_zombie(state))
		fl_say("process %d has ended; only its parent has not heard of it yet",
		       a->pid);
	else if (tracer)
		fl_say("process %d is traced by process %ld (a debugger? strace?), and nobody "
		       "can be traced by two: end that first", a->pid, tracer);
	else if (state == 'T')
		fl_say("process %d is stopped; `kill -CONT %d` lets it go on", a->pid,
		       a->pid);
	else
		return 0;
	return -1;
}

/* ---- rights ----------------------------------------------------------------------- */

static int say_gained(const struct fl_attached *a)
{
	fl_say("process %d has rights that its caller does not have (set-user-ID, file "
	       "capabilities): flick does not enter it", a->pid);
	return -1;
}

static int check_user(const struct fl_attached *a)
{
	unsigned real = 0, effective = 0, saved = 0, own = geteuid();
	const struct passwd *p;
	char text[128];

	if (!read_status(a->pid, "Uid", text) ||
	    sscanf(text, "%u %u %u", &real, &effective, &saved) != 3)
		return 0;
	if (real != effective || real != saved)
		return say_gained(a);
	if (real == own)
		return 0;
	p = getpwuid(real);
	snprintf(text, sizeof(text), "'#%u'", real);	/* as sudo takes who has no name */
	fl_say("process %d is of user %s: run flick as that user (sudo -u %s "
	       "flick ...)",
	       a->pid, p ? p->pw_name : text, p ? p->pw_name : text);
	return -1;
}

static uint64_t capabilities_of(int pid, const char *which)
{
	char text[128];

	return read_status(pid, which, text) ? strtoull(text, NULL, 16) : 0;
}

/* Whoever opens another process's descriptor in /proc, as its agent does, needs all the
 * capabilities that one has: services give most of root's away. */
static int check_capabilities(const struct fl_attached *a)
{
	const uint64_t TRACES = 1u << CAP_SYS_PTRACE;
	uint64_t its = capabilities_of(a->pid, "CapEff");
	char text[512] = "-all";
	size_t at = strlen(text);

	if (its & TRACES || !(capabilities_of(getpid(), "CapPrm") & ~its))
		return 0;
	for (int i = 0; i <= CAP_LAST_CAP; i++)
		if (its >> i & 1)
			at += (size_t)snprintf(text + at, sizeof(text) - at, ",+cap_%d", i);
	fl_say("process %d has fewer capabilities than flick, so it may not open what flick "
	       "shares with it: give flick the same (setpriv --bounding-set=%s flick ...)",
	       a->pid, text);
	return -1;
}

static int check_kind(const struct fl_attached *a)
{
	if (*a->exe)
		return 0;
	if (!status_number(a->pid, "VmSize"))
		fl_say("process %d is a thread of the kernel's", a->pid);
	else if (!geteuid())
		fl_say("cannot read which program process %d runs (%s), not even as root: a "
		       "container or a security module denies it, or CAP_SYS_PTRACE is not "
		       "there", a->pid, strerror(EACCES));
	else if (!check_user(a))
		fl_say("cannot read which program process %d runs (%s): it may not be dumped; "
		       "run flick as root", a->pid, strerror(EACCES));
	return -1;
}

/* For a program of 64 bits: others have a vector of words of another size. */
static int check_secure(const struct fl_attached *a)
{
	FILE *f = open_of(a->pid, "auxv");
	uint64_t pair[2];
	bool is = false;

	while (f && fread(pair, sizeof(pair), 1, f) == 1)
		is |= pair[0] == AT_SECURE && pair[1];
	if (f)
		fclose(f);
	return is ? say_gained(a) : 0;
}

static int check_seccomp(const struct fl_attached *a)
{
	long mode = status_number(a->pid, "Seccomp");

	if (mode)
		fl_say("process %d is under seccomp: its filter may end it for "
		       "a system call that "
		       "flick makes in it. Start it with `flick record` "
		       "instead",
		       a->pid);
	return mode ? -1 : 0;
}

/* ---- where it lives --------------------------------------------------------------- */

static bool is_same_space(int pid, const char *name)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
	if (stat(path, &own))
		return true; /* a kernel without such */
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return stat(path, &its) || (own.st_ino == its.st_ino && own.st_dev == its.st_dev);
}

static int check_spaces(const struct fl_attached *a)
{
	static const char *const spaces[][2] = {
		{ "mnt", "mount" },
		{ "pid", "pid" },
		{ "user", "user" },
	};

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		if (is_same_space(a->pid, spaces[i][0]))
			continue;
		fl_say("process %d is in another %s namespace (a container?): "
		       "run flick in there, "
		       "as by `nsenter -t %d -a flick ...`, where flick is "
		       "installed",
		       a->pid, spaces[i][1], a->pid);
		return -1;
	}
	return 0;
}

static bool is_in_root(int pid, const char *path)
{
	char there[4096 + 64];

	snprintf(there, sizeof(there), "/proc/%d/root%s", pid, path);
	return !access(there, F_OK);
}

/* From the process's root the library is loaded, and the region found. */
int fl_attach_refuse_root(const struct fl_attached *a, const char *library)
{
	char there[64], own_proc[32];
	struct stat own, its;

	snprintf(there, sizeof(there), "/proc/%d/root/", a->pid);
	snprintf(own_proc, sizeof(own_proc), "/proc/%d", getpid());
	if (stat("/", &own) || stat(there, &its) ||
	    (own.st_ino == its.st_ino && own.st_dev == its.st_dev))
		return 0;
	if (is_in_root(a->pid, own_proc) && (a->library || is_in_root(a->pid, library)))
		return 0;
	fl_say("process %d has another root directory (chroot): flick needs %s and /proc there",
	       a->pid, library);
	return -1;
}

/* What flick put into memory would be the parent's, too. */
static int check_memory(const struct fl_attached *a)
{
	long parent = status_number(a->pid, "PPid");

	if (syscall(SYS_kcmp, a->pid, parent, KCMP_VM, 0, 0))
		return 0;
	fl_say("process %d has the memory of process %ld, which has started it (vfork), until "
	       "it becomes another program (exec): then try again", a->pid, parent);
	return -1;
}

/* ---- its program ------------------------------------------------------------------ */

static int check_program(const struct fl_attached *a)
{
	FILE *f = open_of(a->pid, "exe");
	Elf64_Ehdr eh = { .e_machine = 0 };

	if (!f) {		/* in the middle of an exec there is none */
		fl_say("cannot attach to process %d: its program cannot be read just now (%s); "
		       "try again", a->pid, strerror(errno));
		return -1;
	}
	if (fread(&eh, sizeof(eh), 1, f) != 1)
		eh.e_machine = 0;
	fclose(f);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != FL_ARCH_ELF_MACHINE) {
		fl_say("process %d runs a program for another processor, or of "
		       "32 bits: flick is "
		       "for %s",
		       a->pid, FL_ARCH_NAME);
		return -1;
	}
	return 0;
}

/* The loader that the program's file names; else "". */
static void read_loader(const struct fl_attached *a, char out[128])
{
	char path[64];
	struct fl_obj obj;

	*out = '\0';
	snprintf(path, sizeof(path), "/proc/%d/exe", a->pid);
	if (fl_obj_open(&obj, path))
		return;
	fl_launch_loader(out, &obj);
	fl_obj_close(&obj);
}

static int check_c_library(const struct fl_attached *a)
{
	char loader[128];

	if (a->c_library && a->call && a->sigreturn)
		return 0;
	read_loader(a, loader);
	if (a->may_stay_outside && !fl_launch_loads(loader))
		return 0;
	if (*loader && !fl_launch_loads(loader))
		fl_say("process %d has the C library musl, so samples alone tell of it (flick "
		       "record -p without options)", a->pid);
	else if (!*loader)
		fl_say("process %d runs a program that is linked statically, so libflick.so "
		       "cannot be loaded into it, and samples alone tell of it (flick record "
		       "-p without options); link it without -static, or link libflick.a and "
		       "use flick.h", a->pid);
	else
		fl_say("process %d has no glibc that flick knows, or has not loaded it yet: "
		       "then try again", a->pid);
	return -1;
}

/* A library that an earlier attach has loaded stays, with what it has left in the program. */
static int check_library(const struct fl_attached *a)
{
	if (!a->library || !a->is_foreign)
		return 0;
	fl_say("process %d has another version's libflick.so in it, by an earlier `flick "
	       "record`: restart the program, or record it with that version's flick", a->pid);
	return -1;
}

/* ThreadSanitizer's malloc() looks into what its pthread_create() has made for the thread, and
 * crashes in any other. Neither can be called from a thread that it does not know. */
static int check_sanitizer(const struct fl_attached *a)
{
	if (!fl_attach_exports(a, "__tsan_init"))
		return 0;
	fl_say("process %d is compiled for ThreadSanitizer, which bears no thread that it has "
	       "not created: `flick record` starts it", a->pid);
	return -1;
}

int fl_attach_refuse(const struct fl_attached *a)
{
	static int (*const checks[])(const struct fl_attached *) = {
		check_there,  check_state,   check_kind,    check_spaces,    check_user,
		check_capabilities,
		check_program, check_secure, check_seccomp, check_memory,    check_c_library,
		check_library, check_sanitizer,
	};

	for (size_t i = 0; i < ARRAY_LEN(checks); i++)
		if (checks[i](a))
			return -1;
	return 0;
}

/* ---- refused by the kernel -------------------------------------------------------- */

static int yama_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

void fl_attach_say_denied(const struct fl_attached *a, int err)
{
	switch (yama_scope()) {
	case 1:
		fl_say("may not trace process %d: kernel.yama.ptrace_scope is "
		       "1, which lets a "
		       "program trace its own children alone; `sudo sysctl "
		       "kernel.yama.ptrace_scope=0` allows it until the next "
		       "boot, or run flick "
		       "as root",
		       a->pid);
		break;
	case 2:
		fl_say("may not trace process %d: kernel.yama.ptrace_scope is "
		       "2: root alone may",
		       a->pid);
		break;
	case 3:
		fl_say("may not trace process %d: kernel.yama.ptrace_scope is "
		       "3: nobody may until "
		       "the next boot",
		       a->pid);
		break;
	default: fl_say("may not trace process %d: %s", a->pid, strerror(-err));
	}
}

int fl_attach_refuse_program(void)
{
	fl_say("-p is for a program that runs already: give a program or -p, not both");
	return -1;
}
