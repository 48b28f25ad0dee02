/*
 * facts.h - what AArch64 promises.
 */
#ifndef FL_A64_FACTS_H
#define FL_A64_FACTS_H

#include <elf.h>

#define FL_ARCH_NAME "AArch64"
#define FL_ARCH_CPUINFO_KEY "CPU implementer"
#define FL_ARCH_CLOCK_IS_STEADY 1		/* the generic timer */
#define FL_ARCH_ELF_MACHINE EM_AARCH64
#define FL_ARCH_R_RELATIVE R_AARCH64_RELATIVE
#define FL_ARCH_R_WORD R_AARCH64_ABS64
typedef uint32_t fl_unit;		/* an instruction */
#define FL_ARCH_TRAP 0xd4200000		/* brk #0 */
#define FL_ARCH_PAGE 4096		/* the least; see docs/PORTING.md */
#define FL_ARCH_REACH 0x07ff0000ull	/* of b and bl, less a margin */
#define FL_ARCH_GLUE_BYTES 48
#define FL_ARCH_VENEER_MAX 40
#define FL_ARCH_VENEER_KEEPS 1
#define FL_ARCH_COUNTING_BYTES 128	/* a line is executed, the rest is in a second one */
#define FL_ARCH_COUNTING_REST_BYTES 32
#define FL_ARCH_RECORDING_BYTES 0	/* no glue records: the routine does */
#define FL_ARCH_RECORDING_REST_BYTES 0
#define FL_ARCH_POINTEE_OWN 2
/* The address of a slot's counters, 0 while there is no slot; what one count adds to the
 * upper half of a counter. */
#define FL_ARCH_LAY_POINTEE(own, counters) \
	(store_relaxed(&(own)[1], 1u << 21), store_relaxed(&(own)[0], counters))
#define FL_ARCH_SITE_MAX 16
#define FL_ARCH_REGS 32
#define FL_ARCH_ARG0 0
#define FL_ARCH_SP 31
#define FL_ARCH_DWARF_SP 31		/* in tables for unwinding */
#define FL_ARCH_FP 29
#define FL_ARCH_DWARF_FP 29
#define FL_ARCH_DWARF_RETURN 30
#define FL_ARCH_DWARF_REGS 32		/* x0 to x30, sp */
#define FL_ARCH_PERF_REGS 0x1ffffffffull	/* these, and pc */
#define FL_ARCH_PERF_TO_DWARF { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, \
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 }
#define FL_ARCH_DWARF_CALLED 0
#define FL_ARCH_R_CHOOSE R_AARCH64_IRELATIVE
#define FL_ARCH_SCRATCH 0x4003ffff	/* x0 to x17, x30 */
#define FL_ARCH_KEPT 0x3ff80000		/* x19 to x29 */
#define FL_ARCH_N_KEPT 11
#define FL_ARCH_KEPT_INDEX { [19] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
#define FL_ARCH_LANDING_BYTES 4		/* bti c, paciasp */
#define FL_ARCH_SLED_BYTES 32
#define FL_ARCH_SLED_RETURNS 0		/* a return stands behind an exit's */
#define FL_ARCH_STUB_MAX 24		/* of linkers, with a landing pad */
#define FL_ARCH_STUB_STEP 4		/* stubs follow one another, of several lengths */
#define FL_ARCH_RET_BYTES 4
#define FL_ARCH_RET 0xd65f03c0u		/* to x30 */
#define FL_ARCH_PAD_BYTES 4
#define FL_ARCH_BEFORE_MAX 0		/* every instruction is as long as a branch */
#define FL_ARCH_PAD_JUMP_BYTES 4
#define FL_ARCH_MOVED_MAX 24
#define FL_ARCH_IS_SHORT(d) ((d) > -32000 && (d) < 32000)	/* tbz, less a margin */
#define FL_ARCH_OPERANDS_GROW 1		/* adr, literals */
#define FL_ARCH_BRANCH_BYTES 4
#define FL_ARCH_CALL_BYTES 12
#define FL_ARCH_TAIL_CALL 4
#define FL_ARCH_SWITCH_BYTES 8
#define FL_ARCH_PLACE_MAX 40
#define FL_ARCH_POINT_CALL 16
#define FL_ARCH_POINT_DEPTHS 4
#define FL_ARCH_LOOKUP_MAX 640
#define FL_ARCH_LOOKUP_DEPTHS 2
#define FL_ARCH_LOOKUP_KEPT 32
#define FL_ARCH_LOOKUP_NUMBERS 0
#define FL_ARCH_PATH_MAX 4
#define FL_ARCH_ASIDE_BYTES 4		/* there is none yet */
#define FL_ARCH_ASIDE_DOWN 4
#define FL_ARCH_ASIDE_DEPTH 0
#define FL_ARCH_LANDED_BYTES 12
#define FL_ARCH_LANDED_UP 8
#define FL_ARCH_VECTORS(x, name) x(name##_simd)
#define FL_ARCH_STORE_MAX 4
#define FL_ARCH_LINE 64

#ifdef __aarch64__
#define FL_ARCH_TICKS() ({ \
	uint64_t ticks_; \
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks_)); \
	ticks_; \
})
#define FL_ARCH_MASK_DOES ((uintptr_t)fl_arch_tls_slot_at())	/* see count.c */
#define FL_ARCH_MASK_DOES_NOT ((uintptr_t)a64_tls_no_slot_at())
#define FL_ARCH_FENCE() __asm__ volatile("isb" : : : "memory")
#define FL_ARCH_PAUSE() __asm__ volatile("yield" : : : "memory")
#else					/* for tests of the pure parts */
#define FL_ARCH_TICKS() 0
#define FL_ARCH_MASK_DOES UINTPTR_MAX
#define FL_ARCH_MASK_DOES_NOT ((uintptr_t)0)
#define FL_ARCH_FENCE() ((void)0)
#define FL_ARCH_PAUSE() ((void)0)
#endif
intptr_t a64_tls_no_slot_at(void) __attribute__((visibility("hidden")));
#define FL_ARCH_FLIP_UNIT(at, to) fl_a64_flip(at, to)
int fl_a64_flip(uintptr_t at, fl_unit to);	/* 0, or FLE_EXCHANGE: nothing is stored */
#define FL_ARCH_LAY_TLS(tls) ((void)(tls))	/* variant I: nothing is read there */
#define FL_ARCH_ATTACHES 0
#define FL_ARCH_THREAD_HEAD 16
#define FL_ARCH_TLS_TABLE 8192
#define FL_ARCH_VECTOR_SET NT_PRFPREG
#define FL_ARCH_USER_WORDS 34		/* struct user_pt_regs */
#define FL_ARCH_USER_CALL (8 * 8)	/* x8 */
#define FL_ARCH_USER_RESULT 0		/* x0 */
#define FL_ARCH_USER_PC 32		/* pc, of these words */
#define FL_ARCH_USER_SP 31		/* sp */
#define FL_ARCH_INNER 1
#define FL_ARCH_FRAME_BYTES 8
#define FL_ARCH_RESTORER_BYTES 8
#define FL_ARCH_SYSCALL_BYTES 4

#define FL_ARCH_MONITORS 1
#define FL_ARCH_ATOMICS (1ull << 8)	/* of AT_HWCAP: LSE */
#define FL_ARCH_PAIR_MAX 256
#define FL_ARCH_PAIR_OWN 48

#define FL_ARCH_TELLS 0			/* accesses to memory, and paths, in bodies */
#define FL_ARCH_TELL_MAX 8
#define FL_ARCH_COLD_BYTES 8
#define FL_ARCH_COLD_PUSHED 0
#define FL_ARCH_COLD_CALL 4
#define FL_ARCH_CS_BYTES 32

#endif
