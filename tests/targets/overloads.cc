// C++ names as people meet them: overloads, templates, operators, long ones.
#include <cstdio>

#define KEPT __attribute__((noinline))

namespace shapes {

template <typename T> struct box {
	T held;
	KEPT T &operator[](int) { return held; }
};

KEPT int area(int a) { return a; }
KEPT int area(long a) { return (int)a + 1; }

template <typename A, typename B, typename C> struct a_name_that_is_wider_than_most_terminals {
	KEPT static int a_function_of_it_whose_name_is_long(A, B, C) { return 3; }
};

}

KEPT static int alone(int x)
{
	return x + 4;
}

int main()
{
	shapes::box<double> b = { 1.0 };

	return (int)b[0] + shapes::area(1) + shapes::area(0l) + alone(-9) +
	       shapes::a_name_that_is_wider_than_most_terminals<int, long, char>::
		       a_function_of_it_whose_name_is_long(1, 2, 'c') - 1;
}
