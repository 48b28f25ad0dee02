/*
 * operands.c - which memory instructions read and write, against Zydis: every instruction of
 * some large installed programs, and random bytes.
 *
 *	operands: 8454327 instructions of programs with 3458041 accesses, 0.094 % not known |
 *	wrong 0, not known in vain 15
 *
 * Right of the bar `wrong` must be zero. The rest are no instructions: text holds tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "installed-text.h"

enum { WANTED_INSTRUCTIONS = 3000000, RANDOM = 2000000, SHOWN = 20,
       DATA = 200000 };		/* of so many one is no instruction: text holds tables */

/* Whose code has none of AVX-512, or chooses it at run time, as others do. */
static const char *const files[] = {
	"/proc/self/exe",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libbz2.so.1.0",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/lib/x86_64-linux-gnu/libx264.so.164",
	"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
	"/usr/bin/perl",
	"/usr/bin/python3",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
};

struct verdict {
	size_t n, unknown, wrong, in_vain, shown, told;
};

static void show(struct verdict *v, const char *what, const unsigned char *p,
		 const ZydisDecodedInstruction *z, const struct fl_operands *s)
{
	if (v->shown++ >= SHOWN)
		return;
	printf("%s: %s:", what, ZydisMnemonicGetString(z->mnemonic));
	for (unsigned int k = 0; k < z->length; k++)
		printf(" %02x", p[k]);
	for (uint32_t k = 0; k < s->n; k++)
		printf(", %d at %lld(%d,%d,%d) %d", s->of[k].what,
		       (long long)s->of[k].target, s->of[k].base, s->of[k].index,
		       1 << s->of[k].shift, s->of[k].size);
	printf("\n");
}

static uint8_t number_of(ZydisRegister r)
{
	r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
	if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
		return (uint8_t)(r - ZYDIS_REGISTER_RAX);
	return FL_NO_REG;
}

static bool is_access(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

/* Of a stack operand Zydis does not say by how much its register has moved. */
static int64_t displacement(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
			    uint64_t at)
{
	bool is_hidden = op->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
	int64_t d = op->mem.disp.has_displacement ? op->mem.disp.value : 0;

	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP)
		return (int64_t)(at + z->length) + d;
	if (is_hidden && op->mem.base == ZYDIS_REGISTER_RSP &&
	    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		return -(op->size / 8);
	if (!is_hidden && z->mnemonic == ZYDIS_MNEMONIC_POP &&
	    op->mem.base == ZYDIS_REGISTER_RSP)
		return d + op->size / 8;
	return d;
}

/* cmpxchg reads, and writes what it has read if nothing else: lackey says both. */
static unsigned int what_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	unsigned int what = 0;

	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		what |= FL_OPERAND_LOAD;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		what |= FL_OPERAND_STORE;
	if (z->mnemonic == ZYDIS_MNEMONIC_CMPXCHG)
		what = FL_OPERAND_LOAD | FL_OPERAND_STORE;
	return what;
}

static bool is_same(const struct fl_operand *o, const ZydisDecodedInstruction *z,
		    const ZydisDecodedOperand *op, uint64_t at)
{
	bool is_rep = z->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				       ZYDIS_ATTRIB_HAS_REPNE);

	return o->what == what_of(z, op) && o->size == op->size / 8 &&
	       o->base == number_of(op->mem.base) && o->index == number_of(op->mem.index) &&
	       (o->index == FL_NO_REG || 1 << o->shift == op->mem.scale) &&
	       o->target == displacement(z, op, at) && o->repeats == is_rep &&
	       o->is_fs == (op->mem.segment == ZYDIS_REGISTER_FS) &&
	       (op->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT ||
		o->is_32 == (z->address_width == 32)) &&
	       op->mem.segment != ZYDIS_REGISTER_GS;
}

static size_t count_accesses(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	size_t n = 0;

	for (unsigned int k = 0; k < z->operand_count; k++)
		n += is_access(&op[k]);
	return n;
}

static bool are_same(const struct fl_operands *s, const ZydisDecodedInstruction *z,
		     const ZydisDecodedOperand *op, uint64_t at)
{
	bool has[ZYDIS_MAX_OPERAND_COUNT] = { false };

	for (uint32_t k = 0; k < s->n; k++) {
		unsigned int i = 0;

		while (i < z->operand_count &&
		       (has[i] || !is_access(&op[i]) || !is_same(&s->of[k], z, &op[i], at)))
			i++;
		if (i == z->operand_count)
			return false;
		has[i] = true;
	}
	return s->n == count_accesses(z, op);
}

/* Names memory, and touches none that a program could tell. */
static bool touches_nothing(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_NOP: case ZYDIS_CATEGORY_WIDENOP: case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_CLDEMOTE: case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
		return true;
	default:
		break;
	}
	return z->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
	       z->mnemonic == ZYDIS_MNEMONIC_PREFETCHWT1 ||
	       z->mnemonic == ZYDIS_MNEMONIC_UD0 ||
	       z->mnemonic == ZYDIS_MNEMONIC_UD1;
}

/* What may be left unknown; all else is, in vain. */
static bool may_be_unknown(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	for (unsigned int k = 0; k < z->operand_count; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op[k].mem.type == ZYDIS_MEMOP_TYPE_VSIB ||
		     op[k].mem.segment == ZYDIS_REGISTER_GS ||
		     op[k].actions & (ZYDIS_OPERAND_ACTION_CONDREAD |
				      ZYDIS_OPERAND_ACTION_CONDWRITE)))
			return true;
	if (z->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	    z->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP)
		return true;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_STRINGOP: case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_XSAVE: case ZYDIS_CATEGORY_XSAVEOPT: case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_BITBYTE: case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_KMASK: case ZYDIS_CATEGORY_MPX: case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_AMX_TILE:
		return true;
	default:
		break;
	}
	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_XLAT: case ZYDIS_MNEMONIC_ENTER: case ZYDIS_MNEMONIC_FEMMS:
	case ZYDIS_MNEMONIC_IRETD: case ZYDIS_MNEMONIC_IRETQ:
		return true;
	default:
		break;
	}
	return z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
	       (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && z->opcode >= 0xa0 &&
		z->opcode <= 0xa3);
}

static void compare(struct verdict *v, const unsigned char *p, size_t n,
		    const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
		    bool is_random)
{
	struct fl_operands s = { 0 };
	uint64_t at = (uintptr_t)p;
	struct fl_insn i;

	fl_arch_decode(&i, p, n, at);
	if (i.len != z->length || z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return;				/* unit/decode's */
	v->n++;
	if (!fl_arch_operands(&s, p, &i, at)) {
		v->unknown++;
		if (!is_random && !may_be_unknown(z, op)) {
			v->in_vain++;
			show(v, "not known", p, z, &s);
		}
		return;
	}
	v->told += s.n;
	if (touches_nothing(z) ? s.n : !are_same(&s, z, op, at)) {
		v->wrong++;
		show(v, "wrong", p, z, &s);
	}
}

static void compare_code(void *verdict, const unsigned char *p, size_t n,
			 const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	compare(verdict, p, n, z, op, false);
}

static void tell(const char *of, const struct verdict *v)
{
	printf("operands: %zu instructions of %s with %zu accesses, %.3f %% not known | "
	       "wrong %zu, not known in vain %zu\n", v->n, of, v->told,
	       100.0 * (double)v->unknown / (double)v->n, v->wrong, v->in_vain);
}

static void agrees_with_zydis_on_installed_programs(void **state)
{
	struct verdict v = { 0 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		each_instruction(files[k], compare_code, &v);
	tell("programs", &v);
	assert_true(v.n >= WANTED_INSTRUCTIONS && v.told > v.n / 4);
	assert_int_equal(v.wrong, 0);
	assert_true(v.in_vain <= v.n / DATA);
}

/* Nearly all opcodes are met some hundred times, with prefixes or VEX or none. */
static void fill(unsigned char *p, size_t n, uint64_t *seed)
{
	static const unsigned char heads[] = {
		0x66, 0x67, 0xf2, 0xf3, 0x48, 0x41, 0x4c, 0x0f, 0x0f, 0xc4, 0xc5,
		0x2e, 0x64, 0xff, 0x8b, 0x0f,
	};

	for (size_t k = 0; k < n; k++) {
		uint64_t r = next_random(seed);

		p[k] = k < 3 && (r & 256) ? heads[(r >> 9) % sizeof heads] : (uint8_t)r;
	}
}

static void agrees_with_zydis_on_random_bytes(void **state)
{
	struct verdict v = { 0 };
	uint64_t seed = 88172645463325252ull;
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	unsigned char code[24];

	(void)state;
	for (int k = 0; k < RANDOM; k++) {
		fill(code, sizeof code, &seed);
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, code, sizeof code, &z, op)))
			compare(&v, code, sizeof code, &z, op, true);
	}
	tell("random bytes", &v);
	assert_true(v.told > RANDOM / 10);
	assert_int_equal(v.wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_zydis_on_installed_programs),
		cmocka_unit_test(agrees_with_zydis_on_random_bytes),
	};

	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
