/*
 * perf-map.c - /tmp/perf-PID.map: under which names perf shows what stands in near memory.
 *
 * Hides the file. The program may write it, too, where it makes code of its own: then flick's
 * lines come behind the program's. Anybody may have put something else there, which is left
 * alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/functions.h"
#include "session/results.h"

struct perf_map {
	struct fl_session *s;
	FILE *to;
};

/* Name of a function at that address of the target's; NULL: it is in no module. */
static const char *name_of_body(struct fl_session *s, uint64_t at)
{
	const struct fl_shm_module *m = fl_session_module_at(s, at);
	uint32_t function;

	if (!m || fl_functions_find(&s->functions, m->path, at - m->base, &function))
		return NULL;
	return fl_functions_name(&s->functions, function);
}

static void put_body(void *arg, const struct fl_told_body *row)
{
	const struct perf_map *p = arg;
	const char *name = name_of_body(p->s, row->function);

	if (!name)
		return;
	fprintf(p->to, "%llx %x ", (unsigned long long)row->lo, row->bytes);
	fl_print_plain(p->to, name);
	putc('\n', p->to);
}

/* No link is followed: all know the name before the file is there. */
static FILE *open_map(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		      0644);
	struct stat st;
	FILE *f = NULL;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_nlink == 1)
		f = fdopen(fd, "a");
	else if (fd >= 0)
		errno = EPERM;
	if (!f && fd >= 0)
		close(fd);
	return f;
}

void fl_perf_map_write(struct fl_session *s)
{
	struct perf_map p = { .s = s };
	char path[64];
	int bad;

	if (!s->o->perf_map)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", s->pid);
	p.to = open_map(path);
	if (!p.to) {
		fl_say("cannot write %s: %s", path, fl_reason(-errno));
		return;
	}
	fl_originals_look(s->originals);
	fl_originals_each(s->originals, s->pid, put_body, &p);
	bad = ferror(p.to);
	if (fclose(p.to) || bad)
		fl_say("cannot write %s: %s", path, fl_reason(-errno));
}
