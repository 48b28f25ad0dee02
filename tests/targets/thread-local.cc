// thread-local: objects of threads, of the main thread and of the program,
// whose destructors call functions; one makes another while it goes.
#include <pthread.h>
#define FUNCTIONS(X) X(main) X(worker) X(leaf) X(farewell)
#include "truth.h"

extern "C" {

BODY long leaf(long x)
{
	CALLED(leaf);
	return x + 1;
}

BODY void farewell(long x)
{
	CALLED(farewell);
	KEEP(leaf(x));
}

}

struct printer {	// made first, so it goes last
	QUIET printer() {}
	QUIET ~printer() { truth_print(); }
};
static printer last;

struct guest {
	long x;
	QUIET explicit guest(long value) : x(value) {}
	QUIET ~guest();
};

static thread_local guest one(1);
static thread_local guest late(2);
static guest of_all(3);

QUIET guest::~guest()
{
	farewell(x);
	if (x == 1)
		KEEP(late.x);		// made here at the earliest
}

extern "C" BODY void *worker(void *arg)
{
	CALLED(worker);
	KEEP(one.x);
	return arg;
}

int main()
{
	pthread_t t[20];

	CALLED(main);
	for (auto &each : t)
		pthread_create(&each, nullptr, worker, nullptr);
	for (auto &each : t)
		pthread_join(each, nullptr);
	worker(nullptr);
	return truth_failed;
}
