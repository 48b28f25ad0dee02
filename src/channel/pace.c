/*
 * pace.c - a rate at which no ring gets full: `--rate=auto`.
 *
 * READER code: it stays out of the target.
 *
 * Paper 2, section 6.4, leaves this for later: a sampling rate that the reader
 * cannot follow makes errors in bursts. A ring that is half full halves the rate;
 * the rate is halved again only after some time, in which the lower rate can work.
 * Rings that stay nearly empty raise the rate by a quarter.
 */
#include "channel/filter.h"

enum {
	HIGH = 500, LOW = 250,		/* thousandths of a ring */
	CALM_LOOKS = 32,		/* looks at low rings before the rate rises */
	PATIENCE = 32			/* looks before the rate is lowered again */
};

static uint32_t clamp(uint64_t rate)
{
	return rate < FL_RATE_LEAST ? FL_RATE_LEAST :
	       rate > FL_RATE_ALL ? FL_RATE_ALL : (uint32_t)rate;
}

uint32_t fl_pace_next(struct fl_pace *p, uint32_t rate, uint32_t full)
{
	if (full < HIGH)
		p->calm = full < LOW ? p->calm + 1 : 0;
	if (full >= HIGH && p->patience == 0) {
		*p = (struct fl_pace){ .patience = PATIENCE };
		return clamp(rate / 2);
	}
	p->patience -= p->patience > 0;
	if (p->calm < CALM_LOOKS)
		return rate;
	p->calm = 0;
	return clamp((uint64_t)rate * 5 / 4);
}
