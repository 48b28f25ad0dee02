/*
 * cyg.c - calls to __cyg_profile_func_enter and _exit (-finstrument-functions).
 *
 * Hides how a call is given its function: the body a call belongs to is what
 * its first argument says, whatever symbol contains it, since compilers inline
 * instrumented bodies. Code is decoded once, in order; a call whose argument is
 * a constant is noted, and told at the end, when every branch has been seen.
 *
 * INVARIANT  A site's function is the value of its first argument each time it
 *	runs, or its glue asks at each (fl_probe_ask). A jump that asks is taken
 *	for the end of the body around it; a call is told by its first run.
 * WHY	A constant loaded on a straight line reaches the call unless a branch
 *	lands in between: labels has a bit for every target of a direct one. An
 *	indirect jump (a switch) while the argument holds the address of code makes
 *	its function tell nothing. A handler of exceptions stands behind a call, so
 *	where there are any no line goes on past one. A register that calls keep is
 *	used when its function, with the parts that branches join to it, loads one
 *	constant into it and nothing else.
 * FAILURE  Memory for notes that runs out ends the noting; what was noted stands.
 */
#include <string.h>

#include "cyg.h"

/* A call found; addresses are offsets from `lo`. */
struct note {
	uint32_t at, since, moved, range;
	uintptr_t v;			/* loaded; once it is resolved, the function or 0 */
	uint8_t source, via, kind, form, room, opcode;
};

/* A branch from one range into another. */
struct link {
	uintptr_t target;
	uint32_t range;
	uint32_t is_jump;		/* 1: not conditional */
};

struct scan {
	const struct fl_module *m;
	struct fl_reach reach;
	struct fl_ranges ranges;
	uintptr_t lo, hi;		/* all executable segments */
	uint64_t *labels;		/* a bit a byte of [lo, hi) */
	struct note *notes;
	struct link *links;
	struct fl_keep *keeps;		/* one a range */
	size_t n_notes, room_notes, n_links, room_links;
	size_t n_label_bytes;
	bool links_lost;
};

/* ---- labels -------------------------------------------------------------------- */

static void set_label(struct scan *s, uintptr_t a)
{
	if (a - s->lo < s->hi - s->lo)
		s->labels[(a - s->lo) / 64] |= 1ull << (a - s->lo) % 64;
}

/* Does a branch land in (after, to]? */
static bool has_label(const struct scan *s, size_t after, size_t to)
{
	for (size_t i = after + 1; i <= to; i = (i | 63) + 1) {
		uint64_t w = s->labels[i / 64] >> i % 64;

		if (to / 64 == i / 64)
			w &= ~0ull >> (63 - (to - i));
		if (w)
			return true;
	}
	return false;
}

static void note_branch(struct scan *s, const struct fl_insn *i, size_t range)
{
	const struct fl_range *r = &s->ranges.r[range];
	bool is_jump = i->cls == FL_INSN_JUMP;

	set_label(s, i->target);
	if (i->target - r->start < r->end - r->start)
		return;
	if (s->n_links < s->room_links)
		s->links[s->n_links++] = (struct link){ i->target, range, is_jump };
	else
		s->links_lost = true;
}

/* ---- one range ------------------------------------------------------------------- */

static uint8_t form_of(const struct fl_insn *i)
{
	switch (i->cls) {
	case FL_INSN_CALL:
		return FL_FORM_CALL;
	case FL_INSN_JUMP:
		return FL_FORM_JUMP;
	case FL_INSN_CALL_SLOT:
		return i->opcode_at ? FL_FORM_NONE : FL_FORM_CALL_SLOT;
	case FL_INSN_JUMP_SLOT:
		return i->opcode_at ? FL_FORM_NONE : FL_FORM_JUMP_SLOT;
	}
	return FL_FORM_NONE;
}

static bool is_jump(uint8_t form)
{
	return form == FL_FORM_JUMP || form == FL_FORM_JUMP_SLOT;
}

static void note_call(struct scan *s, const struct fl_insn *i, uintptr_t at,
		      const struct fl_value *v)
{
	bool may_tell = v->source != FL_UNKNOWN || v->via || is_jump(form_of(i));

	if (!may_tell || s->n_notes == s->room_notes)
		return;
	s->notes[s->n_notes++] = (struct note){
		.at = at - s->lo, .since = v->since - s->lo, .moved = v->moved - s->lo,
		.v = v->v, .source = v->source, .via = v->via, .room = i->len,
		.form = form_of(i), .opcode = ((const unsigned char *)at)[i->opcode_at],
	};
}

/* A jump nobody knows the target of, and code's address in the argument. */
static bool carries_function(const struct scan *s, const struct fl_value *v)
{
	return v->via || v->source == FL_SLOT ||
	       (v->source == FL_ADDRESS && fl_text_address(s->m, v->v));
}

/* What matters of a call, jump, branch or slot form; returns what it leads to. */
static enum fl_hook meet_branch(struct scan *s, struct fl_line *l, size_t range,
				const struct fl_insn *i, uintptr_t at)
{
	enum fl_hook h = fl_reach_hook(&s->reach, i);
	struct fl_keep *k = &s->keeps[range];
	struct fl_value v = { 0 };

	if (h || (i->cls == FL_INSN_JUMP && !i->target))
		v = fl_flow_value(l, k, FL_ARCH_ARG0, at);
	if (h) {
		size_t n = s->n_notes;

		note_call(s, i, at, &v);
		if (s->n_notes > n) {
			s->notes[n].kind = h == FL_HOOK_ENTER ? FL_ENTRY : FL_EXIT;
			s->notes[n].range = range;
		}
	} else if (i->cls == FL_INSN_JUMP && !i->target) {
		k->carries |= carries_function(s, &v);
	} else if (i->cls == FL_INSN_JUMP || i->cls == FL_INSN_BRANCH) {
		note_branch(s, i, range);
	}
	return h;
}

static void scan_range(struct scan *s, struct fl_line *l, size_t range)
{
	const struct fl_range *r = &s->ranges.r[range];
	struct fl_keep *k = &s->keeps[range];
	size_t left = fl_text_bytes(s->m, r->start);
	struct fl_insn i;

	l->known = l->reloaded = 0;
	for (uintptr_t a = r->start; a < r->end; a += i.len, left -= i.len) {
		fl_arch_decode(&i, (const unsigned char *)a, left, a);
		if (i.cls == FL_INSN_OTHER) {
			if (!i.len)
				return;
			fl_flow_forget(l, i.writes);
			continue;
		}
		if (i.cls <= FL_INSN_BRANCH && meet_branch(s, l, range, &i, a) &&
		    (i.cls == FL_INSN_JUMP || i.cls == FL_INSN_JUMP_SLOT))
			i.cls = FL_INSN_RET;	/* it returns to our caller */
		fl_flow_step(l, k, &i, a);
	}
}

/* ---- all of them ------------------------------------------------------------------- */

static void join_parts(struct scan *s)
{
	for (size_t i = 0; i < s->n_links; i++) {
		const struct link *k = &s->links[i];
		size_t to = fl_ranges_find(&s->ranges, k->target);

		if (to == s->ranges.n || k->target < s->ranges.r[to].start ||
		    (k->is_jump && k->target == s->ranges.r[to].start))
			continue;		/* a tail call */
		fl_flow_join(&s->keeps[k->range], &s->keeps[to]);
	}
}

/* The address that slot `a` holds for good; 0: none. */
static uintptr_t read_slot(const struct fl_module *m, uintptr_t a)
{
	uintptr_t v;

	if (!fl_obj_is_constant(m, a, sizeof v))
		return 0;
	memcpy(&v, (const void *)a, sizeof v);
	if (fl_text_address(m, v) || m->laid_out)
		return fl_text_address(m, v);
	return v - m->lo < m->hi - m->lo ? 0 : v;	/* another module's */
}

static uintptr_t resolve(const struct scan *s, const struct note *n)
{
	const struct fl_keep *k = &s->keeps[n->range];
	struct fl_value v = { .v = n->v, .source = n->source };

	if (k->carries)
		return 0;
	if (v.source == FL_UNKNOWN || has_label(s, n->since, n->at)) {
		if (!n->via || s->links_lost || s->ranges.r[n->range].is_gap ||
		    has_label(s, n->moved, n->at))
			return 0;
		v = fl_flow_kept(k, n->via, s->lo + n->moved);
	}
	if (v.source == FL_SLOT)
		return read_slot(s->m, v.v);
	return v.source == FL_ADDRESS ? fl_text_address(s->m, v.v) : 0;
}

/* The function whose body the range is, if one of its entries says so; 0. */
static uintptr_t body_of(const struct scan *s, const struct note *n, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (n[i].kind == FL_ENTRY && n[i].v == s->ranges.r[n->range].start)
			return n[i].v;
	return 0;
}

/* A body that was inlined leaves by a call: who jumps leaves the range's own. The
 * first run of a jump would not tell, as that of a call does: it leaves no trace. */
static uintptr_t guess(const struct note *n, uintptr_t body)
{
	return is_jump(n->form) ? body : 0;
}

static int tell(const struct scan *s, const struct note *n, uintptr_t body,
		fl_site_each *each, void *arg)
{
	struct fl_site site = {
		.at = s->lo + n->at, .function = n->v ? n->v : guess(n, body), .kind = n->kind,
		.form = n->form, .room = n->room, .asks = !n->v,
	};

	if (!site.function)
		return 0;
	if (site.form == FL_FORM_NONE) {
		site.refusal = FLE_UNKNOWN;
		site.datum = n->opcode;
	}
	return each(arg, &site);
}

/* The calls of one range, of which n[0] is the first; how many they are. */
static size_t tell_range(const struct scan *s, struct note *n, size_t left, int *err,
			 fl_site_each *each, void *arg)
{
	uintptr_t body;
	size_t count = 0;

	for (; count < left && n[count].range == n->range; count++)
		n[count].v = resolve(s, &n[count]);
	body = body_of(s, n, count);
	for (size_t i = 0; i < count && !*err; i++)
		*err = tell(s, &n[i], body, each, arg);
	return count;
}

/* Code that only the unwinder reaches, whose labels nothing shows. */
static bool has_handlers(const struct fl_module *m)
{
	Elf64_Shdr sh;

	return !m->file.sh || fl_obj_section(&m->file, ".gcc_except_table", &sh);
}

static int scan_all(struct scan *s, fl_site_each *each, void *arg)
{
	struct fl_line line = { .has_handlers = has_handlers(s->m) };
	int err = 0;

	for (size_t i = 0; i < s->ranges.n; i++)
		scan_range(s, &line, i);
	join_parts(s);
	for (size_t i = 0; i < s->n_notes && !err;)
		i += tell_range(s, &s->notes[i], s->n_notes - i, &err, each, arg);
	return err;
}

/* ---- set-up -------------------------------------------------------------------------- */

/* Bytes of code that hold at most one call with its argument, one branch. */
enum { NOTE_BYTES = 8, LINK_BYTES = 16 };

static void find_span(struct scan *s)
{
	s->lo = UINTPTR_MAX;
	for (size_t i = 0; i < s->m->n_ph; i++) {
		const Elf64_Phdr *p = &s->m->ph[i];
		uintptr_t a = s->m->bias + p->p_vaddr;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (a < s->lo)
			s->lo = a;
		if (a + p->p_memsz > s->hi)
			s->hi = a + p->p_memsz;
	}
}

static void close_scan(struct scan *s)
{
	fl_scratch_close(s->labels, s->n_label_bytes);
	fl_scratch_close(s->notes, s->room_notes * sizeof *s->notes);
	fl_scratch_close(s->links, s->room_links * sizeof *s->links);
	fl_scratch_close(s->keeps, s->ranges.n * sizeof *s->keeps);
	fl_ranges_close(&s->ranges);
}

/* 0 with no ranges: nothing to decode. */
static int open_scan(struct scan *s)
{
	size_t n;
	int err = fl_ranges_open(&s->ranges, s->m);

	find_span(s);
	if (err || !s->ranges.n)
		return err;
	n = s->hi - s->lo;
	if (n > UINT32_MAX)
		return -EFBIG;
	s->n_label_bytes = (n / 64 + 1) * 8;
	s->room_notes = n / NOTE_BYTES + 1;
	s->room_links = n / LINK_BYTES + 1;
	s->labels = fl_scratch_open(s->n_label_bytes);
	s->notes = fl_scratch_open(s->room_notes * sizeof *s->notes);
	s->links = fl_scratch_open(s->room_links * sizeof *s->links);
	s->keeps = fl_scratch_full(s->ranges.n * sizeof *s->keeps);
	return s->labels && s->notes && s->links && s->keeps ? 0 : -ENOMEM;
}

static int scan_cyg(const struct fl_module *m, fl_site_each *each, void *arg)
{
	struct scan s = { .m = m };
	int err;

	if (!fl_reach_open(&s.reach, m))
		return 0;
	err = open_scan(&s);
	if (!err && s.ranges.n)
		err = scan_all(&s, each, arg);
	close_scan(&s);
	return err;
}

const struct fl_provider fl_provider_cyg = {
	.name = "cyg",
	.about = "calls from -finstrument-functions",
	.scan = scan_cyg,
};
