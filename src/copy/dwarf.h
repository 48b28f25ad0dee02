/*
 * dwarf.h - the bytes that tables for unwinding are made of: read within bounds,
 * written within room.
 *
 * Hides lengths that lie. Who reads beyond the end gets zeros, who writes beyond the
 * room nothing is written, and either is noted; whoever uses the result looks once.
 */
#ifndef FL_COPY_DWARF_H
#define FL_COPY_DWARF_H

#include <string.h>

#include "obj/obj.h"

enum {				/* DW_EH_PE_*, from the LSB */
	FL_PE_ABSOLUTE = 0x00, FL_PE_ULEB = 0x01, FL_PE_UDATA4 = 0x03, FL_PE_SLEB = 0x09,
	FL_PE_SDATA4 = 0x0b, FL_PE_SIGNED = 0x08, FL_PE_PCREL = 0x10, FL_PE_DATAREL = 0x30,
	FL_PE_BASE = 0x70, FL_PE_INDIRECT = 0x80, FL_PE_OMIT = 0xff
};

/* ---- read ---------------------------------------------------------------------- */

struct fl_in {
	const unsigned char *p, *end;
	bool is_bad;			/* something was not there, or not understood */
};

/* What can be read from address `at` on. */
static inline struct fl_in fl_in_from(const struct fl_module *m, uintptr_t at)
{
	const unsigned char *p = (const unsigned char *)at;

	return (struct fl_in){ .p = p, .end = p + fl_obj_left(m, at) };
}

/* The next `n` bytes; NULL when there are fewer. */
static inline const unsigned char *fl_in_take(struct fl_in *in, uint64_t n)
{
	const unsigned char *p = in->p;

	if (n > (size_t)(in->end - p)) {
		in->is_bad = true;
		in->p = in->end;
		return NULL;
	}
	in->p += n;
	return p;
}

/* `n` bytes, at most 8, the lowest first. */
static inline uint64_t fl_in_fixed(struct fl_in *in, unsigned int n)
{
	const unsigned char *p = fl_in_take(in, n);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, n);
	return v;
}

static inline uint64_t fl_in_signed(struct fl_in *in, unsigned int n)
{
	uint64_t v = fl_in_fixed(in, n);

	return n < 8 && v >> (n * 8 - 1) ? v | ~0ull << n * 8 : v;
}

/* Seven bits a byte, at most ten bytes. */
static inline uint64_t fl_in_leb(struct fl_in *in, unsigned int *bits)
{
	uint64_t v = 0;

	if (in->p < in->end && *in->p < 0x80) {		/* most have one */
		*bits = 7;
		return *in->p++;
	}
	for (*bits = 0; *bits < 70;) {
		uint64_t byte = fl_in_fixed(in, 1);

		v |= (byte & 0x7f) << (*bits < 63 ? *bits : 63);
		*bits += 7;
		if (!(byte & 0x80))
			return v;
	}
	in->is_bad = true;
	return 0;
}

static inline uint64_t fl_in_uleb(struct fl_in *in)
{
	unsigned int bits;

	return fl_in_leb(in, &bits);
}

static inline int64_t fl_in_sleb(struct fl_in *in)
{
	unsigned int bits;
	uint64_t v = fl_in_leb(in, &bits);

	return (int64_t)(bits < 64 && v >> (bits - 1) & 1 ? v | ~0ull << bits : v);
}

/* A part of `in`, which goes on behind it. */
static inline struct fl_in fl_in_part(struct fl_in *in, uint64_t n)
{
	const unsigned char *p = fl_in_take(in, n);

	return p ? (struct fl_in){ .p = p, .end = p + n } : (struct fl_in){ .is_bad = true };
}

/* A value in this encoding, without what it is relative to. */
static inline uint64_t fl_in_value(struct fl_in *in, uint8_t encoding)
{
	switch (encoding & 15) {
	case 0x00: case 0x04: case 0x0c:
		return fl_in_fixed(in, 8);
	case 0x01:
		return fl_in_uleb(in);
	case 0x09:
		return (uint64_t)fl_in_sleb(in);
	case 0x02:
		return fl_in_fixed(in, 2);
	case 0x03:
		return fl_in_fixed(in, 4);
	case 0x0a:
		return fl_in_signed(in, 2);
	case 0x0b:
		return fl_in_signed(in, 4);
	}
	in->is_bad = true;
	return 0;
}

/* An address, of what an indirect one names the slot; 0: none. Of a file that is only
 * laid out, one that the loader would have moved. */
static inline uintptr_t fl_in_pointer(struct fl_in *in, const struct fl_module *m,
				      uint8_t encoding)
{
	uintptr_t at = (uintptr_t)in->p;
	uint64_t v = fl_in_value(in, encoding);

	if ((encoding & FL_PE_BASE) && (encoding & FL_PE_BASE) != FL_PE_PCREL)
		in->is_bad = true;
	if (!v || in->is_bad)
		return 0;
	if (encoding & FL_PE_PCREL)
		return at + v;
	return m->laid_out && v - m->lo >= m->hi - m->lo ? v + m->bias : v;
}

/* ---- write ----------------------------------------------------------------------- */

struct fl_out {
	unsigned char *p, *end;
	bool is_full;			/* something found no room */
	bool is_far;			/* ... or lies beyond 2 GiB */
};

static inline void fl_out_bytes(struct fl_out *o, const void *from, size_t n)
{
	if (n > (size_t)(o->end - o->p)) {
		o->is_full = true;
		return;
	}
	memcpy(o->p, from, n);
	o->p += n;
}

static inline void fl_out_u8(struct fl_out *o, uint8_t v)
{
	fl_out_bytes(o, &v, 1);
}

/* `n` bytes, at most 8, the lowest first. */
static inline void fl_out_fixed(struct fl_out *o, uint64_t v, unsigned int n)
{
	fl_out_bytes(o, &v, n);
}

static inline void fl_out_uleb(struct fl_out *o, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		fl_out_u8(o, (uint8_t)(v | 0x80));
	fl_out_u8(o, (uint8_t)v);
}

static inline void fl_out_sleb(struct fl_out *o, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		fl_out_u8(o, (uint8_t)(v | 0x80));
	fl_out_u8(o, (uint8_t)(v & 0x7f));
}

/* Of exactly `n` bytes, of which each but the last says that there are more. */
static inline void fl_out_wide_leb(struct fl_out *o, uint64_t v, unsigned int n)
{
	for (; n > 1; n--, v >>= 7)
		fl_out_u8(o, (uint8_t)(v | 0x80));
	fl_out_u8(o, (uint8_t)(v & 0x7f));
}

/* How far it is to `to` from here, in 4 bytes (DW_EH_PE_pcrel | sdata4). */
static inline void fl_out_offset(struct fl_out *o, uintptr_t to)
{
	int64_t v = (int64_t)(to - (uintptr_t)o->p);

	o->is_far |= v != (int32_t)v;
	fl_out_fixed(o, (uint64_t)v, 4);
}

/* A length that is known once what it counts has been written. */
enum { FL_LENGTH = 4 };		/* bytes of one as LEB128 */
static inline unsigned char *fl_out_begin(struct fl_out *o)
{
	fl_out_wide_leb(o, 0, FL_LENGTH);
	return o->p;
}

static inline void fl_out_end(struct fl_out *o, unsigned char *begin)
{
	struct fl_out length = { .p = begin - FL_LENGTH, .end = begin };

	if (o->is_full)
		return;
	fl_out_wide_leb(&length, (size_t)(o->p - begin), FL_LENGTH);
	o->is_full |= (size_t)(o->p - begin) >> 7 * FL_LENGTH;
}

#endif
