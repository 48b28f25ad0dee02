/*
 * routines.h - the pieces of which probe/routines.S makes what a glue jumps to: each traps
 * yet, and no glue leads there.
 */
	.macro	REFUSES names:vararg
	.irp	name, \names
	.globl	fl_\name
	.hidden	fl_\name
	.type	fl_\name, @function
fl_\name:
	.endr
	brk	#0
	.endm

	.macro	RECORDS name, to
	REFUSES	abi_\name, bare_\name, body_\name, abi_\name\()_long, bare_\name\()_long, \
		body_\name\()_long
	.endm

	.macro	COUNTS name, to, full
	RECORDS	\name
	REFUSES	abi_\name\()_full, bare_\name\()_full, body_\name\()_full
	.endm

	.macro	COUNTS_BELOW name, below, timed, function_of, to, inner
	RECORDS	\name
	.endm

	.macro	CALLS name, to
	REFUSES	abi_\name, bare_\name, body_\name
	.endm

	.macro	CALLS_FROM name, to
	CALLS	\name
	.endm

	.macro	CALLS_BOUND name, bindings
	REFUSES	abi_\name, bare_\name\()_simd
	.endm

	.macro	CALLS_BEFORE name, first, then, then_bare
	CALLS	\name
	.endm

	.macro	ASKS name, asked
	REFUSES	ask_\name
	.endm

	.macro	ASKS_OTHERS name, asked, to
	ASKS	\name
	.endm
