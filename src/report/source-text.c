/*
 * source-text.c - the text of source lines, from the files that debug information names.
 *
 * Hides that a file is read once, whole, and where its lines begin.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obj/obj.h"
#include "report/source-text.h"

#define MOST_BYTES (64ull << 20)	/* of a file */

struct fl_source_file {
	char *name, *bytes;
	size_t n_bytes;
	size_t *begins, n_lines;	/* line 1 begins at begins[0] */
	int64_t changed;
};

static size_t read_whole(int fd, char *to, size_t room)
{
	size_t n = 0;
	ssize_t done;

	while (n < room && (done = read(fd, to + n, room - n)) > 0)
		n += (size_t)done;
	return n;
}

/* 0 or -ENOMEM. */
static int find_lines(struct fl_source_file *f)
{
	const char *end = f->bytes + f->n_bytes;

	for (const char *at = f->bytes; at && at < end; at++) {
		if (fl_array_room(&f->begins, f->n_lines, sizeof(*f->begins)))
			return -ENOMEM;
		f->begins[f->n_lines++] = (size_t)(at - f->bytes);
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			break;
	}
	return 0;
}

/* What cannot be read has no lines. 0 or -ENOMEM. */
static int read_source(struct fl_source_file *f)
{
	uint64_t bytes;
	bool is_own;
	struct stat st;
	int fd = fl_obj_open_plain(f->name, &bytes, &is_own);

	if (fd < 0)
		return 0;
	f->bytes = bytes && bytes <= MOST_BYTES ? malloc(bytes) : NULL;
	if (f->bytes && !fstat(fd, &st)) {
		f->n_bytes = read_whole(fd, f->bytes, bytes);
		f->changed = st.st_mtime;
	}
	close(fd);
	return f->bytes ? find_lines(f) : bytes && bytes <= MOST_BYTES ? -ENOMEM : 0;
}

/* NULL: no memory. */
static struct fl_source_file *file_of(struct fl_source_texts *t, const char *name)
{
	const uint32_t hash = fl_hash_text(0, name);
	struct fl_source_file *f;

	for (uint32_t at = hash, i; (i = fl_hash_next(&t->by_name, hash, &at));)
		if (!strcmp(t->files[i - 1].name, name))
			return &t->files[i - 1];
	if (fl_array_room(&t->files, t->n, sizeof(*t->files)))
		return NULL;
	f = &t->files[t->n];
	*f = (struct fl_source_file){ .name = strdup(name) };
	if (!f->name)
		return NULL;
	t->n++;
	return read_source(f) || fl_hash_put(&t->by_name, hash, (uint32_t)t->n) ? NULL : f;
}

/* What has no width: a NUL would end the text, and compilers pass over it as over a blank. */
static bool is_blank(char c)
{
	return !c || isspace((unsigned char)c);
}

/* Each run of blanks and tabs becomes one blank; at the ends there is none. */
static char *shorten(const char *from, size_t n)
{
	char *text = malloc(n + 1);
	size_t used = 0;

	for (size_t i = 0; text && i < n; i++)
		if (!is_blank(from[i]))
			text[used++] = from[i];
		else if (used && text[used - 1] != ' ')
			text[used++] = ' ';
	if (text)
		text[used - (used && text[used - 1] == ' ')] = '\0';
	return text;
}

char *fl_source_text(struct fl_source_texts *t, const char *file, int line, int64_t *changed)
{
	struct fl_source_file *f = file_of(t, file);
	size_t begin, end;

	*changed = f ? f->changed : 0;
	if (!f)
		return NULL;
	if (line < 1 || (size_t)line > f->n_lines)
		return strdup("");
	begin = f->begins[line - 1];
	end = (size_t)line < f->n_lines ? f->begins[line] : f->n_bytes;
	return shorten(f->bytes + begin, end - begin);
}

void fl_source_texts_free(struct fl_source_texts *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->files[i].name);
		free(t->files[i].bytes);
		free(t->files[i].begins);
	}
	free(t->files);
	fl_hash_free(&t->by_name);
	*t = (struct fl_source_texts){ .files = NULL };
}
