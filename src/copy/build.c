/*
 * build.c - from a shape to a second body.
 *
 * Hides how a body is laid out, and that it is written twice: what an instruction becomes
 * is as long wherever it stands, so the first time tells where each will be.
 *
 *	off:	what the entry's jump displaces, and a jump back behind it; or a jump to
 *		the body, where that cannot be
 *	on:	a call of glue
 *	body:	each step of the original; places for probes before those that leave
 *	landings	of each step, where there are jumps to who knows where
 *
 * `on` and `off` lie where the entry's jump to the one and to the other differ in one byte.
 */
#include <string.h>
#include <sys/mman.h>

#include "copy/build.h"
#include "os/os.h"

enum { TRASH = FL_ARCH_LOOKUP_MAX + 64, PIECES = 2 * FL_SHAPE_PARTS + 1 };

struct builder {
	const struct fl_shape *s;
	struct fl_copy *copy;
	struct fl_ground ground;
	uint32_t first[FL_SHAPE_PARTS + 1];	/* steps of each part */
	uint32_t entry;			/* the step behind the landing pad */
	uint32_t n_switches, n_places;
	uint32_t *offsets;		/* of steps, from the code on; one more: the end */
	struct fl_unwind_row *rows;
	struct fl_copy_place *places;
	int32_t *table[FL_SHAPE_PARTS];
	uint32_t landings;		/* offset of the first */
	uint32_t n;			/* bytes that are written */
	bool is_dry;			/* only how long it is */
	uint32_t failed;		/* 1 + the step that cannot be moved */
	unsigned char trash[TRASH];
};

/* ---- what is written where ------------------------------------------------- */

static unsigned char *out(struct builder *m)
{
	return m->is_dry ? m->trash : m->ground.write + m->n;
}

/* Where that will be executed; of one that is not to be, within everybody's reach. */
static uintptr_t here(const struct builder *m)
{
	return m->is_dry ? m->s->entry : m->ground.at + m->n;
}

static void wrote(struct builder *m, uint32_t step, size_t n)
{
	if (!n && !m->failed)
		m->failed = step + 1;
	m->n += (uint32_t)n;
}

/* The step at `at` of the original; n_steps: none. */
static uint32_t find_step(const struct builder *m, uintptr_t at)
{
	const struct fl_shape_step *steps = m->s->steps;

	for (uint32_t p = 0; p < m->s->n_parts; p++) {
		uint32_t first = m->first[p], n = m->first[p + 1] - first;
		size_t i = fl_rows_from(steps + first, n, sizeof *steps, at);

		for (; i && steps[first + i - 1].at == at; i--)
			if (steps[first + i - 1].len)
				return first + (uint32_t)i - 1;
	}
	return m->s->n_steps;
}

/* Where a jump inside leads. In front of the entry there is the landing pad alone. */
static uintptr_t inside(const struct builder *m, uintptr_t target)
{
	uint32_t i = m->is_dry ? 0 : find_step(m, target);

	i = i < m->entry ? m->entry : i;
	return i == m->s->n_steps ? target : m->ground.at + m->offsets[i];
}

/* ---- steps ----------------------------------------------------------------- */

static void move(struct builder *m, uint32_t i, uintptr_t target)
{
	const struct fl_shape_step *s = &m->s->steps[i];

	wrote(m, i, fl_arch_move(out(m), here(m), fl_shape_bytes(m->s, s), s->len, s->at,
				 m->is_dry ? here(m) : target));
}

static void jump(struct builder *m, uint32_t i, uintptr_t target)
{
	wrote(m, i, fl_arch_put_branch(out(m), FL_BRANCH_JUMP, here(m),
				       m->is_dry ? here(m) : target));
}

/* Ascending by where they stand in the original: parts may not be. */
static void add_place(struct builder *m, uint32_t i, enum fl_form form)
{
	uint32_t k = m->n_places++;
	uintptr_t at = m->s->steps[i].at;

	if (m->is_dry)
		return;
	for (; k && m->places[k - 1].at > at; k--)
		m->places[k] = m->places[k - 1];
	m->places[k] = (struct fl_copy_place){ at, m->n, (uint8_t)form };
}

static void put_tail_place(struct builder *m, uint32_t i)
{
	add_place(m, i, FL_FORM_BODY_TAIL);
	wrote(m, i, fl_arch_put_place(out(m), FL_FORM_BODY_TAIL, NULL, 0));
}

static void put_return(struct builder *m, uint32_t i)
{
	const struct fl_shape_step *s = &m->s->steps[i];
	size_t n = fl_arch_put_place(out(m), FL_FORM_BODY_RET, fl_shape_bytes(m->s, s), s->len);

	if (n) {
		add_place(m, i, FL_FORM_BODY_RET);
		wrote(m, i, n);
	} else {
		put_tail_place(m, i);
		move(m, i, 0);
	}
}

static void put_branch_out(struct builder *m, uint32_t i)
{
	const struct fl_shape_step *s = &m->s->steps[i];

	wrote(m, i, fl_arch_put_skip(out(m), fl_shape_bytes(m->s, s), s->len,
				     FL_ARCH_PAD_BYTES + FL_ARCH_BRANCH_BYTES));
	put_tail_place(m, i);
	jump(m, i, s->target);
}

static struct fl_lookup lookup_of(const struct builder *m, uint32_t i)
{
	const struct fl_shape_step *s = &m->s->steps[i];
	struct fl_lookup l = { .to = here(m), .code = fl_shape_bytes(m->s, s), .len = s->len,
			       .n_parts = m->s->n_parts };

	for (uint32_t p = 0; p < l.n_parts; p++)
		l.part[p] = (struct fl_looked){
			.start = m->s->parts[p].start,
			.table = m->is_dry ? m->s->entry : (uintptr_t)m->table[p],
			.bytes = (uint32_t)(m->s->parts[p].end - m->s->parts[p].start),
		};
	return l;
}

static void put_switch(struct builder *m, uint32_t i)
{
	struct fl_lookup l = lookup_of(m, i);

	wrote(m, i, fl_arch_put_lookup(out(m), &l));
	put_tail_place(m, i);
	move(m, i, 0);
}

static void put_step(struct builder *m, uint32_t i)
{
	const struct fl_shape_step *s = &m->s->steps[i];

	m->offsets[i] = m->n;
	switch ((enum fl_shape_kind)s->kind) {
	case FL_SHAPE_PLAIN: case FL_SHAPE_RELATIVE: case FL_SHAPE_STOP:
		move(m, i, 0);
		break;
	case FL_SHAPE_CALL:
		move(m, i, s->target);
		break;
	case FL_SHAPE_JUMP: case FL_SHAPE_BRANCH:
		move(m, i, inside(m, s->target));
		break;
	case FL_SHAPE_TAIL:
		put_tail_place(m, i);
		move(m, i, s->target);
		break;
	case FL_SHAPE_BRANCH_OUT:
		put_branch_out(m, i);
		break;
	case FL_SHAPE_TAIL_POINTER:
		put_tail_place(m, i);
		move(m, i, 0);
		break;
	case FL_SHAPE_SWITCH:
		put_switch(m, i);
		break;
	case FL_SHAPE_RET:
		put_return(m, i);
		break;
	case FL_SHAPE_END:
		jump(m, i, s->target);
		break;
	}
}

static bool falls_through(const struct fl_shape_step *s)
{
	return s->kind <= FL_SHAPE_CALL || s->kind == FL_SHAPE_BRANCH ||
	       s->kind == FL_SHAPE_BRANCH_OUT;
}

/* What follows in the original follows here. */
static bool is_followed(const struct builder *m, uint32_t i)
{
	const struct fl_shape_step *s = &m->s->steps[i];

	return !falls_through(s) ||
	       (i + 1 < m->s->n_steps && s[1].part == s->part && s[1].at == s->at + s->len);
}

static void put_body(struct builder *m)
{
	for (uint32_t i = m->entry; i < m->s->n_steps; i++) {
		put_step(m, i);
		if (!is_followed(m, i) && !m->failed)
			m->failed = i + 1;
	}
	m->offsets[m->s->n_steps] = m->landings = m->n;
	for (uint32_t i = m->entry; m->n_switches && i < m->s->n_steps; i++)
		wrote(m, i, fl_arch_put_landing(out(m), here(m), m->is_dry ? here(m) :
						m->ground.at + m->offsets[i]));
}

/* What the jump displaces runs at `off`. */
static void put_displaced(struct builder *m, uintptr_t body)
{
	const struct fl_shape_step *s = &m->s->steps[m->entry];
	uintptr_t behind = body;

	for (uint32_t i = 0; i < m->s->displaced; i++, s++) {
		move(m, m->entry + i, s->target);
		behind = s->at + s->len;
	}
	jump(m, m->entry, behind);
}

/* ---- tables of jumps ------------------------------------------------------- */

static void fill_tables(struct builder *m)
{
	for (uint32_t i = m->entry; m->n_switches && i < m->s->n_steps; i++) {
		const struct fl_shape_step *s = &m->s->steps[i];
		int32_t *table = m->table[s->part];
		uintptr_t to = m->ground.at + m->landings +
			       (i - m->entry) * FL_ARCH_LANDED_BYTES;

		if (s->len)
			table[s->at - m->s->parts[s->part].start] =
				(int32_t)(to - (uintptr_t)table);
	}
}

static size_t table_bytes(const struct builder *m)
{
	size_t n = 0;

	for (uint32_t p = 0; m->n_switches && p < m->s->n_parts; p++)
		n += (m->s->parts[p].end - m->s->parts[p].start) * sizeof(int32_t);
	return n;
}

static void lay_data(struct builder *m)
{
	size_t n = m->n_places * sizeof *m->places;

	m->places = (void *)m->ground.data;
	for (uint32_t p = 0; m->n_switches && p < m->s->n_parts; p++) {
		m->table[p] = (void *)(m->ground.data + n);
		n += (m->s->parts[p].end - m->s->parts[p].start) * sizeof(int32_t);
	}
}

/* ---- unwinding ------------------------------------------------------------- */

struct piecer {
	struct builder *m;
	struct fl_unwind_piece pieces[PIECES];
	uint32_t n, n_rows;
};

static void begin_piece(struct piecer *p, uint32_t part, uint32_t offset,
			enum fl_piece_kind kind)
{
	p->pieces[p->n] = (struct fl_unwind_piece){
		.fde = p->m->s->parts[part].fde, .start = p->m->ground.at + offset,
		.rows = p->m->rows + p->n_rows, .kind = kind,
	};
}

static void add_unwind_row(struct piecer *p, uintptr_t at, uint32_t offset, uint32_t push)
{
	struct fl_unwind_piece *piece = &p->pieces[p->n];

	p->m->rows[p->n_rows++] = (struct fl_unwind_row){
		.at = at, .push = push,
		.offset = (uint32_t)(p->m->ground.at + offset - piece->start),
	};
	piece->n++;
}

static void end_piece(struct piecer *p, uint32_t offset)
{
	p->pieces[p->n].end = p->m->ground.at + offset;
	if (p->pieces[p->n].n && p->pieces[p->n].fde)
		p->n++;
}

/* `off`: what is displaced, and the jump behind it. */
static void tell_off(struct piecer *p, uint32_t off, uint32_t on)
{
	struct builder *m = p->m;
	const struct fl_shape_step *s = &m->s->steps[m->entry];
	uint32_t n = m->n;

	begin_piece(p, 0, off, FL_PIECE_STUB);
	m->n = off;
	for (uint32_t i = 0; i < m->s->displaced; i++, s++) {
		add_unwind_row(p, s->at, m->n, 0);
		move(m, m->entry + i, s->target);	/* as it stands there already */
	}
	if (s->at < m->s->parts[0].end)
		add_unwind_row(p, s->at, m->n, 0);
	m->n = n;
	end_piece(p, on);
}

/* A look-up pushes; so much depends on the jump alone. */
static void tell_depths(struct piecer *p, uint32_t i)
{
	struct builder *m = p->m;
	struct fl_lookup l = lookup_of(m, i);

	l.to = m->ground.at + m->offsets[i];
	fl_arch_put_lookup(m->trash, &l);
	for (size_t k = 0; k < FL_ARCH_LOOKUP_DEPTHS; k++)
		add_unwind_row(p, m->s->steps[i].at, m->offsets[i] + l.depths[k].offset,
			l.depths[k].depth);
}

static void tell_body(struct piecer *p, uint32_t first, uint32_t end)
{
	const struct builder *m = p->m;

	for (uint32_t i = first; i < end; i++) {
		const struct fl_shape_step *s = &m->s->steps[i];

		if (s->kind != FL_SHAPE_END)
			add_unwind_row(p, s->at, m->offsets[i], 0);
		if (s->kind == FL_SHAPE_SWITCH)
			tell_depths(p, i);
	}
	end_piece(p, m->offsets[end]);
}

static void tell_landings(struct piecer *p, uint32_t part, uint32_t first, uint32_t end)
{
	const struct builder *m = p->m;
	uint32_t at = m->landings + (first - m->entry) * FL_ARCH_LANDED_BYTES;

	begin_piece(p, part, at, FL_PIECE_BARE);
	for (uint32_t i = first; i < end; i++, at += FL_ARCH_LANDED_BYTES) {
		if (m->s->steps[i].kind == FL_SHAPE_END)
			continue;
		add_unwind_row(p, m->s->steps[i].at, at, FL_ARCH_LOOKUP_KEPT);
		add_unwind_row(p, m->s->steps[i].at, at + FL_ARCH_LANDED_UP, 0);
	}
	end_piece(p, at);
}

static int tell_unwinders(struct builder *m, uint32_t off, uint32_t on, uint64_t *datum)
{
	struct piecer p = { .m = m };
	struct fl_unwind_body b = { .m = m->s->m, .pieces = p.pieces };

	tell_off(&p, off, on);
	for (uint32_t k = 0; k < m->s->n_parts; k++) {
		uint32_t first = k ? m->first[k] : m->entry;

		begin_piece(&p, k, k ? m->offsets[first] : on, FL_PIECE_BODY);
		if (!k)
			add_unwind_row(&p, m->s->entry, on, 0);
		tell_body(&p, first, m->first[k + 1]);
	}
	for (uint32_t k = 0; m->n_switches && k < m->s->n_parts; k++)
		tell_landings(&p, k, k ? m->first[k] : m->entry, m->first[k + 1]);
	b.n = p.n;
	return fl_unwind_emit(m->ground.unwind, &b, datum);
}

/* ---- one after the other --------------------------------------------------- */

/* False: there is no step at the entry. */
static bool index_parts(struct builder *m)
{
	const struct fl_shape *s = m->s;
	uint32_t part = 0;

	for (uint32_t i = 0; i < s->n_steps; i++) {
		while (part < s->steps[i].part)
			m->first[++part] = i;
		m->n_switches += s->steps[i].kind == FL_SHAPE_SWITCH;
	}
	while (part < s->n_parts)
		m->first[++part] = s->n_steps;
	m->entry = find_step(m, s->entry);
	return m->entry < m->first[1];
}

static int map_scratch(struct fl_copies *c, struct builder *m)
{
	size_t rows = (m->s->n_steps + 2) * 4ul + m->n_switches * FL_ARCH_LOOKUP_DEPTHS;
	size_t n = rows * sizeof *m->rows + (m->s->n_steps + 1) * sizeof *m->offsets;

	if (c->scratch_bytes < n) {
		void *p = fl_os_map(NULL, 2 * n, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (fl_is_err(p))
			return -ENOMEM;
		if (c->scratch)
			fl_os_unmap(c->scratch, c->scratch_bytes);
		c->scratch = p;
		c->scratch_bytes = 2 * n;
	}
	m->rows = c->scratch;
	m->offsets = (void *)(m->rows + rows);
	return 0;
}

/* Bytes to leave out at `at`, so that [first, first + n) is one for a jump's upper three. */
static uint32_t gap_before(uintptr_t at, uintptr_t entry, uint32_t n)
{
	uint32_t low = (uint32_t)(at - (entry + FL_ARCH_BRANCH_BYTES)) & 0xff;

	return low + n > 0xff ? 0x100 - low : 0;
}

/* The body begins further on than the first time. */
static void write_copy(struct builder *m, uint32_t off, uint32_t on)
{
	uint32_t body = on + FL_ARCH_BRANCH_BYTES;

	m->is_dry = false;
	m->n_places = 0;
	for (uint32_t i = 0; i <= m->s->n_steps; i++)
		m->offsets[i] += body;
	m->landings += body;
	memset(m->ground.write, FL_ARCH_TRAP, off);
	m->n = off;
	put_displaced(m, m->ground.at + body);
	fl_arch_put_branch(out(m), FL_BRANCH_CALL, here(m), m->s->entry);
	m->n = body;
	put_body(m);
	fill_tables(m);
}

/* What it will be is known: `n_off` bytes, a call, and m->n bytes. */
static int lay_copy(struct fl_copies *c, struct builder *m, uint32_t n_off, uint64_t *datum)
{
	size_t n_data = m->n_places * sizeof *m->places + table_bytes(m);
	uint32_t off, on;
	int err = fl_copies_reserve(c, 2 * n_off + FL_ARCH_BRANCH_BYTES + m->n, n_data,
				    &m->ground);

	if (err)
		return err;
	off = gap_before(m->ground.at, m->s->entry, n_off);
	on = off + n_off;
	lay_data(m);
	write_copy(m, off, on);
	*m->copy = (struct fl_copy){
		.function = m->s->function, .entry = m->s->entry, .code = m->ground.at,
		.on = m->ground.at + on, .off = m->ground.at + off, .n_code = m->n,
		.n_places = m->n_places, .call = on, .places = m->places,
	};
	if (!m->failed)
		err = tell_unwinders(m, off, on, datum);
	if (!err && !m->failed)
		fl_copies_take(c, m->n, n_data);
	else
		memset(m->ground.data, 0, n_data);
	return err;
}

static int build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		 uint64_t *datum)
{
	struct builder m = { .s = s, .copy = copy, .is_dry = true };
	uint32_t n_off;
	int err;

	if (!index_parts(&m))
		return FLE_UNKNOWN;
	err = map_scratch(c, &m);
	if (err)
		return err;
	put_displaced(&m, s->entry);
	n_off = m.n;
	m.n = 0;
	put_body(&m);
	if (!m.failed)
		err = lay_copy(c, &m, n_off, datum);
	if (!m.failed)
		return err;
	*datum = s->steps[m.failed - 1].at;
	return FLE_UNKNOWN;
}

/* A block may be full of rows for unwinders first. */
int fl_copy_build(struct fl_copies *c, const struct fl_shape *s, struct fl_copy *copy,
		  uint64_t *datum)
{
	int err = build(c, s, copy, datum);

	if (err != -ENOSPC)
		return err;
	fl_copies_fill(c);
	return build(c, s, copy, datum);
}
