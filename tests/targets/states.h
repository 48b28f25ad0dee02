/*
 * states.h - what another process, or a thread of this one, is doing: stopped, asleep.
 */
#ifndef STATES_H
#define STATES_H

#include "truth.h"

/* As /proc has it, of thread `tid` of process `pid`; 0: its first. */
QUIET static char state_of(int pid, int tid)
{
	char path[64], text[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid ? tid : pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f) || !strrchr(text, ')'))
		exit(2);
	fclose(f);
	return strrchr(text, ')')[2];
}

QUIET static void await_state(int pid, int tid, char state)
{
	enum { PAUSE_US = 1000 };

	while (state_of(pid, tid) != state)
		usleep(PAUSE_US);
}

#endif
