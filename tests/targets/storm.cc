/*
 * storm LIBRARY: four threads, each of which allocates, loads and unloads LIBRARY, throws, and
 * forks, again and again until SIGTERM; with `exec` behind it a child becomes /bin/true. It says
 * `ready`, and at its end `fine`, or what went wrong, and how many turns all have made.
 */
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile sig_atomic_t is_over;
static std::atomic<const char *> wrong;
static std::atomic<unsigned long> turns;
static const char *library;
static bool execs;

static void on_term(int)
{
	is_over = 1;
}

__attribute__((noinline)) unsigned long work(unsigned long n)
{
	unsigned long sum = 0;

	for (unsigned long i = 0; i < n; i++)
		sum += i * i % 7;
	return sum;
}

__attribute__((noinline)) void allocate(unsigned n)
{
	std::vector<std::string> v;

	for (unsigned i = 0; i < 50; i++)
		v.emplace_back(100 + (n * 37 + i * 911) % 4000, (char)i);
	for (unsigned i = 0; i < v.size(); i++)
		if (v[i].back() != (char)i)
			wrong = "an allocation";
}

__attribute__((noinline)) void dive(unsigned depth)
{
	std::string held(40, 'x');

	if (!depth)
		throw std::runtime_error(held);
	dive(depth - 1);
	if (held.size() != 40)
		wrong = "a frame";
}

__attribute__((noinline)) void throw_and_catch()
{
	try {
		dive(8);
		wrong = "nothing was thrown";
	} catch (const std::runtime_error &e) {
		if (strlen(e.what()) != 40)
			wrong = "an exception";
	}
}

__attribute__((noinline)) void load_and_call()
{
	void *h = dlopen(library, RTLD_NOW);
	int (*f)(int) = h ? (int (*)(int))dlsym(h, "plugin_twice") : nullptr;

	if (!f || f(21) != 42)
		wrong = "a library";
	if (h)
		dlclose(h);
}

__attribute__((noinline)) void fork_and_wait()
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		if (execs)
			execl("/bin/true", "true", (char *)nullptr);
		_exit(work(100) == 197 ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		wrong = "a child";
}

static void run(unsigned id)
{
	for (unsigned n = id; !is_over && !wrong; n++, turns++) {
		if (work(100) != 197)
			wrong = "a sum";
		allocate(n);
		throw_and_catch();
		if (n % 3 == 0)
			load_and_call();
		if (n % 8 == 0)
			fork_and_wait();
	}
}

int main(int argc, char **argv)
{
	std::vector<std::thread> all;

	library = argc > 1 ? argv[1] : "";
	execs = argc > 2;
	signal(SIGTERM, on_term);
	for (unsigned i = 0; i < 3; i++)
		all.emplace_back(run, i);
	puts("ready");
	fflush(stdout);
	run(3);
	for (auto &t : all)
		t.join();
	puts(wrong ? wrong.load() : "fine");
	printf("%lu turns\n", turns.load());
	return wrong != nullptr;
}
