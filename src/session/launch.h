/*
 * launch.h - private to session/: the target is started with libflick.so in it (launch.c).
 */
#ifndef FL_LAUNCH_H
#define FL_LAUNCH_H

#include "session/session.h"

/* Find program and library and see whether they can work together. 0 or -1, line printed. */
int fl_launch_check(struct fl_launch *, const char *name);
/* The same where the program runs already. */
int fl_launch_check_attached(struct fl_launch *, const char *file);
/* What the file names as its loader, else "". loads: does that loader load libflick.so? */
void fl_launch_loader(char out[128], const struct fl_obj *);
bool fl_launch_loads(const char *loader);
/* Tell the target who reads. */
void fl_launch_introduce(struct fl_region *);
/* Start it with the region `fd`; its pid, or -1 and a line printed. */
int fl_launch_start(const struct fl_launch *, char **argv, struct fl_region *, int fd);

#endif
