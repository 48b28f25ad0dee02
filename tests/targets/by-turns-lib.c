/* One of several libraries of a size (by-turns.c). */
int turn(int x);
#ifdef OTHER
int other(int x);
__attribute__((noinline)) int other(int x)
{
	volatile int y = x * 3;

	return y + 1;
}
#define TURNED (TURN - 1 + other(0))
#else
#define TURNED TURN
#endif
#ifdef LARGE
const char large[6 << 20] = "1";
#endif
#ifdef JUMPS				/* turn() leaves by a jump, too */
static int count;
int last(int x);
__attribute__((noinline)) int last(int x)
{
	count++;
	return x;
}
#define LAST(y) (y > 100 ? 0 : last(y))
#else
#define LAST(y) (y)
#endif

__attribute__((noinline)) int turn(int x)
{
	volatile int y = x + TURNED;

	return LAST(y);
}
