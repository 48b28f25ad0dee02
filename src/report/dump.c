/*
 * dump.c - the list of dumpers; one line adds one.
 */
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
