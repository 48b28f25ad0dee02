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
#ifdef JUMPS
/* A switch in a loop, whose table's address is kept across the loop: it may leave there. */
int classes(const char *text, int calls(int));
__attribute__((noinline)) int classes(const char *text, int calls(int))
{
	int sum = 0;

	for (; *text; text++) {
		switch (*text) {
		case 'a': sum += calls(1); break;
		case 'b': sum ^= 5; break;
		case 'c': sum *= 3; break;
		case 'd': sum -= calls(sum); break;
		case 'e': sum <<= 1; break;
		case 'f': sum |= 9; break;
		case 'g': sum = -sum; break;
		case 'h': return sum;
		default: sum++;
		}
	}
	return sum;
}
#endif

__attribute__((noinline)) int turn(int x)
{
	volatile int y = x + TURNED;

	return y;
}
