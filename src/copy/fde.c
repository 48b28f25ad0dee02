/*
 * fde.c - the entry of a function in .eh_frame: read where it stands, written for a body.
 *
 * Hides how a CIE and an FDE are laid out, and in which of their encodings. What a body
 * gets has one: distances of 4 bytes, but for the personality, whose address is said as
 * it is. An LSDA lies inside of its FDE, behind its augmentation's data, so one appended
 * run of bytes is all that a piece has.
 *
 *	length | distance to its CIE | to the start | bytes | n | to the LSDA | LSDA | rows
 *	                                                         `--- n bytes ---'
 */
#include "copy/unwind.h"

enum { EH_ALIGN = 4, HEAD = 8 /* a length, and a CIE's 0 or distance */ };
static const uint8_t near_pointer = FL_PE_PCREL | FL_PE_SDATA4;

/* ---- read ------------------------------------------------------------------------- */

/* What stands in an entry behind its length; bad where none can be. */
static struct fl_in open_entry(const struct fl_module *m, uintptr_t at)
{
	struct fl_in all = fl_in_from(m, at);
	uint64_t n = fl_in_fixed(&all, 4);

	if (n < 4 || n >= 0xfffffff0)		/* an end, or 64 bits of length */
		all.is_bad = true;
	return all.is_bad ? all : fl_in_part(&all, n);
}

static void take_augmentation(struct fl_cie *c, const struct fl_module *m, const char *text,
			      struct fl_in *data)
{
	for (const char *a = text + 1; *a && !data->is_bad; a++) {
		if (*a == 'R') {
			c->pointers = (uint8_t)fl_in_fixed(data, 1);
		} else if (*a == 'L') {
			c->lsda = (uint8_t)fl_in_fixed(data, 1);
		} else if (*a == 'P') {
			uint8_t how = (uint8_t)fl_in_fixed(data, 1);

			c->personality_how = how & FL_PE_INDIRECT;
			c->personality = fl_in_pointer(data, m, how & ~FL_PE_INDIRECT);
		} else if (*a == 'S') {
			c->is_signal = true;
		} else {
			data->is_bad = true;
		}
	}
}

/* Version, augmentation, alignments, return column, the augmentation's data, a program. */
static bool take_cie(struct fl_cie *c, const struct fl_module *m, uintptr_t at)
{
	struct fl_in in = open_entry(m, at), data;
	const char *text;
	uint8_t version;

	*c = (struct fl_cie){ .at = at, .lsda = FL_PE_OMIT };
	in.is_bad |= fl_in_fixed(&in, 4) != 0;
	version = (uint8_t)fl_in_fixed(&in, 1);
	text = (const char *)in.p;
	while (fl_in_fixed(&in, 1) && !in.is_bad)
		;
	if (in.is_bad || (version != 1 && version != 3))
		return false;
	c->code_align = fl_in_uleb(&in);
	c->data_align = fl_in_sleb(&in);
	c->column = version == 1 ? fl_in_fixed(&in, 1) : fl_in_uleb(&in);
	c->has_data = *text == 'z';
	if (c->has_data) {
		data = fl_in_part(&in, fl_in_uleb(&in));
		take_augmentation(c, m, text, &data);
		in.is_bad |= data.is_bad;
	} else {
		in.is_bad |= *text != '\0';
	}
	c->program = in;
	return !in.is_bad;
}

int fl_fde_read(struct fl_fde *f, const struct fl_module *m, uintptr_t at)
{
	struct fl_in in = open_entry(m, at), data;
	uint64_t cie = fl_in_fixed(&in, 4);
	uintptr_t range;

	*f = (struct fl_fde){ .m = m };
	if (in.is_bad || !cie || !take_cie(&f->cie, m, at + 4 - cie))
		return FLE_UNWIND;
	f->start = fl_in_pointer(&in, m, f->cie.pointers);
	range = fl_in_value(&in, f->cie.pointers & 15);
	if (f->cie.has_data) {
		data = fl_in_part(&in, fl_in_uleb(&in));
		if (f->cie.lsda != FL_PE_OMIT)
			f->lsda = fl_in_pointer(&data, m, f->cie.lsda);
		in.is_bad |= data.is_bad;
	}
	f->end = f->start + range;
	f->program = in;
	return in.is_bad || !f->start || f->end <= f->start ? FLE_UNWIND : 0;
}

/* ---- write ------------------------------------------------------------------------- */

/* The length comes last: until then nothing follows what was there before. */
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

/* A personality has an LSDA to look at, or the distance 0. */
static int put_data(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_body *b,
		    const struct fl_unwind_piece *p)
{
	unsigned char *begin;
	int err;

	if (!f->cie.personality) {
		fl_out_u8(o, 0);
		return 0;
	}
	begin = fl_out_begin(o);
	if (!f->lsda || p->kind == FL_PIECE_BARE) {
		fl_out_fixed(o, 0, 4);
		err = 0;
	} else {
		fl_out_offset(o, (uintptr_t)o->p + 4);
		err = fl_lsda_write(o, f, b, p);
	}
	fl_out_end(o, begin);
	return err;
}

/* Each is looked at without a branch: nearly always they are. */
static bool rows_ascend(const struct fl_unwind_row *r, uint32_t n)
{
	bool is_bad = false;

	for (uint32_t i = 1; i < n; i++)
		is_bad |= r[i].at < r[i - 1].at || r[i].offset < r[i - 1].offset;
	return !is_bad;
}

int fl_fde_write(struct fl_out *o, const struct fl_fde *f, const struct fl_unwind_body *b,
		 const struct fl_unwind_piece *p, const unsigned char *cie)
{
	const struct fl_unwind_row *r = p->rows;
	unsigned char *entry = o->p;
	int err;

	if (!p->n || r->offset || r->at < f->start || r[p->n - 1].at >= f->end ||
	    p->end - p->start > INT32_MAX || r[p->n - 1].offset >= p->end - p->start ||
	    !rows_ascend(r, p->n))
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
