/*
 * held.c - a set that takes in rows of instructions is stored while other threads are held.
 *
 * Hides the rows that the holder is told (halt.c). All that may fail comes first: places
 * are taken and are as staged, rows are made, pages are there to be stored to. Then all
 * threads stop, and every place of the set gets its new bytes by plain stores.
 */
#include <sys/mman.h>

#include "halt.h"
#include "motion.h"
#include "patch.h"
#include "tactic.h"

struct rows {
	struct fl_halt_row *of;
	size_t n, bytes;
};

/* A thread that stands at a start stays there: the new bytes have an instruction there, too. */
static void keep_starts(const struct fl_patch *p, struct fl_halt_row *r)
{
	for (size_t k = 1; k < p->len; k++)
		r->to[k - 1] = p->starts >> k & 1 ? (uint8_t)k : 0;
}

static int add_halt_row(struct rows *rows, const struct fl_change *c)
{
	const struct fl_patch *p = c->patch;
	struct fl_halt_row *r = &rows->of[rows->n];
	uintptr_t copy = p->at;

	*r = (struct fl_halt_row){ .at = p->at, .len = p->len };
	if (c->from == FL_OLD && p->rows) {
		if (!fl_arch_inner(p, &copy, r->to))
			return FLE_LOOPS;
	} else {
		keep_starts(p, r);
	}
	r->copy = copy;
	rows->n++;
	return 0;
}

/* ---- ascending: a heap sort, because the C library's qsort() is not to be had -- */

static void sift_down(struct fl_halt_row *r, size_t i, size_t n)
{
	struct fl_halt_row row = r[i];

	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		k += k + 1 < n && r[k + 1].at > r[k].at;
		if (r[k].at <= row.at)
			break;
		r[i] = r[k];
	}
	r[i] = row;
}

static void sort_rows(struct rows *rows)
{
	for (size_t i = rows->n / 2; i-- > 0;)
		sift_down(rows->of, i, rows->n);
	for (size_t n = rows->n; n-- > 1;) {
		struct fl_halt_row last = rows->of[n];

		rows->of[n] = rows->of[0];
		rows->of[0] = last;
		sift_down(rows->of, 0, n);
	}
}

/* ---- before threads are held ---------------------------------------------------- */

static bool needs_row(const struct fl_change *c)
{
	return c->from != c->to && (c->tactic == FL_WIDE ||
				    (c->from == FL_OLD && c->patch->rows));
}

static int make_halt_rows(const struct fl_set *set, struct rows *rows, size_t *bad)
{
	int err = 0;

	rows->bytes = set->n * sizeof *rows->of;
	rows->of = fl_os_map(NULL, rows->bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (fl_is_err(rows->of)) {
		rows->of = NULL;
		return -ENOMEM;
	}
	for (*bad = 0; *bad < set->n && !err; ++*bad) {
		const struct fl_change *c = &set->changes[*bad];

		if (needs_row(c))
			err = add_halt_row(rows, c);
	}
	*bad -= err != 0;
	sort_rows(rows);
	return err;
}

/* The first store to a page makes the kernel copy it. Let it do so before threads stop, if it
 * knows how. */
static void touch_pages(const struct fl_set *set)
{
	uintptr_t last = 0;

	for (size_t i = 0; i < set->n; i++) {
		const struct fl_patch *p = set->changes[i].patch;
		uintptr_t at = p->at + (uintptr_t)p->view, page = fl_round_down(at, FL_PAGE);

		if (page == last)
			continue;
		fl_os_advise((void *)page, fl_round_up(at + p->len, FL_PAGE) - page,
			     MADV_POPULATE_WRITE);
		last = page;
	}
}

static size_t change_at(const struct fl_set *set, uintptr_t at)
{
	size_t i = 0;

	while (i + 1 < set->n && set->changes[i].patch->at != at)
		i++;
	return i;
}

/* Try again for threads that do not stop just now, or stand in a row for a moment. */
static int halt(const struct fl_set *set, const struct rows *rows, size_t *bad)
{
	enum { TRIES = 3, PAUSE_US = 3000 };
	size_t row = 0;
	int err;

	for (int i = 1; (err = fl_halt_begin(rows->of, rows->n, &row)) && i < TRIES &&
	     (err == -ETIMEDOUT || err == FLE_STANDS); i++)
		fl_os_sleep_us(PAUSE_US);
	if (!err)
		return 0;
	*bad = change_at(set, rows->of[row].at);
	return err == FLE_STANDS ? err : err == -ETIMEDOUT ? FLE_STUCK : FLE_THREADS;
}

/* ---- while threads are held ------------------------------------------------------- */

static void store_all(struct fl_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct fl_change *c = &set->changes[i];
		const struct fl_patch *p = c->patch;

		if (c->from != c->to)
			fl_arch_store_bytes(p->at + (uintptr_t)p->view, p->bytes[c->to],
					    p->len);
	}
	FL_POINT("held.stored");
}

static void settle_all(struct fl_set *set)
{
	for (size_t i = 0; i < set->n; i++) {
		fl_set_note_inner(&set->changes[i]);
		set->changes[i].patch->state = set->changes[i].to;
		fl_motion_leave_of(set->changes[i].patch);
	}
	set->n_taken = 0;
}

int fl_set_store_held(struct fl_set *set, size_t *bad)
{
	struct rows rows = { .n = 0 };
	int err = make_halt_rows(set, &rows, bad);

	if (!err) {
		touch_pages(set);
		err = halt(set, &rows, bad);
	}
	if (!err) {
		store_all(set);
		fl_halt_end();
		settle_all(set);
	}
	if (rows.of)
		fl_os_unmap(rows.of, rows.bytes);
	return err;
}
