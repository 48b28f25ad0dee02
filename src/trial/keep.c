/*
 * keep.c - keep the findings of a calibration, and their chart beside them.
 *
 * READER code. Hides that a file is written under another name and renamed when
 * it is whole: until then, or if the writer is interrupted, readers find the old file.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "calibrate.h"

/* Make the directories above `path`. */
static int make_directories(const char *path)
{
	char dir[PATH_MAX];

	if (strlen(path) >= sizeof dir)
		return -ENAMETOOLONG;
	strcpy(dir, path);
	for (char *p = strchr(dir + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(dir, 0755) && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static FILE *open_beside(const char *path, char temp[PATH_MAX])
{
	FILE *f;
	int fd, n = snprintf(temp, PATH_MAX, "%s.XXXXXX", path);

	if (n < 0 || n >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkstemp(temp);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !f) {
		unlink(temp);
		close(fd);
	}
	return f;
}

static int keep(const char *path, const struct fl_findings *findings,
		void (*write)(FILE *, const struct fl_findings *))
{
	char temp[PATH_MAX];
	FILE *f = open_beside(path, temp);
	bool whole;
	int err;

	if (!f)
		return -errno;
	errno = 0;
	write(f, findings);
	whole = !fflush(f) && !ferror(f) && !fchmod(fileno(f), 0644) && !fsync(fileno(f));
	whole = !fclose(f) && whole && !rename(temp, path);
	if (whole)
		return 0;
	err = errno ? -errno : -EIO;
	unlink(temp);
	return err;
}

static void write_text(FILE *to, const struct fl_findings *f)
{
	char key[FL_CALIBRATION_KEY];

	fl_calibration_key(key);
	fprintf(to, "%s\ncpu %s\n", FL_CALIBRATION_MAGIC, key);
	if (f->wait_safe)
		fprintf(to, "t_max %" PRIu64 "\nmeasured %" PRIu64 "\n", f->t_max,
			f->measured);
	else
		fputs("t_max none\n", to);
	fprintf(to, "line %s\n", f->line ? "yes" : "no");
	fprintf(to, "toggles %" PRIu64 "\nstores %" PRIu64 "\n", f->toggles, f->stores);
	fprintf(to, "executors %u\nrounds %u\n", f->executors, f->rounds);
	fprintf(to, "time %lld\nend\n", (long long)time(NULL));
}

int fl_findings_place(const char *path)
{
	char dir[PATH_MAX], *slash;
	struct stat st;
	int err = make_directories(path);

	if (err)
		return err;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return -EISDIR;
	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[1] = '\0';
	return access(slash ? dir : ".", W_OK | X_OK) ? -errno : 0;
}

int fl_findings_keep(const struct fl_findings *f, const char *path)
{
	char chart[PATH_MAX];
	int n = snprintf(chart, sizeof chart, "%s.svg", path);
	int err = n < (int)sizeof chart ? 0 : -ENAMETOOLONG;

	if (!err)
		err = make_directories(path);
	if (!err)
		err = keep(chart, f, fl_chart_write);
	return err ? err : keep(path, f, write_text);
}
