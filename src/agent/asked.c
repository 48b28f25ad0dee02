/*
 * asked.c - backtrace() and _Unwind_Backtrace(), which stand before the C library's and
 * libgcc's: who asks by them where calls return to hears of the program's own functions.
 *
 * Hides that calls which bodies made return into bodies, of which no file has a name: a
 * panic of a Rust program would print no frames. An exception must go on in a body, so its
 * unwinder and its personality see bodies. Those who only look come by these two functions
 * here, and are shown where the call would return to in the original
 * (copy/origins.c). libgcc lets us say so in its own context, while the asker looks at it:
 * its _Unwind_SetIP() stores to the context alone. That of other unwinders may store to the
 * stack, so they are asked for what is in bodies, too.
 *
 * In a program that ran before, words are made to lead here that led to the C library's or to
 * libgcc's (find.c). An address that the program keeps elsewhere leads there as before, and who
 * goes by it hears of bodies.
 *
 * Each of our functions is a frame, the first one that unwinders come to: the asker is not
 * shown it.
 *
 * In libflick.so alone, as listed.c is, and for the same reason.
 */
#include <sys/mman.h>

#include "agent.h"
#include "copy/copy.h"
#include "obj/obj.h"
#include "os/os.h"

typedef int trace_function(void *context, void *arg);
typedef int unwind_function(trace_function *, void *);
typedef int backtrace_function(void **, int);

enum { END_OF_STACK = 5 /* _URC_END_OF_STACK */, FEW = 128 };

/* The asker may itself be a body. */
static void find_callee(struct fl_callee *f, const char *name, const void *own, void *asker)
{
	fl_obj_callee(f, name, own, fl_unwind_origin((uintptr_t)asker));
}

/* ---- backtrace() --------------------------------------------------------------------- */

static backtrace_function *next;	/* constant once it is there: no ordering */

static backtrace_function *next_backtrace(const void *own, void *asker)
{
	backtrace_function *f = load_relaxed(&next);
	struct fl_callee callee;

	if (f)
		return f;
	find_callee(&callee, "backtrace", own, asker);
	f = (backtrace_function *)callee.function;
	if (callee.stays)
		store_relaxed(&next, f);
	return f;
}

/* Room for one address more, which is in our own function. Where no memory is to be had the
 * asker gets one less. */
static int trace_back(void **to, int size)
{
	backtrace_function *f = next_backtrace((void *)trace_back, __builtin_return_address(0));
	size_t bytes = ((size_t)size + 1) * sizeof *to;
	void *few[FEW + 1], **all = few;
	int n;

	if (!f || size <= 0)
		return 0;
	if (size > FEW)
		all = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fl_is_err(all))
		all = to;
	n = f(all, all == to || size == INT32_MAX ? size : size + 1) - 1;
	for (int i = 0; i < n; i++)
		to[i] = (void *)fl_unwind_origin((uintptr_t)all[i + 1]);
	if (all != to && all != few)
		fl_os_unmap(all, bytes);
	return n > 0 ? n : 0;
}

__attribute__((alias("trace_back"), visibility("default"))) backtrace_function trace_back_asked
	__asm__("backtrace");

/* ---- _Unwind_Backtrace() ---------------------------------------------------------------- */

struct unwinder {
	unwind_function *unwind;
	uintptr_t (*get)(void *context);
	void (*set)(void *context, uintptr_t);	/* NULL: it is not libgcc's */
};

static struct unwinder kept;		/* constant once it is there */
static bool is_kept;

static void find_unwinder(struct unwinder *u, const void *own, void *asker)
{
	struct fl_callee unwind, get, set;

	if (load_acquire(&is_kept)) {		/* (B) pairs with (A) */
		*u = kept;
		return;
	}
	find_callee(&unwind, "_Unwind_Backtrace", own, asker);
	find_callee(&get, "_Unwind_GetIP", NULL, asker);
	find_callee(&set, "_Unwind_SetIP", NULL, asker);
	*u = (struct unwinder){ .unwind = (unwind_function *)unwind.function };
	if (unwind.is_of_libgcc && get.is_of_libgcc && set.is_of_libgcc) {
		u->get = (uintptr_t (*)(void *))get.function;
		u->set = (void (*)(void *, uintptr_t))set.function;
	}
	if (unwind.stays && get.stays && set.stays) {
		kept = *u;			/* several threads may store the same */
		store_release(&is_kept, true);	/* (A) pairs with (B) */
	}
}

struct asked_walk {
	struct unwinder by;
	trace_function *each;
	void *arg;
	bool is_begun;
};

/* Until `each` returns the context is in the original. */
static int show_frame(void *context, void *arg)
{
	struct asked_walk *w = arg;
	uintptr_t pc, origin;
	int err;

	if (!w->is_begun) {
		w->is_begun = true;
		return 0;
	}
	if (!w->by.set)
		return w->each(context, w->arg);
	pc = w->by.get(context);
	origin = fl_unwind_origin(pc);
	if (origin == pc)
		return w->each(context, w->arg);
	w->by.set(context, origin);
	err = w->each(context, w->arg);
	w->by.set(context, pc);
	return err;
}

static int walk_frames(trace_function *each, void *arg)
{
	struct asked_walk w = { .each = each, .arg = arg };

	find_unwinder(&w.by, (void *)walk_frames, __builtin_return_address(0));
	return w.by.unwind ? w.by.unwind(show_frame, &w) : END_OF_STACK;
}

__attribute__((alias("walk_frames"), visibility("default"))) unwind_function walk_frames_asked
	__asm__("_Unwind_Backtrace");

/* ---- in a program that ran before -------------------------------------------------------- */

/* A word that is to be bound when it is first called leads into its own module. It will lead
 * to the callee if that is in a library that the module names. */
static bool led_there(const struct fl_module *m, const struct fl_callee *f, uintptr_t now)
{
	bool is_unbound = now >= m->lo && now < m->hi;

	return f->function && ((uintptr_t)f->function == now ||
			       (is_unbound && fl_obj_needs(m->lo, f->function)));
}

/* Words that lead to any other unwinder stay, so what follows ours is known for all. With the
 * loader's lock. */
static uintptr_t lead_asker(const struct fl_module *m, const char *name, uintptr_t now)
{
	bool is_c = !__builtin_strcmp(name, "backtrace");
	struct unwinder u;
	struct fl_callee f;

	if (!is_c && __builtin_strcmp(name, "_Unwind_Backtrace"))
		return 0;
	fl_obj_callee(&f, name, NULL, m->lo);
	if (!led_there(m, &f, now) || (!is_c && !f.is_of_libgcc))
		return 0;
	if (!is_c) {
		find_unwinder(&u, NULL, (void *)m->lo);
		return u.set ? (uintptr_t)walk_frames : 0;
	}
	if (f.function != fl_obj_c_function(name))
		return 0;
	store_relaxed(&next, (backtrace_function *)f.function);
	return (uintptr_t)trace_back;
}

__attribute__((constructor)) static void on_load(void)
{
	fl_find_asked = lead_asker;
}
