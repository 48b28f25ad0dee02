/*
 * frames.c - where functions begin and end, and where exceptions land in them,
 * by the tables for unwinding.
 *
 * Hides .eh_frame_hdr (a sorted table of starts), as much of .eh_frame as the
 * length of a range and its first row take, and the call sites of .gcc_except_table.
 * Stripped files have these tables too.
 */
#include <string.h>

#include "arch/arch.h"
#include "obj/obj.h"

enum {				/* DW_EH_PE_*, from the LSB */
	PE_OMIT = 0xff, PE_ULEB = 0x01, PE_UDATA4 = 0x03, PE_DATAREL_SDATA4 = 0x3b,
	PE_SIGNED = 0x08, PE_PCREL = 0x10, PE_BASE = 0xf0
};

struct cursor {
	const unsigned char *p, *end;
	bool is_short;			/* what is read ends too early */
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
	bool is_signal;			/* it is of frames that the kernel makes */
	struct cursor rows;		/* its instructions */
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

static uint64_t read_leb(struct cursor *l)
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

/* What has its own length at its head. */
static void skip_block(struct cursor *l)
{
	uint64_t n = read_leb(l);

	if (n > (size_t)(l->end - l->p))
		l->is_short = true;
	else
		l->p += n;
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
		else if (*a == 'S')
			f->is_signal = true;
		else if (*a != 'B')
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
	f->has_data = f->is_signal = false;
	if (n < 9 || n > 4096 || !fl_obj_bytes(f->m, cie, n + 4) || u32(p + 4))
		return;
	end = p + 4 + n;
	version = p[8];
	p += 9;
	nul = memchr(p, '\0', end - p);
	if (!nul || (*p != 'z' && nul != p))
		return;
	const char *augmentation = (const char *)p;

	p = skip_leb(skip_leb(nul + 1, end), end);
	p = version == 1 ? p + 1 : skip_leb(p, end);
	f->rows = (struct cursor){ p, end, false };
	f->width = 8;
	if (!*augmentation)
		return;
	skip_block(&f->rows);
	f->has_data = true;
	if (!read_augmentation(f, augmentation, skip_leb(p, end), end))
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

typedef int frame_each(void *arg, const struct fl_obj_frame *);

static int tell_all(struct frames *f, frame_each *each, void *arg)
{
	uintptr_t base = (uintptr_t)f->hdr, last = 0, lsda;
	int n_left = 0;

	for (size_t i = 0; i < f->n; i++) {
		uintptr_t at = base + (intptr_t)(int32_t)u32(f->entries + i * 8);
		uintptr_t fde = base + (intptr_t)(int32_t)u32(f->entries + i * 8 + 4);
		uint64_t n = at >= last ? range_of(f, fde, &lsda) : 0;
		bool is_good = n && at + n > at;
		int err = is_good ?
			each(arg, &(struct fl_obj_frame){ at, at + n, lsda, fde }) : 0;

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

/* ---- the first row -------------------------------------------------------- */

struct row {
	uint64_t reg, offset;		/* the CFA is so far above that register */
	bool is_first, is_odd;
};

enum {				/* DW_CFA_* */
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_HIGH = 0xc0,
	CFA_SET_LOC = 0x01, CFA_ADVANCE4 = 0x04, CFA_UNDEFINED = 0x07, CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d, CFA_DEF_OFFSET = 0x0e, CFA_DEF_EXPRESSION = 0x0f,
	CFA_DEF_SF = 0x12, CFA_DEF_OFFSET_SF = 0x13
};

/* How many numbers follow an instruction, and 4 a block; 8: it is not understood. */
static const uint8_t operands[] = {
	[0x05] = 2, [0x06] = 1, [0x07] = 1, [0x08] = 1, [0x09] = 2, [0x0c] = 2, [0x0d] = 1,
	[0x0e] = 1, [0x0f] = 4, [0x10] = 5, [0x11] = 2, [0x12] = 2, [0x13] = 1, [0x14] = 2,
	[0x15] = 2, [0x16] = 5, [0x17] = 8, [0x18] = 8, [0x19] = 8, [0x1a] = 8, [0x1b] = 8,
	[0x1c] = 8, [0x1d] = 8, [0x1e] = 8, [0x1f] = 8, [0x20] = 8, [0x21] = 8, [0x22] = 8,
	[0x23] = 8, [0x24] = 8, [0x25] = 8, [0x26] = 8, [0x27] = 8, [0x28] = 8, [0x29] = 8,
	[0x2a] = 8, [0x2b] = 8, [0x2c] = 8, [0x2d] = 0, [0x2e] = 1, [0x2f] = 2,
};

static void take_rule(struct row *r, uint8_t op, const uint64_t v[2])
{
	switch (op) {
	case CFA_UNDEFINED:
		r->is_first |= v[0] == FL_ARCH_DWARF_RETURN;
		break;
	case CFA_DEF:
		r->reg = v[0];
		r->offset = v[1];
		break;
	case CFA_DEF_REGISTER:
		r->reg = v[0];
		break;
	case CFA_DEF_OFFSET:
		r->offset = v[0];
		break;
	case CFA_DEF_EXPRESSION: case CFA_DEF_SF: case CFA_DEF_OFFSET_SF:
		r->reg = UINT64_MAX;
		break;
	}
}

/* As far as the first row goes. */
static void read_first(struct row *r, struct cursor c)
{
	while (c.p < c.end && !c.is_short) {
		uint8_t op = *c.p++, high = op & CFA_HIGH, form;
		uint64_t v[2] = { 0 };

		if (high == CFA_ADVANCE || (op >= CFA_SET_LOC && op <= CFA_ADVANCE4))
			return;
		form = high == CFA_OFFSET ? 1 : high == CFA_RESTORE ? 0 :
			op < sizeof operands ? operands[op] : 8;
		r->is_odd |= form == 8;
		if (form == 8)
			return;
		for (unsigned int i = 0; i < (form & 3); i++)
			v[i] = read_leb(&c);
		if (form & 4)
			skip_block(&c);
		if (!high)
			take_rule(r, op, v);
	}
	r->is_odd |= c.is_short;
}

enum fl_obj_begin fl_obj_begins(const struct fl_module *m, uintptr_t fde)
{
	struct frames f = { .m = m };
	struct row r = { 0 };
	struct cursor rows;
	uintptr_t lsda;

	if (!range_of(&f, fde, &lsda) || !fl_obj_bytes(m, fde, 4 + u32((const void *)fde)))
		return FL_OBJ_ODD;
	rows.p = (const unsigned char *)fde + 8 + 2 * f.width;
	rows.end = (const unsigned char *)fde + 4 + u32((const void *)fde);
	rows.is_short = false;
	if (f.has_data)
		skip_block(&rows);
	read_first(&r, f.rows);
	if (!rows.is_short)
		read_first(&r, rows);
	if (r.is_odd || rows.is_short)
		return FL_OBJ_ODD;
	return f.is_signal ? FL_OBJ_SIGNAL : r.is_first ? FL_OBJ_FIRST :
	       r.reg == FL_ARCH_DWARF_SP && r.offset == FL_ARCH_DWARF_CALLED ?
	       FL_OBJ_CALLED : FL_OBJ_INSIDE;
}

/* ---- landing pads -------------------------------------------------------- */

/* A number of a call site; unsigned in every encoding that is in use. */
static uint64_t read_number(struct cursor *l, uint8_t encoding)
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

static uint8_t read_byte(struct cursor *l)
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
	struct cursor l = { .p = (const unsigned char *)lsda };
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
