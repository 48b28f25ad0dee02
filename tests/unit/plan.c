/* unit/plan: every form of site gets the bytes that plan.c draws. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "arch/x86_64/emit.h"
#include "site/site.h"

enum { AT = 21, WORD = 8 };		/* five bytes from there are in two words */
static _Alignas(64) unsigned char text[64];
static unsigned char glue[16];

/* The site's first byte, or the entry behind `before` bytes, is at `at`. */
static int plan_at(struct fl_patch *p, size_t at, int form, const void *old, size_t n,
		   uint8_t before)
{
	struct fl_plan_in in = {
		.at = (uintptr_t)text + at, .form = form, .room = (uint8_t)(n - before),
		.before = before, .glue = (uintptr_t)glue,
		.on = (uintptr_t)text + at + 0x1015, .off = (uintptr_t)text + at + 0x1045,
	};
	uint64_t datum;

	memset(text, 0x90, sizeof text);
	memcpy(text + at - before, old, n);
	return fl_arch_plan(p, &in, &datum);
}

static int plan(struct fl_patch *p, int form, const void *old, size_t n, uint8_t before)
{
	return plan_at(p, AT, form, old, n, before);
}

/* The window changes in one stretch, whose park is one byte, `park` at `at`. */
static void assert_parks_on(const struct fl_patch *p, unsigned park, size_t at)
{
	struct fl_move m[FL_ARCH_MOVES];

	assert_int_equal(fl_arch_moves(p, FL_OLD, FL_OFF, m), 1);
	assert_int_equal(m[0].park_at, at);
	assert_int_equal(m[0].park_bytes, 1);
	assert_int_equal(m[0].park[0], park);
}

/* Both states are one instruction from head to end, and differ in one byte. */
static void assert_one_flip(const struct fl_patch *p, unsigned on, unsigned off)
{
	size_t differ = 0;

	for (size_t i = 0; i < p->len; i++)
		differ += p->bytes[FL_ON][i] != p->bytes[FL_OFF][i];
	assert_int_equal(differ, 1);
	assert_int_equal(p->tactic, FL_FLIP);
	assert_int_equal(p->bytes[FL_ON][p->flip_at], on);
	assert_int_equal(p->bytes[FL_OFF][p->flip_at], off);
}

static void assert_reaches_glue(const struct fl_patch *p, size_t opcode)
{
	int32_t d;

	memcpy(&d, p->bytes[FL_ON] + opcode + 1, 4);
	assert_true(p->at + opcode + 5 + (uintptr_t)(intptr_t)d == (uintptr_t)glue);
}

static void call_flips_to_test(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_CALL, "\xe8\1\2\3\4", 5, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 0);
	assert_parks_on(&p, 0xa9, 0);
	assert_int_equal(plan(&p, FL_FORM_CALL, "\x67\xe8\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 1);
	assert_parks_on(&p, 0xa9, 1);
}

static void call_slot_becomes_one_call(void **state)
{
	struct fl_patch p;
	struct fl_insn i;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_CALL_POINTER, "\xff\x15\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_reaches_glue(&p, 1);
	assert_parks_on(&p, 0x67, 0);
	fl_arch_decode(&i, p.bytes[FL_ON], 6, p.at);
	assert_int_equal(i.len, 6);
	fl_arch_decode(&i, p.bytes[FL_OFF], 6, p.at);
	assert_int_equal(i.len, 6);
	/* Behind a prefix it is a byte longer. */
	assert_int_equal(plan(&p, FL_FORM_CALL_POINTER, "\x40\xff\x15\1\2\3\4", 7, 0),
			 FLE_UNKNOWN);
}

/* One byte changes, and what stands there then is as long and does as little; and back. */
static void assert_mute(int form, const void *old, size_t n, const void *off,
			uint16_t writes)
{
	unsigned char code[8];
	struct fl_insn i;
	uint8_t byte;
	int at = fl_arch_mute(form, old, &byte);

	memcpy(code, old, n);
	assert_in_range(at, 0, 1);
	code[at] = byte;
	assert_memory_equal(code, off, n);
	assert_true(fl_arch_mutes((enum fl_form)form));
	assert_int_equal(fl_arch_unmute(form, old, ((const uint8_t *)old)[at], &byte),
			 FLE_UNKNOWN);
	assert_int_equal(fl_arch_unmute(form, code, ((const uint8_t *)old)[at], &byte), at);
	fl_arch_decode(&i, code, n, 0x1000);
	code[at] = byte;
	assert_memory_equal(code, old, n);
	if (i.cls == FL_INSN_RET)
		return;
	assert_int_equal(i.len, n);
	assert_int_equal(i.writes & ~writes, 0);
	assert_true(i.cls == FL_INSN_OTHER || i.cls == FL_INSN_LOAD_ADDRESS);
}

static void a_call_is_off_for_good_by_one_byte(void **state)
{
	static const struct {
		int form;
		const char *code;
	} none[] = {
		{ FL_FORM_CALL, "\x67\xe9\1\2\3\4" }, { FL_FORM_CALL, "\xa9\1\2\3\4" },
		{ FL_FORM_CALL_POINTER, "\xff\x25\1\2\3\4" },
		{ FL_FORM_CALL_POINTER, "\x8d\x15" }, { FL_FORM_JUMP, "\xe8\1\2\3\4" },
		{ FL_FORM_JUMP_POINTER, "\xff\x15\1\2\3\4" },
		{ FL_FORM_PAD, "\x0f\x1f\x44\0\0" }, { FL_FORM_SLED, "\xeb\x09" },
		{ FL_FORM_NONE, "\xe8\1\2\3\4" },
	};
	uint8_t byte;

	(void)state;
	assert_mute(FL_FORM_CALL, "\xe8\1\2\3\4", 5, "\xa9\1\2\3\4", 0);
	assert_mute(FL_FORM_CALL, "\x67\xe8\1\2\3\4", 6, "\x67\xa9\1\2\3\4", 0);
	assert_mute(FL_FORM_CALL_POINTER, "\xff\x15\1\2\3\4", 6, "\x8d\x15\1\2\3\4", 1 << 2);
	assert_mute(FL_FORM_JUMP, "\xe9\1\2\3\4", 5, "\xc3\1\2\3\4", 0);
	assert_mute(FL_FORM_JUMP_POINTER, "\xff\x25\1\2\3\4", 6, "\xc3\x25\1\2\3\4", 0);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_int_equal(fl_arch_mute(none[i].form, (const void *)none[i].code, &byte),
				 FLE_UNKNOWN);
}

static void tail_jump_flips_to_ret(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_JUMP, "\xe9\1\2\3\4", 5, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_reaches_glue(&p, 0);
	assert_int_equal(plan(&p, FL_FORM_JUMP_POINTER, "\xff\x25\1\2\3\4", 6, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_parks_on(&p, 0xc3, 0);
	assert_int_equal(p.len, 6);		/* nobody else has its last byte */
}

/* What a plan is told of them, without a look at their instructions, is what a look tells. */
static void calls_are_known_without_a_look(void **state)
{
	static const struct { int form; const char *old; uint8_t n; } sites[] = {
		{ FL_FORM_CALL, "\xe8\1\2\3\4", 5 }, { FL_FORM_CALL, "\x67\xe8\1\2\3\4", 6 },
		{ FL_FORM_CALL_POINTER, "\xff\x15\1\2\3\4", 6 },
		{ FL_FORM_JUMP, "\xe9\1\2\3\4", 5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sites) * WORD; i++) {
		int form = sites[i / WORD].form;
		struct fl_move m[FL_ARCH_MOVES];
		struct fl_patch p, looked;

		assert_int_equal(plan_at(&p, AT + i % WORD, form, sites[i / WORD].old,
					 sites[i / WORD].n, 0), 0);
		looked = p;
		memset(looked.idle, 0, sizeof looked.idle);
		memset(looked.whole, 0, sizeof looked.whole);
		x86_note_stretches(&looked);
		assert_memory_equal(&looked, &p, sizeof p);
		assert_int_equal(p.starts, 1);
		assert_int_equal(p.rows, 0);
		for (int s = 0; s < FL_N_STATES * FL_N_STATES; s++)
			assert_in_range(fl_arch_moves(&p, s / FL_N_STATES, s % FL_N_STATES, m),
					0, 1);
	}
}

static void a_call_into_itself_is_looked_at(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_CALL, "\xe8\xfc\xff\xff\xff", 5, 0), 0);
	assert_int_equal(p.rows, FL_ROW);
}

static void pads_become_one_instruction(void **state)
{
	static const struct { const char *old; uint8_t n, len, rows; } pads[] = {
		{ "\x0f\x1f\x44\x00\x08", 5, 5, 0 },
		{ "\x90\x90\x90\x90\x90", 5, 5, FL_ROW },
		{ "\x90\x90\x90\x90\x90\x90\x90\x90", 8, 5, FL_ROW },
		{ "\x66\x90\x0f\x1f\x40\x00", 6, 6, FL_ROW },
		{ "\x66\x2e\x0f\x1f\x84\0\0\2\0\0", 10, 10, 0 },
	};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(pads); k++) {
		struct fl_patch p;
		struct fl_insn i;

		assert_int_equal(plan(&p, FL_FORM_PAD, pads[k].old, pads[k].n, 0), 0);
		assert_one_flip(&p, 0xe8, 0xa9);
		assert_int_equal(p.len, pads[k].len);
		assert_int_equal(p.rows, pads[k].rows);
		assert_int_equal(p.starts, 1);
		assert_reaches_glue(&p, p.len - 5u);
		fl_arch_decode(&i, p.bytes[FL_ON], p.len, p.at);
		assert_int_equal(i.len, p.len);
		fl_arch_decode(&i, p.bytes[FL_OFF], p.len, p.at);
		assert_int_equal(i.len, p.len);
	}
}

static void pad_before_jumps_back(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE,
			      "\x90\x90\x90\x90\x90\x90\x90\x66\x90", 9, 7), 0);
	assert_one_flip(&p, 0xeb, 0xa8);
	assert_int_equal(p.at, (uintptr_t)text + AT - 7);
	assert_int_equal(p.head_at, 7);
	assert_int_equal((signed char)p.bytes[FL_ON][8], -9);
	assert_reaches_glue(&p, 0);
	assert_int_equal(p.starts, 1 << 0 | 1 << 5 | 1 << 7);
	assert_int_equal(p.rows, FL_ROW_INSIDE);
	/* Nothing whole begins where the call returns to. */
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE,
			      "\x0f\x1f\x80\0\0\0\0\x66\x90", 9, 7), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE,
			      "\x0f\x1f\x44\0\0\x50\x58\x66\x90", 9, 7), FLE_NOSPACE);
}

static void sleds_keep_their_space(void **state)
{
	static const char sled[] = "\xeb\x09\x66\x0f\x1f\x84\0\0\2\0\0";
	static const char ret[] = "\xc3\x2e\x66\x0f\x1f\x84\0\0\2\0\0";
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_SLED, sled, 11, 0), 0);
	assert_one_flip(&p, 0xa8, 0xeb);
	assert_reaches_glue(&p, 6);
	assert_int_equal(p.starts, 1 << 0 | 1 << 2);
	assert_int_equal(p.rows, 0);
	assert_int_equal(plan(&p, FL_FORM_SLED_RET, ret, 11, 0), 0);
	assert_one_flip(&p, 0xe9, 0xc3);
	assert_reaches_glue(&p, 0);
}

static void returns_of_bodies_call_and_return(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_BODY_RET, "\xc3\x0f\x1f\x40\0\xc3", 6, 0), 0);
	assert_one_flip(&p, 0xe8, 0xc3);
	assert_reaches_glue(&p, 0);
	assert_int_equal(p.len, 5);
	assert_int_equal(p.starts, 1);
	assert_int_equal(p.rows, 0);
	assert_int_equal(plan(&p, FL_FORM_BODY_TAIL, "\x0f\x1f\x44\0\0", 5, 0), 0);
	assert_one_flip(&p, 0xe8, 0xa9);
	assert_int_equal(plan(&p, FL_FORM_BODY_SWITCH, "\x0f\x1f\0\xff\xe0", 5, 0), 0);
	assert_one_flip(&p, 0xeb, 0x0f);
	assert_int_equal(p.len, 3);
	assert_int_equal(p.starts, 1);
	assert_int_equal(plan(&p, FL_FORM_BODY_SWITCH, "\x0f\x1f\1\xff\xe0", 5, 0),
			 FLE_UNKNOWN);
	/* what the call returns to is a return */
	assert_int_equal(plan(&p, FL_FORM_BODY_RET, "\xc3\x0f\x1f\x40\0\x90", 6, 0),
			 FLE_UNKNOWN);
	assert_int_equal(plan(&p, FL_FORM_BODY_RET, "\xcc\x0f\x1f\x40\0\xc3", 6, 0),
			 FLE_UNKNOWN);
}

static void what_does_not_fit_is_refused(void **state)
{
	struct fl_patch p;
	struct fl_plan_in far = {
		.at = (uintptr_t)text, .form = FL_FORM_CALL, .room = 5,
		.glue = (uintptr_t)text + (1ull << 33),
	};
	uint64_t datum;

	(void)state;
	assert_int_equal(plan(&p, FL_FORM_PAD, "\x90\x90\x90\x90\xc3", 5, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD, "\x90\x90\x90", 3, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE, "\x90\x90\x90\x90\x90\x66\x90", 7, 5),
			 FLE_NOSPACE);
	/* no instruction has more than 15 bytes */
	assert_int_equal(plan(&p, FL_FORM_PAD, "\x0f\x1f\x40\0"
			      "\x66\x66\x66\x66\x0f\x1f\x84\0\0\0\0\0", 16, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_PAD_BEFORE, "\x90\x90\x90\x90\x90\x90\x90\x50\x58",
			      9, 7), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_SLED_RET, "\xc3\x90\x90\x90", 4, 0), FLE_NOSPACE);
	assert_int_equal(plan(&p, FL_FORM_NONE, "\x90", 1, 0), FLE_UNKNOWN);
	text[0] = 0xe8;
	assert_int_equal(fl_arch_plan(&p, &far, &datum), FLE_NOREACH);
	assert_int_equal(datum, far.glue);
}

/* ---- threads meanwhile --------------------------------------------------------- */

/* Every form there is, and each kind of bytes it may be found as. */
static const struct found {
	int form;
	uint8_t n, before;
	const char *old;
	bool straddles;		/* refused where a word begins at its second byte */
} found[] = {
	{ FL_FORM_CALL, 5, 0, "\xe8\1\2\3\4", false },
	{ FL_FORM_CALL, 6, 0, "\x67\xe8\1\2\3\4", false },
	{ FL_FORM_CALL_POINTER, 6, 0, "\xff\x15\1\2\3\4", false },
	{ FL_FORM_JUMP, 5, 0, "\xe9\1\2\3\4", false },
	{ FL_FORM_JUMP_POINTER, 6, 0, "\xff\x25\1\2\3\4", false },
	{ FL_FORM_PAD, 5, 0, "\x90\x90\x90\x90\x90", false },
	{ FL_FORM_PAD, 5, 0, "\x0f\x1f\x44\0\x08", false },
	{ FL_FORM_PAD, 6, 0, "\x66\x0f\x1f\x44\0\x08", false },
	{ FL_FORM_PAD, 6, 0, "\x66\x90\x0f\x1f\x40\0", true },
	{ FL_FORM_PAD, 7, 0, "\x0f\x1f\x80\0\2\0\0", true },
	{ FL_FORM_PAD, 8, 0, "\x0f\x1f\x84\0\0\2\0\0", true },
	{ FL_FORM_PAD, 9, 0, "\x66\x0f\x1f\x84\0\0\2\0\0", false },
	{ FL_FORM_PAD, 10, 0, "\x2e\x66\x0f\x1f\x84\0\0\2\0\0", false },
	{ FL_FORM_PAD, 13, 0, "\x66\x66\x66\x2e\x66\x0f\x1f\x84\0\0\2\0\0", false },
	{ FL_FORM_PAD, 15, 0,
	  "\x66\x66\x66\x66\x66\x2e\x66\x0f\x1f\x84\0\0\2\0\0", true },
	{ FL_FORM_PAD_BEFORE, 9, 7, "\x90\x90\x90\x90\x90\x90\x90\x66\x90", false },
	{ FL_FORM_PAD_BEFORE, 9, 7, "\x90\x90\x90\x90\x90\x90\x90\x90\x90", false },
	{ FL_FORM_SLED, 11, 0, "\xeb\x09\x66\x0f\x1f\x84\0\0\2\0\0", false },
	{ FL_FORM_SLED_RET, 11, 0, "\xc3\x2e\x66\x0f\x1f\x84\0\0\2\0\0", false },
	{ FL_FORM_BODY_RET, 6, 0, "\xc3\x0f\x1f\x40\0\xc3", false },
	{ FL_FORM_BODY_TAIL, 5, 0, "\x0f\x1f\x44\0\0", false },
	{ FL_FORM_BODY_SWITCH, 5, 0, "\x0f\x1f\0\xff\xe0", false },
	{ FL_FORM_BODY_POINT, 2, 0, "\xeb\x1d", false },
};

/* The bytes of a window in the middle of a change. */
struct scene {
	const struct fl_patch *p;
	int from, to;
	struct fl_move moves[FL_ARCH_MOVES];
	size_t n;
	unsigned char now[FL_ARCH_SITE_MAX];
	bool is_between;	/* two stores of one phase */
	bool holds;		/* who comes may be held until the last one */
};

/* Does it nothing that counts, whatever its operands? Where it goes on. */
static bool is_harmless(const struct scene *s, size_t at, const struct fl_insn *i)
{
	const unsigned char *code = s->now + at;
	bool was_slot = s->p->bytes[FL_OLD][0] == 0xff && s->p->bytes[FL_OLD][1] == 0x15;
	size_t op = 0;

	if (i->cls == FL_INSN_NOP || code[0] == 0xeb)
		return true;
	if (code[0] == 0xc3)
		return s->p->bytes[FL_OFF][at] == 0xc3;
	if (was_slot && code[0] == 0x67 && code[1] == 0x15)
		return true;
	while (code[op] == 0x67)
		op++;
	return code[op] == 0xa9 || code[op] == 0xa8;
}

/* What stands at `at` is harmless, or as it was, or as it is going to be. */
static void assert_whole(const struct scene *s, size_t at, const struct fl_insn *i)
{
	const unsigned char *old = s->p->bytes[s->from] + at, *new = s->p->bytes[s->to] + at;

	assert_in_range(i->len, 1, s->p->len - at);
	if (!is_harmless(s, at, i) && memcmp(s->now + at, old, i->len))
		assert_memory_equal(s->now + at, new, i->len);
}

/* A thread that stands at `at` gets out of the window, and does not go wrong. It may
 * go round until it sees the next store. */
static void walk(const struct scene *s, size_t at)
{
	/* an entry's old bytes are the first part of whatever the function has there */
	if (s->p->bytes[FL_OFF][0] == 0xe9 && !s->p->head_at &&
	    !memcmp(s->now, s->p->bytes[FL_OLD], s->p->len))
		return;
	for (int steps = 0; at < s->p->len; steps++) {
		if (steps == 12 && s->is_between)
			return;
		struct fl_insn i;

		fl_arch_decode(&i, s->now + at, s->p->len - at, s->p->at + at);
		assert_whole(s, at, &i);
		if (s->holds && s->now[at] == 0xeb && i.target == s->p->at + at)
			return;
		/* of SWITCH it leaves */
		if (s->now[at] == 0xeb && s->p->bytes[FL_ON][0] != 0xeb)
			assert_in_range(i.target - s->p->at, 0, s->p->len);
		if (i.cls == FL_INSN_RET || i.cls == FL_INSN_JUMP_POINTER ||
		    (i.cls == FL_INSN_JUMP && i.target - s->p->at > s->p->len))
			return;
		at = i.cls == FL_INSN_JUMP ? i.target - s->p->at : at + i.len;
		assert_in_range(steps, 0, 12);
	}
	assert_int_equal(at, s->p->len);
}

static void walk_all(const struct scene *s)
{
	for (size_t at = 0; at < s->p->len; at++)
		if (s->p->starts >> at & 1)
			walk(s, at);
}

static void put(struct scene *s, size_t at, const void *bytes, size_t n)
{
	if (n)
		assert_int_equal((s->p->at + at) / WORD, (s->p->at + at + n - 1) / WORD);
	memcpy(s->now + at, bytes, n);
}

static bool is_tail(const struct fl_move *m, size_t i)
{
	return m->park_bytes && i >= m->start && i < m->end &&
	       i - m->park_at >= m->park_bytes && i - m->head_at >= m->head_bytes;
}

/* Some bytes have been stored, others have not. */
static void tear(struct scene *s, unsigned mask)
{
	for (size_t k = 0; k < s->n; k++)
		for (size_t i = 0; i < s->p->len; i++)
			if (is_tail(&s->moves[k], i))
				s->now[i] = s->p->bytes[mask >> i & 1 ? s->to : s->from][i];
	walk_all(s);
}

/* One move after the other; a core may see any of them, and not the others. */
static void each_phase(struct scene *s)
{
	static const unsigned masks[] = {
		0x5555, 0xaaaa, 0x3333, 0xcccc, 0x0f0f, 0xf0f0, 0x00ff, 0xff00, 0xffff,
	};

	walk_all(s);
	for (size_t k = 0; k < s->n; k++, walk_all(s)) {
		const struct fl_move *m = &s->moves[k];

		s->is_between = k + 1 < s->n;
		if (m->early)
			put(s, m->head_at, s->p->bytes[s->to] + m->head_at, m->head_bytes);
		else
			put(s, m->park_at, m->park, m->park_bytes);
	}
	for (unsigned i = 0; i < 16; i++)
		tear(s, 1u << i);
	for (size_t i = 0; i < ARRAY_LEN(masks); i++)
		tear(s, masks[i]);
	for (size_t k = 0; k < s->n; k++, walk_all(s)) {
		const struct fl_move *m = &s->moves[s->n - 1 - k];

		s->is_between = k + 1 < s->n;
		put(s, m->head_at, s->p->bytes[s->to] + m->head_at, m->head_bytes);
	}
	assert_memory_equal(s->now, s->p->bytes[s->to], s->p->len);
}

static void change(const struct fl_patch *p, int from, int to, bool may_hold)
{
	struct scene s = { .p = p, .from = from, .to = to };

	int n = fl_arch_moves(p, from, to, s.moves);

	assert_in_range(n, memcmp(p->bytes[from], p->bytes[to], p->len) != 0, FL_ARCH_MOVES);
	s.n = (size_t)n;
	for (size_t k = 0; k < s.n; k++)
		s.holds |= s.moves[k].holds;
	assert_true(may_hold || !s.holds);
	memcpy(s.now, p->bytes[from], p->len);
	each_phase(&s);
}

/* Old bytes and `on` never follow one another where a window has several starts. */
static void change_all_ways(const struct fl_patch *p)
{
	for (int i = 0; i < FL_N_STATES * FL_N_STATES; i++) {
		int from = i / FL_N_STATES, to = i % FL_N_STATES;

		if (from != to && (p->starts == 1 || from == FL_OFF || to == FL_OFF))
			change(p, from, to, false);
	}
}

/* Nobody who stands in a window, came from it, or returns to it, ever meets half an
 * instruction: of any form, at any place, in any change. */
static void whoever_stands_inside_gets_out(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(found); k++)
		for (size_t at = AT; at < AT + 2 * WORD; at++) {
			const struct found *f = &found[k];
			struct fl_patch p;
			int err = plan_at(&p, at, f->form, f->old, f->n, f->before);

			if (f->form == FL_FORM_SLED && at % 2)
				continue;	/* they are aligned */
			assert_int_equal(err, f->straddles && at % WORD == WORD - 1
					 ? FLE_STRADDLE : 0);
			if (!err)
				change_all_ways(&p);
		}
}

/* Entries: several instructions, one that is longer than the jump, one that does nothing. */
static const char *const entries[] = {
	"\x55\x48\x89\xe5\x53", "\x48\x81\xec\0\1", "\x0f\x1f\x44\0\x08",
};

/* The jump is there, and goes away, under threads that stand at it, or are held before
 * it; it comes while nobody is among the instructions that it replaces. */
static void entries_of_bodies_come_and_go_as_a_whole(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(entries); k++)
		for (size_t at = AT; at < AT + WORD; at++) {
			bool straddles = at % WORD == WORD - 1 && k != 2;
			struct fl_move m[FL_ARCH_MOVES];
			struct fl_patch p;

			assert_int_equal(plan_at(&p, at, FL_FORM_BODY, entries[k], 5, 0), 0);
			assert_one_flip(&p, 0x10, 0x40);
			assert_int_equal(p.bytes[FL_ON][0], 0xe9);
			assert_int_equal(p.starts, 1);
			assert_int_equal(p.rows, k == 0 || straddles ? FL_ROW : 0);
			change(&p, FL_OFF, FL_ON, false);
			change(&p, FL_ON, FL_OFF, false);
			assert_int_equal(fl_arch_moves(&p, FL_OLD, FL_OFF, m), 1);
			if (straddles) {
				assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_OLD, m),
						 FLE_STRADDLE);
				continue;
			}
			change(&p, FL_OFF, FL_OLD, k != 2);
			change(&p, FL_ON, FL_OLD, k != 2);
			if (!p.rows)
				change(&p, FL_OLD, FL_OFF, k != 2);
		}
}

/* NOPs that lead to an entry, and its first instruction. */
static const struct before {
	uint8_t n, before;
	const char *old;
	uint16_t starts;
} befores[] = {
	{ 10, 7, "\x0f\x1f\x80\0\0\0\0\x48\x89\xf8", 1 | 1 << 7 },
	{ 7, 5, "\x0f\x1f\x44\0\0\x31\xc0", 1 | 1 << 5 },
	{ 16, 11, "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\xb8\1\2\3\4",
	  1 | 1 << 11 },
	{ 15, 12, "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x90\x48\x89\xf8",
	  1 | 1 << 11 | 1 << 12 },
	{ 13, 10, "\x66\x0f\x1f\x44\0\0\xf3\x0f\x1e\xfa\x48\x89\xf8",
	  1 | 1 << 6 | 1 << 10 },
};

static bool may_stand(const struct before *b, size_t at)
{
	return at % WORD != WORD - 1 && (at - b->before) % WORD != WORD - 1;
}

/* The jump stands before the entry, of which one instruction changes: others come to the
 * next one meanwhile, and through the NOPs. Nobody is held, nor sent round for long. */
static void entries_are_led_to_from_before(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(befores); k++)
		for (size_t at = AT; at < AT + WORD; at++) {
			const struct before *b = &befores[k];
			struct fl_patch p;
			int err = plan_at(&p, at, FL_FORM_BODY_BEFORE, b->old, b->n, b->before);

			assert_int_equal(err, may_stand(b, at) ? 0 : FLE_NOSPACE);
			if (err)
				continue;
			assert_one_flip(&p, p.bytes[FL_ON][1], p.bytes[FL_OFF][1]);
			assert_int_equal(p.flip_at, 1);
			assert_int_equal(p.len, b->n);
			assert_int_equal(p.head_at, b->before);
			assert_int_equal(p.starts, b->starts);
			assert_int_equal(p.rows, 0);
			assert_memory_equal(p.bytes[FL_ON] + b->before + 2,
					    b->old + b->before + 2, b->n - b->before - 2u);
			change_all_ways(&p);
		}
}

static void what_leads_to_no_entry_is_no_room_before_it(void **state)
{
	static const struct {
		struct before is;
		int err;
	} not[] = {
		{ { 8, 5, "\x90\x0f\x1f\x40\0\x48\x89\xf8", 0 }, FLE_CHANGED }, /* has less */
		{ { 9, 6, "\x0f\x1f\x44\0\0\xc3\x48\x89\xf8", 0 }, FLE_CHANGED }, /* leaves */
		{ { 9, 6, "\x0f\x1f\x84\0\0\0\x48\x89\xf8", 0 }, FLE_CHANGED }, /* overlaps */
		{ { 10, 7, "\xcc\x1f\x80\0\0\0\0\x48\x89\xf8", 0 }, FLE_CHANGED }, /* traps */
		{ { 8, 7, "\x0f\x1f\x80\0\0\0\0\x55", 0 }, FLE_NOSPACE }, /* one byte */
		{ { 17, 12, "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\x90\xb8\1\2\3\4", 0 },
		  FLE_NOSPACE },			/* it is too far */
		{ { 3, 0, "\x48\x89\xf8", 0 }, FLE_NOSPACE },
	};
	struct fl_patch p;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(not); k++)
		assert_int_equal(plan_at(&p, AT - AT % WORD, FL_FORM_BODY_BEFORE, not[k].is.old,
					 not[k].is.n, not[k].is.before), not[k].err);
}

static void ways_into_a_body_differ_in_one_byte(void **state)
{
	struct fl_plan_in in = {
		.at = (uintptr_t)text, .form = FL_FORM_BODY, .room = 5,
		.on = (uintptr_t)text + 5 + 0x1fff, .off = (uintptr_t)text + 5 + 0x2000,
	};
	struct fl_patch p;
	uint64_t datum;

	(void)state;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), FLE_NOREACH);
	in.off = in.on;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), FLE_NOREACH);
	in.off = in.on - 0xff;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), 0);
	in.room = 4;
	assert_int_equal(fl_arch_plan(&p, &in, &datum), FLE_NOSPACE);
}

/* Several instructions never become one in a store, nor one several. */
static void a_row_is_parked_in_one_word_too(void **state)
{
	struct fl_patch p;

	(void)state;
	assert_int_equal(plan_at(&p, AT - AT % WORD, FL_FORM_PAD,
				 "\x90\x90\x90\x90\x90", 5, 0), 0);
	assert_parks_on(&p, 0xa9, 0);
}

/* Flags that somebody reads are not passed by, and a caller's call is not left out. */
static void what_counts_holds_threads(void **state)
{
	unsigned char *at = text + AT;
	struct fl_move m[FL_ARCH_MOVES];
	struct fl_patch p;
	bool was_nop;

	(void)state;
	memcpy(at, "\xa9\1\1\1\1", 5);
	assert_int_equal(fl_arch_plan_insn(&p, (uintptr_t)at, "\xa9\2\2\2\2", 5), 0);
	assert_int_equal(fl_arch_moves(&p, FL_OFF, FL_ON, m), 1);
	assert_true(m[0].holds);
	memcpy(at, "\xe8\1\2\3\4", 5);
	assert_int_equal(fl_arch_plan_call(&p, (uintptr_t)at, (uintptr_t)glue, FL_FLAGS_LIVE,
					   &was_nop), 0);
	assert_int_equal(fl_arch_moves(&p, FL_OLD, FL_ON, m), 1);
	assert_true(m[0].holds);
}

/* What a call of ours returns to is behind the window, or its bytes lead on. */
static void no_call_returns_to_what_is_taken_away(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(found); k++) {
		const struct found *f = &found[k];
		struct fl_patch p;
		struct fl_insn i;

		assert_int_equal(plan(&p, f->form, f->old, f->n, f->before), 0);
		for (size_t at = 0; at < p.len; at++) {
			fl_arch_decode(&i, p.bytes[FL_ON] + at, p.len - at, p.at + at);
			if (p.starts >> at & 1 && i.cls == FL_INSN_CALL)
				assert_true(at + i.len == p.len ||
					    p.starts >> (at + i.len) & 1);
		}
	}
}

/* read(), say: who has named the call, and not made it, comes anew, where the jump leads. */
static void what_asks_the_kernel_becomes_a_jump(void **state)
{
	uint8_t to[FL_ARCH_SITE_MAX - 1];
	uintptr_t copy;
	struct fl_patch p;

	(void)state;
	for (size_t at = AT; at < AT + WORD; at++) {
		assert_int_equal(plan_at(&p, at, FL_FORM_ASK, "\xb8\0\0\0\0\x0f\x05\xc3", 8, 0),
				 0);
		assert_int_equal(p.len, 7);
		assert_int_equal(p.bytes[FL_ON][0], 0xe9);
		assert_memory_equal(p.bytes[FL_ON] + 5, "\x0f\x05", 2);
		assert_memory_equal(p.bytes[FL_ON], p.bytes[FL_OFF], 7);
		assert_reaches_glue(&p, 0);
		assert_true(p.rows & FL_ROW);
		assert_true(fl_arch_inner(&p, &copy, to));
		for (size_t k = 1; k < p.len; k++)
			assert_int_equal(to[k - 1] != 0, k == 5);
		assert_true(copy + to[4] == (uintptr_t)glue);
	}
	assert_int_equal(plan(&p, FL_FORM_ASK, "\xb8\1\0\0\0\x0f\x05", 7, 0), FLE_UNKNOWN);
	assert_int_equal(plan(&p, FL_FORM_ASK, "\xb8\0\0\0\0\x0f\x0b", 7, 0), FLE_UNKNOWN);
	assert_int_equal(plan(&p, FL_FORM_ASK, "\xb8\0\0\0\0\x0f", 6, 0), FLE_UNKNOWN);
}

/* ---- glue ---------------------------------------------------------------------- */

static void glue_loads_id_and_goes(void **state)
{
	static unsigned char out[FL_ARCH_GLUE_BYTES];
	static uintptr_t slot;
	struct fl_insn i;

	(void)state;
	assert_true(fl_arch_glue(out, (uintptr_t)out, 0x12345678, (uintptr_t)&slot, 0));
	assert_memory_equal(out, "\x41\xbb\x78\x56\x34\x12", 6);
	fl_arch_decode(&i, out + 6, 10, (uintptr_t)out + 6);
	assert_int_equal(i.cls, FL_INSN_JUMP_POINTER);
	assert_true(i.target == (uintptr_t)&slot);
	for (size_t k = 6u + i.len; k < sizeof out; k++)
		assert_int_equal(out[k], FL_ARCH_TRAP);
	assert_false(fl_arch_glue(out, 0, 1, (uintptr_t)1 << 40, 0));
}

static void glue_of_bodies_keeps_what_it_loads(void **state)
{
	static unsigned char out[FL_ARCH_GLUE_BYTES], plain[FL_ARCH_GLUE_BYTES];
	static uintptr_t slot;

	(void)state;
	assert_true(fl_arch_glue(out, (uintptr_t)out, 0x12345678, (uintptr_t)&slot,
				 FL_GLUE_KEEPS));
	assert_true(fl_arch_glue(plain, (uintptr_t)out + 2, 0x12345678, (uintptr_t)&slot, 0));
	assert_memory_equal(out, "\x41\x53", 2);	/* push %r11 */
	assert_memory_equal(out + 2, plain, sizeof out - 2);
	assert_false(fl_arch_glue(out, 0, 1, (uintptr_t)1 << 40, FL_GLUE_KEEPS));
}

static void late_glue_loads_its_id_from_data(void **state)
{
	static unsigned char out[FL_ARCH_GLUE_BYTES];
	static uintptr_t slot;
	static uint32_t id;
	struct fl_insn i;
	int32_t to;

	(void)state;
	assert_true(fl_arch_glue_late(out, (uintptr_t)out, (uintptr_t)&id, (uintptr_t)&slot));
	assert_memory_equal(out, "\x44\x8b\x1d", 3);
	memcpy(&to, out + 3, sizeof to);
	assert_true((uintptr_t)out + 7 + to == (uintptr_t)&id);
	fl_arch_decode(&i, out + 7, 9, (uintptr_t)out + 7);
	assert_int_equal(i.cls, FL_INSN_JUMP_POINTER);
	assert_true(i.target == (uintptr_t)&slot);
	assert_false(fl_arch_glue_late(out, 0, 0, (uintptr_t)1 << 40));
	assert_false(fl_arch_glue_late(out, 0, (uintptr_t)1 << 40, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_flips_to_test),
		cmocka_unit_test(a_call_is_off_for_good_by_one_byte),
		cmocka_unit_test(call_slot_becomes_one_call),
		cmocka_unit_test(tail_jump_flips_to_ret),
		cmocka_unit_test(calls_are_known_without_a_look),
		cmocka_unit_test(a_call_into_itself_is_looked_at),
		cmocka_unit_test(pads_become_one_instruction),
		cmocka_unit_test(pad_before_jumps_back),
		cmocka_unit_test(sleds_keep_their_space),
		cmocka_unit_test(returns_of_bodies_call_and_return),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(whoever_stands_inside_gets_out),
		cmocka_unit_test(no_call_returns_to_what_is_taken_away),
		cmocka_unit_test(entries_of_bodies_come_and_go_as_a_whole),
		cmocka_unit_test(entries_are_led_to_from_before),
		cmocka_unit_test(what_leads_to_no_entry_is_no_room_before_it),
		cmocka_unit_test(ways_into_a_body_differ_in_one_byte),
		cmocka_unit_test(a_row_is_parked_in_one_word_too),
		cmocka_unit_test(what_counts_holds_threads),
		cmocka_unit_test(what_asks_the_kernel_becomes_a_jump),
		cmocka_unit_test(glue_loads_id_and_goes),
		cmocka_unit_test(glue_of_bodies_keeps_what_it_loads),
		cmocka_unit_test(late_glue_loads_its_id_from_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
