/* unit/act: a thread that met a trap goes on as the instruction would have it, and a
 * store to text reaches no further than it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "os/os.h"

static uintptr_t stack[8];
static const uintptr_t there = 0x1234567890;
static unsigned char text[32];

/* Act as `n` bytes of `insn` at text. */
static greg_t *act(const void *insn, size_t n)
{
	static ucontext_t uc;
	struct fl_patch p = { .at = (uintptr_t)text, .len = (uint8_t)n };

	memcpy(p.bytes[FL_ON], insn, n);
	memset(stack, 0, sizeof stack);
	stack[4] = there;
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)&stack[4];
	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)text + 1;
	fl_arch_act(&uc, &p, FL_ON);
	return uc.uc_mcontext.gregs;
}

/* An instruction of `n` bytes whose last four lead from its end to `to`. */
static const unsigned char *leading(const char *opcode, size_t n, const void *to)
{
	static unsigned char insn[16];
	int32_t rel = (int32_t)((uintptr_t)to - ((uintptr_t)text + n));

	memcpy(insn, opcode, n - 4);
	memcpy(insn + n - 4, &rel, 4);
	return insn;
}

static void assert_calls(const greg_t *regs, uintptr_t to, size_t n)
{
	assert_true((uintptr_t)regs[REG_RIP] == to);
	assert_ptr_equal(regs[REG_RSP], &stack[3]);
	assert_true(stack[3] == (uintptr_t)text + n);
}

static void a_call_returns_behind_itself(void **state)
{
	(void)state;
	assert_calls(act(leading("\xe8", 5, stack), 5), (uintptr_t)stack, 5);
	assert_calls(act(leading("\x67\xe8", 6, stack), 6), (uintptr_t)stack, 6);
	assert_calls(act(leading("\xff\x15", 6, &there), 6), there, 6);
}

static void assert_goes(const greg_t *regs, uintptr_t to)
{
	assert_true((uintptr_t)regs[REG_RIP] == to);
	assert_ptr_equal(regs[REG_RSP], &stack[4]);
}

static void a_jump_leaves_the_stack_alone(void **state)
{
	(void)state;
	assert_goes(act(leading("\xe9", 5, stack), 5), (uintptr_t)stack);
	assert_goes(act(leading("\xff\x25", 6, &there), 6), there);
	assert_goes(act("\xa9\1\2\3\4", 5), (uintptr_t)text + 5);
	assert_goes(act("\x67\xa9\1\2\3\4", 6), (uintptr_t)text + 6);
}

static void a_return_takes_what_is_on_the_stack(void **state)
{
	greg_t *regs = act("\xc3\1\2\3\4", 5);

	(void)state;
	assert_true((uintptr_t)regs[REG_RIP] == there);
	assert_ptr_equal(regs[REG_RSP], &stack[5]);
}

/* The next page is not there. */
static void a_store_to_a_line_stays_in_it(void **state)
{
	static const uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	unsigned char *page = mmap(NULL, 2 * FL_PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char due[FL_ARCH_LINE], *line = page + FL_PAGE - FL_ARCH_LINE;

	(void)state;
	assert_int_equal(munmap(page + FL_PAGE, FL_PAGE), 0);
	for (size_t n = 1; n <= 8; n++) {
		for (size_t at = 0; at + n <= FL_ARCH_LINE; at++) {
			memset(line, 0x5a, FL_ARCH_LINE);
			memset(due, 0x5a, FL_ARCH_LINE);
			memcpy(due + at, bytes, n);
			fl_arch_store_line((uintptr_t)line + at, bytes, n);
			assert_memory_equal(line, due, FL_ARCH_LINE);
			if (at % 8 + n > 8)
				continue;
			memset(line, 0x5a, FL_ARCH_LINE);
			fl_arch_store_word((uintptr_t)line + at, bytes, n);
			assert_memory_equal(line, due, FL_ARCH_LINE);
		}
	}
	munmap(page, FL_PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_returns_behind_itself),
		cmocka_unit_test(a_jump_leaves_the_stack_alone),
		cmocka_unit_test(a_return_takes_what_is_on_the_stack),
		cmocka_unit_test(a_store_to_a_line_stays_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
