/* synth.h - the table of functions in the file that bench/synth writes. */
#ifndef SYNTH_H
#define SYNTH_H

#include <stddef.h>

extern int (*const synth_fn[])(int);
extern const size_t synth_n;

#endif
