/*
 * plan.c - which word a site holds when its probe is on and when it is off.
 *
 * Hides every opcode of the switch. Pure: it reads the site's word and writes a plan;
 * tests run it on any host.
 *
 * Every instruction is one aligned word. Old, off and on are all among the instructions that
 * may replace one another while cores execute them (emit.h, HW2). So arming, a switch, and
 * the way back are one store each; nobody waits, and no thread stands inside.
 *
 *	form	    old		off		on
 *	CALL	    bl cyg	nop		bl glue
 *	JUMP	    b cyg	b ret		b glue		a return in the glue's last word
 *	PAD	    nop		nop		b glue		which goes on behind the nop
 *	SLED	    b .+32	b .+32		b glue		which goes on behind the sled
 *	SLED_RET    ret		b ret		b glue		armed where no thread runs
 *	BODY	    any		b body		b call of glue	armed where no thread runs
 *	BODY_TAIL   b .+16	b .+16		nop		a call of glue is behind it
 *	BODY_SWITCH nop		nop		b .+8		to its look-up
 *	BODY_POINT  b .+40	b .+40		nop		a call of glue is behind it
 *
 * A pad or sled has a jump in place of a call: bl would lose the way back of the function,
 * x30, and an instruction that saves x30 may not be exchanged. So one NOP is enough; the glue
 * is the site's own and knows where it goes on (fl_arch_back()). XRay's sleds at exits stand
 * before the return, and are like those at entries. XRay itself stores STP over the B, and no
 * processor promises what happens then; flick never does so. Calls through a register
 * (-fno-plt) are BLR, which may not be exchanged: these calls stay. In a body there is no
 * BODY_RET: a return may not be exchanged, and has a TAIL before it.
 *
 * A call that the recorder does not want is muted (fl_arch_mute): bl cyg becomes nop. The
 * caller of fl_arch_mute() keeps the old word, because a nop holds no address. A jump cannot
 * be muted: it would need a return to lead to.
 */
#include "arch/arch.h"
#include "emit.h"
#include "glue.h"

const char *const fl_tactic_names[FL_N_TACTICS] = { "flip", "word", "line", "wide" };

enum { WORD = sizeof(fl_unit) };

static uint32_t word_in(const struct fl_patch *p, int state)
{
	uint32_t w;

	__builtin_memcpy(&w, p->bytes[state], WORD);
	return w;
}

static void set_word(struct fl_patch *p, int state, uint32_t w)
{
	__builtin_memcpy(p->bytes[state], &w, WORD);
}

static bool is_bl(uint32_t w)
{
	return (w & 0xfc000000) == 0x94000000;
}

static bool is_b(uint32_t w)
{
	return (w & 0xfc000000) == 0x14000000;
}

/* The word becomes `off`, or a branch to the glue. */
static int plan_words(struct fl_patch *p, uintptr_t glue, uint32_t off, enum a64_direct branch)
{
	uint32_t on;

	if (!a64_branch(&on, branch, p->at, glue))
		return FLE_NOREACH;
	set_word(p, FL_OFF, off);
	set_word(p, FL_ON, on);
	return 0;
}

/* When it is off it leads to a return, because nothing runs behind it. */
static int plan_leaving(struct fl_patch *p, const struct fl_plan_in *in)
{
	uint32_t leave;

	if (!a64_branch(&leave, A64_W_B, p->at, in->glue + A64_GLUE_RET))
		return FLE_NOREACH;
	return plan_words(p, in->glue, leave, A64_W_B);
}

/* 0: the word is what the form needs. */
static int check_form(enum fl_form form, uint32_t old)
{
	switch (form) {
	case FL_FORM_CALL:
		return is_bl(old) ? 0 : FLE_UNKNOWN;
	case FL_FORM_JUMP: case FL_FORM_SLED:
		return is_b(old) ? 0 : FLE_UNKNOWN;
	case FL_FORM_SLED_RET:
		return old == A64_W_RET ? 0 : FLE_UNKNOWN;
	case FL_FORM_PAD:
		return old == A64_W_NOP ? 0 : FLE_NOSPACE;
	case FL_FORM_PAD_BEFORE: case FL_FORM_BODY_BEFORE:
		return FLE_NOSPACE;
	case FL_FORM_CALL_POINTER: case FL_FORM_JUMP_POINTER:
		return FLE_EXCHANGE;
	case FL_FORM_BODY:
		return 0;
	case FL_FORM_BODY_TAIL:
		return old == A64_W_PAST_CALL ? 0 : FLE_UNKNOWN;
	case FL_FORM_BODY_SWITCH:
		return old == A64_W_NOP ? 0 : FLE_UNKNOWN;
	case FL_FORM_BODY_POINT:
		return old == A64_W_PAST_POINT ? 0 : FLE_UNKNOWN;
	case FL_FORM_BODY_RET:
		return FLE_NOPORT;
	case FL_FORM_NONE: case FL_FORM_ASK:
		break;
	}
	return FLE_UNKNOWN;
}

/* Both jumps of a body's entry. */
static int plan_body(struct fl_patch *p, const struct fl_plan_in *in, uint32_t old)
{
	uint32_t off;

	p->may_pass = 0;
	p->rows = a64_is_exchangeable(old) ? 0 : FL_ROW;
	if (!a64_branch(&off, A64_W_B, p->at, in->off))
		return FLE_NOREACH;
	return plan_words(p, in->on, off, A64_W_B);
}

static int plan_form(struct fl_patch *p, const struct fl_plan_in *in)
{
	uint32_t old = word_in(p, FL_OLD);
	int err = check_form(in->form, old);

	if (err)
		return err;
	switch (in->form) {
	case FL_FORM_CALL:
		return plan_words(p, in->glue, A64_W_NOP, A64_W_BL);
	case FL_FORM_SLED_RET:
		p->rows = FL_ROW;
		return plan_leaving(p, in);
	case FL_FORM_JUMP:
		return plan_leaving(p, in);
	case FL_FORM_BODY:
		return plan_body(p, in, old);
	case FL_FORM_BODY_TAIL: case FL_FORM_BODY_SWITCH: case FL_FORM_BODY_POINT:
		set_word(p, FL_OFF, old);
		set_word(p, FL_ON, old == A64_W_NOP ? A64_W_PAST_NEXT : A64_W_NOP);
		return 0;
	default:
		return plan_words(p, in->glue, old, A64_W_B);
	}
}

static void start_plan(struct fl_patch *p, uintptr_t at)
{
	*p = (struct fl_patch){
		.at = at, .len = WORD, .tactic = FL_FLIP, .flip_bytes = WORD, .starts = 1,
		.may_pass = 1, .flags_dead = 1,
	};
	for (int state = 0; state < FL_N_STATES; state++)
		p->whole[state] = 1;
}

int fl_arch_plan(struct fl_patch *p, const struct fl_plan_in *in, uint64_t *datum)
{
	int err;

	start_plan(p, in->at);
	*datum = in->room;
	if (in->at % WORD || in->room < WORD)
		return FLE_NOSPACE;
	__builtin_memcpy(p->bytes[FL_OLD], (const void *)in->at, WORD);
	err = plan_form(p, in);
	if (err == FLE_NOREACH)
		*datum = in->glue;
	fl_patch_note_flip(p);
	return err;
}

uintptr_t fl_arch_back(enum fl_form form, uintptr_t at)
{
	switch (form) {
	case FL_FORM_PAD:
		return at + WORD;
	case FL_FORM_SLED:
		return at + FL_ARCH_SLED_BYTES;
	default:
		return 0;
	}
}

bool fl_arch_mutes(enum fl_form form)
{
	return form == FL_FORM_CALL;
}

static uint32_t read_word(const unsigned char *code)
{
	uint32_t w;

	__builtin_memcpy(&w, code, WORD);
	return w;
}

int fl_arch_mute(enum fl_form form, const unsigned char *code, fl_unit *to)
{
	*to = A64_W_NOP;
	return form == FL_FORM_CALL && is_bl(read_word(code)) ? 0 : FLE_UNKNOWN;
}

int fl_arch_unmute(enum fl_form form, const unsigned char *code, fl_unit was, fl_unit *to)
{
	*to = was;
	if (form != FL_FORM_CALL || read_word(code) != A64_W_NOP || !is_bl(was))
		return FLE_UNKNOWN;
	return 0;
}

int fl_arch_plan_insn(struct fl_patch *p, uintptr_t at, const void *on, size_t n)
{
	if (n != WORD || at % WORD)
		return FLE_INSN;
	start_plan(p, at);
	p->may_pass = p->flags_dead = 0;
	set_word(p, FL_OLD, read_word((const void *)at));
	set_word(p, FL_OFF, read_word((const void *)at));
	set_word(p, FL_ON, read_word(on));
	fl_patch_note_flip(p);
	return a64_is_exchangeable(word_in(p, FL_OFF)) &&
	       a64_is_exchangeable(word_in(p, FL_ON)) ? 0 : FLE_EXCHANGE;
}

int fl_arch_plan_call(struct fl_patch *p, uintptr_t at, uintptr_t target,
		      enum fl_flags flags, bool *was_nop)
{
	uint32_t on, old;

	(void)flags;				/* neither bl nor nop touches them */
	if (at % WORD)
		return FLE_UNKNOWN;
	old = read_word((const void *)at);
	*was_nop = old == A64_W_NOP;
	if (!*was_nop && !is_bl(old))
		return FLE_UNKNOWN;
	if (!a64_branch(&on, A64_W_BL, at, target))
		return FLE_NOREACH;
	start_plan(p, at);
	p->may_pass = *was_nop;			/* a call must not be skipped */
	set_word(p, FL_OLD, old);
	set_word(p, FL_OFF, A64_W_NOP);
	set_word(p, FL_ON, on);
	fl_patch_note_flip(p);
	return 0;
}

/* One store of the word. Where the new word may not replace the old one while cores run, no
 * thread may run meanwhile; such an old word does not come back. */
int fl_arch_moves(const struct fl_patch *p, int from, int to,
		  struct fl_move moves[FL_ARCH_MOVES])
{
	if (word_in(p, from) == word_in(p, to))
		return 0;
	moves[0] = (struct fl_move){ .end = WORD, .head_bytes = WORD };
	if (a64_is_exchangeable(word_in(p, from)) && a64_is_exchangeable(word_in(p, to)))
		return 1;
	moves[0].alone = from == FL_OLD && p->rows & FL_ROW;
	return moves[0].alone ? 1 : FLE_EXCHANGE;
}

/* No thread stands behind the head: a window is one instruction. */
bool fl_arch_inner(const struct fl_patch *p, uintptr_t *copy, uint8_t to[FL_ARCH_SITE_MAX - 1])
{
	__builtin_memset(to, 0, FL_ARCH_SITE_MAX - 1);
	*copy = p->at;
	return true;
}
