/* check.h - a program says what is not as it should be, and ends. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			printf("line %d: %s\n", __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

#endif
