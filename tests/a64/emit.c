/*
 * emit.c - each encoder against the assembler, at its limits and beyond; which words may be
 * exchanged under threads.
 */
#include "a64.h"

#include "arch/arch.h"
#include "arch/aarch64/decode.h"
#include "arch/aarch64/emit.h"

enum { AT = 0x40000000 };

static uint32_t word_of(const char *text)
{
	uint32_t w = 0;

	assert_int_equal(assemble(text, &w, 1), 1);
	return w;
}

static uint32_t branch(enum a64_direct op, int64_t d)
{
	uint32_t w;

	return a64_branch(&w, op, AT, AT + (uintptr_t)d) ? w : 0;
}

static uint32_t literal(int64_t d)
{
	uint32_t w;

	return a64_ldr_literal(&w, 16, AT, AT + (uintptr_t)d) ? w : 0;
}

static uint32_t adr(int64_t d)
{
	uint32_t w;

	return a64_adr(&w, 7, AT, AT + (uintptr_t)d) ? w : 0;
}

static void words_are_the_assemblers(void **state)
{
	const struct { const char *text; uint32_t word; } t[] = {
		{ "b .+8", branch(A64_W_B, 8) },
		{ "b .-134217728", branch(A64_W_B, -134217728) },
		{ "bl .+134217724", branch(A64_W_BL, 134217724) },
		{ "ldr x16, .+1048572", literal(1048572) },
		{ "ldr x16, .-1048576", literal(-1048576) },
		{ "adr x7, .+1048575", adr(1048575) },
		{ "adr x7, .-1048576", adr(-1048576) },
		{ "adr x7, .-3", adr(-3) },
		{ "add x3, sp, #4095", a64_add(3, 31, 4095) },
		{ "ldr x3, [sp, #32760]", a64_ldr(3, 31, 32760) },
		{ "str x3, [x4, #8]", a64_str(3, 4, 8) },
		{ "ldar x3, [x4]", a64_ldar(3, 4) },
		{ "ldr x3, [x4, x5]", a64_ldr_by(3, 4, 5) },
		{ "stur x3, [x4, #-256]", a64_stur(3, 4, -256) },
		{ "stur x3, [x4, #255]", a64_stur(3, 4, 255) },
		{ "ldp x3, x4, [x5, #-512]", a64_ldp(3, 4, 5, -512) },
		{ "ldp x3, x4, [x3, #504]", a64_ldp(3, 4, 3, 504) },
		{ "stp x3, x4, [sp, #-512]!", a64_push(3, 4, -512) },
		{ "ldp x3, x4, [sp], #504", a64_pop(3, 4, 504) },
		{ "mov x3, x4", a64_mov(3, 4) },
		{ "br x16", a64_br(16) },
		{ "blr x16", a64_blr(16) },
		{ "movz x3, #0xffff, lsl #48", a64_movz(3, 0xffff, 3) },
		{ "movk x3, #1, lsl #16", a64_movk(3, 1, 1) },
		{ "nop", A64_W_NOP }, { "bti c", A64_W_BTI_C }, { "bti j", A64_W_BTI_J },
		{ "paciasp", A64_W_PACIASP }, { "brk #0", A64_W_BRK }, { "isb", A64_W_ISB },
		{ "ret", A64_W_RET }, { "clrex", A64_W_CLREX },
	};

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(t); k++) {
		if (t[k].word != word_of(t[k].text))
			printf("%s: %08x\n", t[k].text, t[k].word);
		assert_int_equal(t[k].word, word_of(t[k].text));
	}
}

static void what_is_out_of_reach_is_not_made(void **state)
{
	(void)state;
	assert_int_equal(branch(A64_W_B, A64_BRANCH_REACH), 0);
	assert_int_equal(branch(A64_W_BL, -A64_BRANCH_REACH - 4), 0);
	assert_int_equal(branch(A64_W_B, 2), 0);
	assert_int_equal(literal(A64_NEAR_REACH), 0);
	assert_int_equal(literal(-A64_NEAR_REACH - 4), 0);
	assert_int_equal(adr(A64_NEAR_REACH), 0);
	assert_int_equal(adr(-A64_NEAR_REACH - 1), 0);
}

/* adrp and add lead to the byte, wherever they stand. */
static void pages_are_found(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int k = 0; k < 10000; k++) {
		uintptr_t at = 0x555500000000 + (next_random(&seed) & 0x3fffffffc);
		uintptr_t to = 0x555500000000 + (next_random(&seed) & 0x3ffffffff);
		int64_t pages = (int64_t)(to >> 12) - (int64_t)(at >> 12);
		bool near = pages >= -(1 << 20) && pages < 1 << 20;
		uint32_t w;

		assert_int_equal(a64_adrp(&w, 3, at, to), near);
		if (near)
			assert_int_equal(a64_target(w, A64_ADRP, at), to & ~4095ul);
	}
}

/* Both of a pair must be of this set: so all that is asked is of one word. */
static void what_may_be_exchanged_is_a_list(void **state)
{
	static const struct { const char *text; bool may; } t[] = {
		{ "b .+8", true }, { "bl .+8", true }, { "nop", true }, { "brk #77", true },
		{ "svc #0", true }, { "hvc #0", true }, { "smc #0", true }, { "isb", true },
		{ "b.eq .+8", false }, { "cbz x0, .+8", false }, { "tbz x0, #1, .+8", false },
		{ "ret", false }, { "bti c", false }, { "paciasp", false }, { "yield", false },
		{ "mov x0, x1", false }, { "stp x29, x30, [sp, #-16]!", false },
		{ "adr x0, .", false }, { "hlt #0", false }, { "dsb sy", false },
		{ "br x0", false }, { "udf #0", false }, { ".inst 0xd4000000", false },
	};

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(t); k++) {
		if (a64_is_exchangeable(word_of(t[k].text)) != t[k].may)
			printf("%s\n", t[k].text);
		assert_int_equal(a64_is_exchangeable(word_of(t[k].text)), t[k].may);
	}
}

static void sequences_lead_where_they_should(void **state)
{
	uint32_t w[8], is[8];

	(void)state;
	if (!has_tools())
		skip();
	assert_int_equal(a64_put_constant((unsigned char *)w, 9, 0x9abcdef0, 32), 8);
	assert_int_equal(assemble("movz x9, #0xdef0\nmovk x9, #0x9abc, lsl #16\n", is, 8), 2);
	assert_memory_equal(w, is, 8);
}

/* As drawn in veneer.c; what a site's jump that is off leads to stands where a glue has it. */
static void veneers_are_as_they_are_drawn(void **state)
{
	enum { GLUE_AT_1 = 2, GLUE_AT_2 = 6, GLUE_AT_3 = 8, RET = 7 };
	static const uint64_t glue = 0x123456789abcdef0;
	const struct {
		enum fl_form form;
		uintptr_t back;
		const char *text;
		size_t words, glue;
	} t[] = {
		{ FL_FORM_CALL, 0, "ldr x16, .+8\nbr x16\n.quad %#lx\n", 4, GLUE_AT_1 },
		{ FL_FORM_JUMP, 0, "ldr x16, .+8\nbr x16\n.quad %#lx\nbrk #0\nbrk #0\n"
		  "brk #0\nret\n", RET + 1, GLUE_AT_1 },
		{ FL_FORM_SLED_RET, 0, "ldr x16, .+8\nbr x16\n.quad %#lx\nbrk #0\nbrk #0\n"
		  "brk #0\nret\n", RET + 1, GLUE_AT_1 },
		{ FL_FORM_PAD, AT + 16 + 134217724, "str x30, [sp, #-16]!\nldr x17, .+20\n"
		  "blr x17\nldr x30, [sp], #16\nb .+134217724\nbrk #0\n.quad %#lx\n", 8,
		  GLUE_AT_2 },
		{ FL_FORM_BODY_TAIL, FL_GLUE_KEEPS, "str x30, [sp, #8]\n"
		  "stp x16, x17, [sp, #-16]!\nldr x17, .+24\nblr x17\n"
		  "ldp x16, x17, [sp], #16\nldr x30, [sp, #8]\nret\nbrk #0\n.quad %#lx\n",
		  10, GLUE_AT_3 },
	};
	unsigned char out[FL_ARCH_VENEER_MAX];
	struct fl_veneer far = { .at = AT, .glue = glue, .back = AT + 16 + 134217728,
				 .form = FL_FORM_SLED };

	(void)state;
	if (!has_tools())
		skip();
	for (size_t k = 0; k < ARRAY_LEN(t); k++) {
		struct fl_veneer v = { .at = AT, .glue = glue, .back = t[k].back,
				       .form = t[k].form };
		uint32_t is[FL_ARCH_VENEER_MAX / 4];
		char text[512];

		snprintf(text, sizeof text, t[k].text, (unsigned long)glue);
		assert_int_equal(assemble(text, is, ARRAY_LEN(is)), t[k].words);
		assert_int_equal(fl_arch_put_veneer(out, &v), 4 * t[k].words);
		assert_memory_equal(out, is, 4 * t[k].words);
		assert_true(t[k].glue % 2 == 0);	/* it is loaded in one */
		assert_memory_equal(out + 4 * t[k].glue, &glue, sizeof glue);
	}
	assert_int_equal(fl_arch_put_veneer(out, &far), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_the_assemblers),
		cmocka_unit_test(what_is_out_of_reach_is_not_made),
		cmocka_unit_test(pages_are_found),
		cmocka_unit_test(what_may_be_exchanged_is_a_list),
		cmocka_unit_test(sequences_lead_where_they_should),
		cmocka_unit_test(veneers_are_as_they_are_drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
