/*
 * pair.c - instructions that mean something together.
 *
 * Hides that an address takes two instructions: ADRP, which makes the address of a page, and
 * behind it ADD, which makes the rest, or LDR, which loads what lies there.
 */
#include "arch/arch.h"
#include "decode.h"

enum { ADD_IMM = (int)0x91000000, LDR_IMM = (int)0xf9400000, IMM = 4095 };

/* Is `w` the instruction `opcode`, with an offset from register `from`, into a register? */
static bool is_from(uint32_t w, uint32_t opcode, unsigned int from)
{
	return (w & 0xffc00000) == opcode && a64_rn(w) == from && a64_rd(w) != A64_ZERO;
}

static void be_sum(struct fl_insn *i, uint32_t w)
{
	i->cls = FL_INSN_SUM;
	i->reg = (uint8_t)a64_rd(w);
	i->source = (uint8_t)a64_rn(w);
	i->target = w >> 10 & IMM;
}

void fl_arch_decode_two(struct fl_insn *i, const unsigned char *code, size_t n, uintptr_t at)
{
	uint32_t w, next;

	fl_arch_decode(i, code, n, at);
	if (!i->len)
		return;
	w = a64_word(code);
	if (i->cls == FL_INSN_OTHER && is_from(w, ADD_IMM, a64_rn(w)))
		be_sum(i, w);
	if (i->cls != FL_INSN_LOAD_PAGE)
		return;
	next = n < 8 ? 0 : a64_word(code + 4);
	/* a sum in another register leaves the page, which may be used again */
	if (is_from(next, ADD_IMM, a64_rd(w)) && a64_rd(next) == a64_rd(w)) {
		i->cls = FL_INSN_LOAD_ADDRESS;
		i->target += next >> 10 & IMM;
	} else if (is_from(next, LDR_IMM, a64_rd(w))) {
		i->cls = FL_INSN_LOAD_POINTER;
		i->target += (next >> 10 & IMM) * 8;
	} else {
		return;
	}
	i->len = 8;
	i->reg = (uint8_t)a64_rd(next);
	i->writes |= 1u << i->reg;
}

/* Is it an access with an offset in the word: 12 bits, in units of what is loaded or stored? */
static bool is_access(uint32_t w)
{
	return (w & 0x3b000000) == 0x39000000;
}

enum fl_paged fl_arch_paged(const unsigned char *code, unsigned int reg, uintptr_t *offset)
{
	uint32_t w = a64_word(code);
	struct a64 a;

	a64_read(&a, w);
	if (!(a.reads >> reg & 1))
		return FL_PAGED_NOT;
	*offset = w >> 10 & IMM;
	if (is_from(w, ADD_IMM, reg))
		return FL_PAGED_FORMED;
	if (!is_access(w) || a64_rn(w) != reg ||
	    (a.access == A64_STORES && !a64_is_vector(w) && a64_rd(w) == reg))
		return FL_PAGED_OTHERWISE;
	*offset <<= a64_log_size(w);
	return FL_PAGED_ACCESSED;
}

/*
 *	[bti c]
 *	adrp x16, pointer
 *	ldr x17, [x16, pointer]
 *	add x16, x16, pointer		[autia1716]	in either order, or none
 *	br x17
 *
 * The first stub of a section is another one: it leads to the loader, and begins with a push.
 */
uintptr_t fl_arch_stub(const unsigned char *code, size_t n, uintptr_t at, size_t *bytes)
{
	enum { BR_X17 = (int)0xd61f0220, PUSH = (int)0xa9bf7bf0, HEADER = 32 };
	size_t skip = fl_arch_landing(code, n);
	struct fl_insn i;

	*bytes = n >= HEADER && a64_word(code + skip) == (uint32_t)PUSH ? HEADER :
		 FL_ARCH_STUB_STEP;
	fl_arch_decode_two(&i, code + skip, n - skip, at + skip);
	if (i.len != 8 || i.cls != FL_INSN_LOAD_POINTER || i.reg != 17)
		return 0;
	for (skip += 12; skip <= n && skip <= FL_ARCH_STUB_MAX; skip += 4)
		if (a64_word(code + skip - 4) == (uint32_t)BR_X17) {
			*bytes = skip;
			return i.target;
		}
	return 0;
}
