/*
 * plan.c - which bytes a site holds when its probe is on and when it is off.
 *
 * Hides every opcode of the switch. Pure: it reads the site's bytes and writes
 * a plan; tests run it on any host. How arming gets there is in moves.c.
 *
 * Every switch is a flip: `on` and `off` differ in one byte, and both are
 * whole instructions of the same length, so no alignment can tear it (HW2).
 *
 *	form	    old			 off			on
 *	CALL	    call cyg		 test $glue,%eax	call glue
 *		    e8 ........		 a9 ........		e8 ........
 *	CALL_POINTER call *pointer	 test $glue,%eax	call glue
 *		    ff 15 ........	 67 a9 ........		67 e8 ........
 *	JUMP	    jmp cyg		 ret			jmp glue
 *		    e9 ........		 c3 ........		e9 ........
 *	JUMP_POINTER jmp *pointer	 ret			jmp glue
 *		    ff 25 ........	 c3 ........ ..		e9 ........ ..
 *	PAD	    nop(s)		 test $glue,%eax	call glue
 *		    0f 1f 44 00 00	 (67..) a9 ........	(67..) e8 ........
 *	PAD_BEFORE  nop(s) | nop(s)	 ... | test $-9,%al	call glue; jmp .+2 | jmp .-7
 *				   e8 ........ eb 02 | a8 f7	... | eb f7
 *	SLED	    jmp .+9; nop	 jmp .+9 | ...		test $9,%al | call glue
 *		    eb 09 | 66 0f 1f ... eb 09 | 67 67 67 67 e8 ........   a8 09 | ...
 *	SLED_RET    ret; nop		 ret			jmp glue
 *		    c3 ...		 c3 ........		e9 ........
 *	BODY	    any instructions	 jmp body		jmp call of glue
 *		    ..............	 e9 .. ......		e9 .. ......
 *	BODY_BEFORE nop | insn		 jmp body | jmp nop	jmp call of glue | jmp nop
 *		    0f 1f 80 ........	 e9 .. ...... eb ..	e9 .. ...... eb ..
 *	BODY_RET    ret; nop; ret	 ret			call glue; ret
 *		    c3 ........ c3	 c3 ........ c3		e8 ........ c3
 *	BODY_TAIL   nop			 test $glue,%eax	call glue
 *		    0f 1f 44 00 00	 a9 ........		e8 ........
 *	BODY_SWITCH nop			 nop			jmp .+33
 *		    0f 1f 00		 0f 1f 00		eb 1f 00
 *	BODY_POINT  jmp .+31		 jmp .+31		jmp .+2 (call glue, ...)
 *		    eb 1d		 eb 1d			eb 00
 *	ASK	    mov $number,%eax; syscall			jmp glue; (syscall)
 *		    b8 ........ 0f 05	 as on			e9 ........ 0f 05
 *
 * The two ways of a BODY lie where their displacements differ in the low byte. Exit and
 * tail are places in the body, which is flick's own; a return's last byte never changes.
 * Behind a SWITCH stands the jump that goes on in the original, and at .+33 its look-up.
 *
 * A call that the recorder does not want is muted: one byte of `old` switches it off
 * (fl_arch_mute), until a second session may want the call (fl_arch_unmute):
 *
 *	CALL	    e8 ........		 a9 ........	test $...,%eax
 *	CALL_POINTER ff 15 ........	 8d 15 ........	lea pointer(%rip),%edx
 *	JUMP	    e9 ........		 c3 ........	ret
 *	JUMP_POINTER ff 25 ........	 c3 25 ........	ret
 *
 * The flags that `test` writes are dead at a call, at a function's entry and
 * at a jump that leaves the function; so is %rdx at a call of two arguments. A tail
 * jump's `ret` returns to where the profiling function would have returned.
 *
 * No thread comes to the bytes of `old` behind the jump of BODY, and no branch leads back to
 * them: the code that copies the function sees to that. BODY_BEFORE serves where branches lead
 * to what stands behind the first instruction. It changes the first instruction alone, by one
 * store, to a jump that leads to the NOPs before it. A `|` is a start (arch.h): a thread may
 * stand there long after the probe is off, or be due to return there out of the glue. Where a
 * form can choose, its call ends where the window does: so the call returns to bytes that never
 * change.
 */
#include "arch/arch.h"
#include "emit.h"

const char *const fl_tactic_names[FL_N_TACTICS] = { "flip", "word", "line", "wide" };

/* Plan one instruction of `p->len` bytes: a call or a test, behind prefixes without effect. */
static int put_call(struct fl_patch *p, const struct fl_plan_in *in)
{
	size_t op = p->len - 5u;

	p->flip_at = op;
	__builtin_memset(p->bytes[FL_ON], X86_ADDR32, op);
	__builtin_memset(p->bytes[FL_OFF], X86_ADDR32, op);
	if (!x86_branch(p->bytes[FL_ON] + op, X86_CALL, in->at + op, in->glue))
		return FLE_NOREACH;
	x86_branch(p->bytes[FL_OFF] + op, X86_TEST_EAX, in->at + op, in->glue);
	return 0;
}

static int plan_call(struct fl_patch *p, const struct fl_plan_in *in)
{
	size_t op = p->bytes[FL_OLD][0] == X86_CALL ? 0 : 1;

	if (p->bytes[FL_OLD][op] != X86_CALL || (op && p->bytes[FL_OLD][0] != X86_ADDR32))
		return FLE_UNKNOWN;
	p->len = op + 5;
	return put_call(p, in);
}

static int plan_call_pointer(struct fl_patch *p, const struct fl_plan_in *in)
{
	if (p->bytes[FL_OLD][0] != 0xff || p->bytes[FL_OLD][1] != X86_POINTER)
		return FLE_UNKNOWN;		/* with a prefix the call is longer */
	p->len = 6;
	return put_call(p, in);
}

/* JUMP, JUMP_SLOT and SLED_RET: nothing runs behind a `ret`. */
static int plan_ret(struct fl_patch *p, const struct fl_plan_in *in, size_t len)
{
	p->len = len;
	__builtin_memcpy(p->bytes[FL_ON], p->bytes[FL_OLD], len);
	__builtin_memcpy(p->bytes[FL_OFF], p->bytes[FL_OLD], len);
	if (!x86_branch(p->bytes[FL_ON], X86_JMP, in->at, in->glue))
		return FLE_NOREACH;
	x86_branch(p->bytes[FL_OFF], X86_RET, in->at, in->glue);
	return 0;
}

/* Both jumps of a body's entry. Threads may not pass it: the body does what `old` does. */
static int put_ways(struct fl_patch *p, const struct fl_plan_in *in)
{
	uint8_t *on = p->bytes[FL_ON], *off = p->bytes[FL_OFF];

	p->flip_at = 1;
	p->may_pass = 0;
	if (!x86_branch(on, X86_JMP, p->at, in->on) ||
	    !x86_branch(off, X86_JMP, p->at, in->off) || on[1] == off[1] ||
	    __builtin_memcmp(on + 2, off + 2, 3))
		return FLE_NOREACH;
	return 0;
}

static int plan_body(struct fl_patch *p, const struct fl_plan_in *in)
{
	p->len = 5;
	__builtin_memcpy(p->copies, in->copies, sizeof p->copies);
	return in->room < p->len ? FLE_NOSPACE : put_ways(p, in);
}

static bool is_in_word(uintptr_t at, size_t n)
{
	enum { WORD = 8 };

	return at % WORD + n <= WORD;
}

/* The window is NOPs that lead to the entry, the first of which has room for the jump; and the
 * entry's first instruction, which becomes another one by one store. A thread that comes
 * through the NOPs may stand before any of them. */
static int plan_body_before(struct fl_patch *p, const struct fl_plan_in *in)
{
	enum { JUMP8 = FL_ARCH_PAD_JUMP_BYTES };
	uint8_t *old = p->bytes[FL_OLD], *off = p->bytes[FL_OFF];
	size_t at = 0, most = FL_ARCH_SITE_MAX - in->before;
	struct fl_insn i;

	for (; at < in->before; at += i.len) {
		fl_arch_decode(&i, old + at, in->before - at, p->at + at);
		if (!i.len || (!at && i.len < FL_ARCH_PAD_BYTES) ||
		    (i.cls != FL_INSN_NOP && !fl_arch_landing(old + at, in->before - at)))
			return FLE_CHANGED;
		p->starts |= (uint16_t)(1u << at);
	}
	fl_arch_decode(&i, old + at, in->room < most ? in->room : most, in->at);
	if (!at || i.len < JUMP8 || !is_in_word(in->at, JUMP8) || !is_in_word(p->at, JUMP8))
		return FLE_NOSPACE;
	p->len = (uint8_t)(at + i.len);
	p->head_at = in->before;
	__builtin_memcpy(off, old, p->len);
	off[at] = X86_JMP8;
	off[at + 1] = (unsigned char)-(at + JUMP8);
	__builtin_memcpy(p->bytes[FL_ON], off, p->len);
	return put_ways(p, in);
}

static int plan_body_ret(struct fl_patch *p, const struct fl_plan_in *in)
{
	const uint8_t *old = p->bytes[FL_OLD];

	if (in->room < 5 || old[0] != X86_RET || old[5] != X86_RET)
		return FLE_UNKNOWN;
	p->len = 5;
	if (!x86_branch(p->bytes[FL_ON], X86_CALL, in->at, in->glue))
		return FLE_NOREACH;
	x86_branch(p->bytes[FL_OFF], X86_RET, in->at, in->glue);
	return 0;
}

/* The first instruction leads to where the glue is called, once it is a jump, or a shorter
 * one. */
static int plan_leap(struct fl_patch *p, const struct fl_plan_in *in, uint8_t len,
		     const unsigned char states[FL_N_STATES][3])
{
	p->len = len;
	if (in->room < len || __builtin_memcmp(p->bytes[FL_OLD], states[FL_OLD], len))
		return FLE_UNKNOWN;
	__builtin_memcpy(p->bytes[FL_OFF], states[FL_OFF], len);
	__builtin_memcpy(p->bytes[FL_ON], states[FL_ON], len);
	p->flip_at = states[FL_OFF][0] == states[FL_ON][0];
	return 0;
}

static const unsigned char leap_switch[FL_N_STATES][3] = {
	[FL_OLD] = { 0x0f, FL_ARCH_SWITCH_BYTES - 2, 0x00 },
	[FL_OFF] = { 0x0f, FL_ARCH_SWITCH_BYTES - 2, 0x00 },
	[FL_ON] = { X86_JMP8, FL_ARCH_SWITCH_BYTES - 2, 0x00 },
};
static const unsigned char leap_point[FL_N_STATES][3] = {
	[FL_OLD] = { X86_JMP8, 29 }, [FL_OFF] = { X86_JMP8, 29 }, [FL_ON] = { X86_JMP8, 0 },
};

/* Bytes of the NOPs from `from` on that cover `need`; 0 when the room holds something
 * else. */
static size_t cover_nops(const struct fl_patch *p, size_t from, size_t need, size_t room)
{
	struct fl_insn i;
	size_t n = 0;

	while (n < need) {
		fl_arch_decode(&i, p->bytes[FL_OLD] + from + n, room - n,
			       p->at + from + n);
		if (!i.len || i.cls != FL_INSN_NOP || n + i.len > room)
			return 0;
		n += i.len;
	}
	return n;
}

static int plan_pad(struct fl_patch *p, const struct fl_plan_in *in)
{
	size_t n = cover_nops(p, 0, 5, in->room);

	if (n < 5 || n > FL_ARCH_SITE_MAX - 1)	/* 15: the longest instruction */
		return FLE_NOSPACE;
	p->len = n;
	return put_call(p, in);
}

/* The bytes before the entry hold `call glue; jmp entry + 2`; nothing falls into
 * them. The call returns into them: NOPs that begin there must lead on, too. */
enum { BEFORE = 7, BEFORE_CALL = 5 };

static int plan_pad_before(struct fl_patch *p, const struct fl_plan_in *in)
{
	static const unsigned char back[2] = { X86_JMP8, 0x02 };
	unsigned char *on = p->bytes[FL_ON];

	if (in->before < BEFORE || in->room < 2)
		return FLE_NOSPACE;
	if (cover_nops(p, BEFORE, 2, in->room) != 2 ||
	    cover_nops(p, 0, BEFORE_CALL, BEFORE_CALL) != BEFORE_CALL ||
	    cover_nops(p, BEFORE_CALL, 2, 2) != 2)
		return FLE_NOSPACE;
	p->len = BEFORE + 2;
	p->flip_at = p->head_at = BEFORE;
	if (!x86_branch(on, X86_CALL, p->at, in->glue))
		return FLE_NOREACH;
	__builtin_memcpy(on + BEFORE_CALL, back, 2);
	on[BEFORE] = X86_JMP8;
	on[BEFORE + 1] = (unsigned char)-(BEFORE + 2);
	__builtin_memcpy(p->bytes[FL_OFF], on, p->len);
	p->bytes[FL_OFF][BEFORE] = X86_TEST_AL;
	return 0;
}

static int plan_sled(struct fl_patch *p, const struct fl_plan_in *in)
{
	enum { SPACE = FL_ARCH_SLED_BYTES - 2, CALL_AT = FL_ARCH_SLED_BYTES - 5 };
	unsigned char *on = p->bytes[FL_ON];

	p->len = FL_ARCH_SLED_BYTES;
	on[0] = X86_TEST_AL;
	on[1] = SPACE;
	__builtin_memset(on + 2, X86_ADDR32, CALL_AT - 2);
	if (!x86_branch(on + CALL_AT, X86_CALL, in->at + CALL_AT, in->glue))
		return FLE_NOREACH;
	__builtin_memcpy(p->bytes[FL_OFF], on, p->len);
	p->bytes[FL_OFF][0] = X86_JMP8;
	return 0;
}

/* No thread comes to the `syscall` that is left: a thread that has named the call comes anew
 * (moves.c). */
static int plan_ask(struct fl_patch *p, const struct fl_plan_in *in)
{
	uint8_t asks[X86_ASK_BYTES] = { X86_MOV_EAX, 0, 0, 0, 0, 0x0f, 0x05 };

	__builtin_memcpy(asks + 1, &in->probe, sizeof in->probe);
	p->len = sizeof asks;
	p->may_pass = 0;
	if (in->room < p->len || __builtin_memcmp(p->bytes[FL_OLD], asks, p->len))
		return FLE_UNKNOWN;
	if (!x86_branch(asks, X86_JMP, in->at, in->glue))
		return FLE_NOREACH;
	__builtin_memcpy(p->bytes[FL_OFF], asks, p->len);
	__builtin_memcpy(p->bytes[FL_ON], asks, p->len);
	return 0;
}

static int plan_form(struct fl_patch *p, const struct fl_plan_in *in)
{
	switch (in->form) {
	case FL_FORM_CALL:
		return plan_call(p, in);
	case FL_FORM_CALL_POINTER:
		return plan_call_pointer(p, in);
	case FL_FORM_JUMP:
		return plan_ret(p, in, 5);
	case FL_FORM_JUMP_POINTER:
		return plan_ret(p, in, 6);
	case FL_FORM_PAD:
		return plan_pad(p, in);
	case FL_FORM_PAD_BEFORE:
		return plan_pad_before(p, in);
	case FL_FORM_SLED:
		return plan_sled(p, in);
	case FL_FORM_SLED_RET:
		return in->room < 5 ? FLE_NOSPACE : plan_ret(p, in, 5);
	case FL_FORM_BODY:
		return plan_body(p, in);
	case FL_FORM_BODY_BEFORE:
		return plan_body_before(p, in);
	case FL_FORM_BODY_RET:
		return plan_body_ret(p, in);
	case FL_FORM_BODY_TAIL:
		return plan_pad(p, in);
	case FL_FORM_BODY_SWITCH:
		return plan_leap(p, in, 3, leap_switch);
	case FL_FORM_BODY_POINT:
		return plan_leap(p, in, 2, leap_point);
	case FL_FORM_ASK:
		return plan_ask(p, in);
	case FL_FORM_NONE:
		break;
	}
	return FLE_UNKNOWN;
}

void x86_look(struct fl_insn *i, const unsigned char *code, size_t n, uintptr_t at)
{
	int32_t away;

	if (n < 5 || (code[0] != X86_CALL && code[0] != X86_TEST_EAX)) {
		fl_arch_decode(i, code, n, at);
		return;
	}
	__builtin_memcpy(&away, code + 1, sizeof away);
	*i = (struct fl_insn){ .len = 5 };
	if (code[0] == X86_CALL) {
		i->cls = FL_INSN_CALL;
		i->target = at + 5 + (uintptr_t)(intptr_t)away;
	}
}

/* Where may a thread come to stand that enters state `s` at `from`? */
static uint16_t starts_of(const struct fl_patch *p, int s, size_t from)
{
	enum { BEHIND = 32 };		/* so much is decoded without a copy */
	unsigned char code[FL_ARCH_SITE_MAX + BEHIND] = { 0 };
	uint32_t seen = 0, open = 1u << from;
	struct fl_insn i;

	__builtin_memcpy(code, p->bytes[s], FL_ARCH_SITE_MAX);
	while (open) {
		size_t at = (size_t)__builtin_ctz(open);

		x86_look(&i, code + at, BEHIND, p->at + at);
		if (i.len > p->len - at)
			i = (struct fl_insn){ 0 };
		seen |= 1u << at;
		if (i.cls != FL_INSN_JUMP && i.cls != FL_INSN_RET &&
		    i.cls != FL_INSN_JUMP_POINTER)
			open |= 1u << (at + i.len);
		if (i.target - p->at < p->len)
			open |= 1u << (i.target - p->at);
		open &= ~seen & ((1u << p->len) - 1);
	}
	return (uint16_t)seen;
}

static void find_starts(struct fl_patch *p)
{
	uint16_t rest;

	p->starts |= starts_of(p, FL_OFF, p->head_at) | starts_of(p, FL_ON, p->head_at);
	if (starts_of(p, FL_OLD, p->head_at) & ~p->starts)
		p->rows |= FL_ROW;
	rest = p->starts & (uint16_t)~(1u << p->head_at);
	for (; rest; rest &= rest - 1)
		if (starts_of(p, FL_OLD, (size_t)__builtin_ctz(rest)) & ~p->starts)
			p->rows |= FL_ROW_INSIDE;
	x86_note_stretches(p);
}

/* Does the branch that ends state `s` of the window lead into it? */
static bool leads_inside(const struct fl_patch *p, int s)
{
	uint32_t away;

	__builtin_memcpy(&away, p->bytes[s] + p->len - sizeof away, sizeof away);
	return away + p->len < p->len;
}

/* A profiling call, or a jump to one, is one instruction in each state: nobody comes to stand
 * behind its first byte. So what find_starts() would find is known, and that no change of it
 * can fail: a call parks on `test` or `adc`, a jump on `ret`. They are nearly all sites there
 * are, and to look at each takes three quarters of its plan. */
static bool is_plain(const struct fl_patch *p, enum fl_form form)
{
	return (form == FL_FORM_CALL || form == FL_FORM_CALL_POINTER ||
		form == FL_FORM_JUMP) &&
	       !leads_inside(p, FL_OLD) && !leads_inside(p, FL_ON);
}

static void note_plain(struct fl_patch *p, enum fl_form form)
{
	p->starts = 1;
	p->idle[FL_OFF] = form != FL_FORM_JUMP;
	for (int s = 0; s < FL_N_STATES; s++)
		p->whole[s] = 1;
}

/* Can the place be armed, and put back, though threads run? What holds for `off` holds
 * for `on`, and for both ways. The entry of a body, and an ASK, are rows where they cannot be
 * put back so: threads are held then. */
static int check_moves(struct fl_patch *p, enum fl_form form)
{
	struct fl_move m[FL_ARCH_MOVES];
	int n = fl_arch_moves(p, FL_OFF, FL_OLD, m);

	if (n < 0 && (form == FL_FORM_BODY || form == FL_FORM_ASK)) {
		p->rows |= FL_ROW;
		return 0;
	}
	return n < 0 ? n : 0;
}

static int follow_moves(struct fl_patch *p, enum fl_form form)
{
	if (is_plain(p, form)) {
		note_plain(p, form);
		return 0;
	}
	find_starts(p);
	return check_moves(p, form);
}

static void start_plan(struct fl_patch *p, uintptr_t at)
{
	__builtin_memset(p, 0, sizeof *p);
	p->at = at;
	p->tactic = FL_FLIP;
	p->flip_bytes = 1;
	p->may_pass = p->flags_dead = 1;
}

int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *in, uint64_t *datum)
{
	size_t before = in->form == FL_FORM_PAD_BEFORE ? BEFORE :
			in->form == FL_FORM_BODY_BEFORE ? in->before : 0;
	size_t room = in->room + before;
	int err;

	room += in->form == FL_FORM_BODY_RET;	/* the return behind it */
	start_plan(p, in->at - before);
	if (in->form == FL_FORM_PAD_BEFORE && in->before < BEFORE) {
		*datum = in->before;
		return FLE_NOSPACE;
	}
	__builtin_memcpy(p->bytes[FL_OLD], (const void *)p->at,
			 room < FL_ARCH_SITE_MAX ? room : FL_ARCH_SITE_MAX);
	err = plan_form(p, in);
	if (!err)
		err = follow_moves(p, in->form);
	fl_patch_note_flip(p);
	*datum = err == FLE_NOREACH ? in->glue : in->room;
	return err;
}

/* A call becomes an instruction that changes only what is dead at a call; a jump becomes a
 * return. One byte differs; `behind` is the byte after it, 0 where any may stand. */
static const struct muted {
	fl_unit calls, is_off, behind;
} muted[FL_FORM_NONE + 1] = {
	[FL_FORM_CALL] = { X86_CALL, X86_TEST_EAX, 0 },
	[FL_FORM_CALL_POINTER] = { 0xff, X86_LEA, X86_POINTER },
	[FL_FORM_JUMP] = { X86_JMP, X86_RET, 0 },
	[FL_FORM_JUMP_POINTER] = { 0xff, X86_RET, 0x25 },
};

/* How far into the site that byte is, if it is `now`; else FLE_UNKNOWN. */
static int find_muted(enum fl_form form, const unsigned char *code, fl_unit now)
{
	const struct muted *m = &muted[form];
	int at = form == FL_FORM_CALL && code[0] == X86_ADDR32;
	bool is_it = m->calls && code[at] == now && (!m->behind || code[at + 1] == m->behind);

	return is_it ? at : FLE_UNKNOWN;
}

int fl_arch_mute(enum fl_form form, const unsigned char *code, fl_unit *to)
{
	*to = muted[form].is_off;
	return find_muted(form, code, muted[form].calls);
}

int fl_arch_unmute(enum fl_form form, const unsigned char *code, fl_unit was, fl_unit *to)
{
	*to = was;
	return find_muted(form, code, muted[form].is_off);
}

bool fl_arch_mutes(enum fl_form form)
{
	return muted[form].calls;
}

/* 0: each site's branch is a call, or leaves the function. */
uintptr_t fl_arch_back(enum fl_form form, uintptr_t at)
{
	(void)form, (void)at;
	return 0;
}
