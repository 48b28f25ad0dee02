/*
 * live.c - which general registers an instruction needs, and which it sets.
 *
 * Hides where opcodes keep their registers. Each opcode has a letter in a table:
 *
 *	r	ModRM: both operands are read		g	reg is set, the other is read
 *	i	the other operand is read		e	the other is set, reg is read
 *	k	the other is set, to a number		b	the opcode's: set in part
 *	s, S	as i, as r, and rcx			B	as r, and rax
 *	p, o	the opcode's register is read; set	q	as p, and rax
 *	x	rax is read, rdx set			a, c	rax; rcx is read
 *	z	a string's registers			l	rbp is read
 *	f	memory, or rax				m	as i, and rax and rdx
 *	n	none					?	not known
 *
 * A register that is set in part counts as read: its old value is needed. So do the registers
 * that a vector instruction names: the numbers may be those of vector registers. An
 * instruction that is not known reads all registers.
 */
#include "arch/arch.h"
#include "emit.h"

enum { REX = 0x40, REX_R = 4, REX_X = 2, REX_B = 1, AX = 1 << 0, CX = 1 << 1, DX = 1 << 2,
       SP = 4, BP = 5, SI = 1 << 6, DI = 1 << 7, ALL = 0xffff };

struct parts {
	const unsigned char *op, *modrm;
	uint8_t rex;
	bool o16, is_byte, is_escaped;
};

static const char one_byte[] =
	"rrrraa??rrrraa??" "rrrraa??rrrraa??" "rrrraa??rrrraa??" "rrrraa??rrrraa??"
	"????????????????" "ppppppppoooooooo" "???g????ngng????" "nnnnnnnnnnnnnnnn"
	"ii?irrrrrerg?g??" "qqqqqqqqax?nn?aa" "????zzzzaazzzzzz" "bbbbbbbboooooooo"
	"iinn??ik?l??????" "iiss????ffffffff" "cccc????nn?n????" "?????nmmnn??nnii";
static const char two_bytes[] =
	"???????????n?i??" "rrrrrrrriiiiiiii" "????????rrrrrrrr" "????????????????"
	"rrrrrrrrrrrrrrrr" "rrrrrrrrrrrrrrrr" "rrrrrrrrrrrrrrrr" "rrrrrrrnrrrrrrrr"
	"nnnnnnnnnnnnnnnn" "iiiiiiiiiiiiiiii" "???rrS?????rrS?r" "BB?r??ggg?irrrgg"
	"rrrrrrr?pppppppp" "rrrrrrrrrrrrrrrr" "rrrrrrrrrrrrrrrr" "rrrrrrr?rrrrrrr?";

/* ---- operands ----------------------------------------------------------------------- */

/* Without REX the byte registers 4 to 7 are the second bytes of the registers 0 to 3. */
static fl_regs register_of(const struct parts *p, unsigned int n)
{
	fl_regs regs = (fl_regs)(1u << n);

	if (p->is_byte && !p->rex && n >= 4 && n < 8)
		regs |= (fl_regs)(1u << (n - 4));
	return regs;
}

static unsigned int reg_of(const struct parts *p)
{
	return (p->modrm[0] >> 3 & 7) | (p->rex & REX_R ? 8 : 0);
}

static unsigned int other_of(const struct parts *p)
{
	return (p->modrm[0] & 7) | (p->rex & REX_B ? 8 : 0);
}

static bool names_register(const struct parts *p)
{
	return p->modrm[0] >= 0xc0;
}

static fl_regs address_of(const struct parts *p)
{
	const unsigned char *m = p->modrm;
	unsigned int base = (m[0] & 7) == SP ? m[1] & 7 : m[0] & 7;
	unsigned int index = (m[1] >> 3 & 7) | (p->rex & REX_X ? 8 : 0);
	fl_regs regs = (fl_regs)(1u << (base | (p->rex & REX_B ? 8 : 0)));

	if ((m[0] & 7) == SP && index != SP)
		regs |= (fl_regs)(1u << index);
	return regs;
}

static fl_regs read_other(const struct parts *p)
{
	return names_register(p) ? register_of(p, other_of(p)) : address_of(p);
}

static bool sets_whole(const struct parts *p)
{
	return !p->o16 && !p->is_byte;
}

/* sub and xor of a register and itself. */
static bool is_zeroing(const struct parts *p)
{
	uint8_t op = p->op[0] & 0xfc;

	return !p->is_escaped && (op == 0x28 || op == 0x30) && names_register(p) &&
	       sets_whole(p) && reg_of(p) == other_of(p);
}

static void use_reg_and_other(struct fl_needs *n, const struct parts *p)
{
	fl_regs reg = register_of(p, reg_of(p));

	if (is_zeroing(p))
		n->sets = reg;
	else
		n->reads |= reg | read_other(p);
}

static void set_reg(struct fl_needs *n, const struct parts *p)
{
	fl_regs reg = (fl_regs)(1u << reg_of(p));

	n->reads |= read_other(p);
	if (sets_whole(p))
		n->sets = reg;
	else
		n->reads |= reg;
}

/* mov to what may be a register. */
static void set_other(struct fl_needs *n, const struct parts *p)
{
	if (names_register(p) && sets_whole(p))
		n->sets = (fl_regs)(1u << other_of(p));
	else
		n->reads |= read_other(p);
}

/* The other instruction of this opcode is xbegin. */
static void set_by_immediate(struct fl_needs *n, const struct parts *p)
{
	if (p->modrm[0] & 0x38)
		n->reads = ALL;
	else
		set_other(n, p);
}

static void set_opcodes(struct fl_needs *n, const struct parts *p)
{
	fl_regs reg = (fl_regs)(1u << ((p->op[0] & 7) | (p->rex & REX_B ? 8 : 0)));

	if (sets_whole(p))
		n->sets = reg;
	else
		n->reads |= reg;
}

/* ---- by letter ------------------------------------------------------------------------- */

static void use_by(struct fl_needs *n, const struct parts *p, char letter)
{
	unsigned int opcodes = (p->op[0] & 7) | (p->rex & REX_B ? 8 : 0);

	switch (letter) {
	case 'B': n->reads |= AX; use_reg_and_other(n, p); break;
	case 'S': n->reads |= CX; use_reg_and_other(n, p); break;
	case 'r': use_reg_and_other(n, p); break;
	case 's': n->reads |= CX | read_other(p); break;
	case 'm': n->reads |= AX | DX | read_other(p); break;
	case 'i': n->reads |= read_other(p); break;
	case 'g': set_reg(n, p); break;
	case 'e': n->reads |= register_of(p, reg_of(p)); set_other(n, p); break;
	case 'k': set_by_immediate(n, p); break;
	case 'q': n->reads |= AX | (fl_regs)(1u << opcodes); break;
	case 'b': n->reads |= register_of(p, opcodes); break;
	case 'p': n->reads |= (fl_regs)(1u << opcodes); break;
	case 'o': set_opcodes(n, p); break;
	case 'x': n->reads |= AX; n->sets = p->o16 ? 0 : DX; n->reads |= p->o16 ? DX : 0; break;
	case 'a': n->reads |= AX; break;
	case 'c': n->reads |= CX; break;
	case 'l': n->reads |= 1 << BP; break;
	case 'z': n->reads |= AX | CX | SI | DI; break;
	case 'f': n->reads |= names_register(p) ? AX : address_of(p); break;
	case 'n': break;
	default: n->reads = ALL;
	}
}

static void use_vex(struct fl_needs *n, struct parts *p)
{
	const unsigned char *c = p->op;
	unsigned int map = c[0] == 0xc5 ? 1 : c[1] & 31, last = c[0] == 0xc5 ? c[1] : c[2];

	p->is_escaped = true;
	p->rex = ~c[1] >> 5 & REX_R;
	if (c[0] == 0xc4)
		p->rex = ~c[1] >> 5 & 7;
	p->op += c[0] == 0xc5 ? 2 : 3;
	p->modrm = p->op + 1;
	if (map == 1 && p->op[0] == 0x77)
		return;
	use_by(n, p, map > 3 || (map == 1 && p->op[0] == 0xf7) ||
	       (map == 3 && (p->op[0] & 0xfc) == 0x60) ? '?' : 'r');
	n->reads |= DX | (fl_regs)(1u << (~last >> 3 & 15));
}

static void use_escaped(struct fl_needs *n, struct parts *p)
{
	uint8_t op = *++p->op;
	char letter = two_bytes[op];

	p->is_escaped = true;
	p->is_byte = op == 0xb6 || op == 0xbe || op == 0xb0 || op == 0xc0 ||
		     (op & 0xf0) == 0x90;
	if (op == 0x38 || op == 0x3a) {
		p->op++;
		letter = op == 0x3a && (p->op[0] & 0xfc) == 0x60 ? '?' : 'r';
	}
	p->modrm = p->op + 1;
	if (letter == 'g' && p->is_byte) {	/* a byte is read, and all of reg is set */
		n->reads |= read_other(p);
		p->is_byte = false;
		if (sets_whole(p))
			n->sets = (fl_regs)(1u << reg_of(p));
		else
			n->reads |= (fl_regs)(1u << reg_of(p));
		return;
	}
	use_by(n, p, letter);
}

/* ---- what raises nothing ---------------------------------------------------------------- */

/* Divisions, x87's instructions, what waits for these, and unknown ones are not quiet. */
static bool is_quiet(const struct parts *p)
{
	uint8_t op = p->op[0];

	if (op == 0xf6 || op == 0xf7)
		return (p->modrm[0] >> 3 & 7) < 6;
	return one_byte[op] != '?' && op != 0x9b && (op & 0xf8) != 0xd8;
}

/* Instructions with general registers only. Vector instructions may raise signals for their
 * numbers, for where their operands lie, and where they do not exist. */
static bool is_quiet_escaped(uint8_t op)
{
	static const uint8_t others[] = {
		0x1e, 0x1f, 0xa3, 0xa4, 0xa5, 0xab, 0xac, 0xad, 0xaf, 0xb0, 0xb1, 0xb3, 0xb6,
		0xb7, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf, 0xc0, 0xc1,
	};

	for (size_t k = 0; k < sizeof others; k++)
		if (op == others[k])
			return true;
	return (op & 0xf0) == 0x40 || (op & 0xf0) == 0x90 || (op & 0xf8) == 0xc8;
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0xf2 || b == 0xf3 || b == 0xf0 || (b & 0xfe) == 0x64 ||
	       b == X86_ADDR32 || (b & 0xe7) == 0x26;
}

void fl_arch_needs(struct fl_needs *n, const unsigned char *code, size_t len)
{
	unsigned char bytes[24] = { 0 };
	struct parts p = { .op = bytes };
	const unsigned char *op;
	bool is_locked = false;

	*n = (struct fl_needs){ .reads = 0 };
	__builtin_memcpy(bytes, code, len < 16 ? len : 16);
	for (; is_prefix(p.op[0]); p.op++) {
		p.o16 |= p.op[0] == 0x66;
		is_locked |= p.op[0] == 0xf0;
	}
	if ((p.op[0] & 0xf0) == REX)
		p.rex = *p.op++;
	p.o16 &= !(p.rex & 8);
	p.modrm = p.op + 1;
	op = p.op;
	if (p.rex && (is_prefix(p.op[0]) || (p.op[0] & 0xf0) == REX)) {
		n->reads = ALL;			/* a REX without effect */
	} else if (p.op[0] == 0xc4 || p.op[0] == 0xc5) {
		use_vex(n, &p);
	} else if (p.op[0] == 0x0f) {
		use_escaped(n, &p);
		n->is_quiet = !is_locked && is_quiet_escaped(p.op[0]);
	} else {
		p.is_byte = !(p.op[0] & 1) && (p.op[0] < 0x50 || p.op[0] >= 0x80);
		if (p.op[0] >= 0xb0 && p.op[0] <= 0xbf)
			p.is_byte = p.op[0] < 0xb8;
		n->calls = p.op[0] == 0xe8 || (p.op[0] == 0xff && (p.modrm[0] >> 3 & 7) == 2);
		use_by(n, &p, one_byte[p.op[0]]);
		n->is_quiet = !is_locked && is_quiet(&p);
	}
	x86_use_stack(n, bytes, op, p.rex);
}
