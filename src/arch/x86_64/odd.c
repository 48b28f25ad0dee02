/*
 * odd.c - code that does what no calling convention knows.
 *
 * Hides how such code looks: it reads flags that a caller or callee has left; or it looks for
 * room on its stack, as gcc's and clang's -fsplit-stack has it do.
 */
#include <string.h>

#include "arch/arch.h"

enum { REX = 0x40, LOCK = 0xf0, NE = 0xf2, E = 0xf3, DATA16 = 0x66, ESCAPE = 0x0f };

static bool is_prefix(uint8_t b)
{
	return b == DATA16 || b == NE || b == E || b == LOCK || (b & 0xfe) == 0x64 ||
	       b == 0x67 || (b & 0xe7) == 0x26;			/* segments, 67 */
}

static size_t opcode_at(const unsigned char *code, size_t n)
{
	size_t k = 0;

	while (k < n && is_prefix(code[k]))
		k++;
	return k < n && (code[k] & 0xf0) == REX ? k + 1 : k;
}

static bool escaped_reads(const unsigned char *op, size_t n)
{
	unsigned int group = n > 1 ? op[1] & 0xf0 : 0;

	return group == 0x40 || group == 0x80 || group == 0x90 ||	/* cmov, jcc, set */
	       (n > 2 && op[1] == 0x38 && op[2] == 0xf6);		/* adcx, adox */
}

/* Does the first instruction read the flags? */
static bool first_reads(const unsigned char *code, size_t n)
{
	size_t k = opcode_at(code, n);
	unsigned int op = k < n ? code[k] : 0, reg = k + 1 < n ? code[k + 1] >> 3 & 7 : 0;

	if (op == ESCAPE)
		return escaped_reads(code + k, n - k);
	if (op >= 0x80 && op <= 0x83)
		return reg == 2 || reg == 3;			/* adc, sbb */
	if (op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3))
		return reg == 2 || reg == 3;			/* rcl, rcr */
	return (op >= 0x10 && op <= 0x15) || (op >= 0x18 && op <= 0x1d) ||
	       (op >= 0x70 && op <= 0x7f) || op == 0x9c || op == 0x9f ||
	       op == 0xe0 || op == 0xe1 || op == 0xf5;
}

/* movups, movaps, movd, movq, movdqa, movdqu; nop; movzx, movsx; bswap. */
static bool escaped_leaves(const unsigned char *op, size_t n)
{
	unsigned int second = n > 1 ? op[1] : 0;

	return (second & 0xfe) == 0x10 || (second & 0xfe) == 0x28 || second == 0x1f ||
	       (second & 0xee) == 0x6e || second == 0xd6 || (second & 0xf6) == 0xb6 ||
	       (second & 0xf8) == 0xc8;
}

/* mov, lea, push, pop and the like leave them. */
static bool leaves_flags(const unsigned char *code, size_t n)
{
	size_t k = opcode_at(code, n);
	unsigned int op = k < n ? code[k] : 0;

	if (op == ESCAPE)
		return escaped_leaves(code + k, n - k);
	return (op >= 0x50 && op <= 0x5f) || op == 0x63 || (op >= 0x88 && op <= 0x8b) ||
	       op == 0x8d || op == 0x90 || (op >= 0xb0 && op <= 0xbf) || op == 0xc6 ||
	       op == 0xc7;
}

bool fl_arch_takes_flags(const unsigned char *code, size_t n, size_t most)
{
	for (struct fl_insn i; most--; code += i.len, n -= i.len) {
		if (first_reads(code, n))
			return true;
		if (!most || !leaves_flags(code, n))
			return false;
		fl_arch_decode_flow(&i, code, n, 0);
		if (!i.len)
			return false;
	}
	return false;
}

static bool escaped_sets(const unsigned char *op, size_t n)
{
	return n > 1 && (op[1] == 0xaf || (op[1] & 0xfe) == 0x2e);	/* imul, comis */
}

/* Does the first instruction set all flags? inc and dec leave CF; a shift by 0 leaves all. */
static bool first_sets(const unsigned char *code, size_t n)
{
	size_t k = opcode_at(code, n);
	unsigned int op = k < n ? code[k] : 0, reg = k + 1 < n ? code[k + 1] >> 3 & 7 : 0;

	if (op == ESCAPE)
		return escaped_sets(code + k, n - k);
	if (op == 0xc0 || op == 0xc1)
		return reg > 3 && code[n - 1] & 31;
	if (op == 0xf6 || op == 0xf7)
		return reg != 2;				/* not */
	if (op == 0xd0 || op == 0xd1)
		return reg > 3;
	return (op < 0x40 && (op & 7) < 6) || (op >= 0x80 && op <= 0x85) || op == 0xa8 ||
	       op == 0xa9 || op == 0x69 || op == 0x6b;
}

/* fcmov */
static bool moves_by_flags(const unsigned char *code, size_t n)
{
	size_t k = opcode_at(code, n);

	return k + 1 < n && (code[k] == 0xda || code[k] == 0xdb) && code[k + 1] >= 0xc0;
}

/* Is there a REX without effect? Behind it stands another prefix, not the opcode. */
static bool has_idle_rex(const unsigned char *code, size_t n)
{
	size_t k = opcode_at(code, n);

	return k && k < n && (code[k - 1] & 0xf0) == REX &&
	       (is_prefix(code[k]) || (code[k] & 0xf0) == REX);
}

/* The instruction has all `n` bytes. */
enum fl_flags_use fl_arch_flags_use(const unsigned char *code, size_t n)
{
	if (has_idle_rex(code, n) || first_reads(code, n) || moves_by_flags(code, n))
		return FL_FLAGS_READ;
	return first_sets(code, n) ? FL_FLAGS_SET : FL_FLAGS_LEFT;
}

/* cmp %fs:0x70,%REG */
bool fl_arch_splits_stack(const unsigned char *code, size_t n)
{
	enum { FIRST_BYTES = 40, LEN = 9 };
	static const unsigned char limit[] = { 0x25, 0x70, 0, 0, 0 };

	for (size_t k = 0; k < FIRST_BYTES && k + LEN <= n; k++)
		if (code[k] == 0x64 && (code[k + 1] & 0xfb) == 0x48 && code[k + 2] == 0x3b &&
		    (code[k + 3] & 0xc7) == 4 && !memcmp(code + k + 4, limit, sizeof limit))
			return true;
	return false;
}
