/* names.h - names of the functions that have probes, inside the process. Private. */
#ifndef FL_NAMES_H
#define FL_NAMES_H

#include "channel/channel.h"

/* Room for the functions of `max` probes. 0 or -ENOMEM. */
int fl_names_open(uint32_t max);
void fl_names_close(void);
/* Learn the names that probes from `from` on need. */
void fl_names_learn(struct fl_region *m, uint32_t from);
/* Mangled name, or "" when the module tells none. Lives until close. */
const char *fl_names_of(uintptr_t function);

#endif
