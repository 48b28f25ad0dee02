/*
 * decode.c - the x86-64 decoder against Zydis: every instruction of some large
 * installed programs, and random bytes.
 *
 *	decode: 21847113 instructions of 6 files | length 0 class 0 target 0 operand 0 writes 0
 *
 * Counts right of the bar must be zero.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "installed-text.h"

enum { WANTED_INSTRUCTIONS = 5000000, RANDOM = 1000000, SHOWN = 20, RSP = 4, RBP = 5 };

static const char *const files[] = {
	"/proc/self/exe",
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/lapack/liblapack.so.3",
	"/usr/lib/gcc/x86_64-linux-gnu/12/cc1",
	"/usr/bin/perl",
	"/usr/bin/gdb",
	"/usr/bin/python3",
};

struct verdict {
	size_t n, n_files, left, length, class, target, operand, writes, shown;
};

static void show(struct verdict *v, const char *what, const unsigned char *p,
		 const ZydisDecodedInstruction *z, const struct fl_insn *i)
{
	if (v->shown++ >= SHOWN)
		return;
	printf("%s: %s len %u, ours len %u class %u reg %u writes %04x:", what,
	       ZydisMnemonicGetString(z->mnemonic), z->length, i->len, i->cls,
	       i->reg, i->writes);
	for (unsigned int k = 0; k < z->length; k++)
		printf(" %02x", p[k]);
	printf("\n");
}

/* General registers that Zydis says are written. */
static unsigned int zydis_writes(const ZydisDecodedInstruction *z,
				 const ZydisDecodedOperand *op)
{
	unsigned int mask = 0;

	for (unsigned int k = 0; k < z->operand_count; k++) {
		ZydisRegister r;

		if (op[k].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		r = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     op[k].reg.value);
		if (r >= ZYDIS_REGISTER_RAX && r <= ZYDIS_REGISTER_R15)
			mask |= 1u << (r - ZYDIS_REGISTER_RAX);
	}
	return mask;
}

static bool is_rip_pointer(const ZydisDecodedInstruction *z,
			const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && z->address_width == 64 &&
	       op->mem.base == ZYDIS_REGISTER_RIP &&
	       op->mem.segment != ZYDIS_REGISTER_FS &&
	       op->mem.segment != ZYDIS_REGISTER_GS;
}

/* ---- the frame ----------------------------------------------------------- */

/* The operand disp(%rsp) or disp(%rbp); NULL: none. */
static const ZydisDecodedOperand *frame_operand(const ZydisDecodedInstruction *z,
						const ZydisDecodedOperand *op)
{
	for (unsigned int k = 0; k < z->operand_count_visible; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY && z->address_width == 64 &&
		    (op[k].mem.base == ZYDIS_REGISTER_RSP ||
		     op[k].mem.base == ZYDIS_REGISTER_RBP) &&
		    op[k].mem.index == ZYDIS_REGISTER_NONE &&
		    !(z->attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS |
				       ZYDIS_ATTRIB_HAS_SEGMENT_GS)))
			return &op[k];
	return NULL;
}

static unsigned int number_of(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_RBP ? RBP : RSP;
}

static bool is_stack_sum(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	return (z->opcode == 0x81 || z->opcode == 0x83) && z->operand_width == 64 &&
	       op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       op[0].reg.value == ZYDIS_REGISTER_RSP;
}

/* What the instruction does to the frame; OTHER: nothing. */
static unsigned int frame_class(const ZydisDecodedInstruction *z,
				const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *place = frame_operand(z, op);

	if (is_stack_sum(z, op) && z->mnemonic == ZYDIS_MNEMONIC_AND)
		return FL_INSN_ALIGN;
	if (is_stack_sum(z, op) && (z->mnemonic == ZYDIS_MNEMONIC_ADD ||
				    z->mnemonic == ZYDIS_MNEMONIC_SUB))
		return FL_INSN_FRAME_ADDRESS;
	if (!place)
		return FL_INSN_OTHER;
	if (z->mnemonic == ZYDIS_MNEMONIC_LEA && z->operand_width == 64)
		return FL_INSN_FRAME_ADDRESS;
	if (z->mnemonic == ZYDIS_MNEMONIC_MOV && z->operand_width == 64 && z->opcode == 0x8b)
		return FL_INSN_LOAD_FRAME;
	if (z->mnemonic == ZYDIS_MNEMONIC_MOV && z->operand_width == 64 && z->opcode == 0x89)
		return FL_INSN_STORE_FRAME;
	return place->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? FL_INSN_SMASH :
	       FL_INSN_OTHER;
}

/* Is what we say of the place in the frame so? A write may be said to be longer. */
static bool is_frame_right(const struct fl_insn *i, const ZydisDecodedInstruction *z,
			   const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *place = frame_operand(z, op);
	int64_t at = (int64_t)i->target;

	if (i->cls == FL_INSN_ALIGN)
		return at == op[1].imm.value.s;
	if (is_stack_sum(z, op))
		return i->reg == RSP && i->source == RSP &&
		       at == (z->mnemonic == ZYDIS_MNEMONIC_SUB ? -op[1].imm.value.s :
			      op[1].imm.value.s);
	if (!place || i->source != number_of(place->mem.base))
		return false;
	if (i->cls == FL_INSN_SMASH && i->reg == FL_ANYWHERE)
		return true;
	return at == place->mem.disp.value &&
	       (i->cls != FL_INSN_SMASH || 8u << i->reg >= place->size);
}

/* Stores that we need not know from loads: what is rare. */
static bool may_be_smash(const ZydisDecodedInstruction *z)
{
	return z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || z->opcode == 0xae ||
	       z->opcode == 0xc7 || (z->opcode >= 0xd8 && z->opcode <= 0xdf) ||
	       z->opcode == 0x7e || z->opcode == 0x78 || z->opcode <= 1 ||
	       z->opcode_map != ZYDIS_OPCODE_MAP_0F;
}

static unsigned int mov_class(const ZydisDecodedInstruction *z,
			      const ZydisDecodedOperand *op)
{
	if (op[0].type != ZYDIS_OPERAND_TYPE_REGISTER || z->operand_width < 32 ||
	    op[0].size < 32)
		return FL_INSN_OTHER;
	if (op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return FL_INSN_LOAD_ADDRESS;
	if (z->operand_width < 64 || (z->opcode != 0x8b && z->opcode != 0x89))
		return FL_INSN_OTHER;
	if (op[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		return FL_INSN_MOVE;
	return is_rip_pointer(z, &op[1]) ? FL_INSN_LOAD_POINTER : FL_INSN_OTHER;
}

static unsigned int zydis_class(const ZydisDecodedInstruction *z,
				const ZydisDecodedOperand *op)
{
	if (z->mnemonic == ZYDIS_MNEMONIC_XABORT)
		return FL_INSN_OTHER;
	if (z->mnemonic == ZYDIS_MNEMONIC_UD2)
		return FL_INSN_STOP;
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return z->opcode == 0xff && is_rip_pointer(z, op) &&
		       z->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ?
		       FL_INSN_CALL_POINTER : FL_INSN_CALL;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return z->opcode == 0xff && is_rip_pointer(z, op) &&
		       z->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ?
		       FL_INSN_JUMP_POINTER : FL_INSN_JUMP;
	case ZYDIS_CATEGORY_COND_BR:
		return z->mnemonic == ZYDIS_MNEMONIC_XEND ?
		       FL_INSN_OTHER : FL_INSN_BRANCH;
	case ZYDIS_CATEGORY_RET:
		return FL_INSN_RET;
	default:
		break;
	}
	if (z->mnemonic == ZYDIS_MNEMONIC_NOP && (z->opcode == 0x90 || z->opcode == 0x1f))
		return FL_INSN_NOP;
	if (z->mnemonic == ZYDIS_MNEMONIC_LEA && z->operand_width >= 32 &&
	    frame_class(z, op) == FL_INSN_OTHER)
		return op[1].mem.base == ZYDIS_REGISTER_RIP ?
		       FL_INSN_LOAD_ADDRESS : FL_INSN_OTHER;
	if (z->meta.category == ZYDIS_CATEGORY_PUSH)
		return z->operand_width == 64 && z->mnemonic != ZYDIS_MNEMONIC_ENTER ?
		       FL_INSN_PUSH : FL_INSN_OTHER;
	if (z->mnemonic == ZYDIS_MNEMONIC_POP && z->opcode >= 0x58 && z->opcode < 0x60 &&
	    z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
		return z->operand_width == 64 ? FL_INSN_POP : FL_INSN_OTHER;
	if (z->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		return z->operand_width == 64 ? FL_INSN_LEAVE : FL_INSN_OTHER;
	if (frame_class(z, op) != FL_INSN_OTHER)
		return frame_class(z, op);
	return z->mnemonic == ZYDIS_MNEMONIC_MOV ? mov_class(z, op) : FL_INSN_OTHER;
}

/* The address that the instruction names, where our class has one. */
static bool has_target(const ZydisDecodedInstruction *z,
		       const ZydisDecodedOperand *op, uint64_t at, uint64_t *out)
{
	for (unsigned int k = 0; k < z->operand_count_visible; k++)
		if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, &op[k], at, out)) &&
		    (op[k].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		     op[k].mem.base == ZYDIS_REGISTER_RIP))
			return true;
	for (unsigned int k = 0; k < z->operand_count_visible; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			*out = z->operand_width == 32 ?
				(uint32_t)op[k].imm.value.u : op[k].imm.value.u;
			return true;
		}
	return false;
}

/* Instructions of the Knights Corner coprocessor; near branches of 16 bits,
 * which are 32 bits long to Zydis and to Intel and not to AMD. */
static bool is_left_out(const ZydisDecodedInstruction *z)
{
	bool near_branch = z->meta.branch_type == ZYDIS_BRANCH_TYPE_NEAR ||
			   z->meta.branch_type == ZYDIS_BRANCH_TYPE_SHORT;

	if (strstr(ZydisISASetGetString(z->meta.isa_set), "KNC") ||
	    strstr(ZydisISAExtGetString(z->meta.isa_ext), "KNC"))
		return true;
	return near_branch && (z->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) &&
	       !(z->raw.rex.W);
}

/* Registers that the class says are written, and how. */
static unsigned int implied(const struct fl_insn *i)
{
	switch (i->cls) {
	case FL_INSN_CALL: case FL_INSN_CALL_POINTER: case FL_INSN_RET: case FL_INSN_PUSH:
	case FL_INSN_ALIGN:
		return 1u << RSP;
	case FL_INSN_POP:
		return 1u << RSP | 1u << i->reg;
	case FL_INSN_LEAVE:
		return 1u << RSP | 1u << RBP;
	case FL_INSN_LOAD_ADDRESS: case FL_INSN_LOAD_POINTER: case FL_INSN_MOVE:
	case FL_INSN_LOAD_FRAME: case FL_INSN_FRAME_ADDRESS:
		return 1u << i->reg;
	}
	return 0;
}

/* Nothing but that register is written. */
static bool is_known_move(const struct fl_insn *i)
{
	return i->cls >= FL_INSN_LOAD_ADDRESS && i->cls != FL_INSN_SMASH;
}

/* Offset of the displacement of a pc-relative operand; 0: none. */
static unsigned int operand_at(const ZydisDecodedInstruction *z,
			       const ZydisDecodedOperand *op)
{
	for (unsigned int k = 0; k < z->operand_count_visible; k++)
		if (op[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op[k].mem.base == ZYDIS_REGISTER_RIP ||
		     op[k].mem.base == ZYDIS_REGISTER_EIP))
			return z->raw.disp.offset;
	return 0;
}

static void compare(void *verdict, const unsigned char *p, size_t n,
		    const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	struct verdict *v = verdict;
	uint64_t at = (uintptr_t)p, target = 0;
	struct fl_insn i;
	unsigned int writes, class;
	bool is_frame;

	fl_arch_decode(&i, p, n, at);
	if (is_left_out(z)) {
		v->left++;
		return;
	}
	v->n++;
	if (i.len != z->length) {
		v->length++;
		show(v, "length", p, z, &i);
		return;
	}
	class = zydis_class(z, op);
	is_frame = i.cls >= FL_INSN_LOAD_FRAME;
	if (i.cls != class && !(i.cls == FL_INSN_SMASH && class == FL_INSN_OTHER &&
				may_be_smash(z))) {
		v->class++;
		show(v, "class", p, z, &i);
	}
	if (is_frame ? !is_frame_right(&i, z, op) :
	    i.target && (!has_target(z, op, at, &target) ||
			 (i.target != target && i.target != (uint32_t)target))) {
		v->target++;
		show(v, "target", p, z, &i);
	}
	if (i.operand_at != operand_at(z, op)) {
		v->operand++;
		show(v, "operand", p, z, &i);
	}
	writes = zydis_writes(z, op);
	if ((writes & ~i.writes & ~implied(&i)) ||
	    (is_known_move(&i) && (writes & ~(1u << RSP)) != (implied(&i) & ~(1u << RSP)))) {
		v->writes++;
		show(v, "writes", p, z, &i);
	}
}

static void agrees_with_zydis_on_installed_programs(void **state)
{
	struct verdict v = { 0 };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(files); k++)
		v.n_files += each_instruction(files[k], compare, &v);
	printf("decode: %zu instructions of %zu files, %zu left out | "
	       "length %zu class %zu target %zu operand %zu writes %zu\n", v.n, v.n_files,
	       v.left, v.length, v.class,
	       v.target, v.operand, v.writes);
	assert_true(v.n >= WANTED_INSTRUCTIONS);
	assert_int_equal(v.length + v.class + v.target + v.operand + v.writes, 0);
}

/* Bytes that lead somewhere: half of the time a prefix or an escape. */
static void fill(unsigned char *p, size_t n, uint64_t *seed)
{
	static const unsigned char heads[] = {
		0x66, 0x67, 0xf2, 0xf3, 0x48, 0x41, 0x4c, 0x0f, 0x0f, 0xc4, 0xc5,
		0x62, 0x2e, 0x64, 0xff, 0x8b,
	};

	for (size_t k = 0; k < n; k++) {
		uint64_t r = next_random(seed);

		p[k] = k < 3 && (r & 256) ? heads[(r >> 9) % sizeof heads] : r;
	}
}

/* The bytes end where a page ends that is followed by none. */
static void agrees_with_zydis_on_random_bytes(void **state)
{
	unsigned char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct verdict v = { 0 };
	uint64_t seed = 88172645463325252u;
	size_t n_ours = 0;

	(void)state;
	assert_int_equal(munmap(page + 4096, 4096), 0);
	for (size_t k = 0; k < RANDOM; k++) {
		size_t n = next_random(&seed) % 33;
		unsigned char *p = page + 4096 - n;
		ZydisDecodedInstruction z;
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		struct fl_insn i;

		fill(p, n, &seed);
		fl_arch_decode(&i, p, n, (uintptr_t)p);
		assert_true(i.len <= n);
		n_ours += i.len != 0;
		if (i.len && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, p, n, &z, op)))
			compare(&v, p, n, &z, op);
	}
	printf("decode: %zu random, %zu understood, %zu by both | length %zu class "
	       "%zu target %zu operand %zu writes %zu\n", (size_t)RANDOM, n_ours, v.n,
	       v.length, v.class, v.target, v.operand, v.writes);
	assert_true(v.n > RANDOM / 4);
	assert_int_equal(v.length + v.class + v.target + v.operand + v.writes, 0);
	munmap(page, 4096);
}

static void knows_the_forms_of_a_site(void **state)
{
	static const struct {
		unsigned char code[12];
		uint8_t len, cls, opcode_at;
	} t[] = {
		{ { 0xe8, 1, 0, 0, 0 }, 5, FL_INSN_CALL, 0 },
		{ { 0x67, 0xe8, 1, 0, 0, 0 }, 6, FL_INSN_CALL, 1 },
		{ { 0xf2, 0xe8, 1, 0, 0, 0 }, 6, FL_INSN_CALL, 1 },
		{ { 0xff, 0x15, 1, 0, 0, 0 }, 6, FL_INSN_CALL_POINTER, 0 },
		{ { 0x67, 0xff, 0x15, 1, 0, 0, 0 }, 7, FL_INSN_CALL, 1 },
		{ { 0x64, 0xff, 0x15, 1, 0, 0, 0 }, 7, FL_INSN_CALL, 1 },
		{ { 0x66, 0x48, 0xff, 0x15, 1, 0, 0, 0 }, 8, FL_INSN_CALL_POINTER, 2 },
		{ { 0xff, 0xd0 }, 2, FL_INSN_CALL, 0 },
		{ { 0xf2, 0xff, 0x25, 1, 0, 0, 0 }, 7, FL_INSN_JUMP_POINTER, 1 },
		{ { 0xf3, 0xc3 }, 2, FL_INSN_RET, 1 },
		{ { 0x66, 0x90 }, 2, FL_INSN_NOP, 1 },
		{ { 0x41, 0x90 }, 2, FL_INSN_OTHER, 1 },
		{ { 0xf3, 0x90 }, 2, FL_INSN_OTHER, 1 },
		{ { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, 10, FL_INSN_NOP, 2 },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, FL_INSN_OTHER, 1 },
		{ { 0x66, 0xe8, 1, 0, 0, 0 }, 0, FL_INSN_OTHER, 0 },
		{ { 0x66, 0x74, 1 }, 0, FL_INSN_OTHER, 0 },
		{ { 0x8f, 0xe8, 0x78, 0xc2, 0xc0, 7 }, 6, FL_INSN_OTHER, 0 },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(t); k++) {
		struct fl_insn i;

		fl_arch_decode(&i, t[k].code, sizeof t[k].code, 0x400000);
		assert_int_equal(i.len, t[k].len);
		assert_int_equal(i.cls, t[k].cls);
		assert_int_equal(i.opcode_at, t[k].opcode_at);
	}
	assert_int_equal(fl_arch_landing(t[14].code, 4), 4);
	assert_int_equal(fl_arch_landing(t[14].code, 3), 0);
}

enum { ROOM = 32 };		/* with less the one is made of the other */

static uint32_t differing(const unsigned char *code, size_t n)
{
	struct fl_insn i, flow;

	fl_arch_decode(&i, code, n, 0x400000);
	return fl_arch_decode_flow(&flow, code, n, 0x400000) != i.len;
}

/* Behind a prefix of its size an opcode may have operands that it has not without, or mean
 * nothing: of all opcodes and operands what is followed is what is decoded. */
static void follows_what_a_prefix_changes(void **state)
{
	static const unsigned char prefixes[] = { 0x66, 0xf2, 0xf3 };
	uint32_t differ = 0;

	(void)state;
	for (size_t p = 0; p < sizeof prefixes; p++)
		for (unsigned opcode = 0; opcode < 256; opcode++)
			for (unsigned operand = 0; operand < 256; operand++) {
				unsigned char o = (unsigned char)opcode;
				unsigned char m = (unsigned char)operand;
				unsigned char one[ROOM] = { prefixes[p], o, m };
				unsigned char two[ROOM] = { prefixes[p], 0x0f, o, m };

				differ += differing(one, ROOM) + differing(two, ROOM);
			}
	assert_int_equal(differ, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_what_a_prefix_changes),
		cmocka_unit_test(knows_the_forms_of_a_site),
		cmocka_unit_test(agrees_with_zydis_on_random_bytes),
		cmocka_unit_test(agrees_with_zydis_on_installed_programs),
	};

	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
