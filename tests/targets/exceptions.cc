// exceptions: through several frames, caught in the middle of a recursion,
// rethrown, past destructors that call functions, out of a constructor.
#include <stdexcept>
#define FUNCTIONS(X) X(main) X(thrower) X(middle) X(outer) X(climb) X(rethrow) \
	X(cleanup) X(refuse) X(after)
#include "truth.h"

extern "C" {

BODY void cleanup(int x) noexcept
{
	CALLED(cleanup);
	KEEP(x);
}

}

struct guard {
	int x;
	QUIET explicit guard(int value) : x(value) {}
	QUIET ~guard() noexcept { cleanup(x); }
};

extern "C" {

BODY int thrower(int x)
{
	guard g(x);

	CALLED(thrower);
	if (x >= 0)
		throw x;
	return x;
}

BODY int middle(int x)
{
	guard g(x);

	CALLED(middle);
	return thrower(x) + 1;
}

BODY int outer(int x)
{
	CALLED(outer);
	try {
		return middle(x) + 1;
	} catch (int got) {
		return got;
	}
}

// Thrown at the bottom, caught at depth 10, and returned from there.
BODY int climb(int depth)
{
	guard g(depth);

	CALLED(climb);
	if (depth == 0)
		throw std::runtime_error("bottom");
	if (depth != 10)
		return climb(depth - 1) + 1;
	try {
		return climb(depth - 1) + 1;
	} catch (const std::exception &) {
		return 10;
	}
}

BODY int rethrow(int depth)
{
	CALLED(rethrow);
	try {
		return depth ? rethrow(depth - 1) : thrower(7);
	} catch (...) {
		cleanup(depth);
		throw;
	}
}

BODY void after(int x)
{
	CALLED(after);
	KEEP(x);
}

BODY void refuse(void)
{
	struct never {
		guard g;
		QUIET never() : g(1) { throw 1L; }
	};

	CALLED(refuse);
	never n;
	KEEP(&n);
}

}

QUIET static void round_trip(int i)
{
	CHECK(outer(i) == i);
	CHECK(outer(-5) == -3);
	CHECK(climb(20) == 20);
	try {
		rethrow(5);
	} catch (int got) {
		CHECK(got == 7);
	}
	try {
		refuse();
	} catch (long got) {
		CHECK(got == 1);
	}
	after(i);
}

int main()
{
	CALLED(main);
	for (int i = 0; i < 200; i++)
		round_trip(i);
	truth_print();
	return truth_failed;
}
