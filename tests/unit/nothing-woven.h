/*
 * nothing-woven.h - where what bodies call is not linked: a test of bodies into which nothing
 * is woven that tells.
 */
#include "copy/copy.h"

uintptr_t fl_path_routine(enum fl_path_what what)
{
	(void)what;
	return 0;
}

void fl_probe_room(void)
{
}

intptr_t fl_path_at_thread(void)
{
	return 0;
}
