/*
 * decode.c - the A64 decoder against Capstone and against binutils, word by word, and what
 * it says of some words by hand.
 *
 *	a64: 1048576 words, 403216 known to both | known 0 class 0 target 0 reads 0
 *	writes 0 flags 0
 *
 * Counts right of the bar must be zero. FLICK_TORTURE=long takes 2^26 words.
 * timeout: 900
 */
#include "a64.h"

#include <capstone/capstone.h>

#include "arch/aarch64/decode.h"
#include "arch/arch.h"

enum { SHORT = 1 << 20, LONG = 1 << 26, SHOWN = 20, LISTED = 1 << 18, AT = 0x40000000 };

static csh capstone;
static size_t shown;

/* A word of which two in three are in groups that change flow, registers or memory. */
static uint32_t sample(uint64_t *seed)
{
	static const uint8_t groups[] = { 8, 9, 10, 11, 4, 6, 12, 14, 5, 13, 7, 15 };
	uint64_t r = next_random(seed);
	uint32_t w = (uint32_t)(r >> 32);

	if (r % 3)
		w = (w & 0xe1ffffff) | (uint32_t)groups[r / 3 % ARRAY_LEN(groups)] << 25;
	if ((r & 0x3000) == 0x1000)		/* where one bit decides, most must be 0 */
		w &= 0xffffffe0 | (uint32_t)(r >> 3);
	if ((r & 0xc000) == 0x4000)
		w |= 0x001f0000;
	if ((r & 0x30000) == 0x10000)
		w |= 0x00007c00;
	return w;
}

static void show(const char *what, uint32_t w, const char *text, const struct a64 *a)
{
	if (shown++ < SHOWN)
		printf("%s: %08x %s: ours kind %u reads %08x writes %08x flags %d%d\n", what, w,
		       text, a->kind, a->reads, a->writes, a->reads_flags, a->sets_flags);
}

/* ---- Capstone ------------------------------------------------------------------- */

struct verdict {
	size_t n, both, known, class, target, reads, writes, flags;
};

static unsigned int class_of(const cs_insn *c)
{
	const cs_arm64 *d = &c->detail->arm64;

	switch (c->id) {
	case ARM64_INS_B:
		return d->cc == ARM64_CC_INVALID ? A64_B : A64_BCOND;
	case ARM64_INS_BL:
		return A64_BL;
	case ARM64_INS_CBZ: case ARM64_INS_CBNZ:
		return A64_CBZ;
	case ARM64_INS_TBZ: case ARM64_INS_TBNZ:
		return A64_TBZ;
	case ARM64_INS_BR:
		return A64_BR;
	case ARM64_INS_BLR:
		return A64_BLR;
	case ARM64_INS_RET:
		return d->op_count ? A64_BR : A64_RET;
	case ARM64_INS_ADR:
		return A64_ADR;
	case ARM64_INS_ADRP:
		return A64_ADRP;
	case ARM64_INS_CLREX:
		return A64_CLREX;
	case ARM64_INS_SVC:
		return A64_SVC;
	case ARM64_INS_NOP:
		return A64_NOP;
	case ARM64_INS_LDXR: case ARM64_INS_LDXRB: case ARM64_INS_LDXRH: case ARM64_INS_LDXP:
	case ARM64_INS_LDAXR: case ARM64_INS_LDAXRB: case ARM64_INS_LDAXRH:
	case ARM64_INS_LDAXP:
		return A64_LDX;
	case ARM64_INS_STXR: case ARM64_INS_STXRB: case ARM64_INS_STXRH: case ARM64_INS_STXP:
	case ARM64_INS_STLXR: case ARM64_INS_STLXRB: case ARM64_INS_STLXRH:
	case ARM64_INS_STLXP:
		return A64_STX;
	}
	return A64_PLAIN;
}

/* A bit for a general register; 0 for the zero register, and for others. */
static uint32_t reg_bit(unsigned int reg)
{
	if (reg == ARM64_REG_SP || reg == ARM64_REG_WSP)
		return 1u << 31;
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return 1u << (reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return 1u << (reg - ARM64_REG_W0);
	return reg == ARM64_REG_X29 ? 1u << 29 : reg == ARM64_REG_X30 ? 1u << 30 : 0;
}

/* Capstone 4 says that these write what they read. */
static bool is_misread(const cs_insn *c)
{
	return c->id == ARM64_INS_CMP || c->id == ARM64_INS_CMN || c->id == ARM64_INS_TST ||
	       c->id == ARM64_INS_MSR || c->id == ARM64_INS_SYS ||
	       (c->id >= ARM64_INS_ST1 && c->id <= ARM64_INS_ST4) ||
	       (c->id >= ARM64_INS_LD1 && c->id <= ARM64_INS_LD4R);
}

static uint32_t written(const cs_insn *c)
{
	const cs_arm64 *d = &c->detail->arm64;
	uint32_t w = 0;

	for (unsigned int k = 0; k < d->op_count; k++) {
		const cs_arm64_op *op = &d->operands[k];

		if (op->type == ARM64_OP_REG && (op->access & CS_AC_WRITE) && !is_misread(c))
			w |= reg_bit(op->reg);
		if (op->type == ARM64_OP_MEM && d->writeback)
			w |= reg_bit(op->mem.base);
	}
	return w;
}

static uint32_t read_by(const cs_insn *c)
{
	const cs_arm64 *d = &c->detail->arm64;
	uint32_t r = 0;

	for (unsigned int k = 0; k < d->op_count; k++) {
		const cs_arm64_op *op = &d->operands[k];

		if (op->type == ARM64_OP_REG && (op->access & CS_AC_READ))
			r |= reg_bit(op->reg);
		if (op->type == ARM64_OP_MEM)
			r |= reg_bit(op->mem.base) | reg_bit(op->mem.index);
	}
	return r;
}

/* Capstone 4 says of most immediate forms, of mrs and of sysl that they read what they
 * write. */
static uint32_t misread(uint32_t w)
{
	bool is = (w >> 26 & 7) == 4 || (w & 0xffe00000) == 0xd5200000;

	return is ? 1u << a64_rd(w) : 0;
}

static bool target_is(const cs_insn *c, uint64_t to)
{
	const cs_arm64 *d = &c->detail->arm64;

	for (unsigned int k = 0; k < d->op_count; k++)
		if (d->operands[k].type == ARM64_OP_IMM && (uint64_t)d->operands[k].imm == to)
			return true;
	return false;
}

static bool has_target(const struct a64 *a)
{
	return (a->kind >= A64_B && a->kind <= A64_TBZ) || a->kind == A64_ADR ||
	       a->kind == A64_ADRP || a->kind == A64_LITERAL;
}

static void compare(struct verdict *v, uint32_t w, const cs_insn *c)
{
	unsigned int class = class_of(c);
	char text[200];
	struct a64 a;

	snprintf(text, sizeof text, "%s %s", c->mnemonic, c->op_str);
	a64_read(&a, w);
	v->both++;
	if (a.kind == A64_NONE) {
		v->known++;
		show("known", w, text, &a);
		return;
	}
	if (a.kind != class && !(class == A64_PLAIN && (a.kind == A64_LITERAL ||
							 a.kind == A64_STOP))) {
		v->class++;
		show("class", w, text, &a);
	}
	if (has_target(&a) && !target_is(c, a64_target(w, a.kind, AT))) {
		v->target++;
		show("target", w, text, &a);
	}
	if (a.kind != A64_BL && a.kind != A64_BLR && (written(c) & ~a.writes)) {
		v->writes++;
		show("writes", w, text, &a);
	}
	if (read_by(c) & ~a.reads & ~misread(w)) {
		v->reads++;
		show("reads", w, text, &a);
	}
	if (c->detail->arm64.update_flags && !a.sets_flags &&
	    (w & 0xfff8f01f) != 0xd500401f) {		/* msr daifclr: not these flags */
		v->flags++;
		show("flags", w, text, &a);
	}
}

static void agrees_with_capstone(void **state)
{
	size_t wanted = is_torture() ? LONG : SHORT;
	cs_insn *c = cs_malloc(capstone);
	uint64_t seed = 88172645463325252u;
	struct verdict v = { 0 };

	(void)state;
	for (shown = 0; v.n < wanted; v.n++) {
		uint32_t w = sample(&seed);
		const uint8_t *p = (const uint8_t *)&w;
		size_t n = sizeof w;
		uint64_t at = AT;

		if (cs_disasm_iter(capstone, &p, &n, &at, c))
			compare(&v, w, c);
	}
	cs_free(c, 1);
	printf("a64: %zu words, %zu known to both | known %zu class %zu target %zu reads %zu "
	       "writes %zu flags %zu\n", v.n, v.both, v.known, v.class, v.target, v.reads,
	       v.writes, v.flags);
	assert_true(v.both > v.n / 4);
	assert_int_equal(v.known + v.class + v.target + v.reads + v.writes + v.flags, 0);
}

/* ---- binutils ------------------------------------------------------------------- */

static const struct { const char *name; uint8_t kind; } names[] = {
	{ "b", A64_B }, { "bl", A64_BL }, { "cbz", A64_CBZ }, { "cbnz", A64_CBZ },
	{ "tbz", A64_TBZ }, { "tbnz", A64_TBZ }, { "br", A64_BR }, { "blr", A64_BLR },
	{ "braa", A64_BR }, { "brab", A64_BR }, { "braaz", A64_BR }, { "brabz", A64_BR },
	{ "blraa", A64_BLR }, { "blrab", A64_BLR }, { "blraaz", A64_BLR },
	{ "blrabz", A64_BLR }, { "ret", A64_RET }, { "retaa", A64_RET }, { "retab", A64_RET },
	{ "adr", A64_ADR }, { "adrp", A64_ADRP }, { "clrex", A64_CLREX }, { "svc", A64_SVC },
	{ "nop", A64_NOP }, { "udf", A64_STOP },
	{ "ldxr", A64_LDX }, { "ldxrb", A64_LDX }, { "ldxrh", A64_LDX }, { "ldxp", A64_LDX },
	{ "ldaxr", A64_LDX }, { "ldaxrb", A64_LDX }, { "ldaxrh", A64_LDX },
	{ "ldaxp", A64_LDX },
	{ "stxr", A64_STX }, { "stxrb", A64_STX }, { "stxrh", A64_STX }, { "stxp", A64_STX },
	{ "stlxr", A64_STX }, { "stlxrb", A64_STX }, { "stlxrh", A64_STX },
	{ "stlxp", A64_STX },
};

static unsigned int kind_of(const char *name, uint32_t w)
{
	if (!strcmp(name, "ret") && a64_rn(w) != 30)
		return A64_BR;
	if (!strncmp(name, "b.", 2) || !strncmp(name, "bc.", 3))
		return A64_BCOND;
	if ((w & 0x3b000000) == 0x18000000)
		return A64_LITERAL;
	for (size_t k = 0; k < ARRAY_LEN(names); k++)
		if (!strcmp(names[k].name, name))
			return names[k].kind;
	return A64_PLAIN;
}

/* Groups in which all is one row, allocated or not. */
static bool is_coarse(uint32_t w)
{
	unsigned int group = w >> 25 & 15;

	return !group || group == 2 || (group & 7) == 7;
}

/* Newer than these binutils; or fields that should be ones are not; or registers that must
 * differ are one. */
static bool is_odd(uint32_t w, const struct a64 *a)
{
	return a->kind == A64_SIGNED || (w & 0x3f200c00) == 0x1d000800 ||
	       (w & 0xffe00000) == 0x9b600000 || (w & 0xbfe0e000) == 0x9a002000 ||
	       (w & 0x3fe08000) == 0x08c08000 || (w & 0xfe400000) == 0x68400000 ||
	       (w & 0xfb200c00) == 0x19000400;
}

struct listed {
	size_t n, known, kind, ours;
};

static void compare_listed(struct listed *v, uint32_t w, const char *name)
{
	bool is_none = !strcmp(name, ".inst");
	struct a64 a;

	a64_read(&a, w);
	v->n++;
	if (!is_none && a.kind == A64_NONE) {
		v->known++;
		show("known", w, name, &a);
	} else if (is_none && a.kind != A64_NONE && !is_coarse(w) && !is_odd(w, &a)) {
		v->ours++;
		show("ours", w, name, &a);
	} else if (!is_none && !is_coarse(w) && a.kind != kind_of(name, w) &&
		   !(a.kind == A64_STOP && !strcmp(name, "brk"))) {
		v->kind++;
		show("kind", w, name, &a);
	}
}

static void list_words(const char *path, size_t n, uint64_t *seed)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t k = 0; k < n; k++) {
		uint32_t w = sample(seed);

		fwrite(&w, sizeof w, 1, f);
	}
	fclose(f);
}

static void agrees_with_binutils(void **state)
{
	char line[256], name[32], cmd[256], path[] = "/tmp/flick-a64.XXXXXX";
	int fd = mkstemp(path);
	uint64_t seed = 0x9e3779b97f4a7c15u;
	struct listed v = { 0 };
	FILE *p;

	(void)state;
	if (!has_tools())
		skip();
	close(fd);
	list_words(path, is_torture() ? LONG / 64 : LISTED, &seed);
	snprintf(cmd, sizeof cmd, TOOLS "objdump -D -z -b binary -m aarch64 -M no-aliases %s",
		 path);
	p = popen(cmd, "r");
	assert_non_null(p);
	for (shown = 0; fgets(line, sizeof line, p);) {
		unsigned int w;

		if (sscanf(line, " %*x: %8x %31s", &w, name) == 2)
			compare_listed(&v, w, name);
	}
	assert_int_equal(pclose(p), 0);
	unlink(path);
	printf("a64: %zu words listed by objdump | known %zu kind %zu ours %zu\n", v.n, v.known,
	       v.kind, v.ours);
	assert_true(v.n >= LISTED);
	assert_int_equal(v.known + v.kind + v.ours, 0);
}

/* ---- by hand ---------------------------------------------------------------------- */

enum { NO = 0xff };

static const struct form {
	const char *text;		/* it stands at AT, as do the symbols `here` */
	uint8_t kind, cls, reg, source;
	int64_t target;			/* of a frame: as it is; otherwise from AT on */
	uint32_t writes;
} forms[] = {
	{ "b .+8", A64_B, FL_INSN_JUMP, 0, 0, 8, 0 },
	{ "bl .-16", A64_BL, FL_INSN_CALL, 0, 0, -16, 0x4007ffff },
	{ "b.ne .-4", A64_BCOND, FL_INSN_BRANCH, 0, 0, -4, 0 },
	{ "cbnz w3, .+1048572", A64_CBZ, FL_INSN_BRANCH, 0, 0, 1048572, 0 },
	{ "tbz x3, #40, .-32768", A64_TBZ, FL_INSN_BRANCH, 0, 0, -32768, 0 },
	{ "br x3", A64_BR, FL_INSN_JUMP, 0, 0, NO, 0 },
	{ "braa x3, x4", A64_BR, FL_INSN_JUMP, 0, 0, NO, 0 },
	{ "blr x3", A64_BLR, FL_INSN_CALL, 0, 0, NO, 0x4007ffff },
	{ "blrabz x3", A64_BLR, FL_INSN_CALL, 0, 0, NO, 0x4007ffff },
	{ "ret", A64_RET, FL_INSN_RET, 0, 0, NO, 0 },
	{ "ret x5", A64_BR, FL_INSN_JUMP, 0, 0, NO, 0 },
	{ "retaa", A64_RET, FL_INSN_RET, 0, 0, NO, 0 },
	{ "nop", A64_NOP, FL_INSN_NOP, 0, 0, NO, 0 },
	{ "yield", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "bti c", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "paciasp", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 30 },
	{ "xpaclri", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 30 },
	{ "pacia1716", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 17 },
	{ "udf #0", A64_STOP, FL_INSN_STOP, 0, 0, NO, 0 },
	{ "brk #1000", A64_STOP, FL_INSN_STOP, 0, 0, NO, 0 },
	{ "brk #1", A64_STOP, FL_INSN_STOP, 0, 0, NO, 0 },
	{ "brk #0", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "svc #0", A64_SVC, FL_INSN_OTHER, 0, 0, NO, 1 },
	{ "adr x7, .+5", A64_ADR, FL_INSN_LOAD_ADDRESS, 7, 0, 5, 1u << 7 },
	{ ".inst 0xb0000007", A64_ADRP, FL_INSN_LOAD_PAGE, 7, 0, 4096, 1u << 7 },
	{ "ldr x7, .+8", A64_LITERAL, FL_INSN_LOAD_POINTER, 7, 0, 8, 1u << 7 },
	{ "ldrsw x7, .+8", A64_LITERAL, FL_INSN_OTHER, 0, 0, NO, 1u << 7 },
	{ "ldr q7, .+8", A64_LITERAL, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "prfm pldl1keep, .+8", A64_LITERAL, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "mov x3, x4", A64_PLAIN, FL_INSN_MOVE, 3, 4, NO, 1u << 3 },
	{ "mov w3, w4", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 3 },
	{ "mov x3, xzr", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 3 },
	{ "mov x29, sp", A64_PLAIN, FL_INSN_FRAME_ADDRESS, 29, 31, 0, 1u << 29 },
	{ "mov sp, x29", A64_PLAIN, FL_INSN_FRAME_ADDRESS, 31, 29, 0, 0 },
	{ "sub sp, sp, #64", A64_PLAIN, FL_INSN_FRAME_ADDRESS, 31, 31, -64, 0 },
	{ "add x1, sp, #1, lsl #12", A64_PLAIN, FL_INSN_FRAME_ADDRESS, 1, 31, 4096, 2 },
	{ "add x1, x2, #8", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 2 },
	{ "and sp, x9, #-64", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 31 },
	{ "sub sp, sp, x9", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 1u << 31 },
	{ "cmp sp, x9", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "ldr x3, [sp, #24]", A64_PLAIN, FL_INSN_LOAD_FRAME, 3, 31, 24, 8 },
	{ "ldur x3, [x29, #-24]", A64_PLAIN, FL_INSN_LOAD_FRAME, 3, 29, -24, 8 },
	{ "str x3, [x29, #24]", A64_PLAIN, FL_INSN_STORE_FRAME, 3, 29, 24, 0 },
	{ "str xzr, [sp, #24]", A64_PLAIN, FL_INSN_SMASH, 3, 31, 24, 0 },
	{ "str w3, [sp, #24]", A64_PLAIN, FL_INSN_SMASH, 2, 31, 24, 0 },
	{ "strb w3, [sp, #5]", A64_PLAIN, FL_INSN_SMASH, 0, 31, 5, 0 },
	{ "str q3, [sp, #32]", A64_PLAIN, FL_INSN_SMASH, 4, 31, 32, 0 },
	{ "stp x3, x4, [sp, #-32]", A64_PLAIN, FL_INSN_SMASH, 4, 31, -32, 0 },
	{ "stp w3, w4, [sp, #8]", A64_PLAIN, FL_INSN_SMASH, 3, 31, 8, 0 },
	{ "stp q3, q4, [x29, #32]", A64_PLAIN, FL_INSN_SMASH, 5, 29, 32, 0 },
	{ "str x3, [sp, x4]", A64_PLAIN, FL_INSN_SMASH, FL_ANYWHERE, 31, 0, 0 },
	{ "str x3, [x4]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "stp x29, x30, [sp, #-32]!", A64_PLAIN, FL_INSN_SMASH, FL_ANYWHERE, 31, 0, 1u << 31 },
	{ "ldp x29, x30, [sp], #32", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 7u << 29 },
	{ "ldp x3, xzr, [sp]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "mov x3, #0x12340000", A64_PLAIN, FL_INSN_LOAD_ADDRESS, 3, 0, 0x12340000 - AT, 8 },
	{ "mov x3, #-2", A64_PLAIN, FL_INSN_LOAD_ADDRESS, 3, 0, -2 - AT, 8 },
	{ "mov w3, #-2", A64_PLAIN, FL_INSN_LOAD_ADDRESS, 3, 0, 0xfffffffe - AT, 8 },
	{ "movk x3, #5", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "ldxr w3, [x4]", A64_LDX, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "ldaxp x3, x5, [x4]", A64_LDX, FL_INSN_OTHER, 0, 0, NO, 0x28 },
	{ "stlxrb w6, w3, [x4]", A64_STX, FL_INSN_OTHER, 0, 0, NO, 1u << 6 },
	{ "stxp wzr, w3, w5, [x4]", A64_STX, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "clrex", A64_CLREX, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "ldadd x3, x5, [x4]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0x20 },
	{ "stadd x3, [x4]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "casp x2, x3, x4, x5, [x6]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0xc },
	{ "umov w3, v4.h[2]", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "fmov x3, d4", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "fmov d4, x3", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 0 },
	{ "fcvtzs x3, d4, #7", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 8 },
	{ "ld1 {v1.16b}, [x2], #16", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, 4 },
	{ "cntd x3", A64_PLAIN, FL_INSN_OTHER, 0, 0, NO, ~0u },
	{ ".inst 0xf380001f", A64_SIGNED, FL_INSN_OTHER, 0, 0, NO, 0 },	/* autiasppc */
	{ ".inst 0x03000000", A64_NONE, FL_INSN_OTHER, 0, 0, NO, ~0u },
};

static void knows_the_forms(void **state)
{
	char text[ARRAY_LEN(forms) * 40] = "";
	uint32_t words[ARRAY_LEN(forms)];
	size_t wrong = 0;

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(forms); k++)
		strcat(strcat(text, forms[k].text), "\n");
	assert_int_equal(assemble(text, words, ARRAY_LEN(forms)), ARRAY_LEN(forms));
	for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
		const struct form *f = &forms[k];
		uintptr_t to = f->target == NO ? 0 : (uintptr_t)f->target +
			(f->source == 31 || f->source == 29 ? 0 : AT);
		struct fl_insn i;
		struct a64 a;

		a64_read(&a, words[k]);
		fl_arch_decode(&i, (const unsigned char *)&words[k], 4, AT);
		if (a.kind == f->kind && i.cls == f->cls && i.reg == f->reg &&
		    i.source == f->source && i.target == to && i.writes == f->writes &&
		    i.len == (f->kind == A64_NONE ? 0 : 4))
			continue;
		printf("%s: kind %u class %u reg %u source %u target %#lx writes %08x\n",
		       f->text, a.kind, i.cls, i.reg, i.source, (unsigned long)i.target,
		       i.writes);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void an_entry_is_known(void **state)
{
	static const struct { uint32_t w[4]; size_t landing; bool flags, filler; } t[] = {
		{ { 0xd503245f, 0xa9bf7bfd }, 4, false, false },	/* bti c */
		{ { 0xd503233f, 0xa9bf7bfd }, 4, false, false },	/* paciasp */
		{ { 0xd503249f }, 0, false, false },			/* bti j */
		{ { 0xaa0103e0, 0x54000040 }, 0, true, false },		/* mov; b.eq */
		{ { 0xeb01001f, 0x54000040 }, 0, false, false },	/* cmp; b.eq */
		{ { 0x9a9f0000 }, 0, true, false },			/* csel */
		{ { 0xd503201f, 0xd503201f, 0, 0 }, 0, false, true },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(t); k++) {
		const unsigned char *code = (const unsigned char *)t[k].w;

		assert_int_equal(fl_arch_landing(code, 16), t[k].landing);
		assert_int_equal(fl_arch_takes_flags(code, 16, 4), t[k].flags);
		assert_int_equal(fl_arch_is_filler(code, 16, 16), t[k].filler);
	}
	assert_int_equal(fl_arch_landing((const unsigned char *)t[0].w, 3), 0);
}

static void a_call_is_known_by_where_it_returns(void **state)
{
	static const uint32_t code[] = { 0x94000010, 0xd63f0060, 0x14000010 };
	uintptr_t at = (uintptr_t)code;
	struct fl_insn i;

	(void)state;
	assert_true(fl_arch_call_before(&i, at + 4));
	assert_int_equal(i.target, at + 64);
	assert_false(fl_arch_call_before(&i, at + 8));
	assert_false(fl_arch_call_before(&i, at + 12));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_forms),
		cmocka_unit_test(an_entry_is_known),
		cmocka_unit_test(a_call_is_known_by_where_it_returns),
		cmocka_unit_test(agrees_with_binutils),
		cmocka_unit_test(agrees_with_capstone),
	};

	if (cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &capstone))
		return 1;
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
