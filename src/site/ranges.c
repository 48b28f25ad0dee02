/*
 * ranges.c - scratch memory, and where functions begin and end.
 *
 * Hides which table of the module knows it: .eh_frame_hdr, that stripped files
 * have too, else symbols, else nothing but the executable segments.
 */
#include <string.h>
#include <sys/mman.h>

#include "scan.h"

static void *map(size_t n_bytes, int how)
{
	void *p = fl_os_map(NULL, n_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | how, -1, 0);

	return fl_is_err(p) ? NULL : p;
}

void *fl_scratch_open(size_t n_bytes)
{
	return map(n_bytes, MAP_NORESERVE);
}

void *fl_scratch_full(size_t n_bytes)
{
	return map(n_bytes, MAP_POPULATE);
}

void fl_scratch_close(void *p, size_t n_bytes)
{
	if (p)
		fl_os_unmap(p, n_bytes);
}

size_t fl_text_bytes(const struct fl_module *m, uintptr_t a)
{
	for (size_t i = 0; i < m->n_ph; i++) {
		const Elf64_Phdr *p = &m->ph[i];
		uintptr_t offset = a - (m->bias + p->p_vaddr);

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && offset < p->p_memsz)
			return p->p_memsz - offset;
	}
	return 0;
}

uintptr_t fl_text_address(const struct fl_module *m, uintptr_t a)
{
	if (fl_text_bytes(m, a))
		return a;
	return m->laid_out && fl_text_bytes(m, a + m->bias) ? a + m->bias : 0;
}

/* ---- gathering ----------------------------------------------------------- */

struct fill {
	const struct fl_module *m;
	struct fl_ranges *to;
	size_t n, room;
	size_t ready;			/* so many have their pages: a fault for each takes
					 * longer */
	size_t n_known;			/* sorted ranges at the head of `to` */
	uintptr_t lsda;			/* of what no unwind table knows */
	bool counts;			/* nothing is added */
	int err;
};

/* Of a table that says too much most is never used, so pages come in steps. */
static void expect_more(struct fill *f)
{
	enum { STEP = 4096 };
	size_t ready = f->room - f->n < STEP ? f->room : f->n + STEP;

	fl_os_expect(&f->to->r[f->ready], (ready - f->ready) * sizeof *f->to->r);
	f->ready = ready;
}

static int make_room(struct fill *f, size_t room)
{
	const struct fl_ranges was = *f->to;
	struct fl_range *r = fl_scratch_open(room * sizeof *r);

	if (!r)
		return f->err = -ENOMEM;
	f->to->r = r;
	f->to->n_bytes = room * sizeof *r;
	f->room = room;
	f->ready = 0;
	expect_more(f);
	if (f->n)
		memcpy(r, was.r, f->n * sizeof *r);
	fl_scratch_close(was.r, was.n_bytes);
	return 0;
}

static void add(struct fill *f, const struct fl_range *r)
{
	enum { FIRST = 64 };

	if (f->counts) {
		f->n++;
		return;
	}
	if (f->n == f->room && make_room(f, 2 * f->room + FIRST))
		return;
	if (f->n == f->ready)
		expect_more(f);
	f->to->r[f->n++] = *r;
}

/* Add as much of it as is text. */
static int add_text(struct fill *f, struct fl_range r)
{
	size_t left = fl_text_bytes(f->m, r.start);

	if (r.end - r.start > left)
		r.end = r.start + left;
	if (left)
		add(f, &r);
	return f->err;
}

/* What other tables add is little. */
static int add_frame(void *arg, const struct fl_obj_frame *frame)
{
	enum { OTHERS = 16, FIRST = 64 };
	struct fill *f = arg;

	if (!f->room && make_room(f, frame->most + frame->most / OTHERS + FIRST))
		return f->err;
	return add_text(f, (struct fl_range){ frame->start, frame->end, frame->lsda,
					      frame->fde, 0, 1 });
}

/* A function that the unwind tables do not know. */
static int add_symbol(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct fill *f = arg;
	struct fl_ranges known = { .r = f->to->r, .n = f->n_known };
	uintptr_t start = f->m->bias + value;
	size_t i = fl_ranges_find(&known, start);

	(void)name;
	if (!size || (i < known.n && known.r[i].start <= start))
		return 0;
	return add_text(f, (struct fl_range){ start, start + size, f->lsda, 0, 0, 0 });
}

/* ---- order --------------------------------------------------------------- */

/* Let element `i` of a heap of `n` sink. */
static void sink(struct fl_range *r, size_t i, size_t n)
{
	struct fl_range x = r[i];

	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && r[k + 1].start > r[k].start)
			k++;
		if (r[k].start <= x.start)
			break;
		r[i] = r[k];
	}
	r[i] = x;
}

static void sort_ranges(struct fl_range *r, size_t n)
{
	for (size_t i = n / 2; i--;)
		sink(r, i, n);
	while (n > 1) {
		struct fl_range last = r[--n];

		r[n] = r[0];
		r[0] = last;
		sink(r, 0, n);
	}
}

static bool is_sorted(const struct fl_range *r, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (r[i].start < r[i - 1].start)
			return false;
	return true;
}

/* Aliases have one start; what overlaps ends where the next begins. */
static size_t drop_overlaps(struct fl_range *r, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (to && r[i].start == r[to - 1].start)
			continue;
		if (to && r[to - 1].end > r[i].start)
			r[to - 1].end = r[i].start;
		r[to++] = r[i];
	}
	return to;
}

/* ---- gaps ---------------------------------------------------------------- */

enum { GAP_MIN = 32 };			/* less is padding between functions */

static void add_gap(struct fill *f, uintptr_t a, uintptr_t end)
{
	struct fl_range r = { .start = a, .end = end, .lsda = f->lsda, .is_gap = 1 };

	if (end > a && end - a >= GAP_MIN)
		add(f, &r);
}

/* Add what `known`, sorted, leaves of [a, end). */
static void add_gaps_of(struct fill *f, uintptr_t a, uintptr_t end)
{
	for (size_t i = 0; i < f->n_known; i++) {
		const struct fl_range r = f->to->r[i];

		if (r.end <= a || r.start >= end)
			continue;
		add_gap(f, a, r.start);
		a = r.end;
	}
	add_gap(f, a, end);
}

/* From the first to the last section of the segment that holds code. Linkers that do not
 * separate code put constants, and tables, before and behind it. */
static void narrow_to_code(const struct fl_module *m, const Elf64_Phdr *p, uintptr_t *a,
			   uintptr_t *end)
{
	uintptr_t first = UINTPTR_MAX, last = 0;

	for (size_t i = 0; m->file.sh && i < m->file.eh->e_shnum; i++) {
		const Elf64_Shdr *sh = &m->file.sh[i];

		if (!(sh->sh_flags & SHF_EXECINSTR) || sh->sh_addr - p->p_vaddr >= p->p_memsz ||
		    sh->sh_size > p->p_memsz - (sh->sh_addr - p->p_vaddr))
			continue;
		first = sh->sh_addr < first ? sh->sh_addr : first;
		last = sh->sh_addr + sh->sh_size > last ? sh->sh_addr + sh->sh_size : last;
	}
	if (first >= last)
		return;
	*a = m->bias + first;
	*end = m->bias + last;
}

static void add_gaps(struct fill *f)
{
	for (size_t i = 0; i < f->m->n_ph; i++) {
		const Elf64_Phdr *p = &f->m->ph[i];
		uintptr_t a = f->m->bias + p->p_vaddr, end = a + p->p_memsz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		narrow_to_code(f->m, p, &a, &end);
		add_gaps_of(f, a, end);
	}
}

/* The ranges behind those that are known are in order, too: put each where it belongs. They are
 * few, so what lies before the first of them stays. */
static int merge_added(struct fill *f)
{
	size_t n = f->n - f->n_known, i = f->n_known, bytes = n * sizeof(struct fl_range);
	struct fl_range *r = f->to->r, *more;

	if (!n || !i || r[i].start >= r[i - 1].start)
		return 0;
	more = fl_scratch_open(bytes);
	if (!more)
		return -ENOMEM;
	memcpy(more, r + i, bytes);
	for (size_t to = f->n; n; to--)
		r[to - 1] = i && r[i - 1].start > more[n - 1].start ? r[--i] : more[--n];
	fl_scratch_close(more, bytes);
	return 0;
}

/* Let `next` add to the ranges, and put all in order. */
static int extend(struct fill *f, void (*next)(struct fill *))
{
	struct fl_range *added;

	next(f);
	if (f->err || f->n == f->n_known)
		return f->err;
	added = f->to->r + f->n_known;
	if (!is_sorted(added, f->n - f->n_known))
		sort_ranges(added, f->n - f->n_known);
	f->err = merge_added(f);
	if (!f->err)
		f->n = f->n_known = drop_overlaps(f->to->r, f->n);
	return f->err;
}

/* Landing pads are code that only the unwinder reaches. Where its tables are not all
 * understood, any function that they do not know may have some. */
static bool may_have_pads(const struct fl_module *m)
{
	Elf64_Shdr sh;

	return !m->file.sh || fl_obj_section(&m->file, ".gcc_except_table", &sh);
}

static void add_frames(struct fill *f)
{
	f->lsda = fl_obj_frames(f->m, add_frame, f) && may_have_pads(f->m) ?
		FL_OBJ_UNKNOWN : 0;
}

static void add_symbols(struct fill *f)
{
	if (f->m->file.bytes)
		fl_obj_functions(&f->m->file, add_symbol, f);
}

static bool has_gaps(const struct fill *f)
{
	struct fill count = *f;

	count.counts = true;
	add_gaps(&count);
	return count.n > f->n;
}

int fl_ranges_open(struct fl_ranges *out, const struct fl_module *m)
{
	struct fill f = { .m = m, .to = out };
	int err;

	*out = (struct fl_ranges){ 0 };
	err = extend(&f, add_frames);
	if (!err && has_gaps(&f))
		err = extend(&f, add_symbols);
	if (!err)
		err = extend(&f, add_gaps);
	out->n = f.n;
	return err;
}

void fl_ranges_close(struct fl_ranges *r)
{
	fl_scratch_close(r->r, r->n_bytes);
	*r = (struct fl_ranges){ 0 };
}

size_t fl_ranges_find(const struct fl_ranges *r, uintptr_t a)
{
	size_t n = fl_rows_from(r->r, r->n, sizeof(*r->r), a);

	return n && a < r->r[n - 1].end ? n - 1 : n;
}
