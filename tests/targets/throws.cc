/*
 * throws.cc - exceptions in every way that C++ has, and what else unwinds: threads that are
 * cancelled or end, and a backtrace. Says what became of each; nothing depends on time.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <execinfo.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>

#define FUNCTIONS(X) X(thrower) X(passes) X(catches) X(catches_rest) X(throws_again) \
	X(in_destructors) X(from_destructor) X(carry) X(deliver) X(across_threads) X(waits) \
	X(is_cancelled) X(ends) X(does_end) X(threads_that_end) X(how_deep) X(with_room) \
	X(choose) X(must_not)
#include "truth.h"

#define DOES extern "C" BODY

static int alive;

struct noisy {
	noisy() { alive++; }
	~noisy() { alive--; }
};

DOES int thrower(int i)
{
	CALLED(thrower);
	noisy a;

	if (i % 3 == 0)
		throw i;
	if (i % 3 == 1)
		throw std::runtime_error("one");
	throw std::string("two");
}

DOES int passes(int i, int depth)
{
	CALLED(passes);
	noisy a;

	return depth ? passes(i, depth - 1) + 1 : thrower(i);
}

DOES int catches(int i)
{
	CALLED(catches);
	noisy a;

	try {
		noisy b;

		return passes(i, 5);
	} catch (int k) {
		noisy c;

		return k;
	} catch (const std::exception &e) {
		return (int)strlen(e.what()) * 100;
	}
}

DOES int catches_rest(int i)
{
	CALLED(catches_rest);
	try {
		return catches(i);
	} catch (const std::string &s) {
		return (int)s.size() * 1000;
	}
}

DOES int throws_again(int i)
{
	CALLED(throws_again);
	try {
		try {
			return thrower(i);
		} catch (int) {
			throw;
		}
	} catch (int k) {
		return k + 7;
	} catch (...) {
		return -1;
	}
}

/* An exception that begins and ends while another one is under way. */
struct careful {
	~careful()
	{
		try {
			thrower(1);
		} catch (const std::runtime_error &) {
			alive += 1000;
		}
	}
};

DOES int in_destructors(int i)
{
	CALLED(in_destructors);
	try {
		careful c;

		return thrower(i);
	} catch (int k) {
		return k;
	}
}

struct loud {
	~loud() noexcept(false) { throw std::logic_error("loud"); }
};

DOES int from_destructor(int i)
{
	CALLED(from_destructor);
	try {
		loud l;

		return i;
	} catch (const std::logic_error &e) {
		return (int)strlen(e.what());
	}
}

static std::exception_ptr carried;

DOES void carry(int i)
{
	CALLED(carry);
	try {
		thrower(i);
	} catch (...) {
		carried = std::current_exception();
	}
}

DOES int deliver()
{
	CALLED(deliver);
	try {
		std::rethrow_exception(carried);
	} catch (int k) {
		return k;
	} catch (...) {
		return -2;
	}
}

DOES int across_threads(int i)
{
	CALLED(across_threads);
	std::thread t(carry, i);

	t.join();
	return deliver();
}

/* ---- what is no exception of C++ ------------------------------------------- */

static sem_t here, never;

DOES void waits(int depth)
{
	CALLED(waits);
	noisy a;

	if (depth) {
		waits(depth - 1);
	} else {
		sem_post(&here);
		sem_wait(&never);
	}
}

DOES void *is_cancelled(void *)
{
	CALLED(is_cancelled);
	noisy a;

	try {
		waits(4);
	} catch (...) {
		alive += 50;
		throw;
	}
	return nullptr;
}

DOES void ends(int depth)
{
	CALLED(ends);
	noisy a;

	if (depth)
		ends(depth - 1);
	else
		pthread_exit((void *)&alive);
	alive++;
}

DOES void *does_end(void *)
{
	CALLED(does_end);
	ends(3);
	return nullptr;
}

DOES int threads_that_end()
{
	CALLED(threads_that_end);
	pthread_t t;
	void *how;
	int n = 0;

	sem_init(&here, 0, 0);
	sem_init(&never, 0, 0);
	pthread_create(&t, nullptr, is_cancelled, nullptr);
	sem_wait(&here);
	pthread_cancel(t);
	pthread_join(t, &how);
	n += how == PTHREAD_CANCELED;
	pthread_create(&t, nullptr, does_end, nullptr);
	pthread_join(t, &how);
	return n + 2 * (how == (void *)&alive);
}

/* ---- how deep --------------------------------------------------------------- */

DOES int how_deep(int depth)
{
	CALLED(how_deep);
	void *frames[256];
	int n = depth ? how_deep(depth - 1) : backtrace(frames, 256);

	__asm__ volatile("" : : "r"(frames) : "memory");
	return n;
}

DOES int with_room(int n)
{
	CALLED(with_room);
	volatile char room[n];		/* the frame is told from its pointer */

	room[0] = 1;
	try {
		return thrower(room[0] + 2);
	} catch (int k) {
		return k + (int)sizeof(room);
	}
}

DOES int choose(int i)
{
	CALLED(choose);
	switch (i) {			/* a table of jumps */
	case 0: return catches(3);
	case 1: return catches_rest(2) + 1;
	case 2: return throws_again(6) + 2;
	case 3: return in_destructors(9) + 3;
	case 4: return from_destructor(1) + 4;
	case 5: return with_room(100) + 5;
	case 6: return catches(4) + 6;
	case 7: thrower(3);
	}
	return -3;
}

static void say(const char *what, int n)
{
	printf("%s %d, alive %d\n", what, n, alive);
}

static int ended_by;
[[noreturn]] static void no_handler()
{
	say("terminate", ended_by);
	truth_print();
	fflush(stdout);
	_exit(0);
}

DOES void must_not(int i) noexcept
{
	CALLED(must_not);
	ended_by = i;
	thrower(i);
}

int main(int argc, char **argv)
{
	int times = argc > 1 ? atoi(argv[1]) : 1, deep = how_deep(0);
	long sum = 0;

	for (int i = 0; i < times; i++) {
		sum += catches(0) + catches(1) + catches_rest(2) + throws_again(3);
		sum += in_destructors(6) + from_destructor(2) + with_room(20);
		for (int k = 0; k < 7; k++)
			sum += choose(k);
	}
	say("sum", (int)sum);
	try {
		choose(7);
	} catch (int k) {
		say("chosen", k);
	}
	say("across threads", across_threads(3));
	say("ends", threads_that_end());
	say("deeper", how_deep(20) - deep);
	std::set_terminate(no_handler);
	must_not(5);
}
