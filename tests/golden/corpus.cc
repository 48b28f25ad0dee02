/*
 * corpus.cc - what C++ adds: exceptions, destructors, templates, virtual calls.
 */
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

struct shape {
	virtual ~shape() {}
	virtual int area() const = 0;
};

struct square : shape {
	int side;

	explicit square(int s) : side(s) {}
	int area() const override { return side * side; }
};

struct note {
	std::string text;

	explicit note(const char *s) : text(s) {}
	~note() { text.clear(); }
};

template <typename T> T twice(T x)
{
	return x + x;
}

int thrower(int x)
{
	note n("thrower");

	if (x % 3 == 0)
		throw std::runtime_error("three");
	return twice(x);
}

int catcher(int x)
{
	try {
		note n("catcher");

		return thrower(x) + static_cast<int>(n.text.size());
	} catch (const std::exception &e) {
		return static_cast<int>(std::string(e.what()).size());
	}
}

int main()
{
	std::vector<shape *> all;
	int sum = 0;

	for (int i = 0; i < 10; i++)
		all.push_back(new square(i));
	for (shape *s : all) {
		sum += catcher(s->area());
		delete s;
	}
	std::printf("%d\n", sum);
	return 0;
}
