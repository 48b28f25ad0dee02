/*
 * find.c - _dl_find_object(), which stands before the C library's: by it unwinders find
 * what they need for a program counter.
 *
 * Hides that bodies are in no file that the loader knows. For one of these the answer is
 * our table (copy/unwind.c), for all else the C library's own. Exceptions, the end of a
 * cancelled thread and backtraces come through here, frame by frame, in any thread and in
 * handlers: no lock is taken, and what is looked at is constant.
 *
 * Where the C library has no such function (before glibc 2.35) unwinders ask otherwise, and
 * where another one of that name stands before ours they do not come here: then bodies are
 * not found, which fl_find_open() says. In a static program ours, being weak, gives way.
 *
 * In a program that ran before nobody comes here by that name. So where an unwinder keeps the
 * address of the C library's, ours is put, for good: a thread may be in a body for as long as
 * it likes. That an unwinder is there is seen to before (attach.c).
 */
#include <sys/mman.h>

#include "agent.h"
#include "copy/copy.h"
#include "obj/obj.h"
#include "patch/patch.h"

/* struct dl_find_object, which older systems do not have. */
struct found_object {
	unsigned long long flags;
	void *start, *end;
	void *map;			/* a struct link_map */
	const void *table;		/* as .eh_frame_hdr is */
	unsigned long long reserved[7];
};
typedef int find_function(void *pc, struct found_object *);

static find_function *next;		/* the C library's; W once, the first time */
static void *own_map;			/* who asks whose a body is, is told: libflick's */

/* Also before the first constructor of ours has run: then a library's throws in its own. */
static find_function *find_next(void)
{
	struct found_object own;
	find_function *f = load_relaxed(&next);	/* always the same: no ordering */

	if (f)
		return f;
	f = (find_function *)fl_obj_c_function("_dl_find_object");
	if (f && !f((void *)find_next, &own))
		store_relaxed(&own_map, own.map);
	store_relaxed(&next, f);
	return f;
}

static int find(void *pc, struct found_object *to)
{
	struct fl_unwind_found body;
	find_function *f;

	if (fl_unwind_find((uintptr_t)pc, &body)) {
		*to = (struct found_object){ .start = (void *)body.lo, .end = (void *)body.hi,
			.map = load_relaxed(&own_map), .table = body.table };
		return 0;
	}
	f = find_next();
	return f ? f(pc, to) : -1;
}

__attribute__((weak, alias("find"), visibility("default"))) find_function find_object
	__asm__("_dl_find_object");

void fl_find_open(void)
{
	if (find_next() && find_object == find)
		fl_unwind_serve();
}

/* ---- in a program that ran before ------------------------------------------------------ */

/* It may be among what is only read once it is relocated. */
static int store_word(uintptr_t *word, uintptr_t value)
{
	int prot = fl_text_prot((uintptr_t)word), err = prot < 0 ? prot : 0;
	void *page = (void *)fl_round_down((uintptr_t)word, FL_PAGE);
	bool is_closed = !(prot & PROT_WRITE);

	if (!err && is_closed)
		err = fl_os_protect(page, FL_PAGE, prot | PROT_WRITE);
	if (err)
		return err;
	store_relaxed(word, value);
	return is_closed ? fl_os_protect(page, FL_PAGE, prot) : 0;
}

static int redirect_word(void *arg, uintptr_t at, uint32_t type, const char *name,
		     uintptr_t value)
{
	uintptr_t *word = (uintptr_t *)at;

	(void)arg;
	(void)type;
	if (value || __builtin_strcmp(name, "_dl_find_object") ||
	    load_relaxed(word) == (uintptr_t)find)
		return 0;
	return store_word(word, (uintptr_t)find);
}

static int redirect_module(void *arg, struct fl_module *m)
{
	return fl_obj_relocs(m, redirect_word, arg);
}

/* Nobody tells us yet when a module goes: so the loader keeps all. */
void fl_find_open_late(void)
{
	if (find_next() && !fl_obj_each_kept(redirect_module, NULL))
		fl_unwind_serve();
}
