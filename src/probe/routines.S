/*
 * routines.S - what a glue goes to: for each action and convention a routine, made of the
 * port's pieces (src/arch/CPU/routines.h). Which serves where is in routine.c.
 */
#include "arch/arch.h"

	.text

	UNCHECKS
	RECORDS	time, fl_channel_put
	RECORDS	precise, fl_channel_put, FENCE
	RECORDS_IN_TWO twice, fl_joint_put, fl_joint_put_second
	COUNTS	count, fl_channel_count, fl_channel_end_block
	COUNTS_BELOW after, count, fl_timed, fl_function_of, fl_sample_after, fl_sample_inner
	CALLS	sample, fl_sample_hit
	CALLS	staged, fl_change_hit
	CALLS_FROM window, fl_window_hit
	CALLS_BOUND call, fl_handler_call
	PATHS	fl_path_put
	MAKES_ROOM fl_probe_room, fl_channel_make_room
	CALLS_BEFORE both, fl_second_before, call, fl_bare_bound, fl_body_bound

	ASKS_OTHERS idle, fl_asked, fl_probe_ask
	ASKS	time, fl_asked
	ASKS	time_long, fl_asked
	ASKS	precise, fl_asked
	ASKS	precise_long, fl_asked
	ASKS	count, fl_asked
	ASKS	count_long, fl_asked
	ASKS	after, fl_asked
	ASKS	after_long, fl_asked
	ASKS	sample, fl_asked
	ASKS	staged, fl_asked
	ASKS	window, fl_asked
	ASKS	call, fl_asked
	ASKS	both, fl_asked
	ASKS	twice, fl_asked

	.section .note.GNU-stack, "", @progbits
