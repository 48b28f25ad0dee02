/*
 * build-id.c - what tells a build of a file from all others, as text.
 */
#include <stdio.h>
#include <unistd.h>

#include "report/schema.h"

bool fl_build_id(const char *path, char text[FL_BUILD_ID_TEXT])
{
	uint8_t id[FL_OBJ_ID];
	struct fl_headers headers;
	size_t n = FL_OBJ_ID;
	int fd = fl_headers_open(&headers, path);
	bool has_id = fd >= 0 && fl_headers_id(&headers, fd, id);

	if (fd >= 0)
		close(fd);
	if (!has_id)
		return false;
	while (n && !id[n - 1])			/* most have 20 bytes */
		n--;
	*text = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return true;
}
