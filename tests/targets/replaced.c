/*
 * replaced.c - code whose frames differ by -DFRAME, and nothing else does: top() calls mid(),
 * which has a frame of so many bytes, and that calls leaf(), which takes the time.
 */
#include <stdint.h>
#include <time.h>

#define OUT __attribute__((noinline, noclone))
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
#define BYTES NUMBER(FRAME)

extern uint32_t mid(uint32_t x);

OUT uint32_t leaf(uint32_t x)
{
	for (int i = 0; i < 20; i++)
		__asm__ volatile("imul $3, %0" : "+r"(x));
	return x;
}

__asm__(".text\n.globl mid\n.type mid, @function\nmid:\n.cfi_startproc\n"
	"sub $" BYTES ", %rsp\n.cfi_adjust_cfa_offset " BYTES "\n"
	"call leaf\n"
	"add $" BYTES ", %rsp\n.cfi_adjust_cfa_offset -" BYTES "\n"
	"ret\n.cfi_endproc\n.size mid, . - mid\n");

OUT uint32_t top(uint32_t x)
{
	for (int i = 0; i < 3; i++)
		x = mid(x) + 1;
	return x;
}

int main(void)
{
	static volatile uint32_t sink;
	clock_t end = clock() + CLOCKS_PER_SEC / 3;

	while (clock() < end)
		for (int i = 0; i < 1000; i++)
			sink = top(sink);
	return 0;
}
