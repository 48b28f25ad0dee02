/*
 * cfi.h - the door's part for tables for unwinding: bytes of them, an entry of .eh_frame, an
 * instruction of its program, and what .gcc_except_table says of its calls.
 *
 * Hides lengths that lie. A read beyond the end gives zeros and sets is_bad, at which the user
 * of the result looks once. No entry can make anything here take longer by what it claims.
 */
#ifndef FL_OBJ_CFI_H
#define FL_OBJ_CFI_H

#include <string.h>

#include "obj/obj.h"

enum {				/* DW_EH_PE_*, from the LSB */
	FL_PE_ABSOLUTE = 0x00, FL_PE_ULEB = 0x01, FL_PE_UDATA4 = 0x03, FL_PE_SLEB = 0x09,
	FL_PE_SDATA4 = 0x0b, FL_PE_PCREL = 0x10, FL_PE_DATAREL = 0x30, FL_PE_BASE = 0x70,
	FL_PE_INDIRECT = 0x80, FL_PE_OMIT = 0xff
};

/* ---- bytes --------------------------------------------------------------------- */

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

static inline uint8_t fl_in_u8(struct fl_in *in)
{
	return (uint8_t)fl_in_fixed(in, 1);
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
		uint64_t byte = fl_in_u8(in);

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

/* A part of `in`; `in` goes on behind the part. */
static inline struct fl_in fl_in_part(struct fl_in *in, uint64_t n)
{
	const unsigned char *p = fl_in_take(in, n);

	return p ? (struct fl_in){ .p = p, .end = p + n } : (struct fl_in){ .is_bad = true };
}

/* A part whose length stands at its head. */
static inline struct fl_in fl_in_block(struct fl_in *in)
{
	return fl_in_part(in, fl_in_uleb(in));
}

/* A value in this encoding; the base that it is relative to is not added. */
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

/* An address; 0: none. In a file that is only laid out, an absolute one gets the bias that the
 * loader would add. Bad: an indirect address, or one relative to anything but its own place. */
static inline uintptr_t fl_in_pointer(struct fl_in *in, const struct fl_module *m,
				      uint8_t encoding)
{
	uintptr_t at = (uintptr_t)in->p;
	uint64_t v = fl_in_value(in, encoding);
	uint8_t base = encoding & (FL_PE_BASE | FL_PE_INDIRECT);

	in->is_bad |= base && base != FL_PE_PCREL;
	if (!v || in->is_bad)
		return 0;
	if (base)
		return at + v;
	return m->laid_out && v - m->lo >= m->hi - m->lo ? v + m->bias : v;
}

/* ---- an entry -------------------------------------------------------------------- */

/* The part of their entries that many functions have in common. */
struct fl_cie {
	uintptr_t at;
	struct fl_in program;		/* the rules where a function begins */
	uint64_t code_align;
	int64_t data_align;
	uint64_t column;		/* of the return address */
	uintptr_t personality;		/* 0: none */
	uint8_t personality_how;	/* FL_PE_INDIRECT: its address stands there; or 0 */
	uint8_t pointers, lsda;		/* encodings in its FDEs; lsda: or FL_PE_OMIT */
	bool has_data;			/* FDEs have augmentation data */
	bool is_signal;			/* the kernel makes such frames, for signals */
	bool has_other_key;		/* AArch64: return addresses are signed with key B */
};

/* The entry of one function. */
struct fl_fde {
	const struct fl_module *m;
	struct fl_cie cie;
	uintptr_t start, end;
	uintptr_t lsda;			/* 0: none; or FL_OBJ_UNKNOWN */
	struct fl_in program;		/* the rules, and from which place on each holds */
};

/* ---- an instruction ------------------------------------------------------------- */

/* DW_CFA_*. Forms of one instruction share a name; FL_CFA_OTHER are those nobody asks for. */
enum {
	FL_CFA_SET_LOC = 0x01, FL_CFA_UNDEFINED = 0x07, FL_CFA_REMEMBER = 0x0a,
	FL_CFA_RESTORE_STATE = 0x0b, FL_CFA_DEF = 0x0c, FL_CFA_DEF_REGISTER = 0x0d,
	FL_CFA_DEF_OFFSET = 0x0e, FL_CFA_DEF_EXPRESSION = 0x0f, FL_CFA_ARGS_SIZE = 0x2e,
	FL_CFA_ADVANCE = 0x40,
	FL_CFA_OFFSET = 0x80, FL_CFA_RESTORE = 0xc0, FL_CFA_OTHER = 0xff
};

struct fl_cfi_insn {
	const unsigned char *bytes;	/* they end where the program goes on */
	uint8_t op;
	uint64_t reg;			/* 0 without; of two registers the first */
	uint64_t value;			/* in bytes, or an address */
};

/* ---- where exceptions land --------------------------------------------------------- */

/* A function's table in .gcc_except_table. */
struct fl_lsda {
	uintptr_t start, end;		/* of the function */
	uintptr_t pads;			/* the base from which pads are counted */
	uint8_t type_how;
	uintptr_t types;		/* the end of the table of types */
	uint8_t site_how;
	struct fl_in sites;
	struct fl_in actions;		/* to the end of what can be read */
};

struct fl_call_site {
	uintptr_t from, to, pad;	/* pad: 0 none */
	uint64_t action;		/* 1 + where in the actions; 0 none */
};

/* False: the table is not understood. */
static inline bool fl_lsda_open(struct fl_lsda *l, const struct fl_module *m, uintptr_t lsda,
				uintptr_t start, uintptr_t end)
{
	struct fl_in in = fl_in_from(m, lsda);
	uint8_t how = fl_in_u8(&in);

	*l = (struct fl_lsda){ .start = start, .end = end, .pads = start };
	if (how != FL_PE_OMIT)
		l->pads = fl_in_pointer(&in, m, how);
	l->type_how = fl_in_u8(&in);
	if (l->type_how != FL_PE_OMIT) {
		l->types = fl_in_uleb(&in);
		l->types += (uintptr_t)in.p;
	}
	l->site_how = fl_in_u8(&in);
	l->sites = fl_in_block(&in);
	l->actions = in;
	return !in.is_bad && !(l->site_how & (FL_PE_BASE | FL_PE_INDIRECT));
}

/* The next call site. False: there is none, or the table is bad. */
static inline bool fl_lsda_next(struct fl_lsda *l, struct fl_call_site *s)
{
	struct fl_in *in = &l->sites;
	uint64_t from, n, pad, length = l->end - l->start;

	if (in->p == in->end || in->is_bad)
		return false;
	from = fl_in_value(in, l->site_how);
	n = fl_in_value(in, l->site_how);
	pad = fl_in_value(in, l->site_how);
	s->action = fl_in_uleb(in);
	in->is_bad |= n > length || from > length - n;
	s->from = l->start + from;
	s->to = s->from + n;
	s->pad = pad ? l->pads + pad : 0;
	return !in->is_bad;
}

#endif
