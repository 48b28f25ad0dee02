/*
 * text.c - pages of text that can be stored to, and their return.
 *
 * Hides how: by `mprotect` pages become writable where they are; by `alias`
 * they are replaced by pages of a memory file that are mapped twice, to execute
 * and, elsewhere, to write. Hides the bookkeeping, too: an area is one mapping
 * of the process as it was when flick first came to it, and each of its pages
 * knows for whom it is open, and what the program wants it to be. Pages without sites
 * are never touched.
 *
 * PROTOCOL	of `alias`, for a run of pages
 *	1 copy	the text is written to a fresh memory file
 *	2 swap	the file is mapped over the text, R-X	(mmap MAP_FIXED)
 *	3 view	and over its place in the area's view, RW
 * INVARIANT
 *	1 A thread that fetches meanwhile gets the old page or the new one; they
 *	  hold the same bytes.
 *	2 No byte that is stored is lost.
 *	3 No page is writable and executable through any mapping.
 *	4 Another process executes a page of ours only while no more than flips
 *	  are made in it.
 *	5 A page that is stored to where it is stays writable, whatever the
 *	  program's mprotect() asks for it (fl_text_protect).
 * WHY
 *	1 The kernel replaces a mapping under the lock that page faults take, and
 *	  the old page is freed when no core has a translation to it any more. A
 *	  thread that faults in between waits for the new mapping.
 *	2 Who may store between 1 and 3: a commit, which is our caller and has
 *	  not begun; and the switch of a probe in a page that is open already,
 *	  which our caller has frozen (probe/state.c).
 *	3 The area's view is never executable, its text never writable.
 *	4 Parent and child of a fork share the pages. The child's fork handler
 *	  copies them once more (fl_text_unshare). A child of a bare clone runs no
 *	  handler; but here each opening makes fresh pages, so that the bytes of a
 *	  later commit are its parent's alone, and the child, whose probes do
 *	  nothing, sees flips between instructions it knows.
 *	5 What an area has, or is about to have, lies in `reach` before a page of it
 *	  is looked at. Who asks for a page in there does so under our lock, knows
 *	  which pages are open, and asks for these with PROT_WRITE, or not at all.
 *	  Who looked before `reach` grew is counted in `asking`, and waited for. Raw
 *	  system calls, and the C library's own, pass by: docs/GUEST.md.
 * FAILURE
 *	Of 1 and 2: nothing has changed. Of 3, which replaces a reservation and
 *	needs no more than the kernel's own memory: it is tried for some time;
 *	then the pages stay as they are, executable and never stored to.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "os/os.h"
#include "patch.h"

struct area {
	struct area *next;
	uintptr_t lo, hi;
	uint64_t offset, inode;		/* of its file; inode 0: it has none */
	size_t bytes;			/* of the mapping this stands in */
	char *path;
	intptr_t view;			/* 0: none */
	uint8_t *holders;		/* a page: enum fl_text_holder, LEFT */
	uint8_t *wanted;		/* a page: PROT_*, by the program */
};

enum { LEFT = 1 };			/* closed, and not its file's page again */

static struct area *areas;
static struct fl_lock lock = { .rank = FL_LOCK_TEXT };

static uint8_t *holders_at(const struct area *a, uintptr_t at)
{
	return &a->holders[(at - a->lo) / FL_PAGE];
}

static uint8_t *wanted_at(const struct area *a, uintptr_t at)
{
	return &a->wanted[(at - a->lo) / FL_PAGE];
}

static bool is_open(const struct area *a, uintptr_t at)
{
	return *holders_at(a, at) & ~LEFT;
}

/* Pages from `lo` on, up to `hi`, that are all open or all not, and wanted alike. */
static uintptr_t alike(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	const bool open = is_open(a, lo);
	const uint8_t wanted = *wanted_at(a, lo);

	while (lo < hi && is_open(a, lo) == open && *wanted_at(a, lo) == wanted)
		lo += FL_PAGE;
	return lo;
}

/* ---- the two ways --------------------------------------------------------------- */

struct way {
	const char *name;
	int (*probe)(void);
	int (*enter)(struct area *);		/* once an area */
	/* pages that are wanted alike */
	int (*open)(const struct area *, uintptr_t lo, uintptr_t hi);
	int (*shut)(const struct area *, uintptr_t lo, uintptr_t hi);
};

static int probe_mprotect(void)
{
	void *p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (fl_is_err(p))
		return FLE_NOWRITE;
	err = fl_os_protect(p, FL_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	fl_os_protect(p, FL_PAGE, PROT_NONE);	/* should it stay */
	fl_os_unmap(p, FL_PAGE);
	return err ? FLE_NOWRITE : 0;
}

static int enter_mprotect(struct area *a)
{
	(void)a;
	return 0;
}

static int open_mprotect(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	return fl_os_protect((void *)lo, hi - lo, *wanted_at(a, lo) | PROT_WRITE);
}

static int shut_mprotect(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	return fl_os_protect((void *)lo, hi - lo, *wanted_at(a, lo));
}

static int probe_alias(void)
{
	int fd = fl_os_memfd("flick-text"), err = FLE_NOALIAS;
	void *p;

	if (fd < 0)
		return FLE_NOALIAS;
	if (fl_os_file_resize(fd, FL_PAGE) == 0) {
		p = fl_os_map(NULL, FL_PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		err = fl_is_err(p) ? FLE_NOALIAS : 0;
		if (!err)
			fl_os_unmap(p, FL_PAGE);
	}
	fl_os_close(fd);
	return err;
}

static void *reserve(uintptr_t at, size_t n, int fixed)
{
	return fl_os_map((void *)at, n, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

static int enter_alias(struct area *a)
{
	void *p = reserve(0, a->hi - a->lo, 0);

	if (fl_is_err(p))
		return (int)(intptr_t)p;
	a->view = (intptr_t)((uintptr_t)p - a->lo);
	return 0;
}

static int copy_to(int fd, uintptr_t lo, uintptr_t hi)
{
	while (lo < hi) {
		long n = fl_os_write(fd, (const void *)lo, hi - lo);

		if (n <= 0 && n != -EINTR)
			return n ? (int)n : -EIO;
		lo += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Step 3: see FAILURE. */
static int map_view(uintptr_t at, size_t n, int fd)
{
	enum { TRIES = 1000, PAUSE_US = 100 };
	void *p = NULL;

	for (int i = 0; i < TRIES; i++) {
		p = fl_os_map((void *)at, n, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
		if (!fl_is_err(p))
			return 0;
		fl_os_sleep_us(PAUSE_US);
	}
	return (int)(intptr_t)p;
}

static int map_twice(const struct area *a, uintptr_t lo, size_t n, int fd)
{
	void *p = fl_os_map((void *)lo, n, *wanted_at(a, lo),
			    MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);

	if (fl_is_err(p))
		return (int)(intptr_t)p;
	FL_POINT("text.swapped");
	return map_view(lo + (uintptr_t)a->view, n, fd);
}

static int open_alias(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	/* what was writable when flick came has no view */
	int fd = a->view ? fl_os_memfd("flick-text") : -EACCES, err;

	if (fd < 0)
		return fd;
	err = copy_to(fd, lo, hi);
	if (!err)
		err = map_twice(a, lo, hi - lo, fd);
	fl_os_close(fd);
	return err;
}

/* The text stays as it is: it is not writable there. */
static int shut_alias(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	void *p = reserve(lo + (uintptr_t)a->view, hi - lo, MAP_FIXED);

	return fl_is_err(p) ? (int)(intptr_t)p : 0;
}

static const struct way ways[] = {
	{ "mprotect", probe_mprotect, enter_mprotect, open_mprotect, shut_mprotect },
	{ "alias", probe_alias, enter_alias, open_alias, shut_alias },
};
enum { MPROTECT, ALIAS };
static const struct way *way = &ways[MPROTECT];
static bool is_chosen;

static const struct way *way_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (__builtin_strcmp(name, ways[i].name) == 0)
			return &ways[i];
	return NULL;
}

int fl_text_probe(const char *name)
{
	const struct way *w = way_of(name);

	return w ? w->probe() : FLE_OPTION;
}

static int choose(const char *name)
{
	int err = fl_text_probe(name);

	if (err)
		return err;
	way = way_of(name);
	is_chosen = true;
	return 0;
}

static int choose_first(void)
{
	int err = choose("mprotect");

	return err && choose("alias") == 0 ? 0 : err;
}

int fl_text_choose(const char *name)
{
	char given[32];

	if (is_chosen)
		return name && __builtin_strcmp(name, way->name) ? FLE_OPTION : 0;
	if (name)
		return choose(name);
	switch (fl_os_environment(FL_TEXT_ENV, given, sizeof given)) {
	case 0:			return *given ? choose(given) : choose_first();
	case -ENAMETOOLONG:	return FLE_OPTION;
	default:		return choose_first();
	}
}

bool fl_text_is_aliased(void)
{
	return way == &ways[ALIAS];
}

/* ---- areas -------------------------------------------------------------------- */

static struct area *area_of(uintptr_t at)
{
	struct area *a = areas;

	while (a && at - a->lo >= a->hi - a->lo)
		a = a->next;
	return a;
}

struct find { uintptr_t at; int prot; struct area *made; };

static size_t length(const char *text)
{
	return __builtin_strlen(text) + 1;
}

/* The area of mapping `m`: header, two bytes a page, path. */
static struct area *make_area(const struct fl_mapping *m)
{
	size_t pages = (m->hi - m->lo) / FL_PAGE;
	size_t bytes = sizeof(struct area) + 2 * pages + length(m->path);
	struct area *a = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(a))
		return a;
	*a = (struct area){
		.lo = m->lo, .hi = m->hi, .offset = m->offset, .inode = m->inode,
		.bytes = bytes, .holders = (uint8_t *)(a + 1),
		.wanted = (uint8_t *)(a + 1) + pages,
		.path = (char *)(a + 1) + 2 * pages,
	};
	__builtin_memset(a->wanted, m->prot, pages);
	__builtin_memcpy(a->path, m->path, length(m->path));
	return a;
}

static int find_mapping(void *arg, const struct fl_mapping *m)
{
	struct find *f = arg;

	if (f->at < m->lo || f->at >= m->hi)
		return 0;
	f->prot = m->prot;
	return 1;
}

static int make_found(void *arg, const struct fl_mapping *m)
{
	struct find *f = arg;

	if (!find_mapping(arg, m))
		return 0;
	f->made = make_area(m);
	return 1;
}

int fl_text_prot(uintptr_t at)
{
	struct find f = { .at = at, .prot = -EFAULT };
	int err = fl_os_mappings(find_mapping, &f);

	return err < 0 ? err : f.prot;
}

/* ---- what the program asks for -------------------------------------------------- */

/* A few ranges, so that memory between two modules is apart. W under the lock. */
enum { RANGES = 32 };
static struct { uintptr_t lo, hi; } reach[RANGES];	/* each grows */
static uint32_t n_reach;
static uint64_t asking;				/* threads that look at it */

bool fl_text_reaches(uintptr_t lo, uintptr_t hi)
{
	const uint32_t n = load_acquire(&n_reach);	/* (C) pairs with (D) */

	for (uint32_t i = 0; i < n; i++)
		if (load_relaxed(&reach[i].lo) < hi && lo < load_relaxed(&reach[i].hi))
			return true;
	return false;
}

static bool is_all_reached(const struct area *a)
{
	for (uint32_t i = 0; i < n_reach; i++)
		if (reach[i].lo <= a->lo && a->hi <= reach[i].hi)
			return true;
	return false;
}

/* The last range takes in what there is no range left for. A thread that left the
 * program's mprotect() by a jump stays counted. */
static void grow_reach(uintptr_t lo, uintptr_t hi)
{
	enum { PAUSE_US = 50, PATIENCE_US = 20000 };
	const uint32_t i = n_reach < RANGES ? n_reach : RANGES - 1;
	const bool is_new = n_reach < RANGES;

	if (is_new || lo < reach[i].lo)
		store_relaxed(&reach[i].lo, lo);
	if (hi > reach[i].hi)
		store_relaxed(&reach[i].hi, hi);
	store_release(&n_reach, i + 1);			/* (D) pairs with (C) */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: (D) pairs with (C) */
	for (int us = 0; fl_os_count(&asking) && us < PATIENCE_US; us += PAUSE_US)
		fl_os_sleep_us(PAUSE_US);
}

/* What is not in reach of us; else 1. */
static int ask_apart(uintptr_t lo, size_t n, int prot, int pkey)
{
	int err = 1;

	fl_os_count_by(&asking, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* ordering: (C) pairs with (D) */
	if (!fl_text_reaches(lo, lo + n)) {			/* (C) pairs with (D) */
		FL_POINT("text.apart");
		err = fl_os_protect_for(lo, n, prot, pkey);
	}
	fl_os_count_by(&asking, -1);			/* (C) pairs with (D) */
	return err;
}

/* Pages of an area that are open or not, and wanted alike. A system that forbids
 * what is writable and executable at once refuses pages what they have already. */
static int ask_alike(struct area *a, uintptr_t lo, uintptr_t hi, int prot, int pkey)
{
	const bool keeps = is_open(a, lo) && !a->view;
	int err = fl_os_protect_for(lo, hi - lo, keeps ? prot | PROT_WRITE : prot, pkey);

	if (err && !(keeps && pkey < 0 && err == -EACCES && prot == *wanted_at(a, lo)))
		return err;
	__builtin_memset(wanted_at(a, lo), prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
			 (hi - lo) / FL_PAGE);
	return 0;
}

/* The first address from `lo` on, below `hi`, that is in an area. */
static uintptr_t next_area(uintptr_t lo, uintptr_t hi)
{
	for (const struct area *a = areas; a; a = a->next)
		if (a->hi > lo && a->lo < hi)
			hi = a->lo > lo ? a->lo : lo;
	return hi;
}

static int ask_parts(uintptr_t lo, uintptr_t hi, int prot, int pkey)
{
	int err = 0;

	for (uintptr_t end; lo < hi && !err; lo = end) {
		struct area *a = area_of(lo);

		end = a ? alike(a, lo, a->hi < hi ? a->hi : hi) : next_area(lo, hi);
		err = a ? ask_alike(a, lo, end, prot, pkey) :
			  fl_os_protect_for(lo, end - lo, prot, pkey);
	}
	return err;
}

int fl_text_protect(uintptr_t lo, size_t n, int prot, int pkey)
{
	uintptr_t hi = fl_round_up(lo + n, FL_PAGE);
	uint64_t signals;
	int err;

	if (lo % FL_PAGE || hi <= lo)
		return fl_os_protect_for(lo, n, prot, pkey);
	err = ask_apart(lo, hi - lo, prot, pkey);
	if (err <= 0)
		return err;
	fl_os_lock(&lock, &signals);
	err = ask_parts(lo, hi, prot, pkey);
	fl_os_unlock(&lock, &signals);
	return err;
}

/* ---- areas come and go ----------------------------------------------------------- */

/* An area for the mapping around `at`. What is writable needs no view. */
static int enter(uintptr_t at, struct area **out)
{
	struct find f = { .at = at, .made = (void *)-EFAULT };
	int err = fl_os_mappings(make_found, &f);

	if (err >= 0)
		err = fl_is_err(f.made) ? (int)(intptr_t)f.made : 0;
	if (err)
		return err;
	if (!is_all_reached(f.made)) {
		grow_reach(f.made->lo, f.made->hi);
		fl_os_unmap(f.made, f.made->bytes);
		return enter(at, out);		/* as it is now */
	}
	if (!(f.prot & PROT_WRITE))
		err = way->enter(f.made);
	if (err) {
		fl_os_unmap(f.made, f.made->bytes);
		return err;
	}
	f.made->next = areas;
	areas = *out = f.made;
	return 0;
}

static void leave(struct area **link)
{
	struct area *a = *link;

	*link = a->next;
	if (a->view)
		fl_os_unmap((void *)(a->lo + (uintptr_t)a->view), a->hi - a->lo);
	fl_os_unmap(a, a->bytes);
}


/* No page is open, and all are wanted alike. */
static bool is_one(const struct area *a)
{
	return !is_open(a, a->lo) && alike(a, a->lo, a->hi) == a->hi;
}

static bool is_untouched(const struct area *a)
{
	for (uintptr_t at = a->lo; at < a->hi; at += FL_PAGE)
		if (*holders_at(a, at))
			return false;
	return true;
}

/* ---- the original comes back --------------------------------------------------- */

static bool has_equal_bytes(int fd, uint64_t offset, uintptr_t lo, size_t n)
{
	int64_t size = fl_os_file_bytes(fd);
	void *p = (void *)-EINVAL;
	bool equal;

	if (size >= 0 && offset + n <= fl_round_up((uint64_t)size, FL_PAGE))
		p = fl_os_map(NULL, n, PROT_READ, MAP_PRIVATE, fd, offset);
	if (fl_is_err(p))
		return false;
	equal = !__builtin_memcmp(p, (const void *)lo, n);
	fl_os_unmap(p, n);
	return equal;
}

/* Map the area's file over [lo, hi) as it was, if that changes no byte. By
 * mprotect() alone the pages would stay private copies, and a mapping of their
 * own: the kernel keeps account of what was writable. */
static bool map_file_back(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	uint64_t offset = a->offset + (lo - a->lo);
	int fd = a->inode ? fl_os_open(a->path, O_RDONLY | O_CLOEXEC) : -ENOENT;
	bool done = false;
	struct fl_file f;

	if (fd < 0)
		return false;
	if (fl_os_file_facts(fd, &f) == 0 && f.inode == a->inode &&
	    has_equal_bytes(fd, offset, lo, hi - lo))
		done = !fl_is_err(fl_os_map((void *)lo, hi - lo, *wanted_at(a, lo),
					    MAP_PRIVATE | MAP_FIXED, fd, offset));
	fl_os_close(fd);
	return done;
}

static void mark(const struct area *a, uintptr_t lo, uintptr_t hi, uint8_t holders)
{
	for (; lo < hi; lo += FL_PAGE)
		*holders_at(a, lo) = holders;
}

/* Pages [lo, hi), which nobody holds any more, and which are wanted alike. */
static int give_back(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	bool is_back = (*wanted_at(a, lo) & PROT_WRITE && !a->view) ||
		       map_file_back(a, lo, hi);

	mark(a, lo, hi, is_back ? 0 : LEFT);
	return is_back && !a->view ? 0 : way->shut(a, lo, hi);
}

/* The next page from `at` on that is closed and not given back. */
static uintptr_t next_left(const struct area *a, uintptr_t at, uintptr_t hi)
{
	while (at < hi && *holders_at(a, at) != LEFT)
		at += FL_PAGE;
	return at;
}

/* All pages that are left. If nobody holds any, all of the area at once: only
 * what was mapped by one call is one mapping. */
static int settle(const struct area *a)
{
	enum { TRIES = 3 };
	uintptr_t lo = next_left(a, a->lo, a->hi), hi;
	int err = 0;

	for (int i = 0; i < TRIES && lo < a->hi && is_one(a); i++)
		if (map_file_back(a, a->lo, a->hi)) {
			mark(a, a->lo, a->hi, 0);
			break;
		}
	for (; (lo = next_left(a, lo, a->hi)) < a->hi; lo = hi) {
		uintptr_t end = alike(a, lo, a->hi);

		for (hi = lo; hi < end && *holders_at(a, hi) == LEFT;)
			hi += FL_PAGE;
		if (give_back(a, lo, hi))
			err = -ENOMEM;
	}
	return err;
}

/* ---- open and close ---------------------------------------------------------------- */

/* Who changes places by flick/patch.h is not known to be idle. */
static bool is_callers(const struct area *a, uintptr_t lo, uintptr_t hi)
{
	for (; lo < hi; lo += FL_PAGE)
		if (*holders_at(a, lo) & FL_TEXT_CALLER)
			return true;
	return false;
}

static int open_part(struct area *a, uintptr_t lo, uintptr_t hi, int holder)
{
	bool anew = a->view && holder != FL_TEXT_CALLER && !is_callers(a, lo, hi);
	int err = 0;

	for (uintptr_t at = lo, end; at < hi && !err; at = end) {
		end = alike(a, at, hi);
		if ((anew || !is_open(a, at)) && (a->view || !(*wanted_at(a, at) & PROT_WRITE)))
			err = way->open(a, at, end);
	}
	for (; !err && lo < hi; lo += FL_PAGE)
		*holders_at(a, lo) = (uint8_t)((*holders_at(a, lo) & ~LEFT) | holder);
	return err;
}

static int close_part(struct area *a, uintptr_t lo, uintptr_t hi, int holder)
{
	for (; lo < hi; lo += FL_PAGE) {
		uint8_t *holders = holders_at(a, lo);

		*holders = (uint8_t)(*holders == holder ? LEFT : *holders & ~holder);
	}
	return settle(a);
}

static int open_parts(uintptr_t lo, uintptr_t hi, int holder)
{
	int err = 0;

	for (uintptr_t end; lo < hi && !err; lo = end) {
		struct area *a = area_of(lo);

		err = a ? 0 : enter(lo, &a);
		end = !err && a->hi < hi ? a->hi : hi;
		if (!err)
			err = open_part(a, lo, end, holder);
	}
	return err;
}

int fl_text_open(uintptr_t lo, uintptr_t hi, int holder)
{
	uint64_t signals;
	int err;

	fl_os_lock(&lock, &signals);
	err = open_parts(fl_round_down(lo, FL_PAGE), fl_round_up(hi, FL_PAGE), holder);
	fl_os_unlock(&lock, &signals);
	return err;
}

int fl_text_close(uintptr_t lo, uintptr_t hi, int holder)
{
	uint64_t signals;
	int err = 0;

	lo = fl_round_down(lo, FL_PAGE);
	fl_os_lock(&lock, &signals);
	for (struct area **link = &areas, *a; (a = *link);) {
		uintptr_t from = lo > a->lo ? lo : a->lo;
		uintptr_t to = hi < a->hi ? fl_round_up(hi, FL_PAGE) : a->hi;

		if (from < to && close_part(a, from, to, holder))
			err = -ENOMEM;
		if (is_untouched(a))
			leave(link);
		else
			link = &a->next;
	}
	fl_os_unlock(&lock, &signals);
	return err;
}

/* Its pages may be gone already, and others be there. */
void fl_text_forget(uintptr_t lo, uintptr_t hi)
{
	uint64_t signals;

	fl_os_lock(&lock, &signals);
	for (struct area **link = &areas; *link;)
		if ((*link)->lo < hi && lo < (*link)->hi)
			leave(link);
		else
			link = &(*link)->next;
	fl_os_unlock(&lock, &signals);
}

intptr_t fl_text_shift(uintptr_t at)
{
	const struct area *a;
	intptr_t view;
	uint64_t signals;

	if (way != &ways[ALIAS])
		return 0;
	fl_os_lock(&lock, &signals);
	a = area_of(at);
	view = a ? a->view : 0;
	fl_os_unlock(&lock, &signals);
	return view;
}

/* ---- fork ------------------------------------------------------------------------------ */

static bool is_shared;			/* W in fork's child, alone */

bool fl_text_is_shared(void)
{
	return is_shared;
}

static int unshare_area(struct area *a)
{
	int err = 0;

	for (uintptr_t lo = a->lo, end; lo < a->hi && !err; lo = end) {
		end = alike(a, lo, a->hi);
		err = is_open(a, lo) ? open_alias(a, lo, end) : 0;
	}
	return err;
}

/* Another thread of the parent may have been at the list: all is left as it is. */
int fl_text_unshare(void)
{
	int err = lock.word && way == &ways[ALIAS] ? -EBUSY : 0;

	for (struct area *a = areas; a && !err; a = a->next)
		if (a->view)
			err = unshare_area(a);
	is_shared = err;
	return err;
}
