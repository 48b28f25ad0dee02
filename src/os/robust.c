/*
 * robust.c - robust mutexes that are held without the C library's functions.
 *
 * When a thread ends or calls exec, the kernel marks the mutexes in a list that the
 * C library registers for each of its threads (set_robust_list(2)). A program may
 * have put functions of its own before the C library's pthread_mutex_lock(): a
 * sanitizer has, and must not be called before it has begun. So our mutexes are
 * linked into that list here, by stores alone. The shape of the list is in <pthread.h>,
 * because neighbours link to each other: each `__next` points to the next one's `__next`,
 * each `__prev` to that of the one before. The list of a thread lies at one distance from
 * its thread pointer, and in front of the list stands the thread's id (OS20); so after
 * the first look no system call is needed.
 *
 * An emulator of another CPU may keep no such lists (ENOSYS). Nothing is linked then, and
 * an owner has died when its thread id is gone. The id may be another thread's by then, and
 * a process that nobody has waited for still has its id. That is good enough to see a
 * program run, but no base for a recording.
 */
#include <linux/futex.h>

#include "os/os.h"
#include "os/syscall.h"

#define NEXT_AT offsetof(pthread_mutex_t, __data.__list.__next)
#define PREV_AT offsetof(pthread_mutex_t, __data.__list.__prev)
_Static_assert(PREV_AT + sizeof(void *) == NEXT_AT, "a link is told by its __next");

static ptrdiff_t list_at;		/* from the thread pointer; 0: not known */
bool fl_os_unmarked;
static ptrdiff_t id_at;			/* 0: the id does not stand there */

static char *thread_pointer(void)
{
	return __builtin_thread_pointer();
}

/* Where the thread's list is not known an empty one stands in: the kernel marks nothing, and
 * nothing of the C library's is overwritten. */
static struct robust_list_head *own_list(void)
{
	static struct {
		void *prev;
		struct robust_list_head head;
	} nobodys = { .head.list.next = &nobodys.head.list };

	return list_at ? (void *)(thread_pointer() + list_at) : (void *)&nobodys.head;
}

/* The C library's threads have a list, even if it is empty. */
bool fl_os_can_hold(void)
{
	return own_list()->list.next != NULL;
}

int fl_os_robust_open(void)
{
	enum { ID_BEFORE = 16 };	/* an id, a pid that is not used, a `__prev` */
	struct robust_list_head *list = NULL;
	size_t bytes;
	int err = (int)SYS(SYS_get_robust_list, 0, &list, &bytes);

	if (err == -ENOSYS)
		fl_os_unmarked = true;
	if (err)
		return fl_os_unmarked ? 0 : err;
	if (!list || list->futex_offset != -(long)NEXT_AT)
		return -ENOTSUP;
	list_at = (char *)list - thread_pointer();
	id_at = *(int *)((char *)list - ID_BEFORE) == fl_os_tid() ? list_at - ID_BEFORE : 0;
	return 0;
}

/* A thread of flick's own has zeros there: the kernel tells its id. */
int fl_os_thread_id(void)
{
	int id = id_at ? load_relaxed((int *)(thread_pointer() + id_at)) : 0;

	return id ? id : fl_os_tid();
}

bool fl_os_owner_is_gone(uint32_t word)
{
	int id = (int)(word & FUTEX_TID_MASK);

	return id && SYS(SYS_kill, id, 0) == -ESRCH;
}

/* ---- links ------------------------------------------------------------------- */

static void *link_of(pthread_mutex_t *m)
{
	return (char *)m + NEXT_AT;
}

static void **prev_of(void *link)
{
	/* the lowest bit tells mutexes with priorities apart */
	return (void **)(((uintptr_t)link & ~(uintptr_t)1) - sizeof(void *));
}

/* The stores above are done before those below, also when a kill comes between. */
static void in_order(void)
{
	/* ordering: none between threads */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* The kernel looks at the pending mutex, too. In a handler that interrupts the C library's
 * own change, the C library's mutex is pending: it is returned, for put_back(). */
static void *set_pending(void *link)
{
	void *was = load_relaxed((void **)&own_list()->list_op_pending);

	store_relaxed((void **)&own_list()->list_op_pending, link);
	in_order();
	return was;
}

static void put_back(void *pending)
{
	in_order();
	store_relaxed((void **)&own_list()->list_op_pending, pending);
}

static void link_in(pthread_mutex_t *m)
{
	void **list = (void **)&own_list()->list.next, *first = *list;

	if (fl_os_unmarked)
		return;
	*(void **)link_of(m) = first;
	*prev_of(link_of(m)) = list;
	*prev_of(first) = link_of(m);
	in_order();
	store_relaxed(list, link_of(m));
}

static void link_out(pthread_mutex_t *m)
{
	void *next = *(void **)link_of(m), **prev = *prev_of(link_of(m));

	if (fl_os_unmarked)
		return;
	*prev_of(next) = prev;
	store_relaxed((void **)((uintptr_t)prev & ~(uintptr_t)1), next);
}

/* ---- holding ------------------------------------------------------------------ */

static uint32_t *word_of(pthread_mutex_t *m)
{
	return (uint32_t *)&m->__data.__lock;
}

/* Word by word: memset() may use vector registers. */
void fl_os_hold(pthread_mutex_t *m)
{
	typedef uint64_t __attribute__((may_alias)) word;
	void *was = set_pending(link_of(m));

	for (size_t i = 0; i < sizeof(*m) / sizeof(word); i++)
		store_relaxed((word *)m + i, 0);
	/* ordering: none, the kernel reads it when this thread has ended */
	store_relaxed(word_of(m), (uint32_t)fl_os_thread_id() | FUTEX_WAITERS);
	link_in(m);
	put_back(was);
}

/* An owner that died leaves the mutex marked. A thread that has waited does not know whether
 * others still wait: its `waiters` is FUTEX_WAITERS. */
static bool take(uint32_t *word, uint32_t waiters)
{
	uint32_t is = load_relaxed(word);

	if ((is & FUTEX_TID_MASK) && !fl_os_has_died(is))
		return false;
	waiters |= is & FUTEX_WAITERS;
	/* (A) pairs with (B) */
	return __atomic_compare_exchange_n(word, &is, (uint32_t)fl_os_thread_id() | waiters,
					   false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void wait_for(uint32_t *word)
{
	enum { WAIT_US = 100000 };
	uint32_t is = load_relaxed(word);

	if (!(is & FUTEX_TID_MASK) || fl_os_has_died(is))
		return;
	/* ordering: none, the mutex is taken in take() */
	if ((is & FUTEX_WAITERS) ||
	    __atomic_compare_exchange_n(word, &is, is | FUTEX_WAITERS, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		fl_os_futex_wait(word, is | FUTEX_WAITERS, WAIT_US);
}

void fl_os_robust_lock(pthread_mutex_t *m)
{
	void *was = set_pending(link_of(m));
	uint32_t waiters = 0;

	while (!take(word_of(m), waiters)) {
		wait_for(word_of(m));
		waiters = FUTEX_WAITERS;
	}
	link_in(m);
	put_back(was);
}

void fl_os_robust_unlock(pthread_mutex_t *m)
{
	void *was = set_pending(link_of(m));

	link_out(m);
	/* (B) pairs with (A) */
	if (__atomic_exchange_n(word_of(m), 0, __ATOMIC_RELEASE) & FUTEX_WAITERS)
		fl_os_futex_wake(word_of(m), 1);
	put_back(was);
}
