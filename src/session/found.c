/*
 * found.c - what the scan of a large program has found, kept for its next run (kept.c).
 *
 * Hides when finds are given to the target, and when they are kept. What the target says is
 * taken before any of its own code has run.
 */
#include <stdlib.h>
#include <string.h>

#include "session/kept.h"
#include "session/lines.h"

enum { FEW = 4096 };			/* calls: a scan that finds fewer is soon done */

struct fl_found_file {
	struct fl_kept_file *kept;
	uint64_t *rows;			/* to keep, or NULL */
	uint32_t n;
};

_Static_assert(sizeof(struct fl_found_row) == sizeof(uint64_t), "a row is a word");

/* ---- before the program starts ------------------------------------------------------ */

static bool give(struct fl_kept_file *k, struct fl_region *m)
{
	uint64_t n;

	if (!fl_kept_find(k, &n) || n > m->max_sites ||
	    !fl_kept_read(k, (uint64_t *)fl_shm_found(m)))
		return false;
	m->found.n = (uint32_t)n;
	return true;
}

void fl_found_open(struct fl_session *s)
{
	struct fl_kept_file *k = s->launch.calls_hooks ?
				 fl_kept_open(&s->launch, "found 3") : NULL;
	struct fl_found_file *f = k ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		fl_kept_close(k);
		return;
	}
	s->found = f;
	f->kept = k;
	memcpy(s->shm->found.id, k->head.id, FL_BUILD_ID);
	s->shm->found.inode = k->head.program.inode;
	s->shm->found.changed_ns = k->head.program.changed_ns;
	s->shm->found.state = give(k, s->shm) ? FL_FOUND_GIVEN : FL_FOUND_WISHED;
}

/* ---- when it has been scanned, and when it has ended ---------------------------------- */

void fl_found_take(struct fl_session *s)
{
	struct fl_found_file *f = s->found;
	uint32_t n = f ? load_relaxed(&s->shm->found.n) : 0;
	size_t bytes = n * sizeof(*f->rows);

	if (n < FEW || n > s->functions.max_sites ||
	    load_relaxed(&s->shm->found.state) != FL_FOUND_TOLD)
		return;
	f->rows = malloc(bytes);
	if (!f->rows)
		return;
	memcpy(f->rows, fl_shm_found(s->shm), bytes);
	f->n = n;
}

void fl_found_close(struct fl_session *s)
{
	if (!s->found)
		return;
	if (s->found->rows)
		fl_kept_write(s->found->kept, s->found->rows, s->found->n);
	fl_kept_close(s->found->kept);
	free(s->found->rows);
	free(s->found);
	s->found = NULL;
}
