/* One of several libraries of a size (by-turns.c). */
int turn(int x);
__attribute__((noinline)) int turn(int x)
{
	volatile int y = x + TURN;

	return y;
}
