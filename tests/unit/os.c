/*
 * unit/os.c - what os/ says of this process agrees with what the C library
 * and the kernel say, and nothing of the C library's is touched.
 *
 * timeout: 60
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "os/os.h"
#include "filter-call.h"

/* ---- plain calls --------------------------------------------------------------- */

static void errors_are_returned_and_errno_is_kept(void **state)
{
	char c;

	(void)state;
	errno = 42;
	assert_int_equal(fl_os_open("/no/such/file", O_RDONLY), -ENOENT);
	assert_int_equal(fl_os_close(-1), -EBADF);
	assert_int_equal(fl_os_read(-1, &c, 1), -EBADF);
	assert_int_equal(fl_os_write(-1, &c, 1), -EBADF);
	assert_true(fl_is_err(fl_os_map(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0)));
	assert_int_equal(errno, 42);
}

static void memory_is_mapped_protected_and_unmapped(void **state)
{
	unsigned char *p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in_core;

	(void)state;
	assert_false(fl_is_err(p));
	p[FL_PAGE - 1] = 7;
	assert_int_equal(fl_os_protect(p, FL_PAGE, PROT_READ), 0);
	assert_int_equal(p[FL_PAGE - 1], 7);
	assert_int_equal(fl_os_unmap(p, FL_PAGE), 0);
	assert_int_equal(mincore(p, FL_PAGE, &in_core), -1);
}

static uint64_t distance(const void *p, const void *q)
{
	uintptr_t a = (uintptr_t)p, b = (uintptr_t)q;

	return a > b ? a - b : b - a;
}

/* As much as would go round twice: what is in use is not met for long. */
static void what_flick_maps_is_far_from_code(void **state)
{
	enum { BIG = 1 << 30, ROUNDS = 600, KEPT = 16 };	/* KEPT: in a row */
	static int here;
	const void *kept[KEPT] = { NULL };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		void *p = fl_os_map(NULL, BIG, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		assert_false(fl_is_err(p));
		assert_true(distance(p, &here) > 32ull << 30);
		assert_true((uintptr_t)p > (uintptr_t)fl_os_map ||
			    (uintptr_t)p + BIG + (64ull << 30) <= (uintptr_t)fl_os_map);
		assert_true(distance(p, (void *)printf) > 32ull << 30);
		if (i && i <= KEPT)		/* the first place is free next time */
			kept[i - 1] = p;
		else
			assert_int_equal(fl_os_unmap(p, BIG), 0);
	}
	for (int i = 0; i < KEPT; i++)
		assert_int_equal(fl_os_unmap((void *)kept[i], BIG), 0);
}

static size_t count_pages(void *from, size_t n)
{
	unsigned char is_there[n / FL_PAGE];
	size_t there = 0;

	assert_int_equal(mincore(from, n, is_there), 0);
	for (size_t i = 0; i < n / FL_PAGE; i++)
		there += is_there[i] & 1;
	return there;
}

/* Small, large, and as large as huge pages, of which none may be had. */
static void pages_that_are_asked_for_are_there(void **state)
{
	const size_t bytes[] = { FL_PAGE, 1 << 16, 1 << 19, 1 << 21, 3 << 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		char *p = fl_os_map(NULL, bytes[i], PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		assert_false(fl_is_err(p));
		assert_int_equal(count_pages(p, bytes[i]), bytes[i] / FL_PAGE);
		if (bytes[i] >= 1 << 21)
			assert_int_equal((uintptr_t)p % (1 << 21), 0);
		assert_int_equal(fl_os_unmap(p, bytes[i]), 0);
	}
}

static long count_faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

/* Where the place is taken the kernel chooses one that is given back, and is not filled before:
 * the faults are those of one mapping. */
static void pages_are_made_where_they_stay(void **state)
{
	enum { BYTES = 1 << 16, LARGE = 1 << 19 };
	const size_t bytes[] = { BYTES, LARGE };
	const int all = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, rw = PROT_READ | PROT_WRITE;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		size_t n = bytes[i];
		long before = count_faults(), free_place, taken_place;
		char *p = fl_os_map(NULL, n, rw, all, -1, 0), *taken, *q;

		free_place = count_faults() - before;
		taken = mmap(p - n, n, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		assert_ptr_equal(taken, p - n);
		before = count_faults();
		q = fl_os_map(NULL, n, rw, all, -1, 0);
		taken_place = count_faults() - before;
		assert_false(fl_is_err(q));
		assert_ptr_not_equal(q, taken);
		assert_int_equal(count_pages(q, n), n / FL_PAGE);
		assert_true(free_place > 0 && taken_place < free_place + free_place / 2 + 1);
		munmap(taken, n);
		assert_int_equal(fl_os_unmap(p, n), 0);
		assert_int_equal(fl_os_unmap(q, n), 0);
	}
}

/* What is expected begins and ends anywhere. */
static void pages_that_are_expected_are_there(void **state)
{
	enum { BYTES = 16 * FL_PAGE };
	char *p = fl_os_map(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	(void)state;
	assert_false(fl_is_err(p));
	assert_int_equal(count_pages(p, BYTES), 0);
	fl_os_expect(p + FL_PAGE + 7, 2 * FL_PAGE);
	assert_int_equal(count_pages(p, BYTES), 3);
	assert_int_equal(count_pages(p + FL_PAGE, 3 * FL_PAGE), 3);
	assert_int_equal(fl_os_unmap(p, BYTES), 0);
}

/* Pages 1, 2 and 5 of eight were written. */
static void holes_are_told_from_data(void **state)
{
	int fd = fl_os_memfd("holes");
	uint64_t from = 0, to = 8 * FL_PAGE;

	(void)state;
	assert_int_equal(fl_os_file_resize(fd, to), 0);
	assert_false(fl_os_file_data(fd, &from, &to));
	assert_int_equal(pwrite(fd, "x", 1, 2 * FL_PAGE - 1), 1);
	assert_int_equal(pwrite(fd, "x", 1, 2 * FL_PAGE), 1);
	assert_int_equal(pwrite(fd, "x", 1, 5 * FL_PAGE + 7), 1);
	assert_true(fl_os_file_data(fd, &from, &to));
	assert_int_equal(from, FL_PAGE);
	assert_int_equal(to, 3 * FL_PAGE);
	from = to, to = 5 * FL_PAGE + 9;
	assert_true(fl_os_file_data(fd, &from, &to));
	assert_int_equal(from, 5 * FL_PAGE);
	assert_int_equal(to, 5 * FL_PAGE + 9);
	from = to;
	assert_false(fl_os_file_data(fd, &from, &to));
	from = 3 * FL_PAGE, to = 5 * FL_PAGE;		/* data, but behind it */
	assert_false(fl_os_file_data(fd, &from, &to));
	from = 3 * FL_PAGE, to = 4 * FL_PAGE;
	assert_false(fl_os_file_data(fd, &from, &to));
	from = 6 * FL_PAGE, to = 8 * FL_PAGE;
	assert_false(fl_os_file_data(fd, &from, &to));
	fl_os_close(fd);
}

/* All six arguments reach the kernel: the offset is the sixth. */
static void file_is_mapped_at_its_offset(void **state)
{
	char path[] = "/tmp/flick-os-XXXXXX";
	int fd = mkstemp(path);
	char *p;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(lseek(fd, FL_PAGE, SEEK_SET), FL_PAGE);
	assert_int_equal(fl_os_write(fd, "second", 6), 6);
	p = fl_os_map(NULL, FL_PAGE, PROT_READ, MAP_SHARED, fd, FL_PAGE);
	assert_false(fl_is_err(p));
	assert_memory_equal(p, "second", 6);
	fl_os_unmap(p, FL_PAGE);
	assert_int_equal(fl_os_close(fd), 0);
}

static void ids_name_and_clock_are_the_kernels(void **state)
{
	struct timespec t;
	uint64_t before, after;
	char name[16];

	(void)state;
	assert_int_equal(fl_os_pid(), getpid());
	assert_int_equal(fl_os_tid(), gettid());
	prctl(PR_SET_NAME, "fifteen-letters");
	fl_os_thread_name(name);
	assert_string_equal(name, "fifteen-letters");
	before = fl_os_monotonic_ns();
	clock_gettime(CLOCK_MONOTONIC, &t);
	after = fl_os_monotonic_ns();
	assert_in_range((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec,
			before, after);
}

static void sleep_lasts_at_least_what_it_says(void **state)
{
	uint64_t start = fl_os_monotonic_ns();

	(void)state;
	fl_os_sleep_us(3000);
	assert_true(fl_os_monotonic_ns() - start >= 3000000);
}

static volatile int alarms;

static void on_alarm(int sig)
{
	alarms += sig == SIGALRM;
}

static void a_sleep_is_not_cut_short_by_signals(void **state)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	struct sigaction act = { .sa_handler = on_alarm };
	uint64_t start;

	(void)state;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	start = fl_os_monotonic_ns();
	fl_os_sleep_us(50000);
	assert_true(fl_os_monotonic_ns() - start >= 50000000);
	setitimer(ITIMER_REAL, &never, NULL);
	assert_true(alarms > 0);
	signal(SIGALRM, SIG_DFL);
}

static void forbid_sleeping_calls(void)
{
	if (filter_call(SYS_nanosleep, SECCOMP_RET_KILL_PROCESS) ||
	    filter_call(SYS_clock_nanosleep, SECCOMP_RET_KILL_PROCESS))
		_exit(77);
}

/* Threads of the program wait for flick's locks: no filter of theirs ends them for it. */
static void a_sleep_needs_no_call_for_sleeping(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		forbid_sleeping_calls();
		fl_os_sleep_us(100);
		fl_os_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void exit_ends_the_process_with_its_status(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		fl_os_exit(23);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 23);
}

static void membarrier_works_once_registered(void **state)
{
	(void)state;
	if (fl_os_membarrier_register() < 0)
		skip();			/* a kernel without it */
	assert_int_equal(fl_os_membarrier_sync_core(), 0);
}

/* ---- futex ------------------------------------------------------------------------ */

static void futex_returns_for_each_of_its_reasons(void **state)
{
	uint32_t word = 5;
	uint64_t start = fl_os_monotonic_ns();

	(void)state;
	assert_int_equal(fl_os_futex_wait(&word, 4, 1000000), -EAGAIN);
	assert_int_equal(fl_os_futex_wait(&word, 5, 2000), -ETIMEDOUT);
	assert_true(fl_os_monotonic_ns() - start >= 2000000);
	assert_int_equal(fl_os_futex_wake(&word, 1), 0);
}

static void futex_wakes_another_process(void **state)
{
	uint32_t *word = mmap(NULL, FL_PAGE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid)
		_exit(fl_os_futex_wait(word, 0, 20000000) == 0 ? 0 : 1);
	while (fl_os_futex_wake(word, 1) == 0)
		usleep(100);		/* until it sleeps */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- mappings ---------------------------------------------------------------------- */

struct wanted {
	uintptr_t at;
	int prot, seen;
	uintptr_t last;
	size_t n;
};

static int look_for(void *arg, const struct fl_mapping *m)
{
	struct wanted *w = arg;

	assert_true(m->lo < m->hi);
	assert_true(m->lo >= w->last);
	w->last = m->hi;
	w->n++;
	if (w->at >= m->lo && w->at < m->hi) {
		w->prot = m->prot;
		w->seen++;
	}
	return 0;
}

static int prot_of(const void *at)
{
	struct wanted w = { .at = (uintptr_t)at };

	assert_int_equal(fl_os_mappings(look_for, &w), 0);
	assert_int_equal(w.seen, 1);
	return w.prot;
}

static int stop_at_third(void *arg, const struct fl_mapping *m)
{
	(void)m;
	return ++*(int *)arg == 3 ? 77 : 0;
}

/* More mappings than one buffer holds, ascending, with their rights. */
static void mappings_are_all_there_with_their_rights(void **state)
{
	char *p = mmap(NULL, 1000 * FL_PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int calls = 0, local = 0;

	(void)state;
	for (int i = 0; i < 1000; i += 2)
		mprotect(p + i * (int)FL_PAGE, FL_PAGE, PROT_READ | PROT_WRITE);
	assert_int_equal(prot_of((void *)(uintptr_t)prot_of), PROT_READ | PROT_EXEC);
	assert_int_equal(prot_of(&local), PROT_READ | PROT_WRITE);
	assert_int_equal(prot_of(p + 998 * FL_PAGE), PROT_READ | PROT_WRITE);
	assert_int_equal(prot_of(p + 999 * FL_PAGE), PROT_READ);
	mprotect(p, FL_PAGE, PROT_NONE);
	assert_int_equal(prot_of(p), PROT_NONE);
	assert_int_equal(fl_os_mappings(stop_at_third, &calls), 77);
	assert_int_equal(calls, 3);
	munmap(p, 1000 * FL_PAGE);
}

struct named {
	uintptr_t at;
	char path[256];
};

static int take_name(void *arg, const struct fl_mapping *m)
{
	struct named *n = arg;

	if (n->at >= m->lo && n->at < m->hi)
		snprintf(n->path, sizeof(n->path), "%s", m->path);
	return 0;
}

static void a_mapped_file_has_the_name(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char *p = mmap(NULL, FL_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	struct named n = { .at = (uintptr_t)p };

	assert_true(p != MAP_FAILED);
	assert_int_equal(fl_os_mappings(take_name, &n), 0);
	assert_string_equal(n.path, path);
	unlink(path);
	munmap(p, FL_PAGE);
	close(fd);
}

/* The kernel tells these two alike. */
static void files_names_may_have_newlines(void **state)
{
	char dir[] = "/tmp/flick-os-XXXXXX", path[64], like[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(like, sizeof(like), "%s/a\nb\n\nc", dir);
	a_mapped_file_has_the_name(like);
	snprintf(path, sizeof(path), "%s/a\\012b\\012\\012c", dir);
	a_mapped_file_has_the_name(path);
	close(open(like, O_RDWR | O_CREAT, 0600));
	a_mapped_file_has_the_name(path);
	unlink(like);
	snprintf(path, sizeof(path), "%s/a\\011b\\01", dir);
	a_mapped_file_has_the_name(path);
	rmdir(dir);
}

static void threads_names_may_have_newlines(void **state)
{
	static const char *const names[] = { "a\nb", "\n", "a\n", "", "fifteen-letters" };
	char name[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		prctl(PR_SET_NAME, names[i]);
		fl_os_thread_name_of(getpid(), gettid(), name);
		assert_string_equal(name, names[i]);
	}
}

/* ---- signals ------------------------------------------------------------------------- */

static uint64_t mask_from_proc(void)
{
	uint64_t mask = 0;

	assert_int_equal(fl_os_thread_blocked(gettid(), &mask), 0);
	return mask;
}

/* SIGKILL (9) and SIGSTOP (19) cannot be blocked. */
static void every_signal_is_blocked_and_put_back(void **state)
{
	const uint64_t all = ~0ull & ~(1ull << 8) & ~(1ull << 18);
	uint64_t before = mask_from_proc(), old;

	(void)state;
	fl_os_signals_block(&old);
	assert_true(mask_from_proc() == all);
	assert_true(old == before);
	fl_os_signals_restore(&old);
	assert_true(mask_from_proc() == before);
}

static volatile int handled;
static volatile uintptr_t handled_pc;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	handled = sig + 1000 * info->si_code;
	handled_pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[16];
}

/* A handler returns through our own restorer to where it came from, and the
 * program's old handler goes back exactly as it was. */
static void handler_runs_returns_and_is_put_back(void **state)
{
	struct sigaction libc = { .sa_handler = SIG_IGN }, seen;
	struct fl_os_sigaction set = { .handler = on_signal }, old, now;

	(void)state;
	sigaction(SIGUSR2, &libc, NULL);
	assert_int_equal(fl_os_sigaction(SIGUSR2, &set, &old), 0);
	assert_int_equal(fl_os_sigaction(SIGUSR2, NULL, &now), 0);
	assert_ptr_equal(now.restorer, fl_arch_sigreturn);
	assert_true(now.flags & SA_SIGINFO);
	for (int i = 0; i < 3; i++)
		assert_int_equal(fl_os_signal_thread(gettid(), SIGUSR2), 0);
	assert_int_equal(handled, SIGUSR2 + 1000 * SI_TKILL);
	assert_true(handled_pc != 0);
	assert_int_equal(fl_os_sigaction(SIGUSR2, &old, NULL), 0);
	sigaction(SIGUSR2, NULL, &seen);
	assert_ptr_equal(seen.sa_handler, SIG_IGN);
	assert_false(seen.sa_flags & SA_SIGINFO);
}

static void a_libc_handler_survives_being_swapped_out(void **state)
{
	struct sigaction libc = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct fl_os_sigaction set = { .handler = on_signal }, old, again;

	(void)state;
	sigaction(SIGUSR2, &libc, NULL);
	fl_os_sigaction(SIGUSR2, &set, &old);
	fl_os_sigaction(SIGUSR2, &old, NULL);
	fl_os_sigaction(SIGUSR2, NULL, &again);
	assert_memory_equal(&old, &again, sizeof(old));
	handled = 0;
	raise(SIGUSR2);
	assert_true(handled != 0);
	signal(SIGUSR2, SIG_DFL);
}

/* Unwinders know a signal frame by these bytes. */
static void restorer_has_the_bytes_unwinders_know(void **state)
{
	static const unsigned char known[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
	};

	(void)state;
	assert_memory_equal((void *)(uintptr_t)fl_arch_sigreturn, known, sizeof(known));
}

/* ---- locks ---------------------------------------------------------------------------- */

static struct fl_lock lock;
static volatile uint32_t word_of_waiter;

static void *wait_for_lock(void *arg)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	word_of_waiter = lock.word;
	fl_os_unlock(&lock, &signals);
	return arg;
}

/* Others may wait, too, and nobody but the one who has it can know: it is awaited
 * still, or they would sleep until their time is over. */
static void who_waited_for_a_lock_wakes_the_next(void **state)
{
	uint64_t signals;
	uint32_t held, awaited;
	pthread_t t;

	(void)state;
	fl_os_lock(&lock, &signals);
	held = lock.word;
	assert_int_equal(pthread_create(&t, NULL, wait_for_lock, NULL), 0);
	while ((awaited = load_relaxed(&lock.word)) == held)
		usleep(100);
	fl_os_unlock(&lock, &signals);
	pthread_join(t, NULL);
	assert_int_equal(word_of_waiter, awaited);
}

/* ---- threads --------------------------------------------------------------------------- */

struct census {
	int tids[256];
	size_t n;
};

static int note_tid(void *arg, int tid)
{
	struct census *c = arg;

	if (c->n < ARRAY_LEN(c->tids))
		c->tids[c->n++] = tid;
	return 0;
}

static bool has_tid(const struct census *c, int tid)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->tids[i] == tid)
			return true;
	return false;
}

static pthread_barrier_t gate;
static int tids[150];

static void *stand_at_gate(void *arg)
{
	*(int *)arg = gettid();
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	return NULL;
}

/* More than one buffer of directory entries. */
static uint64_t got_ns;

static void *note_when_locked(void *arg)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	got_ns = fl_os_monotonic_ns();
	fl_os_unlock(&lock, &signals);
	return arg;
}

/* At once, not when its time is over. */
static void who_waits_for_a_lock_is_woken(void **state)
{
	uint64_t signals, left_ns, least = UINT64_MAX;
	pthread_t t;

	(void)state;
	for (int i = 0; i < 5; i++) {
		fl_os_lock(&lock, &signals);
		assert_int_equal(pthread_create(&t, NULL, note_when_locked, NULL), 0);
		fl_os_sleep_us(20000);
		left_ns = fl_os_monotonic_ns();
		fl_os_unlock(&lock, &signals);
		pthread_join(t, NULL);
		least = got_ns - left_ns < least ? got_ns - left_ns : least;
	}
	assert_true(least < 40000000);
}

static void *hold_for_a_while(void *arg)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	got_ns = 1;
	fl_os_sleep_us(20000);
	fl_os_unlock(&lock, &signals);
	return arg;
}

static void a_lock_is_waited_for_as_long_as_is_said(void **state)
{
	uint64_t signals;
	pthread_t t;

	(void)state;
	got_ns = 0;
	assert_int_equal(pthread_create(&t, NULL, hold_for_a_while, NULL), 0);
	while (!__atomic_load_n(&got_ns, __ATOMIC_RELAXED))
		fl_os_sleep_us(100);
	assert_false(fl_os_lock_within(&lock, 300, &signals));
	assert_true(fl_os_lock_within(&lock, 10000000, &signals));
	fl_os_unlock(&lock, &signals);
	pthread_join(t, NULL);
}

static void all_threads_are_listed_but_one(void **state)
{
	pthread_t threads[ARRAY_LEN(tids)];
	struct census c = { .n = 0 };

	(void)state;
	pthread_barrier_init(&gate, NULL, ARRAY_LEN(tids) + 1);
	for (size_t i = 0; i < ARRAY_LEN(tids); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, stand_at_gate,
						&tids[i]), 0);
	pthread_barrier_wait(&gate);
	assert_int_equal(fl_os_threads(gettid(), note_tid, &c), 0);
	assert_int_equal(c.n, ARRAY_LEN(tids));
	for (size_t i = 0; i < ARRAY_LEN(tids); i++)
		assert_true(has_tid(&c, tids[i]));
	assert_false(has_tid(&c, gettid()));
	pthread_barrier_wait(&gate);
	for (size_t i = 0; i < ARRAY_LEN(tids); i++)
		pthread_join(threads[i], NULL);
}

static void thread_that_is_gone_is_an_error(void **state)
{
	uint64_t mask;

	(void)state;
	assert_true(fl_os_thread_blocked(0, &mask) < 0);
	assert_true(fl_os_thread_blocked(2147483646, &mask) < 0);
	assert_true(fl_os_signal_thread(2147483646, 0) < 0);
}

/* What a thread of our own saw; it uses os/ and atomics only. */
struct own {
	uint32_t step;			/* futex */
	int tid, status;
	uint64_t blocked;
	uintptr_t self[2];
	uint64_t canary;
};

static int run_own(void *arg)
{
	struct own *o = arg;

	o->tid = fl_os_tid();
	o->status = fl_os_thread_blocked(o->tid, &o->blocked);
	__asm__ volatile("mov %%fs:0, %0" : "=r"(o->self[0]));
	__asm__ volatile("mov %%fs:0x10, %0" : "=r"(o->self[1]));
	__asm__ volatile("mov %%fs:0x28, %0" : "=r"(o->canary));
	__atomic_store_n(&o->step, 1, __ATOMIC_RELEASE);
	fl_os_futex_wake(&o->step, 1);
	while (__atomic_load_n(&o->step, __ATOMIC_ACQUIRE) != 2)
		fl_os_futex_wait(&o->step, 1, 100000);
	return 0;
}

static size_t count_mappings(void)
{
	struct wanted w = { 0 };

	fl_os_mappings(look_for, &w);
	return w.n;
}

static void own_thread_is_bare_and_leaves_nothing_behind(void **state)
{
	const uint64_t all = ~0ull & ~(1ull << 8) & ~(1ull << 18);
	struct own o = { 0 };
	uint64_t before = mask_from_proc(), mask;
	size_t mappings;
	int tid;

	(void)state;
	count_mappings();
	mappings = count_mappings();
	tid = fl_os_thread_start(run_own, &o);
	assert_true(tid > 0);
	while (__atomic_load_n(&o.step, __ATOMIC_ACQUIRE) != 1)
		fl_os_futex_wait(&o.step, 0, 100000);
	assert_int_equal(o.tid, tid);
	assert_int_equal(o.status, 0);
	assert_true(o.blocked == all);
	assert_true(mask_from_proc() == before);
	assert_true(o.self[0] && o.self[0] == o.self[1]);
	assert_int_equal(o.canary, 0);
	assert_true(count_mappings() > mappings);
	__atomic_store_n(&o.step, 2, __ATOMIC_RELEASE);
	fl_os_futex_wake(&o.step, 1);
	while (fl_os_thread_blocked(tid, &mask) == 0)
		usleep(100);
	assert_int_equal(count_mappings(), mappings);
}

/* The C library ends the process when the last thread it knows returns. */
static int run_for_ever(void *arg)
{
	(void)arg;
	while (fl_os_pid())
		fl_os_sleep_us(1000000);
	return 0;
}

static void own_thread_does_not_keep_the_process_alive(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (!pid) {
		if (fl_os_thread_start(run_for_ever, NULL) < 0)
			_exit(1);
		pthread_exit(NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_returned_and_errno_is_kept),
		cmocka_unit_test(memory_is_mapped_protected_and_unmapped),
		cmocka_unit_test(what_flick_maps_is_far_from_code),
		cmocka_unit_test(pages_that_are_asked_for_are_there),
		cmocka_unit_test(pages_are_made_where_they_stay),
		cmocka_unit_test(pages_that_are_expected_are_there),
		cmocka_unit_test(holes_are_told_from_data),
		cmocka_unit_test(file_is_mapped_at_its_offset),
		cmocka_unit_test(ids_name_and_clock_are_the_kernels),
		cmocka_unit_test(sleep_lasts_at_least_what_it_says),
		cmocka_unit_test(a_sleep_is_not_cut_short_by_signals),
		cmocka_unit_test(a_sleep_needs_no_call_for_sleeping),
		cmocka_unit_test(exit_ends_the_process_with_its_status),
		cmocka_unit_test(membarrier_works_once_registered),
		cmocka_unit_test(futex_returns_for_each_of_its_reasons),
		cmocka_unit_test(futex_wakes_another_process),
		cmocka_unit_test(mappings_are_all_there_with_their_rights),
		cmocka_unit_test(files_names_may_have_newlines),
		cmocka_unit_test(threads_names_may_have_newlines),
		cmocka_unit_test(every_signal_is_blocked_and_put_back),
		cmocka_unit_test(handler_runs_returns_and_is_put_back),
		cmocka_unit_test(a_libc_handler_survives_being_swapped_out),
		cmocka_unit_test(restorer_has_the_bytes_unwinders_know),
		cmocka_unit_test(who_waited_for_a_lock_wakes_the_next),
		cmocka_unit_test(who_waits_for_a_lock_is_woken),
		cmocka_unit_test(a_lock_is_waited_for_as_long_as_is_said),
		cmocka_unit_test(all_threads_are_listed_but_one),
		cmocka_unit_test(thread_that_is_gone_is_an_error),
		cmocka_unit_test(own_thread_is_bare_and_leaves_nothing_behind),
		cmocka_unit_test(own_thread_does_not_keep_the_process_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
