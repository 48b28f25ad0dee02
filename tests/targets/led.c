/*
 * led: functions that others come to behind their first instruction, as mempcpy() does to
 * memcpy() in C libraries; and what stands before their entries.
 *
 *	led N	that many calls of each, and how often each was called
 *	led	threads call all of them until SIGTERM comes; then `fine`
 */
#define FUNCTIONS(X) X(main) X(led) X(led_far) X(led_page) X(led_pad) X(led_by) X(runs_by) \
	X(leads) X(leads_far) X(leads_page) X(leads_pad) X(leads_by) X(leads_refused)
#include "truth.h"
#include "until-stopped.h"

typedef long f(long n);

f led, led_far, led_page, led_pad, led_by, runs_by, leads, leads_far, leads_page, leads_pad,
	leads_by, led_refused, leads_refused, into_nops;

/* A function adds one to its argument; who leads into it, to twice that. NOPs stand before:
 * seven bytes, eleven, seven of another page, seven and a landing pad, and those by which
 * runs_by goes on; into_nops comes to the middle of the last ones. */
__asm__(".text\n"
	".macro BEGIN name\n.globl \\name\n.type \\name,@function\n\\name:\n"
	".cfi_startproc\n.endm\n"
	".macro END name\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
	".macro LED name, leads\n"
	"BEGIN \\name\n	mov %rdi, %rax\n.Linto_\\name:\n	add $1, %rax\n	ret\n"
	"END \\name\n"
	".p2align 4\n"
	"BEGIN \\leads\n	lea (%rdi,%rdi), %rax\n	jmp .Linto_\\name\n"
	"END \\leads\n.endm\n"
	".p2align 4\n.skip 9, 0xcc\n	nopl 0x100(%rax)\n"
	"LED led, leads\n"
	".p2align 4\n.skip 5, 0xcc\n	.byte 0x66, 0x66, 0x2e\n	nopl 0x100(%rax,%rax)\n"
	"LED led_far, leads_far\n"
	".p2align 12\n.skip 4089, 0xcc\n	nopl 0x100(%rax)\n"
	"LED led_page, leads_page\n"
	".p2align 4\n.skip 9, 0xcc\n	nopl 0x100(%rax)\n"
	"BEGIN led_pad\n	endbr64\n	mov %rdi, %rax\n.Linto_pad:\n	add $1, %rax\n"
	"	ret\n"
	"END led_pad\n.p2align 4\n"
	"BEGIN leads_pad\n	lea (%rdi,%rdi), %rax\n	jmp .Linto_pad\n"
	"END leads_pad\n"
	".p2align 4\n"
	"BEGIN runs_by\n	cmp $-1, %rdi\n	je refuse\nEND runs_by\n.p2align 4\n"
	"LED led_by, leads_by\n"
	".p2align 4\n.skip 9, 0xcc\n.Lnops:	nopl 0x100(%rax)\n"
	"LED led_refused, leads_refused\n"
	".p2align 4\n"
	"BEGIN into_nops\n	jmp .Lnops + 2\nEND into_nops\n"
	".p2align 4\n"
	"BEGIN refuse\n	xor %eax, %eax\n	ret\nEND refuse\n");

static long wrong;

static void check(f *called, long n, long due)
{
	if (called(n) != due)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

#define CALL(name, n, due) (TRUTH_ADD(truth_##name, 1), check(name, n, due))

static void call_all(long n)
{
	CALL(led, n, n + 1);
	CALL(leads, n, 2 * n + 1);
	CALL(led_far, n, n + 1);
	CALL(leads_far, n, 2 * n + 1);
	CALL(led_page, n, n + 1);
	CALL(leads_page, n, 2 * n + 1);
	CALL(led_pad, n, n + 1);
	CALL(leads_pad, n, 2 * n + 1);
	CALL(led_by, n, n + 1);
	CALL(leads_by, n, 2 * n + 1);
	truth_led_by++;
	CALL(runs_by, n, n + 1);
	CALL(runs_by, -1, 0);
	CALL(leads_refused, n, 2 * n + 1);
	check(led_refused, n, n + 1);
}

/* What unwinders need for who is interrupted there. */
struct bases { void *text, *data, *function; };
const void *_Unwind_Find_FDE(void *pc, struct bases *);

/* Before the entry there is a jump, or NOPs: that it is one is told apart. */
static void look_before(const unsigned char *entry, int before)
{
	struct bases b;
	_Bool is_jump = entry[-before] == 0xe9, is_found;

	is_found = _Unwind_Find_FDE((void *)(entry - before), &b);
	if (is_jump && !is_found)
		puts("wrong: nobody can unwind from before an entry");
	printf("jump %d found %d\n", is_jump, is_found);
}

/* Who stops it finds the functions' addresses on its stack. */
static void *call_until_stopped(void *arg)
{
	f *volatile kept[] = { led, led_far, led_page, led_pad, led_by };

	KEEP(kept);
	for (long n = 0; !is_stopped(); n++)
		call_all(n);
	return arg;
}

static int run_threads(void)
{
	run_until_stopped(call_until_stopped);
	puts(wrong ? "wrong sums" : "fine");
	return wrong != 0;
}

BODY int main(int argc, char **argv)
{
	CALLED(main);
	if (argc < 2 || atol(argv[1]) < 100)
		return run_threads();
	for (long n = 0; n < atol(argv[1]); n++)
		call_all(n);
	look_before((unsigned char *)led, 7);
	look_before((unsigned char *)led_far, 11);
	look_before((unsigned char *)led_refused, 7);
	truth_print();
	return wrong != 0;
}
