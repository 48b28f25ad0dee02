/*
 * self.cc - flick.h from C++: count the calls of one function, while it runs on
 * two threads.
 *
 *	c++ -O2 -finstrument-functions -pthread self.cc \
 *		$(pkg-config --cflags --libs flick) -o self
 *	./self
 */
#include <flick.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#define QUIET __attribute__((no_instrument_function))

namespace work {
__attribute__((noinline)) unsigned mix(unsigned n)
{
	for (int i = 0; i < 100; i++)
		n = n * 1664525u + 1013904223u;
	return n;
}
}

/* Handlers see the thread anywhere in its code: plain data, nothing that may
 * itself be instrumented (the standard library's templates are, here). */
static unsigned long calls;

QUIET static void on_entry(uint32_t, void *)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

QUIET static unsigned run(unsigned n)
{
	unsigned x = 1;

	while (n--)
		x = work::mix(x);
	return x;
}

struct wanted {
	const char *name;
	uint32_t id;
};

QUIET static void discovered(const flick_probe *p, void *arg)
{
	wanted *w = static_cast<wanted *>(arg);

	if (p->kind == FLICK_ENTRY && !std::strcmp(p->name, w->name))
		w->id = p->id;
}

QUIET static void check(int err)
{
	if (err >= 0)
		return;
	std::fprintf(stderr, "self: %s\n", flick_error(err));
	std::exit(1);
}

int main()
{
	wanted mix = { "_ZN4work3mixEj", UINT32_MAX };	/* as the linker knows it */
	flick_opt opt = {};
	flick *f = nullptr;
	unsigned sum = 0;

	opt.size = sizeof opt;
	opt.discovered = discovered;
	opt.arg = &mix;
	check(flick_open(&f, &opt));			/* before there are threads */

	check(flick_on(f, mix.id, on_entry, nullptr));
	std::thread one([&] { sum += run(20000); }), two([] { run(30000); });
	one.join();
	two.join();
	check(flick_off(f, mix.id));
	run(1000);
	std::printf("mix was called %lu times\n", calls);

	/* Switched while it is called: each call sees the probe on or off. */
	std::thread busy([] { run(200000); });
	for (int i = 0; i < 10000; i++) {
		check(flick_on(f, mix.id, nullptr, nullptr));
		check(flick_off(f, mix.id));
	}
	busy.join();
	std::printf("switched 20000 times while it ran\n");
	flick_close(f);
	return sum == 1;
}
