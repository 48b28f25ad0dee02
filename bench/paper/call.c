/*
 * call.c - the paper's call toggling: one store whatever the split.
 *
 *	split	off			what is stored
 *	none	0f 1f 44 00 00 (nop)	the eight bytes at the call, one store
 *	1|4	e8 [trampoline]		the four bytes in the second line
 *	2|3	eb 03 (jmp .+5)		the two bytes at the head
 *	3|2,4|1	eb 03			the same
 *
 * The trampoline is a lone `ret`, shared by all places within its reach. So
 * a place that straddles runs a jump, or a call and a return, while it is off
 * (section 8.5). Where only two bytes of the front change, the offset behind
 * them must stay: such a place can go on and off, but not to another target.
 */
#include "paper.h"

#include <string.h>
#include <sys/mman.h>

static unsigned char *trampoline;	/* constant after paper_call_open() */

bool paper_call_open(void *near)
{
	enum { STEP = 1 << 20, TRIES = 512, PAGE = 4096 };
	unsigned char *wish = (unsigned char *)near -
			      (uintptr_t)near % PAGE;

	for (int i = 0; i < TRIES && !trampoline; i++) {
		wish += STEP;
		unsigned char *got = mmap(wish, PAGE, PROT_READ | PROT_WRITE |
					  PROT_EXEC, MAP_PRIVATE |
					  MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
					  -1, 0);
		if (got == wish)
			trampoline = got;
		else if (got != MAP_FAILED)
			munmap(got, PAGE);	/* a kernel without NOREPLACE */
	}
	if (trampoline)
		*trampoline = 0xc3;
	return trampoline;
}

/* How many bytes of the call lie in the first line, 0: all five. */
static unsigned int split_of(const void *address)
{
	if (!paper_straddles(address, 5))
		return 0;
	return PAPER_LINE - (unsigned int)((uintptr_t)address % PAPER_LINE);
}

static void store_four(void *at, uint32_t value)
{
	__asm__ volatile("movl %1, %0" : "=m"(*(uint32_t *)at) : "r"(value)
			 : "memory");
}

static void store_two(void *at, uint16_t value)
{
	__asm__ volatile("movw %1, %0" : "=m"(*(uint16_t *)at) : "r"(value)
			 : "memory");
}

/* Five bytes within a line, the first lowest. Where eight bytes would leave the
 * line, those that end with the call are stored instead. */
static void store_five(unsigned char *at, uint64_t five)
{
	unsigned int before = paper_straddles(at, 8) ? 3 : 0;
	uint64_t keep = ~(0xffffffffffull << 8 * before), word;

	memcpy(&word, at - before, sizeof(word));
	word = (word & keep) | five << 8 * before;
	__asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)(at - before))
			 : "r"(word) : "memory");
}

bool paper_activate_call(void *address, uint32_t offset)
{
	uint32_t stands;

	memcpy(&stands, (unsigned char *)address + 1, sizeof(stands));
	switch (split_of(address)) {
	case 0:
		store_five(address, 0xe8 | (uint64_t)offset << 8);
		return true;
	case 1:
		store_four((unsigned char *)address + 1, offset);
		return true;
	default:
		if ((stands ^ offset) >> 8)
			return false;	/* the back is another call's */
		store_two(address, (uint16_t)(0xe8 | offset << 8));
		return true;
	}
}

bool paper_deactivate_call(void *address)
{
	int64_t away = trampoline - ((unsigned char *)address + 5);

	switch (split_of(address)) {
	case 0:
		store_five(address, 0x441f0f);	/* nopl 0(%rax,%rax) */
		return true;
	case 1:
		if (!trampoline || away != (int32_t)away)
			return false;
		store_four((unsigned char *)address + 1, (uint32_t)away);
		return true;
	default:
		store_two(address, 0x03eb);	/* jmp .+5 */
		return true;
	}
}
