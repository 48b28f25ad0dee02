/*
 * plan-insn.c - plans for a place that is one instruction, whatever it is.
 *
 * Hides what is known of instructions that flick did not choose: only their length.
 * Threads may pass only an instruction that does nothing.
 */
#include "arch/arch.h"
#include "emit.h"

/* Is state `s` one instruction of the whole window? */
static bool is_one(const struct fl_patch *p, int s)
{
	struct fl_insn i;

	fl_arch_decode(&i, p->bytes[s], p->len, p->at);
	return i.len == p->len;
}

int fl_arch_plan_insn(struct fl_patch *p, uintptr_t at, const void *on, size_t n)
{
	if (n < 1 || n >= FL_ARCH_SITE_MAX)
		return FLE_INSN;
	*p = (struct fl_patch){ .at = at, .len = (uint8_t)n, .starts = 1 };
	__builtin_memcpy(p->bytes[FL_OLD], (const void *)at, n);
	__builtin_memcpy(p->bytes[FL_OFF], (const void *)at, n);
	__builtin_memcpy(p->bytes[FL_ON], on, n);
	x86_note_stretches(p);
	return is_one(p, FL_OFF) && is_one(p, FL_ON) ? 0 : FLE_INSN;
}

/* How many bytes at `at` can be read: an instruction may be the last of its page,
 * and of the text. */
static size_t readable(uintptr_t at)
{
	enum { PAGE = 4096, LONGEST = 15 };
	size_t n = PAGE - at % PAGE;
	struct fl_insn i;

	if (n >= LONGEST)
		return LONGEST;
	fl_arch_decode(&i, (const void *)at, n, at);
	return i.len ? n : LONGEST;
}

/* A NOP of `len` bytes whose call must leave the flags as they are. */
static int plan_nop(struct fl_patch *p, uintptr_t at, uintptr_t target, size_t len)
{
	unsigned char on[FL_ARCH_SITE_MAX];

	if (len < 5)
		return FLE_NOSPACE;
	__builtin_memset(on, X86_ADDR32, len - 5);
	if (!x86_branch(on + len - 5, X86_CALL, at + len - 5, target))
		return FLE_NOREACH;
	return fl_arch_plan_insn(p, at, on, len);
}

int fl_arch_plan_call(struct fl_patch *p, uintptr_t at, uintptr_t target,
		      enum fl_flags flags, bool *was_nop)
{
	struct fl_plan_in in = { .at = at, .glue = target };
	size_t n = readable(at);
	struct fl_insn i;
	uint64_t datum;
	int err;

	fl_arch_decode(&i, (const void *)at, n, at);
	*was_nop = i.len && i.cls == FL_INSN_NOP;
	if (*was_nop && flags == FL_FLAGS_LIVE)
		return plan_nop(p, at, target, i.len);
	in.room = *was_nop ? n : i.len;
	if (*was_nop)
		in.form = FL_FORM_PAD;
	else if (i.cls == FL_INSN_CALL && i.target)
		in.form = FL_FORM_CALL;
	else if (i.cls == FL_INSN_CALL_POINTER)
		in.form = FL_FORM_CALL_POINTER;
	else
		return FLE_UNKNOWN;
	err = fl_arch_plan(p, &in, &datum);
	p->may_pass = *was_nop;			/* a call must not be skipped */
	return err;
}
