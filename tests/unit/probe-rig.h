/*
 * probe-rig.h - a rig for each test of what samples: a call is one sample.
 */
#ifndef PROBE_RIG_H
#define PROBE_RIG_H

#include "channel-rig.h"

static struct rig *g;

static int set_up(void **unused)
{
	(void)unused;
	g = rig_open(4, 8, FL_ACT_SAMPLE);
	g->m->session[0].samples = 1;
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	rig_close(g);
	return 0;
}

#endif
