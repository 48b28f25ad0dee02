/*
 * attach-throws: throws through functions, and catches, until SIGTERM; in two threads, of
 * which one is deep inside when somebody comes. `fine`, or how often it was not as it should.
 */
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static volatile long wrong;
static volatile long destroyed;

struct Guard {
	~Guard() { destroyed = destroyed + 1; }
};

__attribute__((noinline)) int deep(int n)
{
	Guard g;

	if (n == 0)
		throw std::runtime_error("deep");
	return deep(n - 1) + 1;
}

__attribute__((noinline)) int attempt(int n)
{
	try {
		return deep(n);
	} catch (const std::runtime_error &e) {
		return -1;
	}
}

__attribute__((noinline)) static void wait_and_throw(void)
{
	while (!is_over)
		usleep(1000);
	throw 7;
}

static void *run(void *arg)
{
	try {
		wait_and_throw();
	} catch (int seven) {
		wrong = wrong + (seven != 7);
	}
	return arg;
}

static void on_term(int) { is_over = 1; }

int main()
{
	pthread_t t;

	signal(SIGTERM, on_term);
	pthread_create(&t, nullptr, run, nullptr);
	puts("ready");
	fflush(stdout);
	while (!is_over)
		wrong = wrong + (attempt(20) != -1);
	pthread_join(t, nullptr);
	if (wrong)
		printf("%ld\n", wrong);
	else
		puts("fine");
	return wrong != 0;
}
