/*
 * calibration.h - a kept calibration as text. Private to patch/.
 *
 *	flick-calibration 1
 *	cpu AuthenticAMD 25 17 1 0x1000065 KVMKVMKVM
 *	t_max 3000
 *	line yes
 *	... further keys, which readers that do not know them skip
 *	end
 */
#ifndef FL_CALIBRATION_H
#define FL_CALIBRATION_H

#include "patch.h"

/* 0, FLE_UNCALIBRATED (damaged, or no wait was found safe), or FLE_OTHERCPU;
 * `*c` is untouched unless 0. `key` is this machine's. */
int fl_calibration_parse(struct fl_calibration *c, const char *text, size_t n,
			 const char *key);

#endif
