/*
 * patchable.c - NOPs that -fpatchable-function-entry=N,M left at entries.
 *
 * Hides how the two compilers mark them. __patchable_function_entries holds
 * the address of the first NOP; with M that lies before the entry label:
 *
 *	M = 0			M > 0
 *	f: endbr64		loc: nop (M bytes)
 *	loc: nop (N bytes)	f:   endbr64
 *				     nop (N - M bytes)
 *
 * The label is where a landing pad stands, else where the unwind tables or
 * symbols say a function begins, else `loc`.
 */
#include <string.h>

#include "scan.h"

/* Bytes of whole NOPs from `a` on, at most `max`. */
static size_t nop_bytes(const struct fl_module *m, uintptr_t a, size_t max)
{
	size_t left = fl_text_bytes(m, a), n = 0;
	struct fl_insn i;

	while (n < left && n < max) {
		fl_arch_decode(&i, (const unsigned char *)a + n, left - n, a + n);
		if (i.cls != FL_INSN_NOP || n + i.len > max)
			break;
		n += i.len;
	}
	return n;
}

static size_t landing_at(const struct fl_module *m, uintptr_t a)
{
	size_t n = fl_text_bytes(m, a);

	return n ? fl_arch_landing((const unsigned char *)a, n) : 0;
}

/* The longest M that is looked through for a label. */
enum { BEFORE_MAX = 255, LANDING = FL_ARCH_LANDING_BYTES };

static uintptr_t find_label(const struct fl_module *m, const struct fl_ranges *r,
			    uintptr_t loc)
{
	uintptr_t end = loc + nop_bytes(m, loc, BEFORE_MAX);
	size_t i = fl_ranges_find(r, loc);

	if (landing_at(m, loc - LANDING) == LANDING)
		return loc - LANDING;
	if (i < r->n && (r->r[i].start < loc || r->r[i].is_gap))
		i++;
	if (i < r->n && r->r[i].start <= end && !r->r[i].is_gap)
		return r->r[i].start;
	return landing_at(m, end) ? end : loc;
}

static void describe(struct fl_site *s, const struct fl_module *m, uintptr_t loc,
		     uintptr_t label)
{
	size_t landing = landing_at(m, label);

	s->function = label;
	s->at = label + landing;
	s->room = nop_bytes(m, s->at, FL_ARCH_SITE_MAX);
	s->form = FL_FORM_PAD;
	if (s->room >= FL_ARCH_PAD_BYTES)
		return;
	if (loc < label && !landing)
		s->before = label - loc;
	if (s->room >= FL_ARCH_PAD_JUMP_BYTES && s->before >= FL_ARCH_PAD_BYTES) {
		s->form = FL_FORM_PAD_BEFORE;
		return;
	}
	s->form = FL_FORM_NONE;
	s->refusal = FLE_NOSPACE;
	s->datum = s->room;
}

static void add_entry(struct fl_gather *g, const struct fl_module *m,
		      const struct fl_ranges *r, uintptr_t value)
{
	uintptr_t loc = fl_text_address(m, value);
	struct fl_site s = { .kind = FL_ENTRY, .bare = 1, .at = value,
			     .function = value, .form = FL_FORM_NONE };

	if (!value)			/* dropped by --gc-sections */
		return;
	if (loc)
		describe(&s, m, loc, find_label(m, r, loc));
	else
		s.refusal = FLE_NOTEXT;
	fl_gather_add(g, &s);
}

static int scan_patchable(const struct fl_module *m, fl_site_each *each, void *arg)
{
	const unsigned char *p;
	struct fl_ranges ranges;
	struct fl_gather g;
	Elf64_Shdr sh;
	int err;

	if (!m->file.bytes ||
	    !fl_obj_section(&m->file, "__patchable_function_entries", &sh))
		return 0;
	p = fl_obj_bytes(m, m->bias + sh.sh_addr, sh.sh_size);
	if (!p || sh.sh_size < sizeof(uintptr_t))
		return 0;
	err = fl_ranges_open(&ranges, m);
	if (!err)
		err = fl_gather_open(&g, sh.sh_size / sizeof(uintptr_t));
	for (size_t i = 0; !err && i < sh.sh_size / sizeof(uintptr_t); i++) {
		uintptr_t value;

		memcpy(&value, p + i * sizeof value, sizeof value);
		add_entry(&g, m, &ranges, value);
	}
	fl_ranges_close(&ranges);
	return err ? err : fl_gather_tell(&g, each, arg);
}

const struct fl_provider fl_provider_patchable = {
	.name = "patchable",
	.about = "NOPs from -fpatchable-function-entry",
	.scan = scan_patchable,
};
