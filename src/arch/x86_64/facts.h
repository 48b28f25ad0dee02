/*
 * facts.h - what x86-64 promises; numbers refer to docs/ASSUMPTIONS.md.
 */
#ifndef FL_X86_FACTS_H
#define FL_X86_FACTS_H

#include <elf.h>

#define FL_ARCH_NAME "x86-64"
#define FL_ARCH_CPUINFO_KEY "vendor_id"
#define FL_ARCH_CLOCK_IS_STEADY 0		/* the CPU's flags say so, or not */
#define FL_ARCH_ELF_MACHINE EM_X86_64
#define FL_ARCH_R_RELATIVE R_X86_64_RELATIVE	/* relocations: bias + addend */
#define FL_ARCH_R_WORD R_X86_64_64		/* symbol + addend */
typedef uint8_t fl_unit;		/* of a switch; HW2: a one-byte store never tears */
#define FL_ARCH_TRAP 0xcc		/* int3, a unit */
#define FL_ARCH_PAGE 4096
#define FL_ARCH_REACH 0x7fff0000ull	/* of rel32, less a margin */
#define FL_ARCH_GLUE_BYTES 16
#define FL_ARCH_VENEER_MAX 16
#define FL_ARCH_VENEER_KEEPS 0		/* its jump takes no register */
#define FL_ARCH_COUNTING_BYTES 64	/* a line for what is executed, one for the rest */
#define FL_ARCH_COUNTING_REST_BYTES 64
#define FL_ARCH_RECORDING_BYTES 128
#define FL_ARCH_RECORDING_REST_BYTES 64
#define FL_ARCH_POINTEE_OWN 0
#define FL_ARCH_LAY_POINTEE(own, counters) ((void)(own), (void)(counters))
#define FL_ARCH_MASK_DOES UINTPTR_MAX
#define FL_ARCH_MASK_DOES_NOT ((uintptr_t)0)
#define FL_ARCH_SITE_MAX 16
#define FL_ARCH_REGS 16			/* general ones */
#define FL_ARCH_ARG0 7			/* rdi */
#define FL_ARCH_SP 4			/* rsp */
#define FL_ARCH_DWARF_FP 6		/* rbp */
#define FL_ARCH_DWARF_SP 7		/* rsp, in tables for unwinding */
#define FL_ARCH_FP 5			/* rbp */
#define FL_ARCH_DWARF_RETURN 16
#define FL_ARCH_DWARF_REGS 17		/* rax to r15, and the return address */
#define FL_ARCH_PERF_REGS 0xff01ff	/* rax to rsp, rip, r8 to r15 */
#define FL_ARCH_PERF_TO_DWARF { 0, 3, 2, 1, 4, 5, 6, 7, 17, 8, 9, 10, 11, 12, 13, 14, 15 }
#define FL_ARCH_DWARF_CALLED 8		/* the CFA from the stack pointer at an entry */
#define FL_ARCH_R_CHOOSE R_X86_64_IRELATIVE	/* what the function there returns */
#define FL_ARCH_SCRATCH 0x0fc7		/* rax rcx rdx rsi rdi r8 to r11: calls lose them */
#define FL_ARCH_KEPT 0xf028		/* rbx rbp r12 to r15: calls keep them */
#define FL_ARCH_N_KEPT 6
#define FL_ARCH_KEPT_INDEX { [3] = 0, [5] = 1, [12] = 2, [13] = 3, [14] = 4, [15] = 5 }
#define FL_ARCH_LANDING_BYTES 4		/* endbr64 */
#define FL_ARCH_SLED_BYTES 11		/* of XRay: a jump or return, and NOPs */
#define FL_ARCH_SLED_RETURNS 1		/* an exit's sled begins with the return */
#define FL_ARCH_STUB_MAX 16		/* a jump behind a landing pad */
#define FL_ARCH_STUB_STEP 0		/* the stubs' section says */
#define FL_ARCH_RET_BYTES 1		/* without a prefix */
#define FL_ARCH_RET 0xc3u
#define FL_ARCH_PAD_BYTES 5		/* a call or jump */
#define FL_ARCH_BEFORE_MAX (FL_ARCH_SITE_MAX - FL_ARCH_PAD_JUMP_BYTES)
#define FL_ARCH_PAD_JUMP_BYTES 2	/* the shortest jump */
#define FL_ARCH_MOVED_MAX 24		/* a loop: prefixes, itself, two jumps */
#define FL_ARCH_IS_SHORT(d) ((d) == (int8_t)(d))	/* how far a short branch leads */
#define FL_ARCH_OPERANDS_GROW 0
#define FL_ARCH_BRANCH_BYTES 5
#define FL_ARCH_CALL_BYTES 5
#define FL_ARCH_TAIL_CALL 0
#define FL_ARCH_SWITCH_BYTES 33
#define FL_ARCH_PLACE_MAX 33
#define FL_ARCH_POINT_CALL 13
#define FL_ARCH_POINT_DEPTHS 6
#define FL_ARCH_LOOKUP_MAX 640
#define FL_ARCH_LOOKUP_DEPTHS 10	/* all of them are written */
#define FL_ARCH_LOOKUP_KEPT 32
#define FL_ARCH_LOOKUP_NUMBERS 1
#define FL_ARCH_ASIDE_BYTES 37
#define FL_ARCH_ASIDE_DOWN 8
#define FL_ARCH_ASIDE_DEPTH 136
#define FL_ARCH_MONITORS 0		/* atomics are one instruction each */
#define FL_ARCH_ATOMICS 0ull
#define FL_ARCH_PAIR_MAX 8
#define FL_ARCH_PAIR_OWN 16

#define FL_ARCH_PATH_MAX 320
#define FL_ARCH_TELLS 1			/* accesses to memory, and paths, in bodies */
#define FL_ARCH_TELL_MAX 1024
#define FL_ARCH_COLD_BYTES 31
#define FL_ARCH_COLD_PUSHED 8		/* the stack is so much lower in its call, */
#define FL_ARCH_COLD_CALL 6		/* which is so many bytes long */
#define FL_ARCH_CS_BYTES 32
#define FL_ARCH_LANDED_BYTES 10
#define FL_ARCH_LANDED_UP 5
/* Routines that keep every vector register over a call, the plainest first. */
#define FL_ARCH_VECTORS(x, name) \
	x(name##_sse) x(name##_avx) x(name##_avx512) x(name##_avx512bw)
#define FL_ARCH_STORE_MAX 8		/* bytes of the widest store */
#define FL_ARCH_LINE 64			/* HW1: one aligned word lies in one line */

#define FL_ARCH_TICKS() __builtin_ia32_rdtsc()
/* HW13: nothing behind it has begun. GCC has a builtin for it only with vector registers. */
#define FL_ARCH_FENCE() __asm__ volatile("lfence" : : : "memory")
#define FL_ARCH_FLIP_UNIT(at, to) store_relaxed((uint8_t *)(at), to)	/* HW5 */
#define FL_ARCH_PAUSE() __builtin_ia32_pause()
/* Variant II of the TLS ABI: the thread's own address, twice (self, descriptor). */
#define FL_ARCH_LAY_TLS(tls) ((tls)[0] = (tls)[2] = (uintptr_t)(tls))
#define FL_ARCH_ATTACHES 1		/* borrow.c, inject.S */
#define FL_ARCH_THREAD_HEAD 0x50		/* tcbhead_t up to what shadow stacks have */
#define FL_ARCH_TLS_TABLE 8192
#define FL_ARCH_VECTOR_SET NT_X86_XSTATE
#define FL_ARCH_USER_WORDS 27		/* struct user_regs_struct */
#define FL_ARCH_USER_CALL (8 * 15)	/* orig_rax: a system call's number, */
#define FL_ARCH_USER_RESULT (8 * 10)	/* rax: what it returned, for ptrace */
#define FL_ARCH_USER_PC 16		/* rip, of these words */
#define FL_ARCH_USER_SP 19		/* rsp */
#define FL_ARCH_INNER 5			/* a body's window: offsets where threads may stand */
#define FL_ARCH_FRAME_BYTES 328		/* the part of a signal's frame that is looked at */
#define FL_ARCH_RESTORER_BYTES 9
#define FL_ARCH_SYSCALL_BYTES 2

#endif
