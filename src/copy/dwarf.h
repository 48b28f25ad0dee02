/*
 * dwarf.h - write the bytes that tables for unwinding are made of, within room.
 *
 * A write that would go beyond the room writes nothing, and that is noted: so the caller
 * checks once, at the end. obj/cfi.h reads such bytes.
 */
#ifndef FL_COPY_DWARF_H
#define FL_COPY_DWARF_H

#include <string.h>

#include "obj/obj.h"

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

/* A LEB128 of exactly `n` bytes: each byte except the last says that there are more. */
static inline void fl_out_wide_leb(struct fl_out *o, uint64_t v, unsigned int n)
{
	for (; n > 1; n--, v >>= 7)
		fl_out_u8(o, (uint8_t)(v | 0x80));
	fl_out_u8(o, (uint8_t)(v & 0x7f));
}

/* The distance from here to `to`, in 4 bytes (DW_EH_PE_pcrel | sdata4). */
static inline void fl_out_offset(struct fl_out *o, uintptr_t to)
{
	int64_t v = (int64_t)(to - (uintptr_t)o->p);

	o->is_far |= v != (int32_t)v;
	fl_out_fixed(o, (uint64_t)v, 4);
}

/* A length that is known only when the bytes behind it have been written. */
enum { FL_LENGTH = 4 };		/* bytes of a length as LEB128 */
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
