/*
 * stop-at.h - do something of the test's own at a test point, the next time only.
 */
#ifndef STOP_AT_H
#define STOP_AT_H

#include <stddef.h>
#include <string.h>

static const char *stop_at;
static void (*at_stop)(void);

void fl_point_hit(const char *name);
void fl_point_hit(const char *name)
{
	if (!stop_at || strcmp(name, stop_at))
		return;
	stop_at = NULL;
	at_stop();
}

static void stop(const char *at, void (*then)(void))
{
	stop_at = at;
	at_stop = then;
}

#endif
