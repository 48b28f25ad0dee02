/*
 * unwind.c - what unwinders are told of bodies, when they ask for a program counter.
 *
 * Hides a table as linkers write it (.eh_frame_hdr), which grows while others read it,
 * and the list of such tables. Unwinders search the table as they search a library's, so
 * a hundred thousand bodies cost what a library of as many functions costs: nothing is
 * registered, nobody locks, nothing is allocated.
 *
 * PROTOCOL
 *	emitter					unwinder
 *	write FDEs, then entries		load count	(B)
 *	store count	(A)			search that many entries
 *	write a list with one more area		load list	(D)
 *	store list	(C)			search it
 * (A) pairs with (B) in unwinder: a counted entry and its FDE are completely written.
 * (B) pairs with (A): the unwinder's own load, not ours.
 * (C) pairs with (D): a list that is found is whole.
 *
 * INVARIANT
 *	1. The first `count` entries ascend, and never change.
 *	2. What an unwinder once found stays where it is.
 *	3. Behind the last entry of FDEs stands a length of 0.
 * WHY
 *	1. Bodies of an area are emitted at ascending addresses, which emit() checks.
 *	   The unwinder's load (B) is a plain one of four aligned bytes: it is not torn,
 *	   and entries are loaded after it (x86-64 keeps loads in order).
 *	2. Bodies stay mapped for ever. A list that was replaced is kept, at least a page
 *	   each, because a reader of the list may have been interrupted, and go on in it.
 *	3. An unwinder that finds nothing in the table may read FDEs one after the other to
 *	   the end. An entry's length is stored when the rest is there; the memory behind is
 *	   zero.
 * FAILURE
 *	A body that cannot be written whole is taken back, before it is counted: nobody saw
 *	it.
 */
#include "copy/unwind.h"
#include "os/os.h"

#include <sys/mman.h>

/* .eh_frame_hdr, version 1. */
struct fl_unwind_table {
	uint8_t version, frames_how, count_how, entries_how;
	int32_t frames;			/* .eh_frame, from this field */
	uint32_t count;			/* W emit() at (A) */
	struct fl_unwind_entry {
		int32_t start, fde;	/* from the table */
	} entries[];
};

enum { SHARE = 4, END = 4 };		/* one byte in four is the table's; a length of 0 */

/* ---- the areas ---------------------------------------------------------------------- */

struct area {
	uint64_t lo, hi;		/* as fl_rows_from() wants them */
	struct fl_unwind_table *table;
};
struct area_list {
	size_t n;
	struct area areas[];		/* ascending */
};
static struct area_list *areas;		/* constant once it is stored at (C) */
static bool do_they_ask;

void fl_unwind_serve(void)
{
	do_they_ask = true;
}

static struct area_list *list_with(const struct area_list *old, const struct area *new)
{
	size_t n = old ? old->n : 0;
	size_t i = old ? fl_rows_from(old->areas, n, sizeof *new, new->lo) : 0;
	struct area_list *l = fl_os_map(NULL, sizeof *l + (n + 1) * sizeof *new,
				   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fl_is_err(l))
		return NULL;
	l->n = n + 1;
	for (size_t k = 0; k < n; k++)
		l->areas[k < i ? k : k + 1] = old->areas[k];
	l->areas[i] = *new;
	return l;
}

static bool reaches(uintptr_t from, uintptr_t to)
{
	int64_t by = (int64_t)(to - from);

	return by == (int32_t)by;
}

int fl_unwind_open(struct fl_unwind *u, uintptr_t lo, uintptr_t hi, void *data, size_t n)
{
	struct fl_unwind_table *t = data;
	struct area_list *l;

	if (n < 64 || !reaches((uintptr_t)data, lo) || !reaches((uintptr_t)data, hi) ||
	    !reaches((uintptr_t)data + n, lo) || n > INT32_MAX)
		return -ENOMEM;
	l = list_with(areas, &(struct area){ lo, hi, t });
	if (!l)
		return -ENOMEM;
	*u = (struct fl_unwind){ .lo = lo, .hi = hi, .table = t,
		.room = (uint32_t)((n / SHARE - sizeof *t) / sizeof *t->entries),
		.end = (unsigned char *)data + n - END };
	u->next = (unsigned char *)(t->entries + u->room);
	*t = (struct fl_unwind_table){ .version = 1,
		.frames_how = FL_PE_PCREL | FL_PE_SDATA4, .count_how = FL_PE_UDATA4,
		.entries_how = FL_PE_DATAREL | FL_PE_SDATA4 };
	t->frames = (int32_t)(u->next - (unsigned char *)&t->frames);
	store_release(&areas, l);		/* (C) pairs with (D) */
	return 0;
}

/* NULL: no area has the address. */
static const struct area *area_around(uintptr_t pc)
{
	const struct area_list *l = load_acquire(&areas);	/* (D) pairs with (C) */
	size_t i = l ? fl_rows_from(l->areas, l->n, sizeof *l->areas, pc) : 0;

	return i && pc < l->areas[i - 1].hi ? &l->areas[i - 1] : NULL;
}

bool fl_unwind_find(uintptr_t pc, struct fl_unwind_found *found)
{
	const struct area *a = area_around(pc);

	if (!a)
		return fl_before_find(pc, found) || fl_in_glue_find(pc, found);
	*found = (struct fl_unwind_found){ a->lo, a->hi, a->table };
	return true;
}

/* How many of the first `hi` entries begin before a place. */
static size_t entries_before(const struct fl_unwind_table *t, size_t hi, uintptr_t pc)
{
	size_t lo = 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if ((uintptr_t)t + (uintptr_t)(intptr_t)t->entries[mid].start < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A call's last byte is in its body; what it returns to may be behind that. */
uintptr_t fl_unwind_origin(uintptr_t pc)
{
	const struct area *a = area_around(pc - 1);
	const struct fl_unwind_table *t = a ? a->table : NULL;
	size_t n = t ? load_acquire(&t->count) : 0;		/* (B) pairs with (A) */
	size_t i = n ? entries_before(t, n, pc) : 0;
	const unsigned char *fde = i ? (unsigned char *)t + t->entries[i - 1].fde : NULL;

	return i ? fl_fde_origin(&(struct fl_in){ .p = fde, .end = fde + 4 +
				 *(const uint32_t *)fde }, NULL, pc) : pc;
}

uintptr_t fl_unwind_origin_by(const void *table, size_t n, uintptr_t pc)
{
	const struct fl_unwind_table *t = table;
	size_t most = n < sizeof *t ? 0 : (n - sizeof *t) / sizeof *t->entries;
	size_t i = most ? entries_before(t, t->count < most ? t->count : most, pc + 1) : 0;
	struct fl_in in = { .p = table, .end = (const unsigned char *)table + n };

	if (!i || !fl_in_take(&in, (uint32_t)t->entries[i - 1].fde))
		return pc;
	return fl_fde_origin(&in, table, pc);
}

const unsigned char *fl_unwind_frames(const struct fl_unwind *u, size_t *n)
{
	const unsigned char *first = (const unsigned char *)(u->table->entries + u->room);

	*n = (size_t)(u->next - first) + END;
	return first;
}

/* ---- a body ------------------------------------------------------------------------- */

/* The CIE for this piece: one of the last ones, or a new one. NULL: not written. */
static const unsigned char *find_cie(struct fl_unwind *u, struct fl_out *o,
				     const struct fl_fde *f)
{
	const unsigned char *at = o->p;
	struct fl_unwind_cie *new = &u->cies[u->n_cies % ARRAY_LEN(u->cies)];

	for (size_t i = 0; i < ARRAY_LEN(u->cies); i++)
		if (u->cies[i].original == f->cie.at)
			return u->cies[i].at;
	if (fl_cie_write(o, f) || o->is_full)
		return NULL;
	*new = (struct fl_unwind_cie){ f->cie.at, at };
	u->n_cies++;
	return at;
}

static int write_piece(struct fl_unwind *u, struct fl_out *o, const struct fl_unwind_body *b,
		       const struct fl_unwind_piece *p, struct fl_unwind_entry *to)
{
	const unsigned char *cie, *at;
	int err;

	if (!fl_fde_read(&u->read, b->m, p->fde))
		return FLE_UNWIND;
	cie = find_cie(u, o, &u->read);
	at = o->p;
	err = cie ? fl_fde_write(o, &u->read, b, p, cie) : o->is_full ? -ENOSPC : FLE_UNWIND;
	*to = (struct fl_unwind_entry){ (int32_t)(p->start - (uintptr_t)u->table),
					(int32_t)((uintptr_t)at - (uintptr_t)u->table) };
	return o->is_full ? -ENOSPC : o->is_far ? FLE_UNWIND : err;
}

/* Does the piece lie in the area, behind all entries so far? */
static bool ascends(const struct fl_unwind *u, const struct fl_unwind_piece *p,
		    uint32_t n_before)
{
	int64_t last = n_before ? u->table->entries[n_before - 1].start : INT64_MIN;

	return p->start >= u->lo && p->end <= u->hi &&
	       (int64_t)(p->start - (uintptr_t)u->table) > last;
}

int fl_unwind_emit(struct fl_unwind *u, const struct fl_unwind_body *b, uint64_t *datum)
{
	struct fl_unwind before = *u;
	struct fl_out o = { .p = u->next, .end = u->end };
	uint32_t n = u->table->count;
	int err = 0;

	*datum = 0;
	if (!do_they_ask && !b->is_leaf)
		return FLE_UNFOUND;
	for (uint32_t i = 0; i < b->n && !err; i++) {
		if (n == u->room)
			err = -ENOSPC;
		else if (!ascends(u, &b->pieces[i], n))
			err = -EINVAL;
		else
			err = write_piece(u, &o, b, &b->pieces[i], &u->table->entries[n++]);
		*datum = i;
	}
	if (err) {
		memset(before.next, 0, (size_t)(o.p - before.next));
		*u = before;
		return err;
	}
	u->next = o.p;
	store_release(&u->table->count, n);	/* (A) pairs with (B) */
	return 0;
}
