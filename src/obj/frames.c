/*
 * frames.c - where functions begin and end, and where exceptions land in them,
 * by the tables for unwinding.
 *
 * Hides .eh_frame_hdr (a sorted table of starts), as much of .eh_frame as the
 * length of a range takes, and the call sites of .gcc_except_table. Stripped
 * files have these tables too.
 */
#include <string.h>

#include "obj/obj.h"

enum {				/* DW_EH_PE_*, from the LSB */
	PE_OMIT = 0xff, PE_ULEB = 0x01, PE_UDATA4 = 0x03, PE_DATAREL_SDATA4 = 0x3b,
	PE_SIGNED = 0x08, PE_PCREL = 0x10, PE_BASE = 0xf0
};

struct frames {
	const struct fl_module *m;
	const unsigned char *hdr;
	const unsigned char *entries;	/* pairs of offsets from `hdr` */
	size_t n;
	uintptr_t cie;			/* the one that `width` is from */
	unsigned int width;		/* bytes of an address in an FDE; 0: unknown */
	uint8_t lsda;			/* how an FDE names its table; PE_OMIT: not at all */
	bool has_data;			/* its augmentation has a length */
};

/* Bytes of a value in this encoding; 0: of no fixed length. */
static unsigned int width_of(uint8_t encoding)
{
	switch (encoding & 15) {
	case 0x00: case 0x04: case 0x0c:
		return 8;
	case 0x03: case 0x0b:
		return 4;
	case 0x02: case 0x0a:
		return 2;
	}
	return 0;
}

static uint32_t u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static bool open_header(struct frames *f, const Elf64_Phdr *ph)
{
	uintptr_t at = f->m->bias + ph->p_vaddr;
	const unsigned char *h = fl_obj_bytes(f->m, at, ph->p_memsz);
	size_t skip;

	if (!h || ph->p_memsz < 12 || h[0] != 1 || h[2] != PE_UDATA4 ||
	    h[3] != PE_DATAREL_SDATA4)
		return false;
	skip = 4 + (h[1] == PE_OMIT ? 0 : width_of(h[1]));
	if (skip + 4 > ph->p_memsz)
		return false;
	f->hdr = h;
	f->entries = h + skip + 4;
	f->n = u32(h + skip);
	return f->n <= (ph->p_memsz - skip - 4) / 8;
}

static const unsigned char *skip_leb(const unsigned char *p, const unsigned char *end)
{
	while (p < end && (*p & 0x80))
		p++;
	return p < end ? p + 1 : end;
}

/* What augmentation `z...` says; `p` stands at its data. False: not understood. */
static bool read_augmentation(struct frames *f, const char *augmentation,
			      const unsigned char *p, const unsigned char *end)
{
	for (const char *a = augmentation + 1; *a && p < end; a++) {
		if (*a == 'R')
			f->width = width_of(*p++);
		else if (*a == 'L')
			f->lsda = *p++;
		else if (*a == 'P')
			p += 1 + width_of(*p);
		else if (*a != 'S' && *a != 'B')
			return false;
	}
	return true;
}

/* Length, 0, version, augmentation, code and data alignment, return column. */
static void read_cie(struct frames *f, uintptr_t cie)
{
	const unsigned char *p = fl_obj_bytes(f->m, cie, 4), *end, *nul;
	uint32_t n = p ? u32(p) : 0;
	uint8_t version;

	f->cie = cie;
	f->width = 0;
	f->lsda = PE_OMIT;
	f->has_data = false;
	if (n < 9 || n > 4096 || !fl_obj_bytes(f->m, cie, n + 4) || u32(p + 4))
		return;
	end = p + 4 + n;
	version = p[8];
	p += 9;
	nul = memchr(p, '\0', end - p);
	if (!nul || *p != 'z') {
		f->width = nul == p ? 8 : 0;
		return;
	}
	const char *augmentation = (const char *)p;

	p = skip_leb(skip_leb(nul + 1, end), end);
	p = version == 1 ? p + 1 : skip_leb(p, end);
	p = skip_leb(p, end);			/* length of the data */
	f->has_data = true;
	if (!read_augmentation(f, augmentation, p, end))
		f->width = 0;
}

/* A pointer of this encoding; its bytes are there. 0: none. */
static uintptr_t read_pointer(const struct fl_module *m, uint8_t encoding,
			      const unsigned char *p)
{
	unsigned int width = width_of(encoding);
	uint64_t v = 0;

	if (!width || ((encoding & PE_BASE) && (encoding & PE_BASE) != PE_PCREL))
		return FL_OBJ_UNKNOWN;
	memcpy(&v, p, width);
	if ((encoding & PE_SIGNED) && width < 8 && v >> (width * 8 - 1))
		v |= ~0ull << width * 8;
	if (!v)
		return 0;
	if (encoding & PE_PCREL)
		return (uintptr_t)p + v;
	return m->laid_out && v - m->lo >= m->hi - m->lo ? v + m->bias : v;
}

/* The table of exceptions that the augmentation's data at `at` name. */
static uintptr_t lsda_at(const struct frames *f, uintptr_t at, uintptr_t end)
{
	const unsigned char *p = (const unsigned char *)at;

	if (!f->has_data || f->lsda == PE_OMIT)
		return 0;
	p = skip_leb(p, (const unsigned char *)end);
	return (uintptr_t)p + width_of(f->lsda) <= end ?
		read_pointer(f->m, f->lsda, p) : FL_OBJ_UNKNOWN;
}

/* Bytes of the function whose FDE stands at `fde`; 0: not understood. */
static uint64_t range_of(struct frames *f, uintptr_t fde, uintptr_t *lsda)
{
	const unsigned char *p = fl_obj_bytes(f->m, fde, 24);
	uint64_t range = 0;
	uintptr_t cie;

	if (!p || u32(p) > UINT32_MAX - 16 || u32(p) < 12)
		return 0;
	cie = fde + 4 - u32(p + 4);
	if (cie != f->cie)
		read_cie(f, cie);
	if (f->width)
		memcpy(&range, p + 8 + f->width, f->width);
	*lsda = !range ? 0 : fl_obj_bytes(f->m, fde, 4 + u32(p)) ?
		lsda_at(f, fde + 8 + 2 * f->width, fde + 4 + u32(p)) : FL_OBJ_UNKNOWN;
	return range;
}

typedef int frame_each(void *arg, uintptr_t start, uintptr_t end, uintptr_t lsda);

static int tell_all(struct frames *f, frame_each *each, void *arg)
{
	uintptr_t base = (uintptr_t)f->hdr, last = 0, lsda;
	int n_left = 0;

	for (size_t i = 0; i < f->n; i++) {
		uintptr_t at = base + (intptr_t)(int32_t)u32(f->entries + i * 8);
		uintptr_t fde = base + (intptr_t)(int32_t)u32(f->entries + i * 8 + 4);
		uint64_t n = at >= last ? range_of(f, fde, &lsda) : 0;
		bool is_good = n && at + n > at;
		int err = is_good ? each(arg, at, at + n, lsda) : 0;

		if (err)
			return err;
		n_left += !is_good;
		if (n)
			last = at;
	}
	return n_left;
}

int fl_obj_frames(const struct fl_module *m, frame_each *each, void *arg)
{
	struct frames f = { .m = m };

	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_GNU_EH_FRAME && open_header(&f, &m->ph[i]))
			return tell_all(&f, each, arg);
	return -ENOENT;
}

/* ---- landing pads -------------------------------------------------------- */

struct lsda {
	const unsigned char *p, *end;
	bool is_short;			/* the table ends too early */
};

static uint64_t read_leb(struct lsda *l)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; l->p < l->end && shift < 64; shift += 7) {
		v |= (uint64_t)(*l->p & 0x7f) << shift;
		if (!(*l->p++ & 0x80))
			return v;
	}
	l->is_short = true;
	return 0;
}

/* A number of a call site; unsigned in every encoding that is in use. */
static uint64_t read_number(struct lsda *l, uint8_t encoding)
{
	size_t width = width_of(encoding);
	uint64_t v = 0;

	if (encoding == PE_ULEB)
		return read_leb(l);
	if (!width || (encoding & PE_BASE) || (size_t)(l->end - l->p) < width) {
		l->is_short = true;
		return 0;
	}
	memcpy(&v, l->p, width);
	l->p += width;
	return v;
}

static uint8_t read_byte(struct lsda *l)
{
	if (l->p < l->end)
		return *l->p++;
	l->is_short = true;
	return PE_OMIT;
}

int fl_obj_pads(const struct fl_module *m, uintptr_t lsda, uintptr_t start, uintptr_t end,
		int (*each)(void *arg, uintptr_t from, uintptr_t to, uintptr_t pad),
		void *arg)
{
	struct lsda l = { .p = (const unsigned char *)lsda };
	uint64_t last = 0, n;
	uint8_t encoding;

	l.end = l.p + fl_obj_left(m, lsda);
	if (read_byte(&l) != PE_OMIT)
		return FLE_TRUNCATED;		/* pads of another base: nobody's */
	if (read_byte(&l) != PE_OMIT)
		read_leb(&l);			/* where the types end */
	encoding = read_byte(&l);
	n = read_leb(&l);
	if (l.is_short || n > (size_t)(l.end - l.p))
		return FLE_TRUNCATED;
	l.end = l.p + n;
	while (l.p < l.end) {
		uint64_t from = read_number(&l, encoding);
		uint64_t length = read_number(&l, encoding);
		uint64_t pad = read_number(&l, encoding);
		int err;

		read_leb(&l);			/* what is caught */
		if (l.is_short || from < last || !length || length > end - start ||
		    from > end - start - length)
			return FLE_TRUNCATED;
		last = from + length;
		err = pad ? each(arg, start + from, start + last, start + pad) : 0;
		if (err)
			return err;
	}
	return 0;
}
