/* faulted LIBRARY: the same output and status whatever flick meets: a thread, a
 * library that comes and goes, a child, calls that are counted. */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define FUNCTIONS(X) X(main) X(work) X(leaf) X(thread)
#include "truth.h"
#include "truth-work.h"

BODY static void *thread(void *arg)
{
	CALLED(thread);
	CHECK(work(100) == 5050);
	return arg;
}

int main(int argc, char **argv)
{
	int status = -1;
	pthread_t t;
	void *lib;
	pid_t pid;

	CALLED(main);
	CHECK(argc > 1 && !pthread_create(&t, NULL, thread, NULL));
	lib = dlopen(argv[1], RTLD_NOW);
	CHECK(lib && dlsym(lib, "library_work"));
	CHECK(lib && ((int (*)(int))dlsym(lib, "library_work"))(1) == 2);
	CHECK(lib && !dlclose(lib));
	pthread_join(t, NULL);
	pid = fork();
	if (pid == 0)
		_exit(work(10) == 55 ? 3 : 4);
	CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	CHECK(work(50) == 1275);
	truth_print();
	return truth_failed ? 1 : 11;
}
