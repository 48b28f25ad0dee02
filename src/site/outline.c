/*
 * outline.c - what a module's code is made of: which functions can have a second body?
 *
 * Hides what must be known of all code before one function can be moved: which ranges
 * are functions and which are parts of them, who jumps where, whose code asks who called
 * it. The file's bytes are decoded once, in order: memory may hold a debugger's traps.
 *
 * INVARIANT  If a function is not refused, all of it that executes lies in its parts, and is
 *	understood; no code of the module's leads into the bytes that a jump at its entry
 *	covers, except its own, which will be in its body.
 * WHY	Direct branches are all seen: every range that any table knows is decoded, and
 *	so are the gaps between, where what looks like a branch counts. What jumps through
 *	a register or memory reaches starts of functions, landing pads, and in the
 *	function itself targets of switches: fl_plan_switches_avoid() is for those.
 */
#include "outline-pass.h"

/* ---- open and close ------------------------------------------------------ */

static void find_span(struct pass *p)
{
	p->lo = UINTPTR_MAX;
	for (size_t i = 0; i < p->m->n_ph; i++) {
		const Elf64_Phdr *ph = &p->m->ph[i];
		uintptr_t a = p->m->bias + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		if (a < p->lo)
			p->lo = a;
		if (a + ph->p_memsz > p->hi)
			p->hi = a + ph->p_memsz;
	}
}

static void set_extent(struct pass *p, struct fl_extent *x, const struct fl_range *r)
{
	size_t left;
	const unsigned char *code = fl_file_text(p->m, r->start, &left);

	*x = (struct fl_extent){
		.start = r->start, .end = r->end, .fde = r->fde,
		.lsda = r->is_frame ? r->lsda : 0, .owner = (uint32_t)(x - p->o->extents),
		.next = FL_EXTENT_NONE,
		.kind = r->is_gap ? FL_EXTENT_OTHER : FL_EXTENT_FUNCTION,
	};
	if (code && !r->is_gap)
		x->landing = (uint8_t)fl_arch_landing(code, left);
	if (x->landing >= x->end - x->start)
		x->landing = 0;
}

static void set_heads(struct pass *p)
{
	for (size_t i = 0; i < p->o->n; i++) {
		const struct fl_extent *x = &p->o->extents[i];

		if (x->kind != FL_EXTENT_FUNCTION)
			continue;
		fl_set_bit(p->heads, x->start - p->lo);
		fl_set_bit(p->heads, fl_extent_entry(x) - p->lo);
	}
}

static bool map_all(struct pass *p, size_t n)
{
	size_t bytes = fl_map_bytes(p);
	struct fl_outline *o = p->o;

	o->room_lefts = n + 1;
	o->map_bytes = bytes;
	p->room_calls = n / FL_ARCH_PAD_BYTES + FL_OUTLINE_SLICES;
	p->heads = fl_scratch_full(bytes);
	p->named = fl_scratch_full(bytes);
	p->targets = fl_scratch_full(bytes);
	p->calls = fl_scratch_open(p->room_calls * sizeof *p->calls);
	o->lefts = fl_scratch_open(o->room_lefts * sizeof *o->lefts);
	o->starts = fl_scratch_full(bytes);
	o->plain = fl_scratch_full(bytes);
	o->extents = fl_scratch_full(o->room * sizeof *o->extents);
	o->n_grains = n / FL_OUTLINE_GRAIN + 1;
	o->first_in = fl_scratch_full(o->n_grains * sizeof *o->first_in);
	return p->heads && p->named && p->targets && p->calls && o->lefts && o->starts &&
	       o->plain && o->extents && o->first_in;
}

/* ---- stubs --------------------------------------------------------------- */

/* Where the stubs are, if probes are wanted there. */
struct stubs {
	struct section {
		uintptr_t lo, hi;
		size_t step;		/* from one place to the next, a power of two */
	} in[3];
	size_t n;
};

static size_t step_of(const Elf64_Shdr *sh)
{
	if (FL_ARCH_STUB_STEP)
		return FL_ARCH_STUB_STEP;
	return sh->sh_entsize == FL_STUB_ALIGNED ? FL_STUB_ALIGNED : 2 * FL_STUB_ALIGNED;
}

static struct stubs find_stubs(const struct fl_module *m)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	struct stubs s = { .n = 0 };
	Elf64_Shdr sh;

	for (size_t i = 0; i < ARRAY_LEN(names) && fl_site_wants_stubs(m); i++)
		if (fl_obj_section(&m->file, names[i], &sh))
			s.in[s.n++] = (struct section){
				m->bias + sh.sh_addr, m->bias + sh.sh_addr + sh.sh_size,
				step_of(&sh),
			};
	return s;
}

/* The first place from `a` on where a stub may begin, and how many bytes it has; none: 0. */
static uintptr_t next_stub(const struct stubs *s, uintptr_t a, size_t *step)
{
	uintptr_t next = 0;

	for (const struct section *in = s->in; in < s->in + s->n; in++) {
		uintptr_t at = a <= in->lo ? in->lo :
			       in->lo + fl_round_up(a - in->lo, in->step);

		if (at >= in->hi || in->hi - at < in->step || (next && at >= next))
			continue;
		next = at;
		*step = in->step;
	}
	return next;
}

/* Where the jump of the stub ends that begins at `a`; 0: none begins there. *step: how far on
 * the next one may begin. */
static uintptr_t stub_end(const struct pass *p, uintptr_t a, size_t *step)
{
	size_t left, n;
	const unsigned char *code = fl_file_text(p->m, a, &left);
	bool is_stub;

	if (!code || left < *step)
		return 0;
	is_stub = fl_arch_stub(code, FL_ARCH_STUB_STEP ? left : *step, a, &n);
	*step = FL_ARCH_STUB_STEP ? n : *step;
	return is_stub ? a + n : 0;
}

/* A range of the linker's that has stubs becomes an extent for each, and for what is between
 * them. Its rows for unwinders hold in a stub's body, too: where they ask for the pc they ask
 * how far it is into 16 bytes, 11 being behind a push; a body begins at such a place, and its
 * jump comes soon. */
static void set_extents(struct pass *p, const struct fl_range *r, const struct stubs *s)
{
	struct fl_range rest = *r;
	struct fl_outline *o = p->o;
	uintptr_t a = r->start, end;
	size_t step;

	for (; (a = next_stub(s, a, &step)) && a < r->end; a += step) {
		end = stub_end(p, a, &step);
		if (!end || end > r->end)
			continue;
		rest.end = a;
		if (rest.end > rest.start)
			set_extent(p, &o->extents[o->n++], &rest);
		set_extent(p, &o->extents[o->n],
			   &(struct fl_range){ .start = a, .end = end, .fde = r->fde });
		o->extents[o->n++].flags = X_STUB;
		rest = (struct fl_range){ .start = end, .is_gap = 1 };
	}
	rest.end = r->end;
	if (rest.end > rest.start)
		set_extent(p, &o->extents[o->n++], &rest);
}

/* An index, because each call and jump asks whose its target is. */
static void index_extents(struct fl_outline *o)
{
	uint32_t k = 0;

	for (size_t g = 0; g < o->n_grains; g++) {
		while (k < o->n && o->extents[k].end <= o->lo + g * FL_OUTLINE_GRAIN)
			k++;
		o->first_in[g] = k;
	}
}

static int read_all(struct pass *p, const struct fl_ranges *ranges, const struct stubs *stubs)
{
	struct fl_outline *o = p->o;
	int err;

	for (size_t i = 0; i < ranges->n; i++)
		set_extents(p, &ranges->r[i], stubs);
	index_extents(o);
	fl_refuse_by_tables(o, &p->askers);
	set_heads(p);
	err = fl_outline_read_code(p);
	if (err)
		return err;
	fl_outline_find_askers(p);
	fl_outline_find_hidden(p);
	fl_outline_join_parts(p);
	fl_outline_judge_begins(p);
	fl_outline_judge_rows(o);
	fl_outline_list_parts(o);
	fl_outline_judge(p);
	return 0;
}

int fl_outline_read(struct fl_outline *o, const struct fl_module *m)
{
	struct pass p = { .o = o, .m = m };
	struct fl_ranges ranges;
	struct stubs stubs = find_stubs(m);
	int err = fl_ranges_open(&ranges, m);

	find_span(&p);
	p.is_fixed = m->file.bytes && m->file.eh->e_type == ET_EXEC;
	*o = (struct fl_outline){ .m = m, .lo = p.lo, .room = ranges.n };
	for (size_t i = 0; i < stubs.n; i++)
		o->room += 2 * (stubs.in[i].hi - stubs.in[i].lo) / stubs.in[i].step + 1;
	if (!err && ranges.n && p.hi - p.lo >= UINT32_MAX)
		err = -EFBIG;
	if (!err && ranges.n) {
		size_t bytes = fl_map_bytes(&p);

		err = map_all(&p, p.hi - p.lo) ? 0 : -ENOMEM;
		if (!err)
			err = read_all(&p, &ranges, &stubs);
		fl_scratch_close(p.heads, bytes);
		fl_scratch_close(p.named, bytes);
		fl_scratch_close(p.targets, bytes);
		fl_scratch_close(p.calls, p.room_calls * sizeof *p.calls);
	}
	fl_ranges_close(&ranges);
	if (!err)
		err = fl_refuse_monitors(o);
	if (err)
		fl_outline_close(o);
	return err;
}

void fl_outline_close(struct fl_outline *o)
{
	fl_scratch_close(o->starts, o->map_bytes);
	fl_scratch_close(o->plain, o->map_bytes);
	fl_scratch_close(o->lefts, o->room_lefts * sizeof *o->lefts);
	fl_scratch_close(o->extents, o->room * sizeof *o->extents);
	fl_scratch_close(o->first_in, o->n_grains * sizeof *o->first_in);
	*o = (struct fl_outline){ 0 };
}

size_t fl_outline_find(const struct fl_outline *o, uintptr_t a)
{
	size_t g = (a - o->lo) / FL_OUTLINE_GRAIN, k;

	if (a < o->lo || g >= o->n_grains)
		return o->n;
	for (k = o->first_in[g]; k < o->n && o->extents[k].end <= a; k++)
		;
	return k < o->n && o->extents[k].start <= a ? k : o->n;
}
