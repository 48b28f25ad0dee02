/*
 * aside.c - a call in the midst of a function, which does not notice it.
 *
 *	lea -136(%rsp),%rsp		the red zone, and a word
 *	mov %rax,(%rsp)
 *	lea data(%rip),%rax		the routine takes it there
 *	call *word(%rip)		keeps all but %rax, and the flags
 *	mov (%rsp),%rax
 *	lea 136(%rsp),%rsp
 */
#include "arch/arch.h"
#include "emit.h"

enum { CALL = 19, GO_ON = 25 };	/* where the call, and what follows it, stand in `code` */

static const unsigned char code[] = {
	0x48, 0x8d, 0xa4, 0x24, 0x78, 0xff, 0xff, 0xff,
	0x48, 0x89, 0x04, 0x24,
	0x48, 0x8d, 0x05, 0, 0, 0, 0,
	0xff, 0x15, 0, 0, 0, 0,
	0x48, 0x8b, 0x04, 0x24,
	0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0,
};
_Static_assert(sizeof code == FL_ARCH_ASIDE_BYTES, "");
_Static_assert(FL_ARCH_ASIDE_DEPTH == 0x88, "what `code` takes");

size_t fl_arch_put_aside(unsigned char *out, uintptr_t to, uintptr_t data, uintptr_t word)
{
	__builtin_memcpy(out, code, sizeof code);
	if (!x86_rel32(out + CALL - 4, to + CALL, data) ||
	    !x86_rel32(out + GO_ON - 4, to + GO_ON, word))
		return 0;
	return sizeof code;
}
