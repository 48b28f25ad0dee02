/*
 * screen.h - private to args/: the pager (screen.c).
 */
#ifndef FL_SCREEN_H
#define FL_SCREEN_H

#include "args/args.h"

bool fl_screen_has_quit(void);		/* the pager was quit, which is no failure */

#endif
