/*
 * os.h - Linux by raw system call.
 *
 * GUEST code: no errno, no libc, no TLS. Every call returns what the kernel
 * returned: 0 or more, or -errno.
 */
#ifndef FL_OS_H
#define FL_OS_H

#include <pthread.h>
#include <signal.h>

#include "arch/arch.h"
#include "base/base.h"

#define FL_PAGE ((unsigned int)FL_ARCH_PAGE)

/* Memory. Addresses come back as they are, errors as -errno: test fl_is_err. A mapping
 * without `at` lies apart from all code (map.c). */
void *fl_os_map(void *at, size_t n, int prot, int flags, int fd, uint64_t offset);
int fl_os_unmap(void *at, size_t n);
/* As mlockall(2), except for the memory that lies apart (resident.c). */
int fl_os_lock_memory(int flags);
int fl_os_protect(void *at, size_t n, int prot);
/* The program's own request, which FLICK_FAULT spares. A `pkey` of 0 or more is set, too. */
int fl_os_protect_for(uintptr_t at, size_t n, int prot, int pkey);
int fl_os_advise(void *at, size_t n, int advice);
/* All of these bytes, which can be written, are about to be: make their pages at once, large
 * ones where they fit. A page fault for each takes several times as long. A hint, which may
 * fail. */
void fl_os_expect(void *at, size_t n);
static inline bool fl_is_err(const void *p)
{
	return (uintptr_t)p > (uintptr_t)-4096;
}

int fl_os_open(const char *path, int flags);
/* Open the file of `fd` again; `fd` may have been opened with O_PATH. */
int fl_os_reopen(int fd, int flags);
long fl_os_read(int fd, void *to, size_t n);
long fl_os_write(int fd, const void *from, size_t n);
int fl_os_close(int fd);
int64_t fl_os_file_bytes(int fd);
/* Narrow [*from, *to) to its first part that is no hole; false: all of it is a hole. A look
 * at a hole of a memory file would make pages. Where the kernel cannot tell, no part counts
 * as a hole. */
bool fl_os_file_data(int fd, uint64_t *from, uint64_t *to);
struct fl_file {
	uint64_t device, inode, bytes, changed_ns;
	uint32_t owner;			/* a user id */
	bool is_plain;			/* no directory, pipe, socket or device */
};
/* `fd` may have been opened with O_PATH. */
int fl_os_file_facts(int fd, struct fl_file *);
int fl_os_file_facts_at(const char *path, struct fl_file *);
/* F_SEAL_*; -EINVAL: this is no memory file. */
int fl_os_file_seals(int fd);
int fl_os_file_seal(int fd, int seals);
int fl_os_file_resize(int fd, uint64_t bytes);
/* A file in memory, closed on exec; it may be sealed. */
int fl_os_memfd(const char *name);
/* The name in a link, NUL-terminated. Returns its length, -ENAMETOOLONG if it is cut. */
long fl_os_readlink(const char *path, char *to, size_t room);

/* Each mapping of this process, ascending. Stops at non-zero, returns it. */
struct fl_mapping {
	uintptr_t lo, hi;
	int prot;			/* PROT_* */
	uint64_t offset, inode;		/* of its file; 0 without one */
	const char *path;		/* "" without one, cut when very long; not kept */
};
int fl_os_mappings(int (*each)(void *arg, const struct fl_mapping *), void *arg);
/* The same of process `pid`. */
int fl_os_mappings_of(int pid, int (*each)(void *arg, const struct fl_mapping *), void *arg);

/* Futexes between processes. wait: 0 woken, -EAGAIN changed, -ETIMEDOUT. */
int fl_os_futex_wait(uint32_t *word, uint32_t while_equal, uint64_t timeout_us);
int fl_os_futex_wake(uint32_t *word, int how_many);

/* membarrier(2): register intent, then serialise every core that runs us. */
int fl_os_membarrier_register(void);
int fl_os_membarrier_sync_core(void);
/* The same for restartable sequences (OS21): when restart() has returned, no thread is in a
 * sequence that the thread began before. */
int fl_os_membarrier_restart_register(void);
int fl_os_membarrier_restart(void);

int fl_os_pid(void);			/* the program's, also for flick's own process */
int fl_os_parent(void);			/* 0: of another pid namespace */
int fl_os_user(void);			/* the effective one */
int fl_os_tid(void);
/* CPU time of a thread of this process; with `tid` 0 of the whole process, where the time of
 * running threads may lag by a tick. 0 when the thread has ended. */
uint64_t fl_os_cpu_ns(int tid);
/* The calling thread's name, NUL-terminated; "" where the question is denied. */
void fl_os_thread_name(char name[16]);
/* Another thread's name; `name` is left alone when there is no such thread any more. */
void fl_os_thread_name_of(int pid, int tid, char name[16]);
uint64_t fl_os_monotonic_ns(void);
/* CPU time of a process, also of a child that has ended and was not waited for (OS25). The
 * time of a process that runs on another CPU just now lags by up to a tick. 0: not known. */
uint64_t fl_os_process_ns(int pid);
/* CPU time of the program, also when flick's own process asks. */
uint64_t fl_os_program_ns(void);
/* Sleep for at least `us`, or not at all where waiting is denied. Signals wait. */
void fl_os_sleep_us(uint64_t us);
void fl_os_exit(int status) __attribute__((noreturn));

/* The signal that interrupts threads where they must be interrupted. A handshake that comes
 * late does no harm: a program, or a new image, ignores this signal by default. */
enum { FL_SYNC_SIGNAL = SIGURG };
/* Block every signal of the calling thread, FL_SYNC_SIGNAL, too: no handler of the program's
 * runs, or leaves by siglongjmp(), until the old mask is put back. */
void fl_os_signals_block(uint64_t *old);
void fl_os_signals_restore(const uint64_t *old);
/* Install a handler with SA_SIGINFO and our own restorer, keep the old one. */
struct fl_os_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};
int fl_os_sigaction(int sig, const struct fl_os_sigaction *set,
		    struct fl_os_sigaction *old);
int fl_os_signal_thread(int tid, int sig);

/*
 * Locks between threads. A thread's signals are blocked while it holds a lock, so that no
 * handler waits for the code it interrupted, or leaves a lock behind. A thread that waits
 * for a lock holds none of the same or a higher rank: the test build checks this. The list
 * of what each lock may be held over is in docs/GUEST.md, "Locks".
 */
enum fl_lock_rank {
	FL_LOCK_ANY,			/* not among these: a test's */
	FL_LOCK_NEGOTIATION,		/* agent/agent.c */
	FL_LOCK_TABLE,			/* probe/table.c */
	FL_LOCK_PROCESSES,			/* channel/processes.c, between processes */
	FL_LOCK_SWITCHES,		/* probe/switch.c */
	FL_LOCK_RANGES,			/* patch/public-text.c */
	FL_LOCK_CLAIMS,			/* patch/claim.c */
	FL_LOCK_TEXT,			/* patch/text.c */
	FL_LOCK_SYNC,			/* patch/sync.c */
	FL_LOCK_PATHS,			/* probe/path.c */
	FL_LOCK_GROUND,			/* copy/area.c */
	FL_N_LOCKS
};
struct fl_lock {
	uint32_t word;			/* 0 is free */
	int holder;			/* thread id; W who has it */
	enum fl_lock_rank rank;		/* constant; one lock each */
};
void fl_os_lock(struct fl_lock *, uint64_t *signals);
/* When another thread has the lock: false at once, and no signal is blocked. `tid`: of the
 * calling thread. */
bool fl_os_trylock_by(struct fl_lock *, int tid, uint64_t *signals);
/* The same, but false only after `us`. */
bool fl_os_lock_within(struct fl_lock *, uint64_t us, uint64_t *signals);
/* The same, but false only when gives_up(), which is asked now and then, says so. */
bool fl_os_lock_unless(struct fl_lock *, bool (*gives_up)(void), uint64_t *signals);
void fl_os_unlock(struct fl_lock *, const uint64_t *signals);
bool fl_os_is_locked(const struct fl_lock *);
/* In a copy of the process: did a thread hold the lock when the copy was made? */
bool fl_os_was_locked(const struct fl_lock *);
/* Does the calling thread hold any lock that has a rank? */
bool fl_os_holds_locks(void);
/* For a lock of another kind that has a rank: call these before the lock is waited for, once
 * it is held, and before it is left. */
void fl_os_lock_awaited(const struct fl_lock *);
void fl_os_lock_taken(struct fl_lock *);
void fl_os_lock_left(struct fl_lock *);
/* A count of threads; 0 is none. A thread that reads the lower count sees what was done
 * before a thread was counted down. When two threads each count up and then read the count,
 * at least one sees the other. */
void fl_os_count_by(uint64_t *count, int by);
uint32_t fl_os_count(const uint64_t *count);
/* Was any thread counted in the process that this one was copied from, at that moment? */
bool fl_os_was_counted(const uint64_t *count);
/* From here on a child that has a copy of the memory finds no lock held and no thread
 * counted; a child that shares the memory finds both as they are. May be called again.
 * 0, -errno. */
int fl_os_copies_open(void);

enum { FL_OWNER_DIED = 0x40000000 };	/* FUTEX_OWNER_DIED */
/*
 * Robust mutexes, by stores alone: when the thread ends or calls exec, the kernel marks its
 * mutexes (FUTEX_OWNER_DIED) and wakes a waiter. For threads of the C library's.
 * open: once, before all others. 0; -errno, -ENOTSUP: the C library keeps no such lists.
 * hold: takes a mutex that is nobody's, whatever its memory holds; for good.
 * lock: takes also a mutex whose owner died; the caller puts right what the owner left.
 */
int fl_os_robust_open(void);
/* Has the owner that this word of a mutex names died? In an emulator, where the kernel marks
 * nothing, the owner counts as dead once its thread id is gone. */
extern bool fl_os_unmarked FL_HIDDEN;
bool fl_os_owner_is_gone(uint32_t word);
static inline bool fl_os_has_died(uint32_t word)
{
	return word & FL_OWNER_DIED || (fl_os_unmarked && fl_os_owner_is_gone(word));
}
void fl_os_hold(pthread_mutex_t *);
bool fl_os_can_hold(void);	/* the calling thread; a bare one cannot */
void fl_os_robust_lock(pthread_mutex_t *);
void fl_os_robust_unlock(pthread_mutex_t *);
/* The calling thread's id as the C library has it: in vfork's child the parent's id. */
int fl_os_thread_id(void);

/* ---- threads of a process; `pid` 0 is this one ---- */

/* Each thread besides `except`. Stops at non-zero, returns it. A thread may be missed when
 * another one ends meanwhile: compare with the count. */
int fl_os_threads_of(int pid, int except, int (*each)(void *arg, int tid), void *arg);
int fl_os_threads(int except, int (*each)(void *arg, int tid), void *arg);
long fl_os_thread_count(int pid);

struct fl_thread_status {
	char state;			/* as ps(1) has it */
	uint64_t blocked, pending, caught;	/* signals, as masks */
	uint64_t switches;		/* how often it left its core */
	bool is_filtered;		/* its system calls are filtered (seccomp(2)) */
};
/* -ESRCH when the thread has ended, also while it is a zombie. */
int fl_os_thread_status(int pid, int tid, struct fl_thread_status *);
struct fl_process_status {
	uint64_t since;			/* when it began, as proc(5) counts */
	bool ends;			/* its first thread has ended, or is about to (OS24) */
};
/* `pid` may be a thread's: then `ends` speaks of that thread. -errno when `pid` is gone. */
int fl_os_process_status(int pid, struct fl_process_status *);
/* Signals that thread `tid` blocks, as a mask; -errno when the thread is gone. */
int fl_os_thread_blocked(int tid, uint64_t *mask);
/* Has the thread been seen off its core since this call began? False also when the kernel
 * does not tell. */
bool fl_os_thread_rests(int pid, int tid);

/* The function of glibc's behind pthread_atfork(). LD_PRELOAD also reaches programs with
 * another C library, which lacks this function and may not even pass a constructor its
 * arguments. A static program in which nothing can fork lacks it, too. */
typedef int fl_register_atfork(void (*before)(void), void (*in_parent)(void),
			       void (*in_child)(void), void *library);
extern fl_register_atfork __register_atfork __attribute__((weak));
extern void *__dso_handle FL_HIDDEN;

static inline bool fl_os_has_glibc(void)
{
	return &__register_atfork != NULL;
}

/* As pthread_atfork(): takes a lock of the C library's, and may allocate. No glibc: true. */
static inline bool fl_os_at_fork(void (*before)(void), void (*in_parent)(void),
				 void (*in_child)(void))
{
	return !fl_os_has_glibc() ||
	       !__register_atfork(before, in_parent, in_child, __dso_handle);
}

/* The value of type AT_* that the kernel gave the process at its start; 0: none. */
uint64_t fl_os_auxiliary(uint64_t type);
/* Has the process rights that its caller does not have (AT_SECURE)? Then the variables of
 * flick's in its environment do not count. */
bool fl_os_is_secure(void);
/* The value that `name` had in the environment when the process started; -ENOENT: it had
 * none, or the environment does not count. */
int fl_os_environment(const char *name, char *to, size_t room);

/* ---- tracing (trace.c): the caller is the tracer, as ptrace(2) wants it ---- */

/* 0, -ESRCH, -EPERM: there is another tracer, or no tracer is allowed. */
int fl_os_trace_seize(int tid);
void fl_os_trace_interrupt(int tid);
/* Wait until the thread stops; false when it ended. The caller hands `sig` on. */
bool fl_os_trace_wait(int tid, int *sig);
/* If the stop has ended a system call with -EINTR, the call is made again, unless a handler
 * of the program runs first. `number_at` and `result_at` say where this CPU keeps a call's
 * number and result. */
void fl_os_trace_call_again(int tid, size_t number_at, size_t result_at);
void fl_os_trace_release(int tid, int sig);
/* Where Yama is in force: let `pid` trace us. */
void fl_os_trace_allow(int pid);
/* As fl_os_trace_wait(), at once: 1 the thread has stopped, 0 not yet, -ESRCH it ended. */
int fl_os_trace_poll(int tid, int *sig);
/* For a thread that has stopped. where: the place it stands at, and the end of its stack.
 * move: it goes on at `pc`. */
int fl_os_trace_where(int tid, uintptr_t *pc, uintptr_t *sp);
int fl_os_trace_move(int tid, uintptr_t pc);
/* Memory of a process, which may be the caller's own. Returns how many bytes were there, or
 * -errno where not even the first is there. */
long fl_os_peek(int pid, uintptr_t at, void *to, size_t n);
long fl_os_poke(int pid, uintptr_t at, const void *from, size_t n);
/* End the calling process after `us`, whatever it waits for then; 0: do not end it. */
void fl_os_end_after(uint64_t us);

/*
 * A request to hold threads (patch/halt.h says how), in memory that both the asker and the
 * holder see.
 */
struct fl_halt_row {		/* bytes that threads must not stand in, except at the first */
	uint64_t at;
	uint64_t copy;			/* a thread at `at` + k, k > 0, ... */
	uint8_t len;
	uint8_t to[FL_ARCH_SITE_MAX - 1];	/* ... goes on at copy + to[k - 1]; 0: cannot */
};
enum fl_halt_step {
	FL_HALT_FREE, FL_HALT_ASKED, FL_HALT_HELD, FL_HALT_STORED, FL_HALT_OVER
};
enum { FL_HALT_ROWS = 1 << 22 };	/* at most */
struct fl_halt {
	uint32_t step;			/* futex; enum fl_halt_step */
	/* W the asker, before ASKED */
	int32_t asker, spared;		/* threads that go on; spared: 0 or flick's own */
	uint32_t n_rows;
	uint64_t rows, stack;		/* addresses: of rows, of the asker's stack */
	/* W the holder, before HELD or OVER */
	int32_t err;			/* why there is OVER without HELD; else 0 */
	uint32_t bad;			/* FLE_STANDS: the row */
	uint32_t n_held, n_moved;
	int32_t stuck;			/* -ETIMEDOUT: the thread that did not stop; 0: many */
	uint64_t kept_at, kept;		/* FLE_STANDS: the word that keeps a place, its value */
	uint64_t ns;			/* from the first stop on; W at OVER, too */
};
bool fl_halt_is_valid(const struct fl_halt *);

/* Would the system call, which returned -EINTR, do the same when it is made again? A timeout
 * that starts anew does not count as a difference. (restart.c) */
bool fl_os_call_restarts(long number, const uint64_t args[6]);
/* Does the system call hand on bytes of files, as no allocator and no loader does? Reading is
 * not among them: a loader reads. */
bool fl_os_call_transfers(long number);

/* A thread the C library does not know: it has its own stack and directory, a bare block in
 * place of TLS, and every signal blocked. `run` may use os/ and atomics only. */
int fl_os_thread_start(int (*run)(void *), void *arg);
/* The id of the last such thread; 0 when none was started. */
int fl_os_own_thread(void);
/* Another such thread, which the caller joins: `id` is 0 when it has ended. Returns its thread
 * id or -errno. After the join the kernel has no such thread in the process any more. */
int fl_os_helper_start(int (*run)(void *), void *arg, uint32_t *id);
void fl_os_helper_join(int tid, uint32_t *id);
/* How many helpers are worth while: the CPUs that the program has no use for. `others` are the
 * CPUs for helpers, if the program may not run there itself. W before it runs. */
extern struct fl_os_spare {
	uint32_t n;
	const uint64_t *others;		/* FL_CPU_WORDS, kept; NULL: the program's */
} fl_os_spare;
/* A child that shares this memory and its descriptors, and is else like such a thread. The
 * program learns nothing of the child: no signal, no status for waitpid(-1). */
int fl_os_process_start(int (*run)(void *), void *arg);
void fl_os_process_reap(int pid);	/* waits for the child's end */

/*
 * A process beside this one, in its memory (outside.c). There is one at most.
 *
 * open: in the program's first thread, also in fork's child, which has no such process yet.
 * 0 or -errno.
 * start: 0, or why there can be no such process. It becomes a child of process `parent`, if
 * that is the caller's parent, too. It runs on those of the CPUs `others` (kept; NULL: none)
 * that the caller does not have, if there are any.
 * pid: its number, 0 when there is none.
 * rest: called in it, or in flick's own thread: wait for at most `us`. 0; -ESRCH: nobody else
 * runs in this memory any more; another -errno: waiting is denied here.
 * rouse: ends a rest that has begun, but not one that is about to begin.
 * is: is that process, of whatever program, such a one? It has the program's command line.
 */
#define FL_OS_OUTSIDE_NAME "flick-watch"
enum { FL_CPU_WORDS = 16 };		/* a bit a CPU; nobody asks for more */
bool fl_os_outside_is(int pid);
int fl_os_outside_open(void);		/* -errno: without /proc; it is open all the same */
int fl_os_outside_open_late(void);	/* in any thread of a program that runs already */
int fl_os_outside_start(int (*run)(void *), void *arg, int parent, const uint64_t *others);
/* How many CPUs the caller would share with that process: 0 if there are others for it. */
uint32_t fl_os_shared_cpus(const uint64_t others[FL_CPU_WORDS]);
int fl_os_outside_pid(void);
bool fl_os_takes_orphans(void);		/* does this process? True also if not known */
int fl_os_rest(uint64_t us);
void fl_os_rouse(void);
bool fl_os_is_outside(void);		/* is the caller that process? */

/*
 * Faults on purpose: "mprotect:1 mmap:3+" makes the first mprotect fail, and
 * the third and every later mmap, wherever flick makes them in this process.
 * open: 0 or FLE_OPTION; a NULL `spec` asks for no faults. check: only looks, and says the
 * same; *wrong is where the specification cannot be understood. name: the i-th call's name,
 * NULL behind the last.
 */
#define FL_FAULT_ENV "FLICK_FAULT"
int fl_os_fault_open(const char *spec);
int fl_os_fault_check(const char *spec, const char **wrong);
const char *fl_os_fault_name(size_t i);

#endif
