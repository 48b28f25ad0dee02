/*
 * dump.c - the list of dumpers; one line adds one. A dumper's output is opened once
 * there is something to write, so a dump of nothing replaces no file.
 */
#include <string.h>

#include "report/report.h"

extern const struct fl_dumper fl_dumper_folded;
extern const struct fl_dumper fl_dumper_flame;
extern const struct fl_dumper fl_dumper_chrome;

const struct fl_dumper *const fl_dumpers[] = {
	&fl_dumper_folded,
	&fl_dumper_flame,
	&fl_dumper_chrome,
	NULL
};

int fl_dump_open(struct fl_dump *d)
{
	d->to = d->output ? fopen(d->output, "we") : stdout;
	if (!d->to)
		return fl_why(d->why, d->output, "%s", strerror(errno));
	errno = 0;				/* a later value comes from writing */
	return 0;
}
