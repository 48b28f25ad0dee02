/*
 * ranges.c - scratch memory, and where functions begin and end.
 *
 * Hides which table of the module knows it: .eh_frame_hdr, that stripped files
 * have too, else symbols, else nothing but the executable segments.
 */
#include <string.h>
#include <sys/mman.h>

#include "scan.h"

void *fl_scratch_open(size_t n_bytes)
{
	void *p = fl_os_map(NULL, n_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return fl_is_err(p) ? NULL : p;
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

/* ---- gathering --------------------------------------------------------------- */

struct fill {
	const struct fl_module *m;
	struct fl_ranges *to;		/* NULL: only count */
	size_t n;
};

static int add_range(void *arg, uintptr_t start, uintptr_t end)
{
	struct fill *f = arg;
	size_t left = fl_text_bytes(f->m, start);

	if (!left)
		return 0;
	if (end - start > left)
		end = start + left;
	if (f->to)
		f->to->r[f->n] = (struct fl_range){ start, end };
	f->n++;
	return 0;
}

static int add_symbol(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct fill *f = arg;

	(void)name;
	return size ? add_range(arg, f->m->bias + value, f->m->bias + value + size) : 0;
}

static void tell_segments(struct fill *f)
{
	for (size_t i = 0; i < f->m->n_ph; i++) {
		const Elf64_Phdr *p = &f->m->ph[i];
		uintptr_t a = f->m->bias + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			add_range(f, a, a + p->p_memsz);
	}
}

enum source { FRAMES, SYMBOLS, SEGMENTS };

static size_t tell_ranges(const struct fl_module *m, enum source from,
			  struct fl_ranges *to)
{
	struct fill f = { .m = m, .to = to };

	if (from == FRAMES)
		fl_obj_frames(m, add_range, &f);
	else if (from == SYMBOLS && m->file.bytes)
		fl_obj_functions(&m->file, add_symbol, &f);
	else if (from == SEGMENTS)
		tell_segments(&f);
	return f.n;
}

/* ---- order --------------------------------------------------------------------- */

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

int fl_ranges_open(struct fl_ranges *out, const struct fl_module *m)
{
	enum source from = FRAMES;
	size_t n;

	*out = (struct fl_ranges){ 0 };
	while (!(n = tell_ranges(m, from, NULL)) && from < SEGMENTS)
		from++;
	if (!n)
		return 0;
	out->n_bytes = n * sizeof *out->r;
	out->r = fl_scratch_open(out->n_bytes);
	if (!out->r)
		return -ENOMEM;
	n = tell_ranges(m, from, out);
	if (!is_sorted(out->r, n))
		sort_ranges(out->r, n);
	out->n = drop_overlaps(out->r, n);
	out->are_functions = from != SEGMENTS;
	return 0;
}

void fl_ranges_close(struct fl_ranges *r)
{
	fl_scratch_close(r->r, r->n_bytes);
	*r = (struct fl_ranges){ 0 };
}

size_t fl_ranges_find(const struct fl_ranges *r, uintptr_t a)
{
	size_t lo = 0, hi = r->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->r[mid].end <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
