/*
 * switch.c - where jumps lead whose target is in a register or in memory.
 *
 * Hides the two forms of table that compilers make, in data that code names:
 * offsets of 4 bytes from the table itself, and addresses (also those of labels
 * that a program takes, in tables of its own). Which table a jump uses is not
 * asked: each jump of a function may go wherever a table of the function leads.
 *
 * INVARIANT  A place that such a jump reaches is a target, or has its address
 *	formed by code (an entry), or body.c finds that nothing leads to it.
 * WHY	A relative table is found by its address, which the function must form to
 *	read it; the places it names are in the function (or a part of it elsewhere), and
 *	begin instructions. It ends before the next address that is formed, or where
 *	an entry names no instruction. Absolute ones are found by their value, wherever
 *	they are: the relocations, or in a program that has none all words of data,
 *	name every one. To read too far only adds places. What a program has computed
 *	from two labels is relative to one that it forms the address of, too.
 */
#include <string.h>

#include "cyg.h"

struct tables {
	struct fl_code *c;
	uint64_t *bases;		/* a bit a byte of the module: a table may begin */
	size_t range;			/* whose tables are read */
	size_t budget;			/* entries that may still be read */
};

static void add_target(struct fl_code *c, size_t range, uint32_t at)
{
	struct fl_part *p = &c->parts[range];

	if (fl_bit(c->switched, at))
		return;
	if (c->n_targets == c->room_targets) {
		c->is_lost = true;
		return;
	}
	fl_set_bit(c->switched, at);
	fl_set_bit(c->labels, at);
	c->targets[c->n_targets] = (struct fl_target){ at, p->targets };
	p->targets = (uint32_t)c->n_targets++;
}

/* ---- relative tables ----------------------------------------------------- */

/* Take an entry of a table of `t->range`. False: it is none. */
static bool take_entry(struct tables *t, uintptr_t target)
{
	struct fl_code *c = t->c;
	uint32_t at = (uint32_t)(target - c->lo);
	size_t range = t->range;

	if (target - c->lo >= c->hi - c->lo || !fl_bit(c->starts, at))
		return false;
	if (target - c->ranges.r[range].start >=
	    c->ranges.r[range].end - c->ranges.r[range].start) {
		range = fl_code_range(c, at);
		if (range == c->ranges.n)
			return false;
		if (!fl_bit(c->switched, at))
			fl_code_link(c, t->range, at);
	}
	add_target(c, range, at);
	return true;
}

/* Read the table at `base`, whose entries are offsets from `from`. */
static void read_table(struct tables *t, uintptr_t base, uintptr_t from)
{
	const struct fl_module *m = t->c->m;
	size_t n = fl_obj_left(m, base) / 4;
	int32_t offset;

	for (size_t i = 0; i < n && t->budget; i++, t->budget--) {
		if (i && fl_bit(t->bases, base + i * 4 - m->lo))
			break;
		memcpy(&offset, (const void *)(base + i * 4), sizeof offset);
		if (!take_entry(t, from + (uintptr_t)(intptr_t)offset))
			break;
	}
}

static bool is_base(const struct fl_step *s)
{
	return s->op == FL_STEP_DATA || s->op == FL_STEP_CODE;
}

static uintptr_t base_of(const struct fl_code *c, const struct fl_step *s)
{
	return s->v + (s->op == FL_STEP_DATA ? c->m->lo : c->lo);
}

static void mark_bases(struct tables *t, const struct fl_part *p)
{
	const struct fl_code *c = t->c;

	for (const struct fl_step *s = &c->steps[p->first]; s < &c->steps[p->first + p->n]; s++)
		if (is_base(s))
			fl_set_bit(t->bases, base_of(c, s) - c->m->lo);
}

/* A label inside of the range whose address is formed: tables that a program made
 * itself may be relative to it. 0: none. */
static uintptr_t find_label(const struct fl_code *c, const struct fl_part *p)
{
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		if (c->steps[i].op == FL_STEP_CODE && c->steps[i].v > fl_part_start(c, p) &&
		    c->steps[i].v < p->end)
			return c->lo + c->steps[i].v;
	return 0;
}

static void read_tables(struct tables *t, size_t range)
{
	const struct fl_code *c = t->c;
	const struct fl_part *p = &c->parts[range];
	uintptr_t label = find_label(c, p);

	t->range = range;
	for (uint32_t i = 0; i < p->n; i++) {
		uintptr_t base = is_base(&c->steps[p->first + i]) ?
			base_of(c, &c->steps[p->first + i]) : 0;

		if (base)
			read_table(t, base, base);
		if (base && label)
			read_table(t, base, label);
	}
}

/* ---- absolute ones ------------------------------------------------------- */

/* Take an address that data hold, unless code forms it. */
static void take_word(struct fl_code *c, uintptr_t value)
{
	uint32_t at = fl_code_offset(c, value);
	size_t range;

	if (at == FL_NOWHERE || !fl_bit(c->starts, at) || fl_bit(c->entries, at))
		return;
	range = fl_code_range(c, at);
	if (range == c->ranges.n)
		return;
	add_target(c, range, at);
	if (c->parts[range].is_done)
		fl_code_link(c, range, at);
}

static int take_reloc(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		      uintptr_t value)
{
	(void)pointer;
	(void)name;
	if (type == FL_ARCH_R_RELATIVE)
		take_word(arg, value);
	return 0;
}

/* A program at a fixed address has no relocations for such words. */
static void take_words(struct fl_code *c)
{
	for (size_t i = 0; i < c->m->n_ph; i++) {
		const Elf64_Phdr *p = &c->m->ph[i];
		uintptr_t a = fl_round_up(c->m->bias + p->p_vaddr, 8), value;
		uintptr_t end = c->m->bias + p->p_vaddr + p->p_filesz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_R))
			continue;
		for (; a + sizeof value <= end; a += sizeof value) {
			memcpy(&value, (const void *)a, sizeof value);
			take_word(c, value);
		}
	}
}

/* ---- all of them --------------------------------------------------------- */

int fl_switch_find(struct fl_code *c)
{
	struct tables t = { .c = c, .budget = 16 + (c->hi - c->lo) / 2 };
	size_t n_bytes = ((c->m->hi - c->m->lo) / 64 + 2) * 8, n = 0;

	for (size_t i = 0; i < c->ranges.n; i++)
		n += c->parts[i].has_switch;
	if (!n)
		return 0;
	t.bases = fl_scratch_open(n_bytes);
	if (!t.bases)
		return -ENOMEM;
	for (size_t i = 0; i < c->ranges.n; i++)
		if (c->parts[i].has_switch)
			mark_bases(&t, &c->parts[i]);
	for (size_t i = 0; i < c->ranges.n; i++)
		if (c->parts[i].has_switch)
			read_tables(&t, i);
	fl_scratch_close(t.bases, n_bytes);
	c->is_lost |= !t.budget;
	if (!c->m->bias || c->is_fixed)
		take_words(c);
	else
		fl_obj_relocs(c->m, take_reloc, c);
	return 0;
}
