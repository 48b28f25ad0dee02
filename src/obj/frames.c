/*
 * frames.c - where functions begin and end, by the tables for unwinding.
 *
 * Hides .eh_frame_hdr (a sorted table of starts) and as much of .eh_frame as
 * the length of a range takes. Stripped files have these tables too.
 */
#include <string.h>

#include "obj/obj.h"

enum {				/* DW_EH_PE_*, from the LSB */
	PE_OMIT = 0xff, PE_UDATA4 = 0x03, PE_DATAREL_SDATA4 = 0x3b
};

struct frames {
	const struct fl_module *m;
	const unsigned char *hdr;
	const unsigned char *entries;	/* pairs of offsets from `hdr` */
	size_t n;
	uintptr_t cie;			/* the one that `width` is from */
	unsigned int width;		/* bytes of an address in an FDE; 0: unknown */
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

/* The encoding that augmentation `z...` gives for addresses; PE_OMIT: none.
 * `p` stands at the augmentation's data. */
static uint8_t find_encoding(const char *augmentation, const unsigned char *p,
			     const unsigned char *end)
{
	for (const char *a = augmentation + 1; *a && p < end; a++) {
		if (*a == 'R')
			return *p;
		if (*a == 'P')
			p += 1 + width_of(*p);
		else if (*a == 'L')
			p++;
		else if (*a != 'S' && *a != 'B')
			return PE_OMIT;
	}
	return PE_OMIT;
}

/* Length, 0, version, augmentation, code and data alignment, return column. */
static unsigned int cie_width(const struct fl_module *m, uintptr_t cie)
{
	const unsigned char *p = fl_obj_bytes(m, cie, 4), *end, *nul;
	uint32_t n = p ? u32(p) : 0;
	uint8_t version;

	if (n < 9 || n > 4096 || !fl_obj_bytes(m, cie, n + 4) || u32(p + 4))
		return 0;
	end = p + 4 + n;
	version = p[8];
	p += 9;
	nul = memchr(p, '\0', end - p);
	if (!nul || *p != 'z')
		return nul == p ? 8 : 0;
	const char *augmentation = (const char *)p;

	p = skip_leb(skip_leb(nul + 1, end), end);
	p = version == 1 ? p + 1 : skip_leb(p, end);
	p = skip_leb(p, end);			/* length of the data */
	return width_of(find_encoding(augmentation, p, end));
}

/* Bytes of the function whose FDE stands at `fde`; 0: not understood. */
static uint64_t range_of(struct frames *f, uintptr_t fde)
{
	const unsigned char *p = fl_obj_bytes(f->m, fde, 24);
	uint64_t range = 0;
	uintptr_t cie;

	if (!p || u32(p) > UINT32_MAX - 16 || u32(p) < 12)
		return 0;
	cie = fde + 4 - u32(p + 4);
	if (cie != f->cie) {
		f->cie = cie;
		f->width = cie_width(f->m, cie);
	}
	if (f->width)
		memcpy(&range, p + 8 + f->width, f->width);
	return range;
}

static int tell_all(struct frames *f, int (*each)(void *, uintptr_t, uintptr_t),
		    void *arg)
{
	uintptr_t base = (uintptr_t)f->hdr, last = 0;

	for (size_t i = 0; i < f->n; i++) {
		uintptr_t at = base + (intptr_t)(int32_t)u32(f->entries + i * 8);
		uintptr_t fde = base + (intptr_t)(int32_t)u32(f->entries + i * 8 + 4);
		uint64_t n = at >= last ? range_of(f, fde) : 0;
		int err = n && at + n > at ? each(arg, at, at + n) : 0;

		if (err)
			return err;
		if (n)
			last = at;
	}
	return 0;
}

int fl_obj_frames(const struct fl_module *m,
		  int (*each)(void *arg, uintptr_t start, uintptr_t end), void *arg)
{
	struct frames f = { .m = m };

	for (size_t i = 0; i < m->n_ph; i++)
		if (m->ph[i].p_type == PT_GNU_EH_FRAME && open_header(&f, &m->ph[i]))
			return tell_all(&f, each, arg);
	return -ENOENT;
}
