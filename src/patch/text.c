/*
 * text.c - pages of text that can be stored to, and their return.
 *
 * Hides the bookkeeping. An area is one mapping of the process as it was when flick first
 * came to it. For each page the area knows who has it open, and which rights the program
 * wants it to have. Pages without sites are never touched. text-way.c makes pages ready;
 * text-asked.c answers what the program asks for its pages meanwhile.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "text.h"

struct fl_area *fl_areas;
struct fl_lock fl_text_lock = { .rank = FL_LOCK_TEXT };

/* Pages from `lo` on, up to `hi`, that are all open or all not, and wanted alike. */
uintptr_t fl_area_alike(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	const bool open = fl_area_is_open(a, lo);
	const uint8_t wanted = *fl_area_wanted(a, lo);

	while (lo < hi && fl_area_is_open(a, lo) == open && *fl_area_wanted(a, lo) == wanted)
		lo += FL_PAGE;
	return lo;
}

/* What is asked for comes to the front: a page is opened, and then asked about for each place
 * in it. */
struct fl_area *fl_area_of(uintptr_t at)
{
	struct fl_area **link = &fl_areas, *a;

	while ((a = *link) && at - a->lo >= a->hi - a->lo)
		link = &a->next;
	if (a) {
		*link = a->next;
		a->next = fl_areas;
		fl_areas = a;
	}
	return a;
}

/* Code of flick's own that was sealed last (near.c): no look into /proc is needed for it. */
enum { N_OWN = 4096 };
static struct { uintptr_t lo, hi; } own[N_OWN];	/* W under the lock */
static uint32_t n_own, n_used;		/* where the next one goes; how many there were */

void fl_text_own(uintptr_t lo, uintptr_t hi)
{
	uint64_t signals;

	fl_os_lock(&fl_text_lock, &signals);
	own[n_own].lo = lo;
	own[n_own].hi = hi;
	n_own = (n_own + 1) % N_OWN;
	n_used += n_used < N_OWN;
	fl_os_unlock(&fl_text_lock, &signals);
}

void fl_text_disown(uintptr_t lo)
{
	uint64_t signals;

	fl_os_lock(&fl_text_lock, &signals);
	for (uint32_t i = 0; i < n_used; i++)
		if (own[i].lo == lo)
			own[i].hi = lo;
	fl_os_unlock(&fl_text_lock, &signals);
}

struct find { uintptr_t at; int prot; struct fl_area *made; };

static size_t length(const char *text)
{
	return __builtin_strlen(text) + 1;
}

/* The area of mapping `m`: header, two bytes a page, path. */
static struct fl_area *make_area(const struct fl_mapping *m)
{
	size_t pages = (m->hi - m->lo) / FL_PAGE;
	size_t bytes = sizeof(struct fl_area) + 2 * pages + length(m->path);
	struct fl_area *a = fl_os_map(NULL, bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(a))
		return a;
	*a = (struct fl_area){
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

static bool take_own(struct find *f)
{
	struct fl_mapping m = { .prot = PROT_READ | PROT_EXEC, .path = "" };

	for (uint32_t i = 0; i < n_used; i++) {
		m.lo = own[i].lo;
		m.hi = own[i].hi;
		if (make_found(f, &m))
			return true;
	}
	return false;
}

int fl_text_prot(uintptr_t at)
{
	struct find f = { .at = at, .prot = -EFAULT };
	int err = fl_os_mappings(find_mapping, &f);

	return err < 0 ? err : f.prot;
}

/* ---- text that was mapped just now ------------------------------------------------ */

static void leave(struct fl_area **link)
{
	struct fl_area *a = *link;

	*link = a->next;
	if (a->view)
		fl_os_unmap((void *)(a->lo + (uintptr_t)a->view), a->hi - a->lo);
	fl_os_unmap(a, a->bytes);
}

/* Areas that nobody has come to yet. The kernel is not asked where such a mapping is: it says
 * that in a line for each mapping of the process, which takes longer than all else that a
 * dlopen() costs where its library is known. */
static struct fl_area *told;		/* W under the lock */

void fl_text_told(const struct fl_mapping *m)
{
	struct fl_area *a = m ? make_area(m) : NULL;
	uint64_t signals;

	if (!m && !load_relaxed(&told))		/* who told holds the loader's lock yet */
		return;
	fl_os_lock(&fl_text_lock, &signals);
	if (a && !fl_is_err(a)) {
		a->next = told;
		told = a;
	}
	while (!m && told)
		leave(&told);
	fl_os_unlock(&fl_text_lock, &signals);
}

static struct fl_area **find_told(uintptr_t at)
{
	struct fl_area **link = &told;

	while (*link && at - (*link)->lo >= (*link)->hi - (*link)->lo)
		link = &(*link)->next;
	return link;
}

static bool take_told(struct find *f)
{
	struct fl_area **link = find_told(f->at);

	if (!*link)
		return false;
	f->made = *link;
	f->prot = *fl_area_wanted(f->made, f->at);
	*link = f->made->next;
	return true;
}

/* ---- areas come and go ----------------------------------------------------------- */

/* Make an area for the mapping around `at`. A mapping that is writable needs no view. */
static int enter(uintptr_t at, struct fl_area **out)
{
	struct find f = { .at = at, .made = (void *)-EFAULT };
	bool is_sure = take_told(&f) || take_own(&f);
	int err = is_sure ? 0 : fl_os_mappings(make_found, &f);

	if (err >= 0)
		err = fl_is_err(f.made) ? (int)(intptr_t)f.made : 0;
	if (err)
		return err;
	if (fl_text_reach_out(f.made) && !is_sure) {
		fl_os_unmap(f.made, f.made->bytes);
		return enter(at, out);		/* as it is now */
	}
	if (!(f.prot & PROT_WRITE))
		err = fl_text_way->enter(f.made);
	if (err) {
		fl_os_unmap(f.made, f.made->bytes);
		return err;
	}
	f.made->next = fl_areas;
	fl_areas = *out = f.made;
	return 0;
}

/* No page is open, and all are wanted alike. */
static bool is_one(const struct fl_area *a)
{
	return !fl_area_is_open(a, a->lo) && fl_area_alike(a, a->lo, a->hi) == a->hi;
}

static bool is_untouched(const struct fl_area *a)
{
	for (uintptr_t at = a->lo; at < a->hi; at += FL_PAGE)
		if (*fl_area_holders(a, at))
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

/* Map the area's file over [lo, hi) as it was, if that changes no byte. With mprotect()
 * alone the pages would stay private copies, and a mapping of their own, because the kernel
 * keeps account of mappings that were writable. */
static bool map_file_back(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	uint64_t offset = a->offset + (lo - a->lo);
	int fd = a->inode ? fl_os_open(a->path, O_RDONLY | O_CLOEXEC) : -ENOENT;
	bool done = false;
	struct fl_file f;

	if (fd < 0)
		return false;
	if (fl_os_file_facts(fd, &f) == 0 && f.inode == a->inode &&
	    has_equal_bytes(fd, offset, lo, hi - lo))
		done = !fl_is_err(fl_os_map((void *)lo, hi - lo, *fl_area_wanted(a, lo),
					    MAP_PRIVATE | MAP_FIXED, fd, offset));
	fl_os_close(fd);
	return done;
}

static void mark(const struct fl_area *a, uintptr_t lo, uintptr_t hi, uint8_t holders)
{
	for (; lo < hi; lo += FL_PAGE)
		*fl_area_holders(a, lo) = holders;
}

/* Give back pages [lo, hi), which nobody holds any more, and which are wanted alike. */
static int give_back(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	bool is_back = (*fl_area_wanted(a, lo) & PROT_WRITE && !a->view) ||
		       map_file_back(a, lo, hi);

	mark(a, lo, hi, is_back ? 0 : FL_TEXT_LEFT);
	return is_back && !a->view ? 0 : fl_text_way->shut(a, lo, hi);
}

/* The next page from `at` on that is closed and not given back. */
static uintptr_t next_left(const struct fl_area *a, uintptr_t at, uintptr_t hi)
{
	while (at < hi && *fl_area_holders(a, at) != FL_TEXT_LEFT)
		at += FL_PAGE;
	return at;
}

/* Give back all pages that are left. If nobody holds a page, give back the whole area at
 * once: only pages that were mapped by one call are one mapping. */
static int settle(const struct fl_area *a)
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
		uintptr_t end = fl_area_alike(a, lo, a->hi);

		for (hi = lo; hi < end && *fl_area_holders(a, hi) == FL_TEXT_LEFT;)
			hi += FL_PAGE;
		if (give_back(a, lo, hi))
			err = -ENOMEM;
	}
	return err;
}

/* ---- open and close ---------------------------------------------------------------- */

/* Does a caller of flick/patch.h hold a page? It may be storing at this moment. */
static bool is_callers(const struct fl_area *a, uintptr_t lo, uintptr_t hi)
{
	for (; lo < hi; lo += FL_PAGE)
		if (*fl_area_holders(a, lo) & FL_TEXT_CALLER)
			return true;
	return false;
}

static int open_part(struct fl_area *a, uintptr_t lo, uintptr_t hi, int holder)
{
	bool anew = a->view && holder != FL_TEXT_CALLER && !is_callers(a, lo, hi);
	int err = 0;

	for (uintptr_t at = lo, end; at < hi && !err; at = end) {
		bool is_ready = !a->view && *fl_area_wanted(a, at) & PROT_WRITE;

		end = fl_area_alike(a, at, hi);
		if ((anew || !fl_area_is_open(a, at)) && !is_ready)
			err = fl_text_way->open(a, at, end);
	}
	for (; !err && lo < hi; lo += FL_PAGE) {
		uint8_t *holders = fl_area_holders(a, lo);

		*holders = (uint8_t)((*holders & ~FL_TEXT_LEFT) | holder);
	}
	return err;
}

static int close_part(struct fl_area *a, uintptr_t lo, uintptr_t hi, int holder)
{
	for (; lo < hi; lo += FL_PAGE) {
		uint8_t *holders = fl_area_holders(a, lo);

		*holders = (uint8_t)(*holders == holder ? FL_TEXT_LEFT : *holders & ~holder);
	}
	return settle(a);
}

static bool is_any_open(const struct fl_area *a)
{
	for (uintptr_t at = a->lo; at < a->hi; at += FL_PAGE)
		if (fl_area_is_open(a, at))
			return true;
	return false;
}

static int note_rights(void *arg, const struct fl_mapping *m)
{
	const struct fl_area *a = arg;
	uintptr_t lo = m->lo > a->lo ? m->lo : a->lo, hi = m->hi < a->hi ? m->hi : a->hi;

	if (lo < hi)
		__builtin_memset(fl_area_wanted(a, lo), m->prot, (hi - lo) / FL_PAGE);
	return 0;
}

/* An area that was left, because its bytes are not the file's any more, is found again by who
 * comes later. What the program has asked for its pages in between did not pass by here. */
static int find_area(uintptr_t at, struct fl_area **out)
{
	*out = *find_told(at) ? NULL : fl_area_of(at);
	if (!*out)
		return enter(at, out);
	return is_any_open(*out) ? 0 : fl_os_mappings(note_rights, *out);
}

static int open_parts(uintptr_t lo, uintptr_t hi, int holder)
{
	int err = 0;

	for (uintptr_t end; lo < hi && !err; lo = end) {
		struct fl_area *a;

		err = find_area(lo, &a);
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

	fl_os_lock(&fl_text_lock, &signals);
	err = open_parts(fl_round_down(lo, FL_PAGE), fl_round_up(hi, FL_PAGE), holder);
	fl_os_unlock(&fl_text_lock, &signals);
	return err;
}

int fl_text_close(uintptr_t lo, uintptr_t hi, int holder)
{
	uint64_t signals;
	int err = 0;

	lo = fl_round_down(lo, FL_PAGE);
	fl_os_lock(&fl_text_lock, &signals);
	for (struct fl_area **link = &fl_areas, *a; (a = *link);) {
		uintptr_t from = lo > a->lo ? lo : a->lo;
		uintptr_t to = hi < a->hi ? fl_round_up(hi, FL_PAGE) : a->hi;

		if (from < to && close_part(a, from, to, holder))
			err = -ENOMEM;
		if (is_untouched(a))
			leave(link);
		else
			link = &a->next;
	}
	fl_os_unlock(&fl_text_lock, &signals);
	return err;
}

static void forget_among(struct fl_area **link, uintptr_t lo, uintptr_t hi)
{
	while (*link)
		if ((*link)->lo < hi && lo < (*link)->hi)
			leave(link);
		else
			link = &(*link)->next;
}

/* The area's pages may be gone already, and other pages be there: they are not touched. */
void fl_text_forget(uintptr_t lo, uintptr_t hi)
{
	uint64_t signals;

	fl_os_lock(&fl_text_lock, &signals);
	forget_among(&fl_areas, lo, hi);
	forget_among(&told, lo, hi);
	fl_os_unlock(&fl_text_lock, &signals);
}

intptr_t fl_text_shift(uintptr_t at)
{
	const struct fl_area *a;
	intptr_t view;
	uint64_t signals;

	if (!fl_text_is_aliased())
		return 0;
	fl_os_lock(&fl_text_lock, &signals);
	a = fl_area_of(at);
	view = a ? a->view : 0;
	fl_os_unlock(&fl_text_lock, &signals);
	return view;
}

/* ---- fork ------------------------------------------------------------------------------ */

static bool is_shared;			/* W in fork's child, alone */

bool fl_text_is_shared(void)
{
	return is_shared;
}

static int unshare_area(struct fl_area *a)
{
	int err = 0;

	for (uintptr_t lo = a->lo, end; lo < a->hi && !err; lo = end) {
		end = fl_area_alike(a, lo, a->hi);
		err = fl_area_is_open(a, lo) ? fl_text_way->open(a, lo, end) : 0;
	}
	return err;
}

/* If another thread of the parent was changing the list during the fork, all stays as it is. */
int fl_text_unshare(void)
{
	int err = fl_text_lock.word && fl_text_is_aliased() ? -EBUSY : 0;

	for (struct fl_area *a = fl_areas; a && !err; a = a->next)
		if (a->view)
			err = unshare_area(a);
	is_shared = err;
	return err;
}
