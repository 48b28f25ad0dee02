/*
 * fde.c - the entry of a function in .eh_frame, written for a body.
 *
 * Hides which of many encodings a body's CIE and FDE have: distances of 4 bytes. The
 * personality is the exception: its address is written as it is. An LSDA lies inside of its
 * FDE, at the end of the augmentation data, so all that a piece has is one appended run of
 * bytes.
 *
 *	length | distance to its CIE | to the start | bytes | n | to the LSDA | origins | LSDA |
 *	                                                         `-------- n bytes --------'
 *	rows
 *
 * What is between the distance to the LSDA and the LSDA itself is ours alone (origins.c).
 */
#include "copy/unwind.h"

enum { EH_ALIGN = 4, HEAD = 8 /* a length, and a CIE's 0 */ };
static const uint8_t near_pointer = FL_PE_PCREL | FL_PE_SDATA4;

/* The length is stored last: until then a reader finds a 0, which ends the entries. */
static void end_entry(struct fl_out *o, unsigned char *entry)
{
	uint32_t n;

	while ((uintptr_t)o->p % EH_ALIGN && !o->is_full)
		fl_out_u8(o, 0);
	n = (uint32_t)(o->p - entry - 4);
	if (!o->is_full)
		store_release((uint32_t *)entry, n);	/* ordering: none */
}

int fl_cie_write(struct fl_out *o, const struct fl_fde *fde)
{
	const struct fl_cie *c = &fde->cie;
	unsigned char *entry = o->p;
	int err;

	if (c->has_other_key)
		return FLE_UNWIND;
	fl_out_fixed(o, 0, HEAD);
	fl_out_u8(o, 3);
	fl_out_bytes(o, "zPL", c->personality ? 3 : 1);
	fl_out_bytes(o, "RS", c->is_signal ? 2 : 1);
	fl_out_u8(o, 0);
	fl_out_uleb(o, 1);			/* programs count bytes */
	fl_out_sleb(o, c->data_align);
	fl_out_uleb(o, c->column);
	if (c->personality) {
		fl_out_uleb(o, 1 + 8 + 1 + 1);
		fl_out_u8(o, FL_PE_ABSOLUTE | c->personality_how);
		fl_out_fixed(o, c->personality, 8);
		fl_out_u8(o, near_pointer);	/* L */
	} else {
		fl_out_uleb(o, 1);
	}
	fl_out_u8(o, near_pointer);		/* R */
	err = fl_cie_rows_write(o, fde);
	end_entry(o, entry);
	return err;
}

/* The augmentation data: with a personality the distance to an LSDA, or 0. */
static int put_data(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_body *b,
		    const struct fl_unwind_piece *p)
{
	bool has_lsda = f->cie.personality && f->lsda && p->kind != FL_PIECE_LANDINGS;
	unsigned char *begin = fl_out_begin(o), *to_lsda = o->p;
	int err = 0;

	if (f->cie.personality)
		fl_out_fixed(o, 0, 4);
	fl_origins_write(o, f, p);
	if (has_lsda && !o->is_full) {
		fl_out_offset(&(struct fl_out){ .p = to_lsda, .end = o->p }, (uintptr_t)o->p);
		err = fl_lsda_write(o, f, b, p);
	}
	fl_out_end(o, begin);
	return err;
}

/* Rows nearly always ascend, so all are looked at, without a branch for each. */
static bool rows_ascend(const struct fl_unwind_piece *p)
{
	const struct fl_unwind_row *r = p->rows;
	bool is_bad = false;

	for (uint32_t i = 1; i < p->n; i++)
		is_bad |= r[i].at < r[i - 1].at || r[i].offset < r[i - 1].offset;
	return !is_bad;
}

static bool fits_original(const struct fl_fde *f, const struct fl_unwind_piece *p)
{
	const struct fl_unwind_row *r = p->rows;
	uintptr_t bytes = p->end - p->start;

	if (!p->n || bytes > INT32_MAX)
		return false;
	if (p->kind == FL_PIECE_LANDINGS)
		return p->steps[0].at >= f->start && p->steps[p->n - 1].at < f->end &&
		       (uintptr_t)p->n * FL_ARCH_LANDED_BYTES == bytes;
	return !r->offset && r->at >= f->start && r[p->n - 1].at < f->end &&
	       r[p->n - 1].offset < bytes && rows_ascend(p);
}

int fl_fde_write(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_body *b,
		 const struct fl_unwind_piece *p, const unsigned char *cie)
{
	unsigned char *entry = o->p;
	int err;

	if (!fits_original(f, p))
		return FLE_UNWIND;
	fl_out_fixed(o, 0, 4);
	fl_out_fixed(o, (uint32_t)(o->p - cie), 4);
	fl_out_offset(o, p->start);
	fl_out_fixed(o, p->end - p->start, 4);
	err = put_data(o, f, b, p);
	if (!err)
		err = fl_rows_write(o, f, p);
	end_entry(o, entry);
	return err;
}

/* All is as put_data() wrote it. The CIE's second letter is P, or there is no LSDA. */
uintptr_t fl_fde_origin(struct fl_in *in, const unsigned char *begin, uintptr_t pc)
{
	enum { LETTER = HEAD + 2 };
	struct fl_in fde = fl_in_part(in, fl_in_fixed(in, 4));
	const unsigned char *at = fde.p;
	uint64_t to_cie = fl_in_fixed(&fde, 4);
	uintptr_t start = fl_in_pointer(&fde, NULL, near_pointer), origin;

	if (fde.is_bad || to_cie > (uintptr_t)(at - begin) || to_cie <= LETTER ||
	    pc - start > fl_in_fixed(&fde, 4))
		return pc;
	fl_in_uleb(&fde);
	if (at[LETTER - (int64_t)to_cie] == 'P')
		fl_in_fixed(&fde, 4);
	origin = fl_origins_find(&fde, (uint32_t)(pc - start));
	return fde.is_bad ? pc : origin;
}
