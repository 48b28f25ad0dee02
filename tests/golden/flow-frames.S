/*
 * flow-frames.S - where no table tells of frames anybody may have landing pads.
 */
#include "flow.inc"

	.type	calls_without_a_frame, @function
calls_without_a_frame:
	load	calls_without_a_frame, %rdi
	is	calls_without_a_frame, enter
	load	f, %rbx
	call	*8(%rsi)
	exit	%rbx
	no
	load	g, %rbx
	ret
	.size	calls_without_a_frame, . - calls_without_a_frame

	.section .gcc_except_table, "a", @progbits
	.byte	0
