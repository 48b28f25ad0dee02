/*
 * err.c - the sentence for each of flick's own error codes.
 *
 * Hides that the list is errors.def; a code that is not in it (an errno, a
 * count) has no sentence here.
 */
#include "base/base.h"

const char *fl_err_text(int err)
{
	switch (err) {
#define FLICK_ERR(name, value, text) case value: return text;
#include "../../include/flick/errors.def"
#undef FLICK_ERR
	default:
		return NULL;
	}
}
