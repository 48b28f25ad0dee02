/*
 * attach.h - private to session/: a process that runs already.
 */
#ifndef FL_ATTACH_H
#define FL_ATTACH_H

#include "session/session.h"

/* The session's process, which runs already (attach.c). check: can it be had?
 * 0, or -1 and a line printed; s->launch and the options' argv are as of a
 * program to start. start: asks the agent in; likewise. has_left: the process
 * has gone, or flick has left it; end: flick is to leave it. close: NULL is fine. */
int fl_attach_check(struct fl_session *);
int fl_attach_start(struct fl_session *);
bool fl_attach_has_left(struct fl_session *);
bool fl_attach_is_second(const struct fl_attached *);	/* another flick records it */
void fl_attach_tell_refused(const struct fl_session *);	/* by what that flick does */
bool fl_attach_has_begun(struct fl_session *);	/* its probes are as they are wanted */
bool fl_attach_is_unwatched(const struct fl_session *);	/* what changes probes was killed */
bool fl_attach_has_failed(const struct fl_attached *);	/* it was said why */
void fl_attach_end(struct fl_session *);
void fl_attach_close(struct fl_attached *);
/* Can the process not be had, for a reason that can be seen from outside? 0: there is none, or
 * -1 and a line printed (attach-refuse.c). */
int fl_attach_refuse(const struct fl_attached *);
int fl_attach_refuse_root(const struct fl_attached *, const char *library);	/* likewise */
void fl_attach_say_denied(const struct fl_attached *, int err);
bool fl_attach_is_stopped(const struct fl_attached *);	/* all of its threads */
bool fl_attach_is_flicks(const struct fl_attached *);	/* what waits beside a program */

enum fl_against { FL_AGAINST_STACK = 1, FL_AGAINST_CHILD = 2, FL_AGAINST_OTHER = 4 };
/* What there is to know of the process beforehand (attach-look.c). */
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
	bool has_failed, is_stuck;	/* it was said why */
	uint64_t end_ns;		/* since when it is to be left; 0: it is not */
	uint64_t asked_ns;		/* when a thread was sent into it */
	bool is_told;			/* it was said that another thread is in the loader */
	uint64_t stopped_ns;		/* since when it is seen stopped; 0: it runs */
	bool has_sent;			/* another thread, to put things right */
	bool has_begun;			/* its probes are as they are wanted */
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
	bool may_stay_outside;		/* samples may tell of it, ... */
	bool is_outside;		/* ... and alone do: nothing comes into it */
	uintptr_t call, sigreturn;	/* see struct fl_borrow */
	struct fl_inject with;		/* addresses of functions */
	bool is_alone;			/* the C library knows of one thread */
	uint32_t against;		/* what stood against its threads when all were tried
					 * last: enum fl_against, a bit each */
	uintptr_t code, data;		/* what was mapped there for us; 0: nothing */
	uintptr_t left;			/* code of one that failed before; 0: none */
	uintptr_t number;		/* there: 0 when the bare thread has ended */
};
int fl_attach_look(struct fl_attached *);
int fl_attach_read_maps(struct fl_attached *);	/* alone; 0 or -errno */
int fl_attach_look_again(struct fl_attached *);	/* at maps alone; likewise */
/* Is a thread, which stands still, where the loader maps, relocates or unmaps? It has two of
 * the loader's locks there, and to create a thread takes one of them (glibc 2.35). */
bool fl_attach_is_loading(const struct fl_attached *, int tid);
int fl_attach_loads(const struct fl_attached *);	/* a thread in the loader; 0: none is */
void fl_attach_forget(struct fl_attached *);
const struct fl_attach_map *fl_attach_map_at(const struct fl_attached *, uintptr_t at);
bool fl_attach_read(const struct fl_attached *, uintptr_t at, void *to, size_t n);
/* Has the process become another program (exec)? The second waits a moment for it. */
bool fl_attach_is_another(const struct fl_attached *);
bool fl_attach_becomes_another(const struct fl_attached *);

/* Does code of an allocator stand there that is not the C library's? */
bool fl_attach_allocates(const struct fl_attached *, const struct fl_attach_map *);

/* A thread of the C library's, in the process, loads texts[0] and calls texts[1] there, with
 * texts[2] and struct fl_inject (attach-thread.c). 0, when that has begun, or -errno; -EAGAIN:
 * no thread could be borrowed; -EUSERS: the process may have no more threads. state: how far
 * the thread is. */
int fl_attach_load(struct fl_attached *, const char *const texts[3]);
enum fl_inject_state fl_attach_state(struct fl_attached *);
/* Find what an attach that failed has left there, which is used again: a->left. */
void fl_attach_find_failed(struct fl_attached *);
/* The thread that comes in is not wanted any more: it ends, if it has not begun a thread of
 * the C library's. */
void fl_attach_call_off(struct fl_attached *);

/* Wait for a thread that is in the loader, before the process is touched: 0, or -errno;
 * -ECANCELED where the wait was ended, which was said (attach-wait.c). is_kept_out: a thread
 * came there while flick's own was on its way in, and the wait was ended, which was said. */
int fl_attach_await_loader(struct fl_session *);
bool fl_attach_is_kept_out(struct fl_session *);

#endif
