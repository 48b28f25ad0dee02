/*
 * near.c - memory within branch reach of a module's text.
 *
 * Hides the search for a gap in the address space. The search looks below the module first:
 * above a program lies its heap, which must be able to grow. Above the module, blocks begin
 * as far up as branches reach, and each next block ends where the one before began. The gap
 * is taken with MAP_FIXED_NOREPLACE, so a race that is lost against another mmap() only
 * means to look on; so is what lies below the last block, without a search. Hides, too, that
 * code may be the second view of a memory file: where no page may be writable and executable,
 * not even one after the other.
 */
#include <sys/mman.h>

#include "os/os.h"
#include "text.h"

enum {
	HEAP_GUARD = 1 << 28,		/* left free above a module, for brk; half of what
					 * branches reach, at most */
	STACK_GUARD = 1 << 27,		/* left free below the main stack, which grows down */
	BACK_GUARD = 1 << 22		/* left free below a module, where there is room */
};

struct gap {
	uintptr_t lo, hi;		/* of the module's text */
	uintptr_t lowest, highest;	/* ... and with `other` of struct fl_near_to */
	size_t want;
	uintptr_t end;			/* of the mapping before */
	uintptr_t below, above;		/* best so far; 0 none */
};

static bool in_reach(const struct gap *g, uintptr_t at)
{
	return fl_spans_reach(at, at + g->want, g->lowest, g->highest);
}

/* Take a gap as far up as branches reach, but not where a heap or a stack grows. The range
 * that must be in reach may be a few bytes in the middle of a page. */
static void consider_above(struct gap *g, uintptr_t from, const struct fl_mapping *next)
{
	uintptr_t end = fl_round_down(g->lowest, FL_PAGE) + FL_ARCH_REACH - FL_PAGE;
	uintptr_t top = next->lo - (__builtin_strcmp(next->path, "[stack]") ? 0 : STACK_GUARD);
	uintptr_t at = (top < end ? top : end) - FL_PAGE - g->want;
	uintptr_t guard = FL_ARCH_REACH / 2 < HEAP_GUARD ? FL_ARCH_REACH / 2 : HEAP_GUARD;

	if (top > from && at > from + guard && at < end && in_reach(g, at))
		g->above = at;
}

/* Of a large file the kernel looks for some more room than it is long, to put its pages into
 * large ones. A module that is unloaded comes back to its place only if there is that room. */
static void consider_below(struct gap *g, size_t room, uintptr_t at)
{
	if (room >= g->want + 2 * FL_PAGE + BACK_GUARD && in_reach(g, at - BACK_GUARD))
		g->below = at - BACK_GUARD;
	else if (in_reach(g, at))
		g->below = at;			/* the last is the nearest */
}

/* Consider the free range in front of a mapping. */
static void consider(struct gap *g, uintptr_t from, const struct fl_mapping *next)
{
	uintptr_t to = next->lo;

	if (to <= from || to - from < g->want + 2 * FL_PAGE)
		return;
	if (to <= g->lo)
		consider_below(g, to - from, to - FL_PAGE - g->want);
	if (from >= g->hi && !g->above)
		consider_above(g, from, next);
}

/* A gap below ends the search: a process may have tens of thousands of mappings. */
static int each_mapping(void *arg, const struct fl_mapping *m)
{
	struct gap *g = arg;

	consider(g, g->end, m);
	g->end = m->hi;
	return g->below && m->lo >= g->lo;
}

static void *map_at(uintptr_t at, size_t n)
{
	return fl_os_map((void *)at, n, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

enum { LOWEST = 1 << 16 };

/* Where the last block below a module is; 0: not known. */
static uintptr_t last_below;

/* Take what is below that block, if it is free, with a page in front that stays free. To look
 * for a gap takes a millisecond where there are a thousand mappings, and bodies are many
 * blocks. */
static bool map_below_last(const struct gap *g, void **out)
{
	uintptr_t last = load_relaxed(&last_below), at = last - FL_PAGE - g->want;
	void *got;

	if (!last || last > g->lo || last < LOWEST + g->want + 2 * FL_PAGE || !in_reach(g, at))
		return false;
	got = map_at(at - FL_PAGE, FL_PAGE + g->want);
	if (fl_is_err(got))
		return false;
	if ((uintptr_t)got != at - FL_PAGE) {	/* the kernel knows no MAP_FIXED_NOREPLACE */
		fl_os_unmap(got, FL_PAGE + g->want);
		return false;
	}
	fl_os_unmap(got, FL_PAGE);
	store_relaxed(&last_below, at);
	*out = (void *)at;
	return true;
}

static int map_near(struct gap *g, void **out)
{
	enum { TRIES = 4 };

	if (!g->hi) {
		*out = fl_os_map(NULL, g->want, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return fl_is_err(*out) ? (int)(intptr_t)*out : 0;
	}
	if (map_below_last(g, out))
		return 0;
	for (int i = 0; i < TRIES; i++) {
		int err;

		g->end = LOWEST;
		g->below = g->above = 0;
		err = fl_os_mappings(each_mapping, g);
		if (err < 0)
			return err;
		if (!g->below && !g->above)
			return FLE_NOREACH;
		*out = map_at(g->below ? g->below : g->above, g->want);
		if (!fl_is_err(*out)) {
			store_relaxed(&last_below, g->below);
			return 0;
		}
	}
	return (int)(intptr_t)*out;
}

/* Replace the code by executable pages of a memory file, and write there. */
static int alias_code(struct fl_near *near)
{
	size_t n = near->code_bytes;
	int fd = fl_os_memfd("flick-glue"), err;
	void *code = (void *)-ENOMEM, *write = (void *)-ENOMEM;

	if (fd < 0)
		return fd;
	err = fl_os_file_resize(fd, n);
	if (!err)
		write = fl_os_map(NULL, n, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	if (!fl_is_err(write))
		code = fl_os_map(near->code, n, PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_FIXED, fd, 0);
	fl_os_close(fd);
	if (!fl_is_err(code))
		near->write = write;
	else if (!fl_is_err(write))
		fl_os_unmap(write, n);
	return err ? err : fl_is_err(code) ? -ENOMEM : 0;
}

int fl_near_alloc(struct fl_near *near, struct fl_near_to to, size_t code, size_t data)
{
	struct gap g = {
		.lo = to.lo, .hi = to.hi,
		.lowest = to.other && to.other < to.lo ? to.other : to.lo,
		.highest = to.other_end > to.hi ? to.other_end : to.hi,
	};
	void *p;
	int err;

	code = fl_round_up(code, FL_PAGE);
	data = fl_round_up(data, FL_PAGE);
	g.want = code + data;
	err = map_near(&g, &p);
	if (err)
		return err;
	*near = (struct fl_near){
		.code = p, .code_bytes = code,
		.data = (unsigned char *)p + code, .data_bytes = data,
		.write = p,
	};
	err = fl_text_is_aliased() ? alias_code(near) : 0;
	if (err)
		fl_near_free(near);
	return err;
}

int fl_near_seal(struct fl_near *near)
{
	uintptr_t code = (uintptr_t)near->code;
	unsigned char *write = near->write;
	int err = 0;

	near->write = NULL;
	fl_arch_publish(code, near->code_bytes);
	if (write == near->code)
		err = fl_os_protect(write, near->code_bytes, PROT_READ | PROT_EXEC);
	else
		fl_os_unmap(write, near->code_bytes);
	if (!err)
		fl_text_own(code, code + near->code_bytes);
	return err;
}

void fl_near_free(struct fl_near *near)
{
	if (near->code && !near->write)
		fl_text_disown((uintptr_t)near->code);
	if (near->write && near->write != near->code)
		fl_os_unmap(near->write, near->code_bytes);
	if (near->code)
		fl_os_unmap(near->code, near->code_bytes + near->data_bytes);
	store_relaxed(&last_below, 0);		/* there is room above it now */
	*near = (struct fl_near){ 0 };
}
