/*
 * machine.h - a machine to enter a routine with: every register is known before, and kept
 * behind it.
 */
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

enum { RAX, RCX, RDX, RSI, RDI, R8, R9, R10, RBX, RBP, R12, R13, R14, R15, REGISTERS };
enum { N_SCRATCH = RBX, VECTORS = 32, LIVE_AT_ENTRY = 8, MASKS = 8 };

struct machine {
	uint64_t r[REGISTERS], sp, top;		/* the word at sp */
	alignas(64) unsigned char v[VECTORS][64];
	uint64_t k[MASKS];
};
struct machine before, after;
uint64_t target, own_sp, vector_bytes, has_masks, direction;
uint64_t r11_before, r11_after;		/* glue of a body has kept it; it is back */

/* Those of `after`; as any function does that computes with them. */
void load_vectors(void);
/* Take over `before`, call `routine` with r11 = id and a stack that is `skew` off
 * its alignment, put what it leaves into `after`. */
void enter(void (*routine)(void), uint32_t id, uint64_t skew);

#define STRING(x) #x
#define EACH_REGISTER(X, m) \
	X(rax, 0, m) X(rcx, 1, m) X(rdx, 2, m) X(rsi, 3, m) X(rdi, 4, m) X(r8, 5, m) \
	X(r9, 6, m) X(r10, 7, m) X(rbx, 8, m) X(rbp, 9, m) X(r12, 10, m) X(r13, 11, m) \
	X(r14, 12, m) X(r15, 13, m)
#define GET(name, i, m) "mov " #m "+8*" #i "(%rip), %" #name "\n\t"
#define PUT(name, i, m) "mov %" #name ", " #m "+8*" #i "(%rip)\n\t"
#define FOUR(X, op, v, m, a, b, c, d) \
	X(op, v, a, m) X(op, v, b, m) X(op, v, c, m) X(op, v, d, m)
#define EACH_VECTOR(X, op, v, m) \
	FOUR(X, op, v, m, 0, 1, 2, 3) FOUR(X, op, v, m, 4, 5, 6, 7) \
	FOUR(X, op, v, m, 8, 9, 10, 11) FOUR(X, op, v, m, 12, 13, 14, 15)
#define EACH_WIDE(X, op, v, m) EACH_VECTOR(X, op, v, m) \
	FOUR(X, op, v, m, 16, 17, 18, 19) FOUR(X, op, v, m, 20, 21, 22, 23) \
	FOUR(X, op, v, m, 24, 25, 26, 27) FOUR(X, op, v, m, 28, 29, 30, 31)
#define GET_K(i, m) "kmovq " #m "+2176+8*" #i "(%rip), %k" #i "\n\t"
#define PUT_K(i, m) "kmovq %k" #i ", " #m "+2176+8*" #i "(%rip)\n\t"
#define EACH_MASK(X, m) "cmpq $0, has_masks(%rip)\n\tje 5f\n\t" X(0, m) X(1, m) X(2, m) \
	X(3, m) X(4, m) X(5, m) X(6, m) X(7, m) "5:\t"
#define GET_V(op, v, i, m) #op " " #m "+128+64*" #i "(%rip), %" #v #i "\n\t"
#define PUT_V(op, v, i, m) #op " %" #v #i ", " #m "+128+64*" #i "(%rip)\n\t"
#define BY_WIDTH(X, m) \
	"cmpq $32, vector_bytes(%rip)\n\tjb 1f\n\tje 2f\n\t" \
	EACH_WIDE(X, vmovups, zmm, m) "jmp 3f\n" \
	"2:\t" EACH_VECTOR(X, vmovups, ymm, m) "jmp 3f\n" \
	"1:\t" EACH_VECTOR(X, movups, xmm, m) "3:\t"

_Static_assert(offsetof(struct machine, v) == 128, "the + 128 below");
_Static_assert(offsetof(struct machine, sp) == 112 && offsetof(struct machine, k) == 2176,
	       "the + 112 below, the + 2176 above");

__asm__(".text\n\t.globl enter\n\t.type enter, @function\nenter:\n\t"
	"push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
	"mov %rdi, target(%rip)\n\tmov %rsp, own_sp(%rip)\n\tmov %esi, %r11d\n\t"
	"sub $136, %rsp\n\tsub %rdx, %rsp\n\t"
	"mov %rsp, before+112(%rip)\n\tmov before+120(%rip), %rax\n\tmov %rax, (%rsp)\n\t"
	BY_WIDTH(GET_V, before)
	EACH_MASK(GET_K, before)
	EACH_REGISTER(GET, before)
	"cmpq $0, direction(%rip)\n\tje 4f\n\tstd\n4:\t"
	"call *target(%rip)\n\t"
	"cld\n\tmov %r11, r11_after(%rip)\n\t"
	EACH_REGISTER(PUT, after)
	"mov %rsp, after+112(%rip)\n\tmov (%rsp), %rax\n\tmov %rax, after+120(%rip)\n\t"
	BY_WIDTH(PUT_V, after)
	EACH_MASK(PUT_K, after)
	"mov own_sp(%rip), %rsp\n\t"
	"pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret\n\t"
	".size enter, . - enter");

__asm__("load_vectors:\n\t" BY_WIDTH(GET_V, after) EACH_MASK(GET_K, after) "ret");

static void choose_width(void)
{
	vector_bytes = __builtin_cpu_supports("avx512f") ? 64 :
		       __builtin_cpu_supports("avx") ? 32 : 16;
	has_masks = !!__builtin_cpu_supports("avx512bw");
}
