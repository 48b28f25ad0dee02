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
 */
#include "agent.h"
#include "copy/copy.h"
#include "obj/obj.h"

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
