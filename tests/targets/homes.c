/*
 * homes.c - functions that use words of their stack in each way there is, while paths go
 * through branches and a loop. Each returns what it finds in its words, so one that somebody
 * else has written to is seen. Prints that, and `path FUNCTION TIMES` of each path that was
 * gone.
 */
#include <stdio.h>

/* While words hold something: two branches, and a loop of a few rounds. */
#define WAYS \
	"mov $3, %ecx\n" \
	"test $1, %sil\n" \
	"je 1f\n" \
	"add $3, %ecx\n" \
	"1: test $2, %sil\n" \
	"je 2f\n" \
	"add $5, %ecx\n" \
	"2: lea (%rax, %rcx), %rax\n" \
	"dec %ecx\n" \
	"jne 2b\n"

#define FUNCTION(name, body) \
	__asm__(".text\n.type " name ", @function\n" \
		name ": .cfi_startproc\n" body ".cfi_endproc\n.size " name ", . - " name "\n")

#define EACH_WORD(op) \
	op(8) op(16) op(24) op(32) op(40) op(48) op(56) op(64) op(72) op(80) op(88) op(96) \
	op(104) op(112) op(120) op(128)
#define SET(at) "lea " #at "(%rdi), %rdx; mov %rdx, -" #at "(%rsp)\n"
#define ADD(at) "add -" #at "(%rsp), %rax\n"
#define SET_BY(at) "lea " #at "(%rdi), %rcx; mov %rcx, 128-" #at "(%rdx)\n"
#define ADD_BY(at) "add 128-" #at "(%rdx), %rax\n"

/* All words; all but one. */
FUNCTION("all_words", "mov %rdi, %rax\n" "movl $0, %edx\n" EACH_WORD(SET) WAYS EACH_WORD(ADD)
	 "ret\n");
FUNCTION("most_words", "mov %rdi, %rax\n" "movl $0, %edx\n" SET(8) SET(16) SET(32) SET(128) WAYS
	 ADD(8) ADD(16) ADD(32) ADD(128) "ret\n");
/* By an address, by a copy, by an index. */
FUNCTION("by_address", "mov %rdi, %rax\n" "lea -128(%rsp), %rdx\n" EACH_WORD(SET_BY) WAYS
	 EACH_WORD(ADD_BY) "ret\n");
FUNCTION("by_copy", "mov %rdi, %rax\n" "mov %rsp, %rdx\n" "add $-128, %rdx\n"
	 EACH_WORD(SET_BY) WAYS EACH_WORD(ADD_BY) "ret\n");
FUNCTION("by_index", "mov %rdi, %rax\n" "mov $-16, %rdx\n"
	 "3: mov %rdi, (%rsp, %rdx, 8)\n" "inc %rdx\n" "jne 3b\n" WAYS
	 "mov $-16, %rdx\n" "4: add (%rsp, %rdx, 8), %rax\n" "inc %rdx\n" "jne 4b\n" "ret\n");

/* Writes to all that is below its caller's stack pointer. */
FUNCTION("below", "movl $0x10001, %edx\n" "mov %rdx, %rdi\n" EACH_WORD(SET)
	 "sub $128, %rsp\n" ".cfi_adjust_cfa_offset 128\n" EACH_WORD(SET) "add $128, %rsp\n"
	 ".cfi_adjust_cfa_offset -128\n" "ret\n");
#define PUSH_RBX \
	"push %rbx\n" ".cfi_adjust_cfa_offset 8\n" ".cfi_rel_offset %rbx, 0\n"
/* Words above a call: both, and one that aligns. */
FUNCTION("around_call", PUSH_RBX "sub $16, %rsp\n"
	 ".cfi_adjust_cfa_offset 16\n" "mov %rdi, %rax\n" "mov %rdi, 8(%rsp)\n"
	 "mov %rdi, (%rsp)\n" WAYS "mov %rax, %rbx\n" "call below\n" "lea 1(%rbx), %rax\n" WAYS
	 "add 8(%rsp), %rax\n" "add (%rsp), %rax\n" "add $16, %rsp\n"
	 ".cfi_adjust_cfa_offset -16\n" "pop %rbx\n" ".cfi_adjust_cfa_offset -8\n"
	 ".cfi_restore %rbx\n" "ret\n");
FUNCTION("beside_call", PUSH_RBX "sub $16, %rsp\n"
	 ".cfi_adjust_cfa_offset 16\n" "mov %rdi, %rax\n" "mov %rdi, (%rsp)\n"
	 WAYS "mov %rax, %rbx\n" "call below\n" "lea 1(%rbx), %rax\n" WAYS
	 "add (%rsp), %rax\n" "add $16, %rsp\n" ".cfi_adjust_cfa_offset -16\n" "pop %rbx\n"
	 ".cfi_adjust_cfa_offset -8\n" ".cfi_restore %rbx\n" "ret\n");
/* Who is called takes a word off. */
FUNCTION("takes_off", "mov 8(%rsp), %rax\n" "movl $0, %edx\n" "ret $8\n");
FUNCTION("around_taker", PUSH_RBX "sub $16, %rsp\n" ".cfi_adjust_cfa_offset 16\n"
	 "push %rdi\n" ".cfi_adjust_cfa_offset 8\n" "call takes_off\n"
	 ".cfi_adjust_cfa_offset -8\n" "mov %rax, %rbx\n" WAYS "add %rbx, %rax\n"
	 "add $16, %rsp\n" ".cfi_adjust_cfa_offset -16\n" "pop %rbx\n"
	 ".cfi_adjust_cfa_offset -8\n" ".cfi_restore %rbx\n" "ret\n");

/* Who is called has its words above its way back, as who keeps registers there by another
 * convention, or assembly that knows its caller's frame. */
FUNCTION("puts_above", "mov %rdi, 8(%rsp)\n" "mov %rdi, 16(%rsp)\n" "movl $0, %edx\n"
	 "mov %rdi, 24(%rsp)\n" "ret\n");
FUNCTION("adds_above", "add 8(%rsp), %rax\n" "add 16(%rsp), %rax\n" "add 24(%rsp), %rax\n"
	 "ret\n");
FUNCTION("around_putter", "sub $24, %rsp\n" ".cfi_adjust_cfa_offset 24\n" "mov %rdi, %rax\n"
	 "call puts_above\n" WAYS "call adds_above\n" "add $24, %rsp\n"
	 ".cfi_adjust_cfa_offset -24\n" "ret\n");

long all_words(long, int), most_words(long, int), by_address(long, int), by_copy(long, int),
	by_index(long, int), around_call(long, int), beside_call(long, int),
	around_taker(long, int), around_putter(long, int);

static const struct row {
	const char *name;
	long (*call)(long, int);
	int loops;			/* of WAYS */
} rows[] = {
	{ "all_words", all_words, 1 }, { "most_words", most_words, 1 },
	{ "by_address", by_address, 1 }, { "by_copy", by_copy, 1 },
	{ "around_call", around_call, 2 }, { "beside_call", beside_call, 2 },
	{ "around_taker", around_taker, 1 }, { "around_putter", around_putter, 1 },
};

/* Calls by way; each round but a loop's first is a path of its own. */
static void say_paths(const struct row *r, const long calls[4])
{
	long rounds = 0;

	for (int way = 0; way < 4; way++) {
		long n = 3 + 3 * (way & 1) + 5 * (way >> 1);

		rounds += calls[way] * (n - 2);
		/* Up to the first branch back. */
		printf("path %s %ld\n", r->name, calls[way]);
		if (r->loops == 2)
			printf("path %s %ld\n", r->name, calls[way]);
	}
	for (int k = 0; k < r->loops; k++)
		printf("path %s %ld\n", r->name, rounds);
	printf("path %s %ld\n", r->name, calls[0] + calls[1] + calls[2] + calls[3]);
}

int main(void)
{
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
		long calls[4] = { 0 }, sum = by_index((long)k, (int)k);

		for (int i = 0; i < 1000; i++) {
			int way = i * i % 7 & 3 | (i % 10 == 0 ? 3 : 0);

			calls[way]++;
			sum = sum * 31 + rows[k].call(i * 977L, way);
		}
		printf("sum %s %lx\n", rows[k].name, sum);
		say_paths(&rows[k], calls);
	}
	return 0;
}
