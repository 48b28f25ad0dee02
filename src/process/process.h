/*
 * process.h - the door of process/: the program that is to be recorded, as a file and as a
 * process: it is started, or runs already and is entered.
 *
 * Knows no session: who calls says what is to be loaded into it. Functions are for one thread
 * at a time. Where a line is printed it is one on stderr, for people.
 */
#ifndef FL_PROCESS_H
#define FL_PROCESS_H

#include <sched.h>

#include "arch/arch.h"
#include "channel/channel.h"
#include "obj/obj.h"

/* ---- it is started (launch.c) ------------------------------------------------------- */

struct fl_launch {
	char program[4096];		/* the file that will be executed */
	char interpreter[4096];		/* of a script; else empty */
	char file[4096];		/* the one of these two that runs, without links */
	const char *text;		/* --text, or NULL */
	bool calls_hooks;		/* it asks for the profiling functions */
	char library[4096];		/* libflick.so; ... */
	bool is_closed, may_be_closed;	/* ... it cannot be loaded into the file; samples may
					 * tell of such a file */
	bool follows;			/* what the program starts is to load it, too */
	int (*before)(void *arg, int pid);	/* called while the child that is to become
						 * the program waits; not 0: it shall not */
	void *before_arg;
	const char *sync;		/* for FL_SYNC_ENV; NULL: leave it */
	const cpu_set_t *cpus;		/* it may run on; NULL: as flick */
	int output;			/* takes what it writes to a terminal, and it reads
					 * nothing; 0: both are flick's */
};
/* First of all: signals that flick needs for itself, as the target is to inherit them. */
void fl_launch_keep_signals(void);
bool fl_launch_find_library(char out[4096]);
/* Is the file a program that nothing is loaded into, and that has no flick in it? */
bool fl_launch_is_static(const char *path);
/* The interpreter of a script's first line, else "". */
void fl_launch_interpreter(char out[4096], const char *path);
/* Does the program get rights that flick has not, and how? */
bool fl_launch_gains_rights(const char *path, const char **how);
/* Find program and library and see whether they can work together. 0 or -1, line printed. */
int fl_launch_check(struct fl_launch *, const char *name);
/* The same where the program runs already. */
int fl_launch_check_attached(struct fl_launch *, const char *file);
/* Tell the target who reads. */
void fl_launch_introduce(struct fl_region *);
/* Start it with the region `fd`; its pid, or -1 and a line printed. */
int fl_launch_start(const struct fl_launch *, char **argv, struct fl_region *, int fd);

/* Names for --text and --sync. */
const char *fl_text_each(size_t);
const char *fl_sync_each(size_t);

/* ---- the files that one has its code from (running.c) ------------------------------ */

/* 0, or an error, which was said. */
struct fl_running {
	uint32_t pid;
	char **files;
	size_t n;
};
int fl_running_open(struct fl_running *, uint32_t pid);
void fl_running_close(struct fl_running *);

/* ---- it runs already (attach*.c) ---------------------------------------------------- */

struct fl_attach_map {
	uintptr_t lo, hi;
	int prot;			/* PROT_* */
	uint64_t offset, inode, device;
	char *path;			/* "" without; as /proc has it */
};
/* A module of the program's own, as its loader has it. */
struct fl_attach_module {
	uintptr_t base, name;		/* there */
};
struct fl_attached {
	int pid;
	int mem, pidfd;			/* its /proc/PID/mem; -1 */
	int turn;			/* /proc/PID, locked while it is entered; -1 */
	char exe[4096];			/* its program's file */
	uint64_t nobody[FL_NOBODY_WORDS][2];	/* as fl_channel_nobody(); 0: none is there */
	uint32_t recorders;		/* enum fl_recorders: those that are there */
	struct fl_attach_map *maps;
	size_t n_maps;
	struct fl_attach_module *own;	/* NULL */
	size_t n_own;
	uintptr_t loader;		/* the loader's variables */
	size_t loader_bytes;
	uintptr_t c_library;		/* its lowest address */
	const struct fl_attach_map *library;	/* libflick.so, which is there; NULL */
	char loaded_name[4096];		/* by which the loader has it */
	bool is_foreign;		/* it is another version's */
	bool may_stay_outside;		/* samples may tell of it: the caller says so */
	uintptr_t call, sigreturn;	/* see struct fl_borrow */
	struct fl_inject with;		/* addresses of functions */
	bool is_alone;			/* the C library knows of one thread */
	uint32_t against;		/* what stood against its threads when all were tried
					 * last: enum fl_against, a bit each */
	uintptr_t code, data;		/* what was mapped there for us; 0: nothing */
	uintptr_t left;			/* code of one that failed before; 0: none */
	uintptr_t number;		/* there: 0 when the bare thread has ended */
};

/* open: 0 or -errno, and close() undoes it in either case. One flick at a time comes in: false
 * where another one has been at it for long; let_others_in: who comes next may (attach.c). */
int fl_attached_open(struct fl_attached *, int pid);
bool fl_attached_enter_alone(struct fl_attached *);
void fl_attached_let_others_in(struct fl_attached *);
void fl_attached_close(struct fl_attached *);
bool fl_attached_has_ended(const struct fl_attached *);
/* The words of the process's command line; kept. */
char **fl_attach_arguments(uint32_t pid);
/* Does another flick record that process? The second is of one that was looked at. */
bool fl_attach_is_recorded(uint32_t pid);
bool fl_attach_is_second(const struct fl_attached *);
/* Say why the process could not be entered: what fl_attach_load() returned. */
void fl_attach_say_why_not(const struct fl_attached *, int err);
/* A thread was sent into it, and has failed: why, for people. */
const char *fl_attach_why_not_entered(const struct fl_attached *);
#define FL_ATTACH_FLICKS "process %d is flick's own, beside a program that it records; " \
			 "-p takes the program's number"
#define FL_ATTACH_STOPPED "it was stopped meanwhile; `kill -CONT` lets it go on"

/* Can the process not be had, for a reason that can be seen from outside? 0: there is none, or
 * -1 and a line printed (attach-refuse.c). */
int fl_attach_refuse(const struct fl_attached *);
int fl_attach_refuse_root(const struct fl_attached *, const char *library);	/* likewise */
void fl_attach_say_denied(const struct fl_attached *, int err);
bool fl_attach_is_stopped(const struct fl_attached *);	/* all of its threads */
/* A program is named beside -p: says so, and returns -1. */
int fl_attach_refuse_program(void);

/* What there is to know of it beforehand (attach-look.c): all; what has changed since, anew; of
 * maps alone. 0 or -errno. */
int fl_attach_look(struct fl_attached *);
int fl_attach_look_anew(struct fl_attached *);
int fl_attach_look_again(struct fl_attached *);
int fl_attach_loads(const struct fl_attached *);	/* a thread in the loader; 0: none is */
bool fl_attach_read(const struct fl_attached *, uintptr_t at, void *to, size_t n);
/* Has the process become another program (exec)? */
bool fl_attach_is_another(const struct fl_attached *);

/* A thread of the C library's, in the process, loads texts[0] and calls texts[1] there, with
 * texts[2] and struct fl_inject (attach-thread.c). 0, when that has begun, or -errno; -EAGAIN:
 * no thread could be borrowed; -EUSERS: the process may have no more threads. state: how far
 * the thread is. call_off: it is not wanted any more, and ends if it has not begun a thread of
 * the C library's. */
int fl_attach_load(struct fl_attached *, const char *const texts[3]);
enum fl_inject_state fl_attach_state(struct fl_attached *);
void fl_attach_call_off(struct fl_attached *);

#endif
