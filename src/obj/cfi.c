/*
 * cfi.c - the entry of a function in .eh_frame, its CIE, and the programs of both.
 *
 *	CIE: length | 0 | version | letters, 0 | alignments | column | n | data | program
 *	FDE: length | distance to its CIE | start | bytes | n | data | program
 *
 * Hides how these are laid out, in which encodings, and which operands an instruction
 * has. n and the data are there when the first letter is z; the other letters say what the
 * data is.
 */
#include "obj/obj.h"

enum { MOST_LETTERS = 8, NOP = 0 };	/* compilers write six at most */
#define LONG_LENGTH 0xfffffff0		/* and above: the length has 64 bits, or is reserved */

/* The bytes of an entry behind its length; bad where no entry can be. */
static inline struct fl_in open_entry(const struct fl_module *m, uintptr_t at)
{
	struct fl_in in = fl_in_from(m, at);
	uint64_t n = fl_in_fixed(&in, 4);

	if (n < 4 || n >= LONG_LENGTH || n > (size_t)(in.end - in.p))
		in.is_bad = true;
	else
		in.end = in.p + n;
	return in;
}

static void take_data(struct fl_cie *c, const struct fl_module *m, const char *letters,
		      struct fl_in *data)
{
	uint8_t how;

	for (const char *letter = letters; *letter && !data->is_bad; letter++) {
		switch (*letter) {
		case 'R':
			c->pointers = fl_in_u8(data);
			break;
		case 'L':
			c->lsda = fl_in_u8(data);
			break;
		case 'P':
			how = fl_in_u8(data);
			c->personality_how = how & FL_PE_INDIRECT;
			c->personality = fl_in_pointer(data, m, how & ~FL_PE_INDIRECT);
			break;
		case 'S':
			c->is_signal = true;
			break;
		case 'B':
			c->has_other_key = true;
			break;
		default:
			data->is_bad = true;
		}
	}
}

static bool take_cie(struct fl_cie *c, const struct fl_module *m, uintptr_t at)
{
	struct fl_in in = open_entry(m, at), data;
	const char *letters;
	uint8_t version;

	*c = (struct fl_cie){ .lsda = FL_PE_OMIT };
	in.is_bad |= fl_in_fixed(&in, 4) != 0;
	version = fl_in_u8(&in);
	letters = (const char *)in.p;
	for (int n = 0; fl_in_u8(&in) && !in.is_bad; n++)
		in.is_bad = n == MOST_LETTERS;
	if (in.is_bad || (version != 1 && version != 3))
		return false;
	c->code_align = fl_in_uleb(&in);
	c->data_align = fl_in_sleb(&in);
	c->column = version == 1 ? fl_in_u8(&in) : fl_in_uleb(&in);
	c->has_data = *letters == 'z';
	if (c->has_data) {
		data = fl_in_block(&in);
		take_data(c, m, letters + 1, &data);
		in.is_bad |= data.is_bad;
	} else {
		in.is_bad |= *letters != '\0';
	}
	c->program = in;
	c->at = in.is_bad ? 0 : at;
	return c->at;
}

bool fl_fde_read(struct fl_fde *f, const struct fl_module *m, uintptr_t at)
{
	struct fl_in in = open_entry(m, at), data;
	uintptr_t cie = at + 4 - fl_in_fixed(&in, 4);

	if (in.is_bad || !cie || (cie != f->cie.at && !take_cie(&f->cie, m, cie)))
		return false;
	f->m = m;
	f->start = fl_in_pointer(&in, m, f->cie.pointers);
	f->end = f->start + fl_in_value(&in, f->cie.pointers);
	f->lsda = 0;
	if (f->cie.has_data) {
		data = fl_in_block(&in);
		if (f->cie.lsda != FL_PE_OMIT)
			f->lsda = fl_in_pointer(&data, m, f->cie.lsda);
		if (data.is_bad)
			f->lsda = FL_OBJ_UNKNOWN;
	}
	f->program = in;
	return !in.is_bad && f->start && f->end > f->start;
}

/* ---- instructions ---------------------------------------------------------------- */

enum operand {
	NONE, OWN,			/* OWN: in the low bits of the instruction's byte */
	LEB, UNITS,			/* UNITS: signed, times the CIE's data_align */
	BLOCK,				/* bytes behind their length: an expression */
	ADDRESS,			/* encoded as in FDEs */
	BYTES				/* BYTES + n: n bytes */
};

/* Each instruction's name, register and value; no name: the instruction is unknown. The last
 * three are those that have an operand in their own byte. */
static const struct {
	uint8_t op, reg, value;
} forms[FL_CFA_ADVANCE + 4] = {
	[0x01] = { FL_CFA_SET_LOC, NONE, ADDRESS },
	[0x02] = { FL_CFA_ADVANCE, NONE, BYTES + 1 },	/* advance_loc1 */
	[0x03] = { FL_CFA_ADVANCE, NONE, BYTES + 2 },
	[0x04] = { FL_CFA_ADVANCE, NONE, BYTES + 4 },
	[0x05] = { FL_CFA_OFFSET, LEB, LEB },		/* offset_extended */
	[0x06] = { FL_CFA_RESTORE, LEB, NONE },		/* restore_extended */
	[0x07] = { FL_CFA_UNDEFINED, LEB, NONE },
	[0x08] = { FL_CFA_OTHER, LEB, NONE },		/* same_value */
	[0x09] = { FL_CFA_OTHER, LEB, LEB },		/* register */
	[0x0a] = { FL_CFA_REMEMBER, NONE, NONE },
	[0x0b] = { FL_CFA_RESTORE_STATE, NONE, NONE },
	[0x0c] = { FL_CFA_DEF, LEB, LEB },
	[0x0d] = { FL_CFA_DEF_REGISTER, LEB, NONE },
	[0x0e] = { FL_CFA_DEF_OFFSET, NONE, LEB },
	[0x0f] = { FL_CFA_DEF_EXPRESSION, NONE, BLOCK },
	[0x10] = { FL_CFA_OTHER, LEB, BLOCK },		/* expression */
	[0x11] = { FL_CFA_OFFSET, LEB, UNITS },		/* offset_extended_sf */
	[0x12] = { FL_CFA_DEF, LEB, UNITS },		/* def_cfa_sf */
	[0x13] = { FL_CFA_DEF_OFFSET, NONE, UNITS },	/* def_cfa_offset_sf */
	[0x14] = { FL_CFA_OTHER, LEB, LEB },		/* val_offset */
	[0x15] = { FL_CFA_OTHER, LEB, UNITS },		/* val_offset_sf */
	[0x16] = { FL_CFA_OTHER, LEB, BLOCK },		/* val_expression */
	[0x2d] = { FL_CFA_OTHER, NONE, NONE },		/* AArch64: negate_ra_state */
	[0x2e] = { FL_CFA_ARGS_SIZE, NONE, LEB },
	[0x2f] = { FL_CFA_OTHER, LEB, LEB },		/* GNU_negative_offset_extended */
	[FL_CFA_ADVANCE + 1] = { FL_CFA_ADVANCE, NONE, OWN },
	[FL_CFA_ADVANCE + 2] = { FL_CFA_OFFSET, OWN, LEB },
	[FL_CFA_ADVANCE + 3] = { FL_CFA_RESTORE, OWN, NONE },
};

bool fl_cfi_next(struct fl_in *program, const struct fl_fde *f, struct fl_cfi_insn *to)
{
	uint8_t byte, own, form;

	while (program->p < program->end && *program->p == NOP)
		program->p++;
	if (program->p == program->end || program->is_bad)
		return false;
	*to = (struct fl_cfi_insn){ .bytes = program->p };
	byte = *program->p++;
	own = byte & (FL_CFA_ADVANCE - 1);
	form = byte < FL_CFA_ADVANCE ? byte : FL_CFA_ADVANCE + (byte >> 6);
	to->op = forms[form].op;
	program->is_bad = !to->op;
	if (forms[form].reg)
		to->reg = forms[form].reg == OWN ? own : fl_in_uleb(program);
	switch (forms[form].value) {
	case NONE:
		break;
	case OWN:
		to->value = own;
		break;
	case LEB:
		to->value = fl_in_uleb(program);
		break;
	case UNITS:
		to->value = (uint64_t)fl_in_sleb(program) * (uint64_t)f->cie.data_align;
		break;
	case BLOCK:
		fl_in_block(program);
		break;
	case ADDRESS:
		to->value = fl_in_pointer(program, f->m, f->cie.pointers);
		break;
	default:
		to->value = fl_in_fixed(program, forms[form].value - (unsigned int)BYTES);
	}
	if (to->op == FL_CFA_ADVANCE &&
	    __builtin_mul_overflow(to->value, f->cie.code_align, &to->value))
		program->is_bad = true;
	return !program->is_bad;
}
