/*
 * moves.c - by which stores a place goes from one state to another while threads
 * run through it.
 *
 * Hides which bytes keep threads out of the rest, or lead them past the rest. Pure, as
 * plan.c is.
 *
 * A window is cut into stretches where a thread may come to stand: at its head, at
 * each further instruction that `off` and `on` lead to, and where a call in `off` or `on`
 * returns to. Each stretch that changes is a move of its own, because threads enter it only
 * at its start. The park is one store. While it stands the rest may hold anything.
 *
 *	stretch			park			for
 *	5 bytes, flags dead	a9 ........		call, nop, test
 *	2 bytes, flags dead	a8 ..			jmp, nop, test
 *	67.. and 5 bytes	67.. a9 ........	call, test
 *	jump out of the body	c3			jmp, ret
 *	call *pointer, 6 bytes	67 15 ........		and 67 e8, 67 a9
 *	nop with a prefix	67 [nop]		and 67.. e8, 67.. a9
 *	any that may be passed	eb +n ...
 *	any other		eb -2 ...		threads wait there
 *
 * `67 15 imm32` adds to %eax, which is dead at a call. The nop with a prefix serves where
 * an aligned word begins behind its first byte, so that `eb +n` would be two stores.
 */
#include "arch/arch.h"
#include "emit.h"

enum { WORD = 8 };

struct stretch {
	const struct fl_patch *p;
	const uint8_t *from, *to;	/* of its first byte */
	uint8_t start, n;
	bool may_pass;			/* threads may skip it: one of both states does that */
	bool whole;			/* threads meet `from` and `to` whole */
	bool is_left;			/* no thread is there, and none comes */
};

static size_t next_start(const struct fl_patch *p, size_t at)
{
	do
		at++;
	while (at < p->len && !(p->starts >> at & 1));
	return at;
}

/* ---- what a plan is told of its stretches ------------------------------------ */

static bool is_test(const struct fl_patch *p, const uint8_t *code, size_t n)
{
	size_t op = 0;

	while (op < n && code[op] == X86_ADDR32)
		op++;
	return p->flags_dead && ((n - op == 5 && code[op] == X86_TEST_EAX) ||
				 (n - op == 2 && code[op] == X86_TEST_AL));
}

/* Do the `n` bytes do nothing, and then go on behind them? */
static bool is_idle(const struct fl_patch *p, const uint8_t *code, size_t n)
{
	struct fl_insn i;
	size_t at = 0;

	if (is_test(p, code, n))
		return true;
	for (; at < n; at += i.len) {
		x86_look(&i, code + at, n - at, 0);
		if (!i.len || i.cls != FL_INSN_NOP)
			return false;
	}
	return true;
}

/* Are they one instruction, or does no thread come to a second one? */
static bool is_whole(const uint8_t *code, size_t n)
{
	struct fl_insn i;

	x86_look(&i, code, n, 0);
	return i.len == n || i.cls == FL_INSN_JUMP || i.cls == FL_INSN_RET;
}

void x86_note_stretches(struct fl_patch *p)
{
	size_t end;

	for (size_t at = 0; at < p->len; at = end) {
		end = next_start(p, at);
		for (int s = 0; s < FL_N_STATES; s++) {
			const uint8_t *code = p->bytes[s] + at;

			p->idle[s] |= (uint16_t)(is_idle(p, code, end - at) << at);
			p->whole[s] |= (uint16_t)(is_whole(code, end - at) << at);
		}
	}
}

/* ---- parks --------------------------------------------------------------------- */

static bool is_one_store(const struct stretch *s, size_t at, size_t n)
{
	return (s->p->at + s->start + at) % WORD + n <= WORD;
}

/* Leading bytes that stay, and have no effect on a short jump behind them. */
static size_t common_prefixes(const struct stretch *s)
{
	size_t k = 0;

	while (k < s->n && s->from[k] == s->to[k] && s->from[k] == X86_ADDR32)
		k++;
	return k;
}

/* The park is `n` bytes at `at` of the stretch; the same bytes are stored last. */
static bool park_at(struct fl_move *m, const struct stretch *s, size_t at, size_t n)
{
	m->park_at = m->head_at = (uint8_t)(s->start + at);
	m->park_bytes = m->head_bytes = (uint8_t)n;
	return true;
}

/* One byte makes operands of all others, or leads out of the function. */
static bool park_on_byte(struct fl_move *m, const struct stretch *s)
{
	size_t k = common_prefixes(s);
	const uint8_t *off = s->p->bytes[FL_OFF] + s->start;

	if (s->p->may_pass && off[0] == X86_RET)
		m->park[0] = X86_RET;
	else if (s->may_pass && s->p->flags_dead && s->n - k == 5)
		m->park[0] = X86_TEST_EAX;
	else if (s->may_pass && s->p->flags_dead && s->n - k == 2)
		m->park[0] = X86_TEST_AL;
	else
		return false;
	return park_at(m, s, k, 1);
}

/* call *pointer(%rip) <-> 67 e8 or 67 a9, by way of 67 15. */
static bool park_on_adc(struct fl_move *m, const struct stretch *s)
{
	bool was_pointer = s->from[0] == 0xff && s->from[1] == X86_POINTER;
	bool is_pointer = s->to[0] == 0xff && s->to[1] == X86_POINTER;

	if (!s->may_pass || !s->p->flags_dead || s->n != 6 || was_pointer == is_pointer)
		return false;
	m->park_bytes = m->head_bytes = 1;
	m->park_at = s->start + is_pointer;
	m->head_at = s->start + was_pointer;
	m->park[0] = s->to[is_pointer];
	return true;
}

/* A jump, where two bytes are one store: over the stretch, or to its start. */
static bool park_on_jump(struct fl_move *m, const struct stretch *s)
{
	size_t k = common_prefixes(s), at = 0;

	if (k < s->n && s->from[k] == s->to[k] && (s->from[k] & 0xf0) == 0x40)
		k++;				/* REX has no effect on the jump either */
	while (at < k && !is_one_store(s, at, 2))
		at++;
	if (s->n < at + 2 || !is_one_store(s, at, 2))
		return false;
	m->park[0] = X86_JMP8;
	m->park[1] = (uint8_t)((s->may_pass ? s->n : 0) - (at + 2));
	m->holds = !s->may_pass;
	return park_at(m, s, at, 2);
}

/* The first byte is a word's last. Is the nop still a nop with 67 in place of its first
 * prefix? Behind the next word it has a displacement at most. */
static bool is_nop_behind(const struct stretch *s, const uint8_t *nop)
{
	uint8_t code[FL_ARCH_SITE_MAX];
	struct fl_insn i;

	__builtin_memcpy(code, nop, s->n);
	code[0] = X86_ADDR32;
	fl_arch_decode(&i, code, s->n, 0);
	return i.len == s->n && i.cls == FL_INSN_NOP && i.opcode_at + 3 <= WORD;
}

static bool park_on_nop(struct fl_move *m, const struct stretch *s)
{
	bool from = s->to[0] == X86_ADDR32 && is_nop_behind(s, s->from);
	bool to = s->from[0] == X86_ADDR32 && is_nop_behind(s, s->to);
	size_t n = s->n - 1u < WORD ? s->n - 1u : WORD;

	if (!s->may_pass || (!from && !to) || !is_one_store(s, 1, n))
		return false;
	m->park_at = s->start + !from;
	m->head_at = s->start + from;
	m->park_bytes = from ? 1 : (uint8_t)n;
	m->head_bytes = from ? (uint8_t)n : 1;
	__builtin_memcpy(m->park, s->to + !from, m->park_bytes);
	return true;
}

/* All bytes that differ are one store. */
static bool store_at_once(struct fl_move *m, const struct stretch *s)
{
	size_t first = 0, end = s->n;

	while (s->from[first] == s->to[first])
		first++;
	while (s->from[end - 1] == s->to[end - 1])
		end--;
	m->head_at = (uint8_t)(s->start + first);
	m->head_bytes = (uint8_t)(end - first);
	return s->whole && is_one_store(s, first, end - first);
}

/* No thread is there: one byte is stored before the others, and again after them. */
static bool park_on_anything(struct fl_move *m, const struct stretch *s)
{
	m->park[0] = s->to[0];
	return s->is_left && park_at(m, s, 0, 1);
}

static bool find_move(struct fl_move *m, const struct stretch *s)
{
	*m = (struct fl_move){ .start = s->start, .end = (uint8_t)(s->start + s->n) };
	return store_at_once(m, s) || park_on_byte(m, s) || park_on_adc(m, s) ||
	       park_on_jump(m, s) || park_on_nop(m, s) || park_on_anything(m, s);
}

/* A head that no thread may pass leads to the stretch before it. The head is old again before
 * that stretch is parked: otherwise threads would be sent back and forth between both. */
int fl_arch_moves(const struct fl_patch *p, int from, int to,
		  struct fl_move moves[FL_ARCH_MOVES])
{
	struct fl_move head;
	size_t end;
	int n = 0;

	for (size_t at = 0; at < p->len; at = end) {
		struct stretch s = { .p = p, .start = (uint8_t)at,
				     .from = p->bytes[from] + at,
				     .to = p->bytes[to] + at };

		end = next_start(p, at);
		s.n = (uint8_t)(end - at);
		if (!__builtin_memcmp(s.from, s.to, s.n))
			continue;
		s.may_pass = p->may_pass || (p->idle[from] | p->idle[to]) >> at & 1;
		s.whole = p->whole[from] & p->whole[to] & 1u << at;
		s.is_left = from == FL_OLD && p->rows & FL_ROW;
		if (!find_move(&moves[n++], &s))
			return FLE_STRADDLE;
	}
	if (to != FL_OLD || n < 2 || p->may_pass)
		return n;
	head = moves[n - 1];
	head.early = true;
	moves[n - 1] = moves[0];
	moves[0] = head;
	return n;
}

/* ---- threads that stand in what is armed ------------------------------------------ */

/* At a body's entry threads go on in the copy. Either all instructions that begin in the window
 * have copies, or none has. */
static bool find_copies(const struct fl_patch *p, uintptr_t *copy, uint8_t *to)
{
	struct fl_insn i;
	bool any;

	x86_look(&i, p->bytes[FL_OLD], FL_ARCH_SITE_MAX, p->at);
	any = i.len >= p->len;			/* it is the only one */
	fl_arch_decode(&i, p->bytes[FL_OFF], p->len, p->at);
	*copy = i.target;
	for (size_t k = 1; k < p->len; k++) {
		to[k - 1] = p->copies[k];
		any |= p->copies[k] != 0;
	}
	return any;
}

/* At a system call: a thread that has named the call, and not made it, comes anew. */
static bool find_ask(const struct fl_patch *p, uintptr_t *copy, uint8_t *to)
{
	enum { NAMED = X86_ASK_BYTES - 2 };
	struct fl_insn i;

	fl_arch_decode(&i, p->bytes[FL_OFF], NAMED, p->at);
	*copy = i.target - NAMED;
	to[NAMED - 1] = NAMED;
	return true;
}

static bool is_ask(const struct fl_patch *p)
{
	return p->len == X86_ASK_BYTES && p->bytes[FL_OLD][0] == X86_MOV_EAX;
}

/* At NOPs threads go on behind them. A thread stays where `off` and `on` have a start, too. */
static bool find_nops(const struct fl_patch *p, uint8_t *to)
{
	struct fl_insn i;

	for (size_t at = 0; at < p->len; at += i.len) {
		x86_look(&i, p->bytes[FL_OLD] + at, p->len - at, p->at + at);
		if (!i.len || i.cls != FL_INSN_NOP)
			return false;
		if (at)
			to[at - 1] = p->starts >> at & 1 ? (uint8_t)at : p->len;
	}
	return true;
}

bool fl_arch_inner(const struct fl_patch *p, uintptr_t *copy, uint8_t to[FL_ARCH_SITE_MAX - 1])
{
	__builtin_memset(to, 0, FL_ARCH_SITE_MAX - 1);
	*copy = p->at;
	return p->may_pass ? find_nops(p, to) :
	       is_ask(p) ? find_ask(p, copy, to) : find_copies(p, copy, to);
}
