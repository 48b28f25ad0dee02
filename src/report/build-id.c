/*
 * build-id.c - what tells a build of a file from all others, as text.
 */
#include <stdio.h>

#include "report/schema.h"

bool fl_build_id(const char *path, char text[FL_BUILD_ID_TEXT])
{
	uint8_t id[FL_OBJ_ID];
	struct fl_module m;
	size_t n = FL_OBJ_ID;
	bool has_id;

	if (*path != '/' || fl_obj_copy(&m, path, FL_OBJ_SYMBOLS))
		return false;
	has_id = fl_obj_file_id(&m.file, id);
	fl_obj_unlay(&m);
	if (!has_id)
		return false;
	while (n && !id[n - 1])			/* most have 20 bytes */
		n--;
	*text = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	return true;
}
