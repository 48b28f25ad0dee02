/*
 * text-way.c - ways to store to pages of text: where they are, or through another mapping.
 *
 * `kick` is for emulators. qemu-user 7.2 translates code, and misses a store that another
 * thread makes to the code. When a page gets the right to be written, qemu drops what it has
 * translated of the page. So the page gets that right anew behind each store. No processor
 * needs that: `kick` is there only where the user asks for it, and where the port can call a
 * function behind each of its stores (fl_arch_on_store).
 *
 * PROTOCOL	of `alias`, for a run of pages
 *	1 copy	the text is written to a fresh memory file
 *	2 swap	the file is mapped over the text, R-X	(mmap MAP_FIXED)
 *	3 view	and over its place in the area's view, RW
 * INVARIANT
 *	1 A thread that fetches meanwhile gets the old page or the new one; they
 *	  hold the same bytes.
 *	2 No stored byte is lost.
 *	3 No page is writable and executable through any mapping.
 *	4 While another process executes a page of ours, nothing but flips is made in
 *	  that page.
 * WHY
 *	1 The kernel replaces a mapping under the lock that page faults take, and
 *	  frees the old page when no core has a translation to it any more. A
 *	  thread that faults in between waits for the new mapping.
 *	2 Two kinds of store might come between steps 1 and 3. A commit is our
 *	  caller, and has not begun. The switch of a probe in a page that is open
 *	  already is frozen by our caller (probe/arm.c).
 *	3 The area's view is never executable, its text never writable.
 *	4 Parent and child of a fork share the pages. The child's fork handler
 *	  copies them once more (fl_text_unshare). A child of a bare clone runs no
 *	  handler. But each opening in the parent makes fresh pages, so the bytes of
 *	  a later commit are the parent's alone. The child, whose probes do nothing,
 *	  sees flips between instructions that it has already.
 * FAILURE
 *	If step 1 or 2 fails, nothing has changed. Step 3 replaces a reservation, and
 *	needs only the kernel's own memory: it is tried for some time. If it still
 *	fails, the pages stay as they are, executable and never stored to.
 */
#include <sys/mman.h>

#include "text.h"

/* ---- where they are ----------------------------------------------------------------- */

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

static int enter_mprotect(struct fl_area *a)
{
	(void)a;
	return 0;
}

static int open_mprotect(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	return fl_os_protect((void *)lo, hi - lo, *fl_area_wanted(a, lo) | PROT_WRITE);
}

static int shut_mprotect(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	return fl_os_protect((void *)lo, hi - lo, *fl_area_wanted(a, lo));
}

/* ---- twice --------------------------------------------------------------------------- */

static int probe_alias(void)
{
	int fd = fl_arch_may_alias() ? fl_os_memfd("flick-text") : FLE_NOALIAS;
	int err = FLE_NOALIAS;
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

static int enter_alias(struct fl_area *a)
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

static int map_twice(const struct fl_area *a, uintptr_t lo, size_t n, int fd)
{
	void *p = fl_os_map((void *)lo, n, *fl_area_wanted(a, lo),
			    MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);

	if (fl_is_err(p))
		return (int)(intptr_t)p;
	FL_POINT("text.swapped");
	return map_view(lo + (uintptr_t)a->view, n, fd);
}

static int open_alias(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
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

/* Take the view away. The text stays mapped as it is, because it is not writable there. */
static int shut_alias(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	void *p = reserve(lo + (uintptr_t)a->view, hi - lo, MAP_FIXED);

	return fl_is_err(p) ? (int)(intptr_t)p : 0;
}

/* ---- which --------------------------------------------------------------------------- */

/* ---- where they are, and an emulator is told -------------------------------------------- */

static void kick(uintptr_t at, size_t n)
{
	uintptr_t lo = fl_round_down(at, FL_PAGE), hi = fl_round_up(at + n, FL_PAGE);

	fl_os_protect((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static int probe_kick(void)
{
	return fl_arch_on_store(kick) ? probe_mprotect() : FLE_OPTION;
}

static const struct fl_text_way ways[] = {
	{ "mprotect", probe_mprotect, enter_mprotect, open_mprotect, shut_mprotect, false },
	{ "alias", probe_alias, enter_alias, open_alias, shut_alias, false },
	{ "kick", probe_kick, enter_mprotect, open_mprotect, shut_mprotect, true },
};
enum { MPROTECT, ALIAS };
const struct fl_text_way *fl_text_way = &ways[MPROTECT];
static bool is_chosen;

static const struct fl_text_way *way_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (__builtin_strcmp(name, ways[i].name) == 0)
			return &ways[i];
	return NULL;
}

int fl_text_probe(const char *name)
{
	const struct fl_text_way *w = way_of(name);

	return w ? w->probe() : FLE_OPTION;
}

static int choose(const char *name)
{
	int err = fl_text_probe(name);

	if (err)
		return err;
	fl_text_way = way_of(name);
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
		return name && __builtin_strcmp(name, fl_text_way->name) ? FLE_OPTION : 0;
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
	return fl_text_way == &ways[ALIAS];
}
