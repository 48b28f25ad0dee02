/*
 * facts.h - what a port's own facts.h must say. It also has the type fl_unit: what one switch
 * stores, and as long as a trap.
 */
#ifndef FL_ARCH_FACTS_H
#define FL_ARCH_FACTS_H

#ifndef FL_ARCH_CPUINFO_KEY
#error "FL_ARCH_CPUINFO_KEY: what /proc/cpuinfo says of this CPU alone"
#endif
#ifndef FL_ARCH_CLOCK_IS_STEADY
#error "FL_ARCH_CLOCK_IS_STEADY: 1 where FL_ARCH_TICKS() has one rate for good, by architecture"
#endif
#ifndef FL_ARCH_ELF_MACHINE
#error "FL_ARCH_ELF_MACHINE: e_machine of this CPU"
#endif
#ifndef FL_ARCH_R_RELATIVE
#error "FL_ARCH_R_RELATIVE: the relocation that is bias + addend"
#endif
#ifndef FL_ARCH_R_WORD
#error "FL_ARCH_R_WORD: the relocation that is symbol + addend"
#endif
#ifndef FL_ARCH_PAGE
#error "FL_ARCH_PAGE: bytes of a page"
#endif
#ifndef FL_ARCH_LINE
#error "FL_ARCH_LINE: bytes of a cache line"
#endif
#ifndef FL_ARCH_STORE_MAX
#error "FL_ARCH_STORE_MAX: bytes of the widest store that is fetched whole"
#endif
#ifndef FL_ARCH_TRAP
#error "FL_ARCH_TRAP: the fl_unit that traps"
#endif
#ifndef FL_ARCH_REACH
#error "FL_ARCH_REACH: how far a branch reaches, less a margin"
#endif
#ifndef FL_ARCH_SITE_MAX
#error "FL_ARCH_SITE_MAX: bytes of the longest window"
#endif
#ifndef FL_ARCH_GLUE_BYTES
#error "FL_ARCH_GLUE_BYTES: bytes of a glue"
#endif
#if !defined(FL_ARCH_VENEER_MAX) || !defined(FL_ARCH_VENEER_KEEPS)
#error "FL_ARCH_VENEER_MAX, _KEEPS: bytes of the longest veneer, and what it does (arch.h)"
#endif
#if !defined(FL_ARCH_POINTEE_OWN) || !defined(FL_ARCH_LAY_POINTEE)
#error "FL_ARCH_POINTEE_OWN, FL_ARCH_LAY_POINTEE: words that its glue finds beside a slot"
#endif
#if !defined(FL_ARCH_MASK_DOES) || !defined(FL_ARCH_MASK_DOES_NOT)
#error "FL_ARCH_MASK_DOES, _DOES_NOT: the mask of a glue that does it itself, and else"
#endif
#if !defined(FL_ARCH_COUNTING_BYTES) || !defined(FL_ARCH_COUNTING_REST_BYTES)
#error "FL_ARCH_COUNTING_BYTES, _REST_BYTES: bytes of the two parts of a glue that counts"
#endif
#if !defined(FL_ARCH_RECORDING_BYTES) || !defined(FL_ARCH_RECORDING_REST_BYTES)
#error "FL_ARCH_RECORDING_BYTES, _REST_BYTES: of a glue that records; 0: there is none"
#endif
#ifndef FL_ARCH_LANDING_BYTES
#error "FL_ARCH_LANDING_BYTES: bytes of a landing pad at a function's entry"
#endif
#ifndef FL_ARCH_PAD_BYTES
#error "FL_ARCH_PAD_BYTES: bytes of NOPs that a call or jump takes"
#endif
#ifndef FL_ARCH_BEFORE_MAX
#error "FL_ARCH_BEFORE_MAX: how far before an entry its branch may stand; 0: always at it"
#endif
#ifndef FL_ARCH_PAD_JUMP_BYTES
#error "FL_ARCH_PAD_JUMP_BYTES: bytes of NOPs that a short jump takes"
#endif
#ifndef FL_ARCH_SLED_BYTES
#error "FL_ARCH_SLED_BYTES: bytes of an XRay sled"
#endif
#ifndef FL_ARCH_SLED_RETURNS
#error "FL_ARCH_SLED_RETURNS: 1 where an exit's sled begins with the return, 0 where it jumps"
#endif
#ifndef FL_ARCH_RET_BYTES
#error "FL_ARCH_RET_BYTES: bytes of the plain return"
#endif
#ifndef FL_ARCH_STUB_MAX
#error "FL_ARCH_STUB_MAX: bytes of the longest stub"
#endif
#ifndef FL_ARCH_STUB_STEP
#error "FL_ARCH_STUB_STEP: bytes between places where a stub may begin; 0: the section says"
#endif
#ifndef FL_ARCH_REGS
#error "FL_ARCH_REGS: general registers, at most 32"
#endif
#ifndef FL_ARCH_DWARF_SP
#error "FL_ARCH_DWARF_SP: the stack pointer's number in tables for unwinding"
#endif
#ifndef FL_ARCH_ARG0
#error "FL_ARCH_ARG0: the register of a first argument"
#endif
#ifndef FL_ARCH_SP
#error "FL_ARCH_SP: the stack pointer"
#endif
#ifndef FL_ARCH_FP
#error "FL_ARCH_FP: the frame pointer"
#endif
#ifndef FL_ARCH_R_CHOOSE
#error "FL_ARCH_R_CHOOSE: the relocation that is what the function at bias + addend returns"
#endif
#if !defined(FL_ARCH_POINT_CALL) || !defined(FL_ARCH_POINT_DEPTHS)
#error "FL_ARCH_POINT_CALL, _DEPTHS: where a point's place calls glue; its rows for unwinders"
#endif
#ifndef FL_ARCH_IS_SHORT
#error "FL_ARCH_IS_SHORT(d): may a branch that is short lead so far?"
#endif
#ifndef FL_ARCH_OPERANDS_GROW
#error "FL_ARCH_OPERANDS_GROW: is what has a pc-relative operand longer elsewhere?"
#endif
#ifndef FL_ARCH_DWARF_RETURN
#error "FL_ARCH_DWARF_RETURN: the return address's"
#endif
#ifndef FL_ARCH_DWARF_REGS
#error "FL_ARCH_DWARF_REGS: registers that tables for unwinding know, from 0 on"
#endif
#if !defined(FL_ARCH_PERF_REGS) || !defined(FL_ARCH_PERF_TO_DWARF)
#error "FL_ARCH_PERF_REGS: what a sample has, a bit each; _PERF_TO_DWARF: _DWARF_REGS is the pc"
#endif
#ifndef FL_ARCH_DWARF_CALLED
#error "FL_ARCH_DWARF_CALLED: how far above the stack pointer the CFA is when a function begins"
#endif
#ifndef FL_ARCH_SCRATCH
#error "FL_ARCH_SCRATCH: registers that a call may lose, a bit each"
#endif
#ifndef FL_ARCH_KEPT
#error "FL_ARCH_KEPT: registers that a call keeps, a bit each"
#endif
#ifndef FL_ARCH_N_KEPT
#error "FL_ARCH_N_KEPT: how many FL_ARCH_KEPT has"
#endif
#ifndef FL_ARCH_KEPT_INDEX
#error "FL_ARCH_KEPT_INDEX: an initialiser: of each kept register, which of them it is"
#endif
#ifndef FL_ARCH_VECTORS
#error "FL_ARCH_VECTORS(x, name): x() of each routine name_... that CALLS_BOUND makes"
#endif
#ifndef FL_ARCH_TICKS
#error "FL_ARCH_TICKS(): a clock, the same on every core (HW6)"
#endif
#ifndef FL_ARCH_FENCE
#error "FL_ARCH_FENCE(): nothing behind it has begun"
#endif
#ifndef FL_ARCH_PAUSE
#error "FL_ARCH_PAUSE(): this thread waits for another"
#endif
#ifndef FL_ARCH_FLIP_UNIT
#error "FL_ARCH_FLIP_UNIT(at, to): see fl_arch_flip_unit()"
#endif
#ifndef FL_ARCH_LAY_TLS
#error "FL_ARCH_LAY_TLS(pointer): see fl_arch_lay_tls()"
#endif
#ifndef FL_ARCH_USER_CALL
#error "FL_ARCH_USER_CALL: where ptrace(2) shows a system call's number"
#endif
#ifndef FL_ARCH_USER_RESULT
#error "FL_ARCH_USER_RESULT: where ptrace(2) shows what it returned"
#endif
#if !defined(FL_ARCH_FRAME_BYTES) || !defined(FL_ARCH_RESTORER_BYTES) || \
	!defined(FL_ARCH_SYSCALL_BYTES)
#error "FL_ARCH_FRAME_BYTES, FL_ARCH_RESTORER_BYTES: what tells a signal's frame, see arch.h"
#endif
#if !defined(FL_ARCH_USER_WORDS) || !defined(FL_ARCH_USER_PC) || !defined(FL_ARCH_USER_SP)
#error "FL_ARCH_USER_WORDS, _PC, _SP: words of NT_PRSTATUS, and which two are these"
#endif
#ifndef FL_ARCH_INNER
#error "FL_ARCH_INNER: offsets in the window of a body's entry at which a thread may stand"
#endif

#ifndef FL_ARCH_MONITORS
#error "FL_ARCH_MONITORS: 1 where atomics may be a pair, a load and a store-exclusive"
#endif
#ifndef FL_ARCH_ATOMICS
#error "FL_ARCH_ATOMICS: the bit of AT_HWCAP for atomics of one instruction; or 0"
#endif
#ifndef FL_ARCH_PAIR_MAX
#error "FL_ARCH_PAIR_MAX: bytes of the longest rewritten part of a pair"
#endif
#ifndef FL_ARCH_PAIR_OWN
#error "FL_ARCH_PAIR_OWN: bytes of a thread's own that rewritten pairs take"
#endif

#endif
