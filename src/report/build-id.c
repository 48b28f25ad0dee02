/*
 * build-id.c - what tells a build of a file from all others, as text.
 */
#include <stdio.h>
#include <unistd.h>

#include "report/schema.h"

void fl_build_id_text(const uint8_t id[FL_OBJ_ID], char text[FL_BUILD_ID_TEXT])
{
	size_t n = FL_OBJ_ID;

	while (n && !id[n - 1])			/* most have 20 bytes */
		n--;
	*text = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

bool fl_build_id(const char *path, char text[FL_BUILD_ID_TEXT])
{
	uint8_t id[FL_OBJ_ID];
	struct fl_headers headers;
	int fd = fl_headers_open(&headers, path);
	bool has_id = fd >= 0 && fl_headers_id(&headers, fd, id);

	if (fd >= 0)
		close(fd);
	if (has_id)
		fl_build_id_text(id, text);
	return has_id;
}
