/*
 * cross/port.c - a port that is begun refuses every place, by an error of its own; what
 * it has besides is right: the kernel's calling convention, a clock, its registers.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "os/os.h"

static uint32_t code[4];
static const void *const on = "\x1f\x20\x03\xd5";	/* nop */

static void every_form_of_site_is_refused(void **state)
{
	struct fl_patch p;
	uint64_t datum;

	(void)state;
	for (int form = FL_FORM_CALL; form < FL_FORM_NONE; form++)
		assert_int_equal(fl_arch_plan(&p, &(struct fl_plan_in){
			.at = (uintptr_t)code, .form = (enum fl_form)form, .room = 16,
		}, &datum), FLE_NOPORT);
}

static void every_place_of_a_caller_is_refused(void **state)
{
	struct fl_patch p;
	bool was_nop;

	(void)state;
	assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)code, on, 4), FLE_NOPORT);
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)code, 0, FL_FLAGS_LIVE, &was_nop),
			 FLE_NOPORT);
	assert_non_null(fl_err_text(FLE_NOPORT));
}

static void the_kernel_is_called_as_it_wants(void **state)
{
	char *page = fl_os_map(NULL, FL_PAGE, 3, 0x22, -1, 0);	/* six arguments */

	(void)state;
	assert_false(fl_is_err(page));
	page[FL_PAGE - 1] = 1;
	assert_int_equal(fl_os_unmap(page, FL_PAGE), 0);
	assert_true(fl_os_tid() > 0);
}

static void time_passes(void **state)
{
	uint64_t from = fl_arch_ticks(), apart = fl_arch_ticks_apart();

	(void)state;
	assert_true(from && apart >= from && fl_arch_ticks() >= apart);
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
		cmocka_unit_test(every_form_of_site_is_refused),
		cmocka_unit_test(every_place_of_a_caller_is_refused),
		cmocka_unit_test(the_kernel_is_called_as_it_wants),
		cmocka_unit_test(time_passes),
		cmocka_unit_test(registers_have_names_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
