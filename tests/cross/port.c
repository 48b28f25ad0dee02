/*
 * cross/port.c - AArch64: what a plan makes of a site, what a glue is, and that what may not
 * be exchanged is not stored; the kernel's calling convention, a clock, registers.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "os/os.h"

#define NOP 0xd503201fu
#define RET 0xd65f03c0u
static const uint32_t b_far = 0x14000008;		/* b .+32: a sled */
static const uint32_t bl_near = 0x94000001, b_near = 0x14000001;
static const uint32_t past_call = 0x14000004, past_next = 0x14000002;
static const uint32_t stp = 0xa9bf7bfd;			/* stp x29, x30, [sp, #-16]! */

static uint32_t *page(void)
{
	uint32_t *p = mmap(NULL, FL_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* b or bl from `at` to `to` */
static uint32_t branch(uint32_t opcode, const void *at, uintptr_t to)
{
	return opcode | (uint32_t)((to - (uintptr_t)at) / 4 & 0x3ffffff);
}

static int plan(struct fl_patch *p, uint32_t *site, enum fl_form form, uint32_t old,
		uintptr_t glue)
{
	uint64_t datum;

	*site = old;
	return fl_arch_plan(p, &(struct fl_plan_in){
		.at = (uintptr_t)site, .form = form, .room = 32, .glue = glue,
	}, &datum);
}

static void each_form_is_one_word(void **state)
{
	uint32_t *site = page();
	uintptr_t glue = (uintptr_t)(site + 64), ret = glue + 28;
	const struct {
		enum fl_form form;
		uint32_t old, off, on;
	} rows[] = {
		{ FL_FORM_CALL, bl_near, NOP, branch(0x94000000, site, glue) },
		{ FL_FORM_JUMP, b_near, branch(0x14000000, site, ret),
		  branch(0x14000000, site, glue) },
		{ FL_FORM_PAD, NOP, NOP, branch(0x14000000, site, glue) },
		{ FL_FORM_SLED, b_far, b_far, branch(0x14000000, site, glue) },
		{ FL_FORM_BODY_TAIL, past_call, past_call, NOP },
		{ FL_FORM_BODY_SWITCH, NOP, NOP, past_next },
		{ FL_FORM_SLED_RET, RET, branch(0x14000000, site, ret),
		  branch(0x14000000, site, glue) },
	};
	struct fl_move m[FL_ARCH_MOVES];
	struct fl_patch p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(plan(&p, site, rows[i].form, rows[i].old, glue), 0);
		assert_int_equal(p.flip[FL_OLD], rows[i].old);
		assert_int_equal(p.flip[FL_OFF], rows[i].off);
		assert_int_equal(p.flip[FL_ON], rows[i].on);
		assert_int_equal(p.len, 4);
		assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_ON, m), 1);
		assert_int_equal(m[0].head_bytes, 4);
		assert_false(m[0].park_bytes || m[0].alone || m[0].holds);
	}
	/* a return becomes a jump where nobody runs, and not back */
	assert_int_equal(fl_arch_moves(&p, FL_OLD, FL_OFF, m), 1);
	assert_true(m[0].alone && p.rows & FL_ROW);
	assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_OLD, m), FLE_EXCHANGE);
}

/* Whatever it begins with: both ways are jumps. What may be exchanged is, while threads run. */
static void an_entry_leads_to_its_body(void **state)
{
	uint32_t *site = page();
	uintptr_t on = (uintptr_t)(site + 64);
	struct fl_plan_in in = { .at = (uintptr_t)site, .form = FL_FORM_BODY, .room = 4,
				 .on = on, .off = on + 12 };
	struct fl_move m[FL_ARCH_MOVES];
	struct fl_patch p;
	uint64_t datum;

	(void)state;
	*site = stp;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	assert_int_equal(p.flip[FL_OFF], branch(0x14000000, site, in.off));
	assert_int_equal(p.flip[FL_ON], branch(0x14000000, site, in.on));
	assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_ON, m), 1);
	assert_false(m[0].alone);
	assert_int_equal(fl_arch_moves(&p, FL_OLD, FL_OFF, m), 1);
	assert_true(m[0].alone && p.rows & FL_ROW);
	assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_OLD, m), FLE_EXCHANGE);
	*site = b_near;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	assert_int_equal(fl_arch_moves(&p, FL_OLD, FL_OFF, m), 1);
	assert_false(m[0].alone || p.rows);
	in.off = in.on + (1 << 27);
	assert_int_equal(fl_arch_plan(&p, &in, &datum), FLE_NOREACH);
	in.off = in.on;
	in.on = in.off + (1 << 27);
	assert_int_equal(fl_arch_plan(&p, &in, &datum), FLE_NOREACH);
}

static void what_is_no_such_site_is_refused_by_name(void **state)
{
	uint32_t *site = page();
	uintptr_t glue = (uintptr_t)(site + 64);
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, site, FL_FORM_CALL, b_near, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_JUMP, bl_near, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_PAD, stp, glue), FLE_NOSPACE);
	assert_int_equal(plan(&p, site, FL_FORM_PAD_BEFORE, NOP, glue), FLE_NOSPACE);
	assert_int_equal(plan(&p, site, FL_FORM_SLED, stp, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_SLED_RET, b_near, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_CALL_POINTER, 0xd63f0200, glue), FLE_EXCHANGE);
	assert_int_equal(plan(&p, site, FL_FORM_JUMP_POINTER, 0xd61f0200, glue), FLE_EXCHANGE);
	assert_int_equal(plan(&p, site, FL_FORM_BODY_RET, RET, glue), FLE_NOPORT);
	assert_non_null(fl_err_text(FLE_NOPORT));
	assert_int_equal(plan(&p, site, FL_FORM_BODY_TAIL, NOP, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_BODY_SWITCH, past_call, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_NONE, NOP, glue), FLE_UNKNOWN);
	assert_int_equal(plan(&p, site, FL_FORM_CALL, bl_near, glue + (1 << 27)), FLE_NOREACH);
	assert_int_equal(plan(&p, site, FL_FORM_JUMP, b_near, glue + (1 << 27)), FLE_NOREACH);
	assert_int_equal(plan(&p, (uint32_t *)((char *)site + 2), FL_FORM_PAD, NOP, glue),
			 FLE_NOSPACE);
}

/* What stands for what while cores run: the list, and nothing that is near it. */
static const uint32_t exchangeable[] = {
	0x14000000, 0x17ffffff, 0x94000000, 0x97ffffff, NOP, 0xd4200000, 0xd43fffe0,
	0xd4000001, 0xd41fffe2, 0xd4000003, 0xd5033fdf,
};
static const uint32_t others[] = {
	0xa9bf7bfd, RET, 0x54000000, 0xb4000000, 0x36000000, 0xd61f0200, 0xd63f0200,
	0xd503245f, 0xd503233f, 0xd5033f9f, 0xd5033fbf, 0xd4000000, 0xd4200001, 0xd503203f, 0,
	0xd4400000, 0x10000000, 0x90000000,
};

static void what_may_not_be_exchanged_is_never_stored(void **state)
{
	uint32_t *site = page();
	struct fl_patch p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(exchangeable); i++)
		for (size_t k = 0; k < ARRAY_LEN(exchangeable); k++) {
			*site = exchangeable[i];
			assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)site,
							   &exchangeable[k], 4), 0);
			assert_int_equal(fl_a64_flip((uintptr_t)site, exchangeable[k]), 0);
			assert_int_equal(*site, exchangeable[k]);
		}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		*site = NOP;
		assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)site, &others[i], 4),
				 FLE_EXCHANGE);
		assert_int_equal(fl_a64_flip((uintptr_t)site, others[i]), FLE_EXCHANGE);
		fl_arch_flip_unit((uintptr_t)site, others[i]);
		fl_arch_flip((uintptr_t)site, (const uint8_t *)&others[i], 4);
		assert_int_equal(*site, NOP);
		*site = others[i];
		assert_int_equal(fl_a64_flip((uintptr_t)site, NOP), FLE_EXCHANGE);
		assert_int_equal(*site, others[i]);
	}
	assert_non_null(fl_err_text(FLE_EXCHANGE));
	assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)site, others, 8), FLE_INSN);
	assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)site + 2, others, 4), FLE_INSN);
}

static void a_call_of_a_callers_takes_a_call_or_a_nop(void **state)
{
	uint32_t *site = page();
	struct fl_patch p;
	bool was_nop;

	(void)state;
	*site = NOP;
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)site, (uintptr_t)(site + 8),
					   FL_FLAGS_LIVE, &was_nop), 0);
	assert_true(was_nop && p.flip[FL_ON] == 0x94000008);
	*site = bl_near;
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)site, (uintptr_t)(site + 8),
					   FL_FLAGS_DEAD, &was_nop), 0);
	assert_true(!was_nop && p.flip[FL_OFF] == NOP && p.flip[FL_OLD] == bl_near);
	*site = stp;
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)site, (uintptr_t)(site + 8),
					   FL_FLAGS_DEAD, &was_nop), FLE_UNKNOWN);
	*site = bl_near;
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)site, (uintptr_t)site + (1 << 28),
					   FL_FLAGS_DEAD, &was_nop), FLE_NOREACH);
}

static void a_call_is_muted_and_calls_again(void **state)
{
	static const uint32_t nop = NOP;
	const unsigned char *call = (const unsigned char *)&bl_near;
	fl_unit to;

	(void)state;
	assert_true(fl_arch_mutes(FL_FORM_CALL));
	assert_false(fl_arch_mutes(FL_FORM_JUMP));
	assert_int_equal(fl_arch_mute(FL_FORM_CALL, call, &to), 0);
	assert_int_equal(to, nop);
	assert_int_equal(fl_arch_unmute(FL_FORM_CALL, (const void *)&nop, bl_near, &to), 0);
	assert_int_equal(to, bl_near);
	assert_int_equal(fl_arch_unmute(FL_FORM_CALL, call, bl_near, &to), FLE_UNKNOWN);
	assert_int_equal(fl_arch_mute(FL_FORM_CALL, (const void *)&nop, &to), FLE_UNKNOWN);
	assert_int_equal(fl_arch_mute(FL_FORM_PAD, (const void *)&nop, &to), FLE_UNKNOWN);
}

/* ---- glue ----------------------------------------------------------------------- */

/* A routine that notes its id, and what it was called with. */
__attribute__((used, visibility("hidden"))) uint64_t seen_id;
extern void note_id(void);
__asm__(".text\n.type note_id, %function\nnote_id:\n"
	"	adrp	x17, seen_id\n	str	x16, [x17, :lo12:seen_id]\n"
	"	ret\n");

/* Run [code] as a function of one argument. */
static uint64_t run(const uint32_t *code, uint64_t x0)
{
	return ((uint64_t (*)(uint64_t))(uintptr_t)code)(x0);
}

static void a_glue_gives_its_id_and_all_back(void **state)
{
	enum { GLUE = 16, LATE = 32 };
	static const uint32_t ids[] = { 0, 1, 0xffff, 0x10000, 0x12345678, UINT32_MAX };
	uint32_t *code = page();
	uintptr_t *go = (uintptr_t *)(code + 256), at = (uintptr_t)(code + GLUE);
	uint32_t *id = (uint32_t *)(go + 1);

	(void)state;
	*go = (uintptr_t)note_id;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		/* b glue; ret: the glue goes on at the return, with x30 as it was */
		code[0] = branch(0x14000000, code, at);
		code[1] = RET;
		assert_true(fl_arch_glue((unsigned char *)at, at, ids[i], (uintptr_t)go,
					 (uintptr_t)(code + 1)));
		fl_arch_publish((uintptr_t)code, FL_PAGE);
		assert_int_equal(run(code, 77), 77);
		assert_int_equal(seen_id, ids[i]);
		/* b glue, as a tail jump: the routine returns for it */
		assert_true(fl_arch_glue((unsigned char *)at, at, ids[i], (uintptr_t)go, 0));
		assert_int_equal(code[GLUE + 7], RET);
		*id = ids[i];
		assert_true(fl_arch_glue_late((unsigned char *)(code + LATE),
					      (uintptr_t)(code + LATE), (uintptr_t)id,
					      (uintptr_t)go));
		fl_arch_publish((uintptr_t)code, FL_PAGE);
		assert_int_equal(run(code, 78), 78);
		assert_int_equal(seen_id, ids[i]);
		seen_id = 99;
		assert_int_equal(run(code + LATE, 79), 79);
		assert_int_equal(seen_id, ids[i]);
	}
	assert_false(fl_arch_glue((unsigned char *)at, at, 1, at + (1ull << 40), 0));
	assert_false(fl_arch_glue((unsigned char *)at, at, 1, (uintptr_t)go, at + (1 << 28)));
	assert_false(fl_arch_glue_late((unsigned char *)at, at, at + (1ull << 40),
				       (uintptr_t)go));
}

/* movz x16, #0x1234; movz x17, #0x4321; a call of glue; sub x0, x16, x17; ret */
static void a_call_in_a_body_keeps_what_it_uses(void **state)
{
	enum { GLUE = 16 };
	static const uint32_t ids[] = { 0, 0xffff, 0x10000, UINT32_MAX };
	uint32_t *code = page();
	uintptr_t *go = (uintptr_t *)(code + 256), at = (uintptr_t)(code + GLUE);

	(void)state;
	*go = (uintptr_t)note_id;
	code[0] = 0xd2824690;
	code[1] = 0xd2886431;
	assert_int_equal(fl_arch_put_branch((unsigned char *)(code + 2), FL_BRANCH_CALL,
					    (uintptr_t)(code + 2), at), FL_ARCH_CALL_BYTES);
	code[5] = 0xcb110200;
	code[6] = RET;
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		assert_true(fl_arch_glue((unsigned char *)at, at, ids[i], (uintptr_t)go,
					 FL_GLUE_KEEPS));
		fl_arch_publish((uintptr_t)code, FL_PAGE);
		assert_int_equal(run(code, 77), (uint64_t)0x1234 - 0x4321);
		assert_int_equal(seen_id, ids[i]);
	}
	assert_false(fl_arch_glue((unsigned char *)at, at, 1, at + (1ull << 40),
				  FL_GLUE_KEEPS));
	/* the jump of a switch that is off is the original's */
	code[7] = 0xd61f0120;
	assert_int_equal(fl_arch_put_place((unsigned char *)code, FL_FORM_BODY_SWITCH,
					   (unsigned char *)(code + 7), 4), 8);
	assert_true(code[0] == NOP && code[1] == code[7]);
	assert_int_equal(fl_arch_put_branch((unsigned char *)code, FL_BRANCH_CALL,
					    (uintptr_t)code, at + (1 << 28)), 0);
}

static void a_jump_out_of_a_pad_goes_on_behind_it(void **state)
{
	(void)state;
	assert_int_equal(fl_arch_back(FL_FORM_PAD, 0x1000), 0x1004);
	assert_int_equal(fl_arch_back(FL_FORM_SLED, 0x1000), 0x1020);
	assert_int_equal(fl_arch_back(FL_FORM_CALL, 0x1000), 0);
	assert_int_equal(fl_arch_back(FL_FORM_JUMP, 0x1000), 0);
	assert_int_equal(fl_arch_back(FL_FORM_SLED_RET, 0x1000), 0);
}

/* ---- pairs of instructions -------------------------------------------------------- */

static void an_address_takes_two_instructions(void **state)
{
	/* adrp x19, .+0x3000; add x19, x19, #0x740; and of another register */
	static const uint32_t sum[] = { 0xf0000013, 0x911d0273 };
	static const uint32_t apart[] = { 0xf0000013, 0x911d0260 };
	/* adrp x16, .+0x1000; ldr x17, [x16, #0x18]; add x16, x16, #0x18; br x17 */
	static const uint32_t stub[] = { 0xb0000010, 0xf9400e11, 0x91006210, 0xd61f0220 };
	/* a linker's, which leads to the loader: bti c; stp x16, x30; a stub; nop */
	static const uint32_t header[] = { 0xd503245f, 0xa9bf7bf0, 0xb0000010, 0xf9400e11,
					   0x91006210, 0xd61f0220, 0xd503201f, 0xd503201f };
	const unsigned char *code = (const unsigned char *)sum;
	struct fl_insn i;
	size_t n;

	(void)state;
	fl_arch_decode_two(&i, code, 8, 0x10004);
	assert_int_equal(i.cls, FL_INSN_LOAD_ADDRESS);
	assert_int_equal(i.len, 8);
	assert_int_equal(i.reg, 19);
	assert_int_equal(i.target, 0x13740);
	assert_int_equal(i.writes, 1u << 19);
	fl_arch_decode_two(&i, (const void *)apart, 8, 0x10004);
	assert_int_equal(i.cls, FL_INSN_LOAD_PAGE);
	assert_int_equal(i.len, 4);
	assert_int_equal(i.target, 0x13000);
	fl_arch_decode_two(&i, code + 4, 4, 0x10008);
	assert_int_equal(i.cls, FL_INSN_SUM);
	assert_int_equal(i.source, 19);
	assert_int_equal(i.target, 0x740);
	assert_int_equal(fl_arch_stub((const void *)stub, sizeof stub, 0x10000, &n), 0x11018);
	assert_int_equal(n, sizeof stub);
	assert_int_equal(fl_arch_stub((const void *)stub, 12, 0x10000, &n), 0);
	assert_int_equal(n, 4);
	assert_int_equal(fl_arch_stub((const void *)sum, sizeof sum, 0x10000, &n), 0);
	assert_int_equal(fl_arch_stub((const void *)header, sizeof header, 0x10000, &n), 0);
	assert_int_equal(n, sizeof header);
}

/* ---- the rest --------------------------------------------------------------------- */

static void the_kernel_is_called_as_it_wants(void **state)
{
	char *p = fl_os_map(NULL, FL_PAGE, 3, 0x22, -1, 0);	/* six arguments */

	(void)state;
	assert_false(fl_is_err(p));
	p[FL_PAGE - 1] = 1;
	assert_int_equal(fl_os_unmap(p, FL_PAGE), 0);
	assert_true(fl_os_tid() > 0);
}

static void time_passes(void **state)
{
	uint64_t from = fl_arch_ticks(), apart = fl_arch_ticks_apart();

	(void)state;
	assert_true(from && apart >= from && fl_arch_ticks() >= apart);
}

static void the_processor_has_a_name(void **state)
{
	struct fl_cpu cpu;

	(void)state;
	fl_arch_cpu(&cpu);
	assert_true(cpu.vendor[0] && cpu.model);
	fl_arch_serialise();
}

static void registers_have_names_of_their_own(void **state)
{
	static const uint8_t index[FL_ARCH_REGS] = FL_ARCH_KEPT_INDEX;
	fl_regs kept = 0;

	(void)state;
	for (int reg = 0; reg < FL_ARCH_REGS; reg++)
		if ((uint32_t)FL_ARCH_KEPT >> reg & 1) {
			assert_false(kept >> index[reg] & 1);
			kept |= (fl_regs)(1u << index[reg]);
		}
	assert_int_equal(kept, (1u << FL_ARCH_N_KEPT) - 1);
	assert_int_equal(FL_ARCH_KEPT & FL_ARCH_SCRATCH, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_one_word),
		cmocka_unit_test(an_entry_leads_to_its_body),
		cmocka_unit_test(what_is_no_such_site_is_refused_by_name),
		cmocka_unit_test(what_may_not_be_exchanged_is_never_stored),
		cmocka_unit_test(a_call_of_a_callers_takes_a_call_or_a_nop),
		cmocka_unit_test(a_call_is_muted_and_calls_again),
		cmocka_unit_test(a_glue_gives_its_id_and_all_back),
		cmocka_unit_test(a_call_in_a_body_keeps_what_it_uses),
		cmocka_unit_test(a_jump_out_of_a_pad_goes_on_behind_it),
		cmocka_unit_test(an_address_takes_two_instructions),
		cmocka_unit_test(the_kernel_is_called_as_it_wants),
		cmocka_unit_test(time_passes),
		cmocka_unit_test(the_processor_has_a_name),
		cmocka_unit_test(registers_have_names_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
