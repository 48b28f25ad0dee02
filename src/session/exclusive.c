/*
 * exclusive.c - --exclusive: what bodies do with a load-exclusive and its store-exclusive.
 */
#include <sys/auxv.h>

#include "arch/arch.h"
#include "session/session.h"

const char *fl_exclusive_each(size_t i)
{
	static const char *const names[] = {
		[FL_EXCLUSIVE_LEAVE] = "leave", [FL_EXCLUSIVE_CAS] = "cas",
		[FL_EXCLUSIVE_LSE] = "lse",
	};

	return i < ARRAY_LEN(names) ? names[i] : NULL;
}

int fl_exclusive_take(void *to, const struct fl_option *o, const char *value)
{
	unsigned int how;

	if (!FL_ARCH_MONITORS) {
		fl_say("--exclusive is for AArch64: atomics of " FL_ARCH_NAME " are one "
		       "instruction each");
		return -1;
	}
	if (fl_take_choice(&how, o, value))
		return -1;
	if (how == FL_EXCLUSIVE_LSE && !(getauxval(AT_HWCAP) & FL_ARCH_ATOMICS))
		fl_say("--exclusive=lse: this processor has no such atomics; pairs are left as "
		       "they are");
	*(enum fl_exclusive *)to = (enum fl_exclusive)how;
	return 0;
}
