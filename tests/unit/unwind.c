/*
 * unwind.c - the tables of bodies say what the originals' say.
 *
 * Every FDE of real files is written for bodies whose instructions (here: bytes) lie
 * anywhere. What a function's program and its LSDA mean is found out by an interpreter of
 * this test, for the original and for the body, and compared byte by byte of code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "copy/unwind.h"
#include "os/os.h"
#include "patch/patch.h"

typedef const unsigned char *bytes;

/* ---- what tables mean: read without bounds, the way an unwinder does ------- */

static uint64_t uleb(bytes *p)
{
	uint64_t v = 0, more;
	unsigned int shift = 0;

	do {
		more = **p & 0x80;
		if (shift < 64)
			v |= (uint64_t)(**p & 0x7f) << shift;
		shift += 7;
		++*p;
	} while (more);
	return v;
}

static int64_t sleb(bytes *p)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	unsigned char b;

	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (shift < 64 && b & 0x40)
		v |= ~0ull << shift;
	return (int64_t)v;
}

static uint64_t number(bytes *p, unsigned int how)
{
	int64_t v = 0;

	switch (how & 15) {
	case 1: return uleb(p);
	case 9: return (uint64_t)sleb(p);
	case 2: case 10:
		memcpy(&v, *p, 2);
		*p += 2;
		return how & 8 ? (uint64_t)(int16_t)v : (uint64_t)v;
	case 3: case 11:
		memcpy(&v, *p, 4);
		*p += 4;
		return how & 8 ? (uint64_t)(int32_t)v : (uint64_t)v;
	default:
		memcpy(&v, *p, 8);
		*p += 8;
		return (uint64_t)v;
	}
}

/* Without the last step of an indirect one. `moved`: absolute ones lie so far from
 * where they say. */
static uintptr_t pointer(bytes *p, unsigned int how, uintptr_t moved)
{
	uintptr_t from = (uintptr_t)*p, v = number(p, how);

	return !v ? 0 : (how & 0x70) == 0x10 ? from + v : v + moved;
}

/* An FDE with its CIE. */
struct entry {
	uintptr_t start, end, lsda, personality;
	unsigned int personality_how, pointers;
	bool is_signal;
	uint64_t caf, column;
	int64_t daf;
	bytes cie, cie_end, fde, fde_end;	/* programs */
	uintptr_t moved;
};

static bytes end_of(bytes p)
{
	uint32_t n;

	memcpy(&n, p, 4);
	return p + 4 + n;
}

static struct entry read_entry(bytes p, uintptr_t moved)
{
	struct entry e = { .fde_end = end_of(p), .moved = moved };
	unsigned int lsda_how = 0xff;
	bytes c, data;
	const char *text;
	uint32_t back;

	memcpy(&back, p + 4, 4);
	c = p + 4 - back;
	e.cie_end = end_of(c);
	assert_true(c[8] == 1 || c[8] == 3);
	text = (const char *)c + 9;
	data = c + 9 + strlen(text) + 1;
	e.caf = uleb(&data);
	e.daf = sleb(&data);
	e.column = c[8] == 1 ? *data++ : uleb(&data);
	e.cie = data;
	if (*text == 'z') {
		uint64_t n = uleb(&data);

		e.cie = data + n;
		while (*++text) {
			if (*text == 'R')
				e.pointers = *data++;
			else if (*text == 'L')
				lsda_how = *data++;
			else if (*text == 'S')
				e.is_signal = true;
			else if (*text == 'P') {
				e.personality_how = *data++;
				e.personality = pointer(&data, e.personality_how, moved);
			}
		}
	}
	p += 8;
	e.start = pointer(&p, e.pointers, moved);
	e.end = e.start + number(&p, e.pointers & 15);
	if (c[9] == 'z') {
		uint64_t n = uleb(&p);

		data = p;
		p += n;
		if (lsda_how != 0xff)
			e.lsda = pointer(&data, lsda_how, moved);
	}
	e.fde = p;
	return e;
}

/* ---- rows ------------------------------------------------------------------ */

enum { REGISTERS = 64, STATES = 16 };
struct rule {
	uint64_t kind;			/* the instruction's number; 0: none */
	int64_t value;			/* or a hash of an expression */
};
struct state {
	struct rule cfa, args, r[REGISTERS];
	uint64_t cfa_reg;
};
struct interval {
	uintptr_t from;
	struct state is;
};
struct rows {
	struct interval *at;
	size_t n, room, hint;
	struct state now, first, stack[STATES];
	size_t depth;
};

static int64_t hash_block(bytes *p)
{
	uint64_t n = uleb(p), h = 14695981039346656037ull;

	for (uint64_t i = 0; i < n; i++)
		h = (h ^ *(*p)++) * 1099511628211ull;
	return (int64_t)(h ^ n);
}

static void row_ends(struct rows *r, uintptr_t from)
{
	if (r->n && r->at[r->n - 1].from == from)
		r->n--;
	if (r->n == r->room) {
		r->room = r->room * 2 + 64;
		r->at = realloc(r->at, r->room * sizeof *r->at);
	}
	r->at[r->n++] = (struct interval){ from, r->now };
}

/* How the frame's address is told. */
static bool run_cfa(struct rows *r, const struct entry *e, unsigned int op, bytes *p)
{
	switch (op) {
	case 12: case 18:
		r->now.cfa_reg = uleb(p);
		r->now.cfa.kind = 12;
		r->now.cfa.value = op == 12 ? (int64_t)uleb(p) : sleb(p) * e->daf;
		return true;
	case 13:
		r->now.cfa_reg = uleb(p);
		r->now.cfa.kind = 12;
		return true;
	case 14: case 19:
		r->now.cfa.value = op == 14 ? (int64_t)uleb(p) : sleb(p) * e->daf;
		return true;
	case 15:
		r->now.cfa = (struct rule){ 15, hash_block(p) };
		r->now.cfa_reg = 0;
		return true;
	}
	return false;
}

/* Where one register is. */
static void run_rule(struct rows *r, const struct entry *e, unsigned int op, bytes *p)
{
	uint64_t reg = uleb(p);

	assert_true(reg < REGISTERS);
	switch (op) {
	case 6:
		r->now.r[reg] = r->first.r[reg];
		return;
	case 7: case 8:
		r->now.r[reg] = (struct rule){ op, 0 };
		return;
	case 9:
		r->now.r[reg] = (struct rule){ op, (int64_t)uleb(p) };
		return;
	case 5: case 20:
		r->now.r[reg] = (struct rule){ op, (int64_t)uleb(p) * e->daf };
		return;
	case 17: case 21:
		r->now.r[reg] = (struct rule){ op == 17 ? 5 : 20, sleb(p) * e->daf };
		return;
	case 16: case 22:
		r->now.r[reg] = (struct rule){ op, hash_block(p) };
		return;
	}
	fail_msg("DW_CFA %#x", op);
}

/* True: it goes on to *at. */
static bool run_advance(const struct entry *e, unsigned int op, bytes *p, uintptr_t *at)
{
	if (op >> 6 == 1)
		*at += (op & 0x3f) * e->caf;
	else if (op == 1)
		*at = pointer(p, e->pointers, e->moved);
	else if (op == 2)
		*at += *(*p)++ * e->caf;
	else if (op == 3 || op == 4)
		*at += number(p, op - 1) * e->caf;
	else
		return false;
	return true;
}

/* One program; `at` is where it begins. */
static uintptr_t run(struct rows *r, const struct entry *e, bytes p, bytes end, uintptr_t at)
{
	while (p < end) {
		unsigned int op = *p++, low = op & 0x3f;
		uintptr_t before = at;

		if (run_advance(e, op, &p, &at)) {
			row_ends(r, before);
		} else if (op >> 6 == 2) {
			r->now.r[low] = (struct rule){ 5, (int64_t)uleb(&p) * e->daf };
		} else if (op >> 6 == 3) {
			r->now.r[low] = r->first.r[low];
		} else if (op == 10) {
			assert_true(r->depth < STATES);
			r->stack[r->depth++] = r->now;
		} else if (op == 11) {
			struct rule args = r->now.args;		/* is no register's */

			assert_true(r->depth > 0);
			r->now = r->stack[--r->depth];
			r->now.args = args;
		} else if (op == 0x2e) {
			r->now.args = (struct rule){ op, (int64_t)uleb(&p) };
		} else if (op && !run_cfa(r, e, op, &p)) {
			run_rule(r, e, op, &p);
		}
	}
	return at;
}

/* The last interval goes to the end of the function. */
static void interpret(struct rows *r, const struct entry *e)
{
	uintptr_t at;

	r->n = r->depth = 0;
	memset(&r->now, 0, sizeof r->now);
	memset(&r->first, 0, sizeof r->first);
	run(r, e, e->cie, e->cie_end, e->start);
	r->first = r->now;
	r->n = 0;
	at = run(r, e, e->fde, e->fde_end, e->start);
	row_ends(r, at);
}

/* Asked in ascending order it looks at each interval once. */
static const struct state *state_at(struct rows *r, uintptr_t at)
{
	if (r->hint >= r->n || r->at[r->hint].from > at)
		r->hint = 0;
	while (r->hint + 1 < r->n && r->at[r->hint + 1].from <= at)
		r->hint++;
	return &r->at[r->hint].is;
}

/* `b` is a body's. Who lands on a pad takes arguments off, and what was pushed. */
static bool is_same_state(const struct state *a, const struct state *b, uint32_t push,
			  bool has_pads)
{
	struct state moved = *a;

	if (moved.cfa.kind == 12 && moved.cfa_reg == 7)
		moved.cfa.value += push;
	if (has_pads)
		moved.args.value += push;
	moved.args.kind = b->args.kind;
	return !memcmp(&moved, b, sizeof moved);
}

/* ---- tables of exceptions -------------------------------------------------- */

struct exceptions {
	uintptr_t types;
	unsigned int type_how, base_how;
	bytes actions;
	size_t n;
	struct { uintptr_t from, to, pad; uint64_t action; } site[65536];
};

static void read_exceptions(struct exceptions *x, const struct entry *e)
{
	bytes p = (bytes)e->lsda, end;
	uintptr_t base = e->start;
	unsigned int how = *p++;

	memset(x, 0, offsetof(struct exceptions, site));
	x->base_how = how;
	if (how != 0xff)
		base = pointer(&p, how, e->moved);
	x->type_how = *p++;
	if (x->type_how != 0xff) {
		uint64_t n = uleb(&p);

		x->types = (uintptr_t)p + n;
	}
	how = *p++;
	end = p;
	uint64_t n = uleb(&end);

	p = end;
	end += n;
	for (; p < end; x->n++) {
		assert_true(x->n < 65536);
		x->site[x->n].from = e->start + number(&p, how);
		x->site[x->n].to = x->site[x->n].from + number(&p, how);
		x->site[x->n].pad = number(&p, how);
		x->site[x->n].pad += x->site[x->n].pad ? base : 0;
		x->site[x->n].action = uleb(&p);
		assert_true(x->site[x->n].to <= e->end);
	}
	x->actions = p;
}

static void assert_same_actions(bytes a, bytes b)
{
	for (;;) {
		int64_t type = sleb(&a), by;
		bytes from_a = a, from_b;

		assert_int_equal(sleb(&b), type);
		from_b = b;
		by = sleb(&a);
		assert_int_equal(sleb(&b), by);
		if (!by)
			return;
		a = from_a + by;
		b = from_b + by;
	}
}

/* ---- bodies ---------------------------------------------------------------- */

enum { PUSHED = 136, ROOM = 6 << 20, FUNCTION_MOST = 1 << 20, FAKE_CODE = 64 << 20 };

static struct fl_near near;		/* for what is written */
static struct rows was, is;
static struct exceptions *had, *has;
static struct fl_unwind_row rows_of[2 * FUNCTION_MOST];
static uint64_t seed = 88172645463325252ull;

/* A way to lay a body out. */
enum layout { IDENTITY, STRETCHED, PUSHING, N_LAYOUTS };

static uint32_t chance(uint32_t n)
{
	seed = fl_random_next(seed);
	return (uint32_t)(seed >> 20) % n;
}

static void lay_out(struct fl_unwind_piece *p, const struct entry *e, enum layout how)
{
	uint32_t at = 0, n = 0;

	assert_true(e->end - e->start < FUNCTION_MOST);
	for (uintptr_t i = e->start; i < e->end; i++) {
		bool pushes = how == PUSHING && !chance(20);

		if (pushes) {
			rows_of[n++] = (struct fl_unwind_row){ i, at, PUSHED, 0 };
			at += 1 + chance(90);
		}
		rows_of[n++] = (struct fl_unwind_row){ i, at, 0, 0 };
		at += 1 + (how != IDENTITY && !chance(3) ? chance(chance(100) ? 9 : 300) : 0);
	}
	p->rows = rows_of;
	p->n = n;
	p->end = p->start + at;
}

/* The same in fewer rows: what stands in a row as it did is one, but for some. */
static struct fl_unwind_piece join_rows(const struct fl_unwind_piece *p)
{
	static struct fl_unwind_row joined[2 * FUNCTION_MOST];
	struct fl_unwind_piece to = *p;

	to.rows = joined;
	to.n = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		const struct fl_unwind_row *r = &p->rows[i];
		struct fl_unwind_row *last = to.n ? &joined[to.n - 1] : NULL;

		if (last && !last->push && !r->push && r->at == last->at + last->bytes &&
		    r->offset == last->offset + last->bytes && last->bytes < UINT16_MAX &&
		    chance(50)) {
			last->bytes++;
		} else {
			joined[to.n] = *r;
			joined[to.n++].bytes = !r->push;
		}
	}
	return to;
}

static uintptr_t place_in(const struct fl_unwind_piece *p, uintptr_t at)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->rows[i].at >= at)
			return p->start + p->rows[i].offset;
	return p->end;
}

static void assert_same_rows(const struct entry *a, const struct entry *b,
			     const struct fl_unwind_piece *p)
{
	bool has_pads = a->lsda && p->kind != FL_PIECE_LANDINGS;

	interpret(&was, a);
	interpret(&is, b);
	for (uint32_t i = 0; i < p->n; i++) {
		const struct fl_unwind_row *row = &p->rows[i];
		uintptr_t last = i + 1 < p->n ? p->start + row[1].offset - 1 : p->end - 1;
		const struct state *s = state_at(&was, row->at);

		if (!is_same_state(s, state_at(&is, p->start + row->offset), row->push,
				   has_pads) ||
		    !is_same_state(s, state_at(&is, last), row->push, has_pads))
			fail_msg("rows differ at %#lx (+%#lx), offset %#x", row->at,
				 row->at - a->start, row->offset);
	}
}

static void assert_same_exceptions(const struct entry *a, const struct entry *b,
				   const struct fl_unwind_piece *p)
{
	size_t k = 0;

	read_exceptions(had, a);
	read_exceptions(has, b);
	assert_int_equal(had->types, has->types);
	assert_int_equal(had->type_how, has->type_how);
	assert_int_equal(has->base_how, 0xff);	/* which is all that D's runtime reads */
	for (size_t i = 0; i < had->n; i++, k++) {
		if (had->site[i].from == had->site[i].to) {
			k--;
			continue;
		}
		assert_true(k < has->n);
		assert_int_equal(place_in(p, had->site[i].from), has->site[k].from);
		assert_int_equal(place_in(p, had->site[i].to), has->site[k].to);
		assert_int_equal(had->site[i].action, has->site[k].action);
		assert_int_equal(!had->site[i].pad ? 0 : place_in(p, had->site[i].pad),
				 has->site[k].pad);
		if (had->site[i].action)
			assert_same_actions(had->actions + had->site[i].action - 1,
					    has->actions + has->site[k].action - 1);
	}
	assert_int_equal(k, has->n);
}

/* ---- files ----------------------------------------------------------------- */

struct file {
	struct fl_obj o;
	struct fl_module m;
	const int32_t *table;		/* pairs of .eh_frame_hdr */
	uintptr_t header;
	uint32_t n;
};

static bool open_file(struct file *f, const char *path)
{
	*f = (struct file){ 0 };
	if (fl_obj_open(&f->o, path))
		return false;
	assert_int_equal(fl_obj_lay_out(&f->m, &f->o, path), 0);
	for (size_t i = 0; i < f->m.n_ph; i++)
		if (f->m.ph[i].p_type == PT_GNU_EH_FRAME)
			f->header = f->m.bias + f->m.ph[i].p_vaddr;
	assert_true(f->header);
	memcpy(&f->n, (const char *)f->header + 8, 4);
	f->table = (const int32_t *)(f->header + 12);
	assert_int_equal(fl_near_alloc(&near, FL_NEAR_TO(f->m.lo, f->m.hi), FL_PAGE, ROOM),
			 0);
	return true;
}

static void close_file(struct file *f)
{
	fl_near_free(&near);
	fl_obj_unlay(&f->m);
	fl_obj_close(&f->o);
}

static uintptr_t fde_of(const struct file *f, uint32_t i)
{
	return f->header + f->table[i * 2 + 1];
}

/* Of a file that is laid out where it was not meant to be. */
static uintptr_t moved_of(const struct file *f)
{
	return f->o.eh->e_type == ET_EXEC ? f->m.bias : 0;
}

/* Write it into the near memory; its entry there. */
static struct entry write_body(const struct file *f, struct fl_unwind_piece *p,
			       const struct fl_unwind_piece *more)
{
	struct fl_out o = { .p = near.data, .end = near.data + near.data_bytes };
	struct fl_unwind_piece both[2] = { *p };
	struct fl_unwind_body body = { .m = &f->m, .pieces = both, .n = more ? 2 : 1 };
	const unsigned char *at;
	struct fl_fde fde = { 0 };

	if (more)
		both[1] = *more;
	assert_true(fl_fde_read(&fde, &f->m, p->fde));
	assert_int_equal(fl_cie_write(&o, &fde), 0);
	at = o.p;
	if (fl_fde_write(&o, &fde, &body, p, near.data))
		fail_msg("refused: FDE of %#lx", fde.start - f->m.bias);
	assert_false(o.is_full || o.is_far);
	memset(o.p, 0, 4);
	return read_entry(at, 0);
}

static void assert_same_kind(const struct entry *a, const struct entry *b)
{
	assert_int_equal(a->personality, b->personality);
	assert_int_equal(a->personality_how & 0x80, b->personality_how & 0x80);
	assert_int_equal(a->is_signal, b->is_signal);
	assert_int_equal(a->column, b->column);
	assert_int_equal(!a->lsda, !b->lsda);
}

static void check_one(const struct file *f, uint32_t i, enum layout how, size_t *n_lsda)
{
	uintptr_t at = fde_of(f, i);
	struct entry e = read_entry((bytes)at, moved_of(f)), new;
	struct fl_unwind_piece p = { .fde = at, .start = (uintptr_t)near.data + FAKE_CODE };
	struct fl_unwind_piece joined;

	lay_out(&p, &e, how);
	joined = join_rows(&p);
	new = write_body(f, i % 2 ? &joined : &p, NULL);
	assert_int_equal(new.start, p.start);
	assert_int_equal(new.end, p.end);
	assert_same_kind(&e, &new);
	assert_same_rows(&e, &new, &p);
	if (e.lsda) {
		assert_same_exceptions(&e, &new, &p);
		++*n_lsda;
	}
}

/* Landings of look-ups, which have steps, say what two rows each would have said. */
static void check_landings(const struct file *f, uint32_t i)
{
	static struct fl_shape_step each[FUNCTION_MOST];
	uintptr_t at = fde_of(f, i);
	struct entry e = read_entry((bytes)at, moved_of(f)), new;
	struct fl_unwind_piece p = { .fde = at, .start = (uintptr_t)near.data + FAKE_CODE,
				     .rows = rows_of, .kind = FL_PIECE_LANDINGS }, landings;
	uint32_t n = 0;

	for (uintptr_t a = e.start; a < e.end; a += 1 + chance(8), n++) {
		uint32_t offset = n * FL_ARCH_LANDED_BYTES;

		each[n] = (struct fl_shape_step){ .at = a };
		rows_of[2 * n] = (struct fl_unwind_row){ a, offset, FL_ARCH_LOOKUP_KEPT, 0 };
		rows_of[2 * n + 1] = (struct fl_unwind_row){ a, offset + FL_ARCH_LANDED_UP,
							     0, 0 };
	}
	p.n = 2 * n;
	p.end = p.start + n * FL_ARCH_LANDED_BYTES;
	landings = p;
	landings.rows = NULL;
	landings.steps = each;
	landings.n = n;
	landings.kind = FL_PIECE_LANDINGS;
	new = write_body(f, &landings, NULL);
	assert_same_rows(&e, &new, &p);
}

static void check_file(const char *path, uint32_t step)
{
	struct file f;
	size_t n = 0, n_lsda = 0;

	if (!open_file(&f, path)) {
		printf("%s: not here\n", path);
		return;
	}
	for (int how = 0; how < N_LAYOUTS; how++)	/* the procedure linkage table's */
		check_one(&f, 0, (enum layout)how, &n_lsda);
	for (uint32_t i = chance(step); i < f.n; i += step, n++) {
		check_one(&f, i, (enum layout)(n % N_LAYOUTS), &n_lsda);
		check_landings(&f, i);
	}
	printf("%s: %zu functions, %zu with tables of exceptions\n", path, n, n_lsda);
	close_file(&f);
}

static void bodies_of_real_files_unwind_as_originals(void **state)
{
	(void)state;
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 1);
	check_file("/usr/lib/x86_64-linux-gnu/libc.so.6", 1);
	check_file("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus",
		   getenv("FLICK_TORTURE") ? 1 : 10);
}

/* Cut a function before its lowest pad: what is behind the cut stands first in the body. False:
 * there is no pad, or nothing before it. */
static bool swap_at_pads(const struct entry *e, struct fl_unwind_piece *calls,
			 struct fl_unwind_piece *pads)
{
	static struct fl_unwind_row behind[2 * FUNCTION_MOST];
	uintptr_t cut = e->end;
	uint32_t k;

	read_exceptions(had, e);
	for (size_t i = 0; i < had->n; i++)
		if (had->site[i].pad && had->site[i].pad < cut)
			cut = had->site[i].pad;
	lay_out(calls, e, STRETCHED);
	k = fl_unwind_row_of(calls, cut);
	if (cut == e->end || !k)
		return false;
	*pads = *calls;
	pads->start -= FAKE_CODE / 2;
	pads->end = pads->start + (calls->end - calls->start) - calls->rows[k].offset;
	pads->n -= k;
	for (uint32_t i = 0; i < pads->n; i++) {
		behind[i] = calls->rows[k + i];
		behind[i].offset -= calls->rows[k].offset;
	}
	pads->rows = behind;
	calls->n = k;
	calls->end = calls->start + calls->rows[k].offset;
	return true;
}

static void pads_may_stand_before_what_they_are_for(void **state)
{
	struct file f;
	uint32_t n_pads = 0;

	(void)state;
	assert_true(open_file(&f, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
	for (uint32_t i = 0; i < f.n && n_pads < 200; i++) {
		struct fl_unwind_piece pads, calls = {
			.fde = fde_of(&f, i), .start = (uintptr_t)near.data + FAKE_CODE };
		struct entry e = read_entry((bytes)calls.fde, 0), new;

		if (!e.lsda || !swap_at_pads(&e, &calls, &pads))
			continue;
		new = write_body(&f, &calls, &pads);
		read_exceptions(has, &new);
		for (size_t s = 0, k = 0; s < had->n; s++) {
			if (place_in(&calls, had->site[s].from) ==
			    place_in(&calls, had->site[s].to))
				continue;
			assert_int_equal(!had->site[s].pad ? 0 :
					 place_in(&pads, had->site[s].pad), has->site[k].pad);
			n_pads += has->site[k++].pad != 0;
		}
	}
	assert_true(n_pads >= 200);
	close_file(&f);
}

/* ---- compilers' own -------------------------------------------------------- */

static const char many_kinds[] =
	"#include <stdexcept>\n"
	"struct noisy { int *n; noisy(int *p) : n(p) { ++*n; } ~noisy() { --*n; } };\n"
	"extern int outside(int) noexcept(false);\n"
	"int specified(int i) throw(int, std::logic_error) { return outside(i) + 1; }\n"
	"int none(int i) throw() { return outside(i) + 2; }\n"
	"int caught(int i, int *n) {\n"
	"	noisy a(n);\n"
	"	try { noisy b(n); if (i > 3) throw i; i += outside(i); }\n"
	"	catch (const std::range_error &) { return 1; }\n"
	"	catch (const std::logic_error &e) { noisy c(n); return outside(2); }\n"
	"	catch (int k) { if (k > 7) throw; return k; }\n"
	"	catch (...) { return outside(9); }\n"
	"	return i; }\n"
	"int cold(int i, int *n) { noisy a(n);\n"
	"	if (__builtin_expect(i > 100, 0)) {\n"
	"		noisy b(n); outside(1); throw std::range_error(\"\"); }\n"
	"	return outside(i); }\n"
	"int room(int i) { volatile char c[i]; c[0] = 1; return outside(c[0]) + c[i - 1]; }\n";

static void bodies_of_every_compiler_unwind_as_originals(void **state)
{
	static const char *const commands[] = {
		"g++ -std=c++14 -O2", "g++ -std=c++14 -O0",
		"g++ -std=c++14 -O2 -fno-omit-frame-pointer",
		"g++ -std=c++14 -Os -mcmodel=large -fno-asynchronous-unwind-tables",
		"clang++ -std=c++14 -O2", "clang++ -std=c++14 -O0",
	};
	char dir[] = "/tmp/flick-unwind.XXXXXX", line[512], to[64];
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(line, sizeof line, "%s/a.cc", dir);
	f = fopen(line, "w");
	assert_int_equal(fwrite(many_kinds, sizeof many_kinds - 1, 1, f), 1);
	fclose(f);
	snprintf(to, sizeof to, "%s/a.so", dir);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		snprintf(line, sizeof line, "%s -w -fPIC -shared -o %s %s/a.cc 2>/dev/null",
			 commands[i], to, dir);
		if (!system(line)) {
			for (int k = 0; k < N_LAYOUTS; k++)
				check_file(to, 1);
		} else if (commands[i][0] == 'g') {
			fail_msg("%s", line);
		}
	}
	snprintf(line, sizeof line, "rm -r %s", dir);
	assert_int_equal(system(line), 0);
}

/* ---- the rest -------------------------------------------------------------- */

/* What finds no room is not written, whatever there is. */
static void nothing_is_written_beyond_its_room(void **state)
{
	struct file f;
	uint32_t n_done = 0;

	(void)state;
	assert_true(open_file(&f, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
	for (uint32_t i = 0; i < f.n && n_done < 20; i++) {
		struct fl_unwind_piece p = { .fde = fde_of(&f, i),
					     .start = (uintptr_t)near.data + FAKE_CODE };
		struct fl_unwind_body body = { .m = &f.m, .pieces = &p, .n = 1 };
		struct entry e = read_entry((bytes)p.fde, 0);
		struct fl_fde fde = { 0 };
		bool is_full = true;

		if (!e.lsda)
			continue;
		n_done++;
		lay_out(&p, &e, STRETCHED);
		assert_true(fl_fde_read(&fde, &f.m, p.fde));
		for (size_t room = 0; is_full; room++) {
			struct fl_out o = { .p = near.data, .end = near.data + room };

			memset(near.data, 0xee, 4096);
			fl_cie_write(&o, &fde);
			fl_fde_write(&o, &fde, &body, &p, near.data);
			for (size_t k = room; k < 4096; k++)
				assert_int_equal(near.data[k], 0xee);
			is_full = o.is_full;
			assert_true(room < 4000);
		}
	}
	close_file(&f);
}

/* AArch64: a body's CIE has no letter for that. */
static void a_body_signs_with_the_usual_key(void **state)
{
	struct fl_fde fde = { .cie = { .has_other_key = true, .code_align = 1 } };
	unsigned char to[64];
	struct fl_out o = { .p = to, .end = to + sizeof to };

	(void)state;
	assert_int_equal(fl_cie_write(&o, &fde), FLE_UNWIND);
	fde.cie.has_other_key = false;
	assert_int_equal(fl_cie_write(&o, &fde), 0);
}

/* ---- an area --------------------------------------------------------------- */

/* As libflick.so has it. */
struct found_object {
	unsigned long long flags;
	void *start, *end, *map, *table;
	unsigned long long reserved[7];
};
int find_object(void *pc, struct found_object *to) __asm__("_dl_find_object");
int find_object(void *pc, struct found_object *to)
{
	struct fl_unwind_found found;

	if (!fl_unwind_find((uintptr_t)pc, &found))
		return -1;
	*to = (struct found_object){ .start = (void *)found.lo, .end = (void *)found.hi,
				     .table = (void *)found.table };
	return 0;
}

/* libgcc's own. */
struct bases { void *text, *data, *function; };
const void *_Unwind_Find_FDE(void *pc, struct bases *);

static void emit_all(struct file *f, struct fl_unwind *u, uintptr_t *starts, uint32_t *n)
{
	uintptr_t at = u->lo + 64;
	uint64_t datum;

	for (*n = 0; *n < f->n; ++*n) {
		struct fl_unwind_piece p = { .fde = fde_of(f, *n), .start = at };
		struct fl_unwind_body body = { .m = &f->m, .pieces = &p, .n = 1 };
		struct entry e = read_entry((bytes)p.fde, 0);
		int err;

		lay_out(&p, &e, STRETCHED);
		err = p.end < u->hi ? fl_unwind_emit(u, &body, &datum) : -ENOSPC;
		if (err == -ENOSPC)
			return;
		assert_int_equal(err, 0);
		starts[*n] = at;
		at = p.end + chance(40);
	}
}

static void unwinders_find_each_body(void **state)
{
	enum { AREAS = 5, SHARE = ROOM / AREAS / 8 * 8, LITTLE = 1 << 14 };
	static uintptr_t starts[AREAS][8192];
	static struct fl_unwind u[AREAS];
	uint32_t n[AREAS];
	struct fl_unwind_found found;
	struct bases b;
	struct file f;

	(void)state;
	assert_true(open_file(&f, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
	for (int i = 0; i < AREAS; i++) {
		int k = (i * 3 + 1) % AREAS;	/* not in order */
		uintptr_t lo = (uintptr_t)near.data + FAKE_CODE + ((uintptr_t)k << 24);

		assert_int_equal(fl_unwind_open(&u[k], lo, lo + (1 << 24),
						near.data + k * SHARE,
						i == 2 ? LITTLE : SHARE), 0);
		emit_all(&f, &u[k], starts[k], &n[k]);
		printf("area %d: %u bodies\n", k, n[k]);
		assert_true(i == 2 ? n[k] < 500 : n[k] == f.n);
	}
	for (int k = 0; k < AREAS; k++)
		for (uint32_t i = 0; i < n[k]; i++) {
			const void *fde = _Unwind_Find_FDE((void *)(starts[k][i] + 1), &b);
			struct entry was_there = read_entry((bytes)fde_of(&f, i), 0), e;

			assert_non_null(fde);
			assert_ptr_equal(b.function, starts[k][i]);
			e = read_entry(fde, 0);
			assert_int_equal(e.start, starts[k][i]);
			assert_same_kind(&was_there, &e);
			assert_null(_Unwind_Find_FDE((void *)(u[k].lo + 1), &b));
		}
	assert_null(_Unwind_Find_FDE((void *)(u[0].lo - 1), &b));
	assert_true(fl_unwind_find(u[0].hi - 1, &found) && found.lo == u[0].lo);
	assert_true(fl_unwind_find(u[0].hi, &found) && found.lo == u[1].lo);
	assert_false(fl_unwind_find(u[AREAS - 1].hi, &found));
	close_file(&f);
}

/* What comes before a body that is there, or outside of the area, is refused. */
static void bodies_ascend_in_their_area(void **state)
{
	struct fl_unwind u;
	struct file f;
	uint64_t datum;

	(void)state;
	assert_true(open_file(&f, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"));
	uintptr_t lo = (uintptr_t)near.data - (1 << 20);
	struct fl_unwind_piece p = { .fde = fde_of(&f, 5), .start = lo + 4096 };
	struct fl_unwind_body body = { .m = &f.m, .pieces = &p, .n = 1 };
	struct entry e = read_entry((bytes)p.fde, 0);

	assert_int_equal(fl_unwind_open(&u, lo, lo + (1 << 20), near.data, ROOM), 0);
	lay_out(&p, &e, IDENTITY);
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), FLE_UNFOUND);
	body.is_leaf = true;
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), 0);
	fl_unwind_serve();
	body.is_leaf = false;
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), -EINVAL);
	p.start = lo - 8;
	p.end = lo;
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), -EINVAL);
	p.start = lo + (1 << 17);
	p.end = p.start + 64;
	p.fde = f.m.lo;
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), FLE_UNWIND);
	assert_int_equal(datum, 0);
	p.fde = f.m.hi + 4096;
	assert_int_equal(fl_unwind_emit(&u, &body, &datum), FLE_UNWIND);
	close_file(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_every_compiler_unwind_as_originals),
		cmocka_unit_test(nothing_is_written_beyond_its_room),
		cmocka_unit_test(a_body_signs_with_the_usual_key),
		cmocka_unit_test(bodies_ascend_in_their_area),
		cmocka_unit_test(unwinders_find_each_body),
		cmocka_unit_test(bodies_of_real_files_unwind_as_originals),
		cmocka_unit_test(pads_may_stand_before_what_they_are_for),
	};

	had = malloc(sizeof *had);
	has = malloc(sizeof *has);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
