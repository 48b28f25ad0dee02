/*
 * deep.cc - exceptions through inlined bodies: cleanups and handlers that end
 * many calls each, in cold parts and in loops.
 */
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile int sink;

__attribute__((noinline)) int far(int x)
{
	if (x % 11 == 10)
		throw std::runtime_error("eleven");
	if (x % 7 == 6)
		throw x;
	return sink += x & 3;
}

__attribute__((noinline)) int wide(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return far(a + b + c + d + e + f + g + h);
}

struct guard {
	int x;
	std::string name;

	explicit guard(int y) : x(y), name("a name that is longer than any small string")
	{
		sink += far(y & 3);
	}
	~guard() { sink += static_cast<int>(name.size()) + x; }
	int use(int y) const { return far(x + y) + static_cast<int>(name.size()); }
};

template <int N> struct layers {
	static inline int go(int x)
	{
		guard g(x + N);
		int sum = g.use(N);

		if (x & 1)
			sum += layers<N - 1>::go(x + 1);
		return sum + far(x & 1);
	}
};

template <> struct layers<0> {
	static inline int go(int x) { return far(x); }
};

inline int caught(int x)
{
	try {
		return layers<2>::go(x);
	} catch (int i) {
		guard g(i & 1);

		return i + g.use(0);
	} catch (const std::exception &e) {
		return static_cast<int>(std::string(e.what()).size()) + layers<1>::go(x & 2);
	}
}

__attribute__((noinline)) int loop(int x)
{
	std::map<int, std::unique_ptr<guard>> all;
	std::vector<std::function<int(int)>> calls;
	int sum = 0;

	for (int i = 0; i < 4; i++) {
		try {
			all[i] = std::make_unique<guard>(x + i);
			calls.push_back([i, &sum](int y) { return sum += far(i + y); });
			sum += caught(x + i) + all[i]->use(i);
		} catch (...) {
			sum++;
			if (x & 8)
				continue;
		}
		for (auto &call : calls) {
			try {
				sum += call(x) + wide(i, 1, 2, 3, 4, 5, x, sum & 3);
			} catch (int) {
				sum += layers<1>::go(0);
			}
		}
	}
	return sum;
}

struct base {
	virtual ~base() {}
	virtual int run(int x) { return caught(x); }
};

struct derived : base {
	guard g{1};

	int run(int x) override
	{
		int sum = base::run(x);

		try {
			sum += g.use(x) + layers<1>::go(x);
		} catch (const std::runtime_error &) {
			throw;
		}
		return sum;
	}
};

int main()
{
	std::vector<std::unique_ptr<base>> objects;
	int sum = 0;

	objects.push_back(std::make_unique<base>());
	objects.push_back(std::make_unique<derived>());
	for (int i = 0; i < 60; i++)
		for (auto &o : objects) {
			try {
				sum += o->run(i) + loop(i & 15);
			} catch (int x) {
				sum -= x;
			} catch (const std::exception &e) {
				sum += e.what()[0];
			}
			sum &= 0xffff;
		}
	std::printf("%d\n", sum);
	return 0;
}
