/*
 * table.h - what the exporters share.
 */
#ifndef FL_REPORT_TABLE_H
#define FL_REPORT_TABLE_H

#include "report/report.h"

/* The name of a function cell; "?" where a damaged store has none. */
const char *fl_sheet_function(const struct fl_sheet *, uint64_t index);

#endif
