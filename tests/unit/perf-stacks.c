/*
 * unit/perf-stacks: in whose calls a thread stands, by a copy of its registers and its stack as
 * the kernel would tell them: each call, what recurses, too, from where a function is about to
 * return, and from a linker's stub; no further than what was copied, and it is told from who
 * was called by nobody; through code that a program has made, by frame pointers, if these lead
 * to code; and whatever a program has there, a walk ends, and has no more than its
 * part of time and memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/base.h"
#include "perf/stacks.h"
#include "os/os.h"

enum { REGISTERS = FL_ARCH_DWARF_REGS, WORDS = FL_STACK_BYTES / 8 };

/* As a record has it: whose registers these are, they, how many bytes, these, how many of them
 * are of the stack. */
static uint64_t told[1 + 33 + 1 + WORDS + 1];
static const uint8_t numbers[] = FL_ARCH_PERF_TO_DWARF;
static struct fl_stacks stacks;
static struct fl_sampled_stack *taken;
static struct fl_stack_calls calls;
static uint64_t *const places = calls.places;
static char own_path[4096];

static void *room_of(uint64_t *words)
{
	return &words[1 + ARRAY_LEN(numbers) + 1];
}

static void tell(const uint64_t *registers, uint64_t pc, const void *stack)
{
	told[0] = PERF_SAMPLE_REGS_ABI_64;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		told[1 + i] = numbers[i] == REGISTERS ? pc : registers[numbers[i]];
	told[1 + ARRAY_LEN(numbers)] = FL_STACK_BYTES;
	told[1 + ARRAY_LEN(numbers) + 1 + WORDS] = FL_STACK_BYTES;
	memcpy(room_of(told), stack, FL_STACK_BYTES);
}

static struct fl_sampled_stack *copy(void)
{
	return fl_stacks_copy(told, &told[1 + ARRAY_LEN(numbers) + 1 + WORDS + 1]);
}

/* Of the caller, who stands in the call of it. */
static void registers_of(const ucontext_t *c, uint64_t *r, uint64_t *pc)
{
#if defined __x86_64__
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		r[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
	*pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
#else
	for (int i = 0; i < 31; i++)
		r[i] = c->uc_mcontext.regs[i];
	r[31] = c->uc_mcontext.sp;
	*pc = c->uc_mcontext.pc;
#endif
}

__attribute__((noinline, aligned(256))) static int inner(int n)
{
	uint64_t registers[REGISTERS] = { 0 }, pc;
	ucontext_t c;

	getcontext(&c);
	registers_of(&c, registers, &pc);
	tell(registers, pc, (void *)(uintptr_t)registers[FL_ARCH_DWARF_SP]);
	return n;
}

__attribute__((noinline, aligned(256))) static int again(int n)
{
	int got = n ? again(n - 1) : inner(n);

	__asm__ volatile("" : "+r"(got));
	return got + 1;
}

__attribute__((noinline, aligned(256))) static int outer(int n)
{
	int got = again(n);

	__asm__ volatile("" : "+r"(got));
	return got + 1;
}

struct look {
	uint64_t at;
	struct fl_stack_code *code;
	bool found;
};

static int see_mapping(void *arg, const struct fl_mapping *m)
{
	struct look *l = arg;

	if (l->at - m->lo >= m->hi - m->lo || strcmp(m->path, own_path))
		return 0;
	*l->code = (struct fl_stack_code){ own_path, m->lo, m->offset, false };
	l->found = true;
	return 1;
}

static bool own_code(void *arg, uint64_t at, struct fl_stack_code *code)
{
	struct look l = { at, code, false };

	(void)arg;
	fl_os_mappings_of(getpid(), see_mapping, &l);
	return l.found;
}

static uint32_t walk(void)
{
	calls.n = 0;
	if (taken)
		fl_stacks_walk(&stacks, getpid(), taken, own_code, NULL, &calls);
	return calls.n;
}

/* Places in the function, which has so many bytes at most. */
static uint32_t times(uint32_t n, uintptr_t function)
{
	enum { BYTES = 256 };
	uint32_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		found += places[i] - function < BYTES;
	return found;
}

static int set_up(void **state)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);

	(void)state;
	memset(&stacks, 0, sizeof stacks);
	taken = NULL;
	return n < 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(taken);
	fl_stacks_close(&stacks);
	return 0;
}

__attribute__((aligned(256)))
static void each_call_is_there(void **state)
{
	uint32_t n;

	(void)state;
	outer(5);
	taken = copy();
	n = walk();
	assert_true(places[0] - (uintptr_t)inner < 512);
	assert_int_equal(times(n, (uintptr_t)again), 6);
	assert_int_equal(times(n, (uintptr_t)outer), 1);
	assert_int_equal(times(n, (uintptr_t)each_call_is_there), 1);
}

/* A frame of again() has some 32 bytes or more, so so many are not in it. */
static void a_walk_ends_where_the_copy_does(void **state)
{
	uint32_t n;

	(void)state;
	outer(FL_STACK_BYTES / 8);
	taken = copy();
	n = walk();
	assert_int_equal(times(n, (uintptr_t)again), n - 1);
	assert_in_range(n, 3, FL_STACK_DEPTH);
	assert_int_equal(calls.end, FL_CHAIN_CUT);
}

/* Of code that nobody knows is not said who called it, nor of a stack that has an odd frame. */
static void what_nothing_tells_is_not_cut(void **state)
{
	(void)state;
	outer(3);
	for (size_t i = 0; i < WORDS; i++)
		((uint64_t *)room_of(told))[i] = 1;
	taken = copy();
	walk();
	assert_int_equal(calls.end, FL_CHAIN_LOST);
}

static void what_is_no_whole_stack_is_none(void **state)
{
	(void)state;
	outer(0);
	told[0] = PERF_SAMPLE_REGS_ABI_NONE;
	assert_null(copy());
	told[0] = PERF_SAMPLE_REGS_ABI_64;
	told[1 + ARRAY_LEN(numbers)] = FL_STACK_BYTES + 8;
	assert_null(copy());
	told[1 + ARRAY_LEN(numbers)] = UINT64_MAX;
	assert_null(copy());
	told[1 + ARRAY_LEN(numbers)] = 0;
	assert_null(copy());
	assert_null(fl_stacks_copy(told, told + 2));
	assert_null(fl_stacks_copy(told, told));
	told[1 + ARRAY_LEN(numbers)] = FL_STACK_BYTES;
	told[1 + ARRAY_LEN(numbers) + 1 + WORDS] = 8;	/* of the stack */
	taken = copy();
	assert_non_null(taken);
	assert_int_equal(walk(), 1);
}

static void whatever_stands_there_a_walk_ends(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15ull;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		outer(3);
		for (int i = 0; i < 1 + round % 60; i++) {
			random = fl_random_next(random);
			told[1 + (random >> 8) % (ARRAY_LEN(told) - 2)] ^=
				random >> (round % 64);
		}
		taken = copy();
		assert_true(walk() <= FL_STACK_DEPTH);
		free(taken);
		taken = NULL;
	}
}

#if defined __x86_64__
/* One that has taken back what it pushed, one that is told as linkers' stubs are, and one that
 * a program begins with. */
__asm__(".text\n"
	".p2align 4\n.type popped, @function\npopped:\n.cfi_startproc\n"
	"push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset 3, -16\n"
	"pop %rbx\n.cfi_def_cfa_offset 8\n"
	"behind_pop: ret\n.cfi_endproc\n.size popped, . - popped\n"
	".p2align 4\n.type stub, @function\nstub:\n.cfi_startproc\n"
	".cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24\n"
	".cfi_escape 0x22\n"
	"endbr64\n.byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\nnop\n"
	"pushed: nop\n.cfi_endproc\n.size stub, . - stub\n"
	".p2align 4\n.type first, @function\nfirst:\n.cfi_startproc\n"
	".cfi_undefined rip\nnop\n.cfi_endproc\n.size first, . - first\n"
	".p2align 4\nbare: nop\n.skip 64, 0x90\n"
	".type begun, @function\n"
	"begun:\n.cfi_startproc\nret\n.cfi_endproc\n.size begun, . - begun\n");
extern const char popped[], behind_pop[], stub[], pushed[], first[], bare[], begun[];

/* From where the stack has these words, the last of which is where it goes back to. */
static uint32_t stand_below(uint64_t back, const char *at, uint32_t words)
{
	uint64_t stack[WORDS] = { 0 }, registers[REGISTERS] = { 0 };
	uint32_t n;

	stack[words - 1] = back;
	registers[3] = 77;
	registers[FL_ARCH_DWARF_SP] = 0x10000;
	tell(registers, (uintptr_t)at, stack);
	taken = copy();
	n = walk();
	free(taken);
	taken = NULL;
	return n;
}

/* As called by outer(). */
static uint32_t stand_at(const char *at, uint32_t words)
{
	return stand_below((uintptr_t)outer + 1, at, words);	/* behind a call */
}

static void who_goes_back_to_a_functions_begin_was_not_called(void **state)
{
	(void)state;
	assert_int_equal(stand_below((uintptr_t)begun, behind_pop, 1), 2);
	assert_int_equal(calls.end, FL_CHAIN_WHOLE);
	assert_int_equal(stand_below((uintptr_t)bare + 9, behind_pop, 1), 2);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
	assert_int_equal(stand_at(bare, 1), 1);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
	assert_int_equal(stand_at(begun, 1), 2);
}

static void who_is_about_to_return_was_called(void **state)
{
	(void)state;
	assert_true(stand_at(behind_pop, 1) >= 2);
	assert_int_equal(places[0], (uintptr_t)behind_pop);
	assert_int_equal(places[1], (uintptr_t)outer);
}

/* Some threads are begun with 0 for who called. */
static void who_was_called_by_nobody_ends_a_chain(void **state)
{
	(void)state;
	assert_int_equal(stand_at(first, 1), 1);
	assert_int_equal(calls.end, FL_CHAIN_WHOLE);
	assert_int_equal(stand_at(behind_pop, 2), 1);
	assert_int_equal(calls.end, FL_CHAIN_WHOLE);
}

static void a_linkers_stub_was_called(void **state)
{
	(void)state;
	assert_true(stand_at(stub, 1) >= 2);
	assert_int_equal(places[1], (uintptr_t)outer);
	assert_true(stand_at(pushed, 2) >= 2);
	assert_int_equal(places[1], (uintptr_t)outer);
}
#endif

/* Code that a program has made stands there; the rest is as it is. */
static const char made[256];

static bool with_made_code(void *arg, uint64_t at, struct fl_stack_code *code)
{
	if (at - (uintptr_t)made >= sizeof made)
		return own_code(arg, at, code);
	*code = (struct fl_stack_code){ .is_made = true };
	return false;
}

/* From made code, whose caller's frame is linked behind two words and goes back to `back`,
 * whose own is linked behind two more and goes back to `top`. */
static uint32_t stand_in_made(uint64_t back, uint64_t top, fl_stack_where *where)
{
	enum { SP = 0x10000 };
	uint64_t stack[WORDS] = { 0 }, registers[REGISTERS] = { 0 };

	stack[2] = SP + 6 * 8;
	stack[3] = back;
	stack[6] = SP + 9 * 8;
	stack[7] = top;
	registers[FL_ARCH_DWARF_SP] = SP;
	registers[FL_ARCH_DWARF_FP] = SP + 2 * 8;
	tell(registers, (uintptr_t)made + 16, stack);
	taken = copy();
	calls.n = 0;
	fl_stacks_walk(&stacks, getpid(), taken, where, NULL, &calls);
	free(taken);
	taken = NULL;
	return calls.n;
}

static void made_code_has_its_callers_by_frame_pointers(void **state)
{
	const uint64_t made_back = (uintptr_t)made + 100, caller = (uintptr_t)outer + 8;

	(void)state;
	assert_true(stand_in_made(made_back, caller, with_made_code) >= 3);
	assert_int_equal(places[0], (uintptr_t)made + 16);
	assert_int_equal(places[1], made_back - 1);
	assert_int_equal(places[2], caller - 1);
	/* where it leads to is no code */
	assert_int_equal(stand_in_made(0x1234, caller, with_made_code), 1);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
	assert_int_equal(stand_in_made(0, caller, with_made_code), 1);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
	assert_int_equal(stand_in_made(made_back, 0x1234, with_made_code), 2);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
#if defined __x86_64__
	/* assembly in a file, that no table tells of */
	assert_true(stand_in_made((uintptr_t)bare + 9, caller, with_made_code) >= 3);
	assert_int_equal(places[1], (uintptr_t)bare + 8);
	assert_int_equal(places[2], caller - 1);
#endif
	/* nobody says that the program has made it */
	assert_int_equal(stand_in_made(made_back, caller, own_code), 1);
	assert_int_equal(calls.end, FL_CHAIN_LOST);
}

/* A CPU's time, as tables may take it that are long to execute. */
static bool spend_time(void *arg, uint64_t at, struct fl_stack_code *code)
{
	struct timespec now, end;

	(void)at;
	(void)code;
	++*(int *)arg;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	end.tv_nsec += 200000000;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (fl_ns(now.tv_sec, now.tv_nsec) < fl_ns(end.tv_sec, end.tv_nsec));
	return false;
}

static void walks_take_a_part_of_what_samples_stand_for(void **state)
{
	int walks = 0, kept;

	(void)state;
	outer(3);
	taken = copy();
	for (int i = 0; i < 100; i++)
		fl_stacks_walk(&stacks, getpid(), taken, spend_time, &walks, &calls);
	assert_in_range(walks, 5, 6);
	assert_int_equal(walk(), 0);
	kept = walks;
	for (int i = 0; i < 1000; i++)
		fl_stacks_walk(&stacks, getpid(), taken, spend_time, &walks, &calls);
	assert_in_range(walks - kept, 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_call_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_nothing_tells_is_not_cut, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_walk_ends_where_the_copy_does, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_no_whole_stack_is_none, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			walks_take_a_part_of_what_samples_stand_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			made_code_has_its_callers_by_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(whatever_stands_there_a_walk_ends, set_up,
						tear_down),
#if defined __x86_64__
		cmocka_unit_test_setup_teardown(who_is_about_to_return_was_called, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			who_goes_back_to_a_functions_begin_was_not_called, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_linkers_stub_was_called, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_was_called_by_nobody_ends_a_chain, set_up,
						tear_down),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
