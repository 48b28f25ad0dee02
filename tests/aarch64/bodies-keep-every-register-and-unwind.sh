#!/bin/sh
# AArch64: over a call into a second body that is probed all of x0 to x28 and q0 to q31 keep what they hold, but for
# what the function changes; and who unwinds (pthread_exit(), which runs handlers of each frame on
# its way) finds all frames of bodies. Planted: a function that changes x17, which must be told.
# timeout: 240
. "$(dirname "$0")/lib"

cat >"$TMP/regs.c" <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct regs { uint64_t x[32]; __uint128_t q[32]; };
extern void swap(struct regs *in, struct regs *out);
__asm__(".text\n.p2align 4\n.type quiet, %function\nquiet:\n.cfi_startproc\n"
#ifdef LOUD
	"	add x17, x17, #1\n"
#endif
	"	nop\n	ret\n.cfi_endproc\n.size quiet, .-quiet\n"
	".globl swap\n.type swap, %function\nswap:\n.cfi_startproc\n"
	"	stp x29, x30, [sp, #-192]!\n	.cfi_def_cfa_offset 192\n	.cfi_offset 29, -192\n	.cfi_offset 30, -184\n"
	"	stp x19, x20, [sp, #16]\n	stp x21, x22, [sp, #32]\n	stp x23, x24, [sp, #48]\n"
	"	stp x25, x26, [sp, #64]\n	stp x27, x28, [sp, #80]\n"
	"	stp d8, d9, [sp, #96]\n	stp d10, d11, [sp, #112]\n	stp d12, d13, [sp, #128]\n	stp d14, d15, [sp, #144]\n"
	"	str x1, [sp, #160]\n"
	"	add x29, x0, #256\n"
	"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	ldr q\\i, [x29, #\\i * 16]\n	.endr\n"
	"	mov x29, x0\n"
	"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28\n"
	"	ldr x\\i, [x29, #\\i * 8]\n	.endr\n"
	"	bl quiet\n"
	"	ldr x29, [sp, #160]\n"
	"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,19,20,21,22,23,24,25,26,27,28\n"
	"	str x\\i, [x29, #\\i * 8]\n	.endr\n"
	"	add x29, x29, #256\n"
	"	.irp i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	"	str q\\i, [x29, #\\i * 16]\n	.endr\n"
	"	ldp x19, x20, [sp, #16]\n	ldp x21, x22, [sp, #32]\n	ldp x23, x24, [sp, #48]\n"
	"	ldp x25, x26, [sp, #64]\n	ldp x27, x28, [sp, #80]\n"
	"	ldp d8, d9, [sp, #96]\n	ldp d10, d11, [sp, #112]\n	ldp d12, d13, [sp, #128]\n	ldp d14, d15, [sp, #144]\n"
	"	ldp x29, x30, [sp], #192\n	ret\n.cfi_endproc\n.size swap, .-swap\n");

static int cleaned;
static void clean(int *p) { cleaned += *p; }
__attribute__((noipa)) static void leave(int n)
{
	__attribute__((cleanup(clean))) int one = 1;

	if (!n)
		pthread_exit(&cleaned);
	leave(n - 1);
	__asm__ volatile("" : : "r"(&one) : "memory");
}
static void *work(void *arg)
{
	leave(7);
	return arg;
}

int main(void)
{
	struct regs in, out;
	pthread_t t;
	int bad = 0;

	for (int round = 0; round < 100; round++) {
		unsigned char *b = (unsigned char *)&in;

		for (size_t i = 0; i < sizeof in; i++)
			b[i] = (unsigned char)(i * 7 + round * 13 + 1);
		memset(&out, 0, sizeof out);
		swap(&in, &out);
		for (int i = 0; i < 29; i++)
			bad += i != 18 && in.x[i] != out.x[i];
		bad += !!memcmp(in.q, out.q, sizeof in.q);
	}
	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	printf("registers lost %d, frames unwound %d\n", bad, cleaned);
	return 0;
}
END

for flags in "" -DLOUD; do
	# shellcheck disable=SC2086
	target regs "$TMP/regs.c" -pthread -fexceptions $flags
	for how in "" "-a counts" "--all -a latency"; do
		# shellcheck disable=SC2086
		record regs $how
		for f in quiet swap; do
			case $how in *counts) table=counts ;; *) table=latency ;; esac
			n=$(sqlite3 "$TMP/data/results.db" \
				"select calls from ${table}_named where function = '$f'")
			[ "$n" = 100 ] || fail "$how: $f was called 100 times, not '$n'"
		done
		case $flags in
		-DLOUD) grep -q '^registers lost 100, frames unwound 160$' "$TMP/out" ||
			fail "$how: a register that is changed is not told: $(cat "$TMP/out")" ;;
		*) grep -q '^registers lost 0, frames unwound 160$' "$TMP/out" ||
			fail "$how: $(cat "$TMP/out")" ;;
		esac
	done
done
