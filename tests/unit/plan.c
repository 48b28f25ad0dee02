/* unit/plan: every form of site gets the bytes that plan.c draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "site/site.h"

static unsigned char text[64];
static unsigned char glue[16];

static int plan(struct fl_patch *p, int form, const void *old, size_t n, uint8_t before)
{
	struct fl_plan_in in = {
		.at = (uintptr_t)text + 16, .form = form, .room = (uint8_t)(n - before),
		.before = before, .glue = (uintptr_t)glue,
	};
	uint64_t datum;

	memset(text, 0x90, sizeof text);
	memcpy(text + 16 - before, old, n);
	return fl_arch_plan(p, &in, &datum);
}

/* Both states are one instruction from head to end, and differ in one byte. */
static void assert_one_flip(const struct fl_patch *p, unsigned on, unsigned off)
{
	size_t differ = 0;

	for (size_t i = 0; i < p->len; i++)
		differ += p->bytes[FL_ON][i] != p->bytes[FL_OFF][i];
	assert_int_equal(differ, 1);
	assert_int_equal(p->tactic, FL_FLIP);
	assert_int_equal(p->bytes[FL_ON][p->flip_at], on);
	assert_int_equal(p->bytes[FL_OFF][p->flip_at], off);
}

static void assert_reaches_glue(const struct fl_patch *p, size_t opcode)
{
	int32_t d;

	memcpy(&d, p->bytes[FL_ON] + opcode + 1, 4);
	assert_true(p->at + opcode + 5 + (uintptr_t)(intptr_t)d == (uintptr_t)glue);
}

static void call_flips_to_test(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_CALL, "\xe8\1\2\3\4", 5, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 0);
	assert_false(p.park_is_trap);
	assert_int_equal(plan(&p, FL_FORM_CALL, "\x67\xe8\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 1);
	assert_int_equal(p.head_at, 1);
}

static void call_slot_becomes_one_call(void **state)
{
	struct fl_patch p;
	struct fl_insn i;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_CALL_SLOT, "\xff\x15\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 1);
	assert_true(p.park_is_trap);
	fl_arch_decode(&i, p.bytes[FL_ON], 6, p.at);
	assert_int_equal(i.len, 6);
	fl_arch_decode(&i, p.bytes[FL_OFF], 6, p.at);
	assert_int_equal(i.len, 6);
}

static void tail_jump_flips_to_ret(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_JUMP, "\xe9\1\2\3\4", 5, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_reaches_glue(&p, 0);
	assert_int_equal(plan(&p, FL_FORM_JUMP_SLOT, "\xff\x25\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_false(p.park_is_trap);
}

static void pads_become_one_instruction(void **state)
{
	static const struct { const char *old; uint8_t n, len, starts; bool trap; } pads[] = {
		{ "\x0f\x1f\x44\x00\x08", 5, 5, 0, false },
		{ "\x90\x90\x90\x90\x90", 5, 5, 4, true },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", 8, 5, 4, true },
		{ "\x66\x90\x0f\x1f\x40\x00", 6, 6, 1, true },
		{ "\x66\x2e\x0f\x1f\x84\0\0\2\0\0", 10, 10, 0, true },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(pads); k++) {
		struct fl_patch p;
		struct fl_insn i;

		assert_int_equal(plan(&p, FL_FORM_PAD, pads[k].old, pads[k].n, 0), 0);
		assert_one_flip(&p, 0xe8, 0xa9);
		assert_int_equal(p.len, pads[k].len);
		assert_int_equal(p.n_starts, pads[k].starts);
		assert_int_equal(p.park_is_trap, pads[k].trap);
		assert_reaches_glue(&p, p.len - 5u);
		fl_arch_decode(&i, p.bytes[FL_ON], p.len, p.at);
		assert_int_equal(i.len, p.len);
		fl_arch_decode(&i, p.bytes[FL_OFF], p.len, p.at);
		assert_int_equal(i.len, p.len);
	}
}

static void pad_before_jumps_back(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE,
			      "\x90\x90\x90\x90\x90\x90\x90\x66\x90", 9, 7), 0);
	assert_one_flip(&p, 0xeb, 0xa8);
	assert_int_equal(p.at, (uintptr_t)text + 9);
	assert_int_equal(p.head_at, 7);
	assert_int_equal((signed char)p.bytes[FL_ON][8], -9);
	assert_reaches_glue(&p, 0);
}

static void sleds_keep_their_space(void **state)
{
	static const char sled[] = "\xeb\x09\x66\x0f\x1f\x84\0\0\2\0\0";
	static const char ret[] = "\xc3\x2e\x66\x0f\x1f\x84\0\0\2\0\0";
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_SLED, sled, 11, 0), 0);
	assert_one_flip(&p, 0xa8, 0xeb);
	assert_reaches_glue(&p, 2);
	assert_int_equal(plan(&p, FL_FORM_SLED_RET, ret, 11, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_reaches_glue(&p, 0);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct fl_patch p;
	struct fl_plan_in far = {
		.at = (uintptr_t)text, .form = FL_FORM_CALL, .room = 5,
		.glue = (uintptr_t)text + (1ull << 33),
	};
	uint64_t datum;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_PAD, "\x90\x90\x90\x90\xc3", 5, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD, "\x90\x90\x90", 3, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE, "\x90\x90\x90\x90\x90\x66\x90", 7, 5),
			 FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_NONE, "\x90", 1, 0), FLE_UNKNOWN);
	text[0] = 0xe8;
	assert_int_equal(fl_arch_plan(&p, &far, &datum), FLE_NOREACH);
	assert_int_equal(datum, far.glue);
}

static void glue_loads_id_and_goes(void **state)
{
	static unsigned char out[FL_ARCH_GLUE_BYTES];
	static uintptr_t slot;
	struct fl_insn i;

	(void)state;
	assert_true(fl_arch_glue(out, (uintptr_t)out, 0x12345678, (uintptr_t)&slot));
	assert_memory_equal(out, "\x41\xbb\x78\x56\x34\x12", 6);
	fl_arch_decode(&i, out + 6, 10, (uintptr_t)out + 6);
	assert_int_equal(i.cls, FL_INSN_JUMP_SLOT);
	assert_true(i.target == (uintptr_t)&slot);
	assert_false(fl_arch_glue(out, 0, 1, (uintptr_t)1 << 40));
}

static void late_glue_loads_its_id_from_data(void **state)
{
	static unsigned char out[FL_ARCH_GLUE_BYTES];
	static uintptr_t slot;
	static uint32_t id;
	struct fl_insn i;
	int32_t to;

	(void)state;
	assert_true(fl_arch_glue_late(out, (uintptr_t)out, (uintptr_t)&id, (uintptr_t)&slot));
	assert_memory_equal(out, "\x44\x8b\x1d", 3);
	memcpy(&to, out + 3, sizeof to);
	assert_true((uintptr_t)out + 7 + to == (uintptr_t)&id);
	fl_arch_decode(&i, out + 7, 9, (uintptr_t)out + 7);
	assert_int_equal(i.cls, FL_INSN_JUMP_SLOT);
	assert_true(i.target == (uintptr_t)&slot);
	assert_false(fl_arch_glue_late(out, 0, 0, (uintptr_t)1 << 40));
	assert_false(fl_arch_glue_late(out, 0, (uintptr_t)1 << 40, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_flips_to_test),
		cmocka_unit_test(call_slot_becomes_one_call),
		cmocka_unit_test(tail_jump_flips_to_ret),
		cmocka_unit_test(pads_become_one_instruction),
		cmocka_unit_test(pad_before_jumps_back),
		cmocka_unit_test(sleds_keep_their_space),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(glue_loads_id_and_goes),
		cmocka_unit_test(late_glue_loads_its_id_from_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
