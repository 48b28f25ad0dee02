/*
 * site-hostile.c - code that nobody compiled: the scan ends, in a time that grows with
 * the code, and within memory that does.
 *
 *	ladder       4000:    1.9 ms    16000:    7.4 ms, 3.1 MB
 *
 * timeout: 600
 */
#include <sys/resource.h>

#include "site-rig.h"

/* ---- programs ------------------------------------------------------------- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static const char *const hooks[] = {
	"__cyg_profile_func_enter@plt", "__cyg_profile_func_exit@plt",
};

/* Bytes of no meaning among what leads to calls; a symbol each dozen, where it may be. */
static void put_noise(FILE *f, int n)
{
	for (int i = 0; i < n; i++) {
		if (i % 12 == 0)
			fprintf(f, ".type n%d, @function\nn%d:\n", i, i);
		for (uint32_t k = draw(4); k && draw(3); k--)
			fprintf(f, ".byte %u\n", draw(256));
		if (draw(2))
			fprintf(f, "lea n%u(%%rip), %%%s\n", draw((uint32_t)n / 12) * 12,
				draw(3) ? "rdi" : "rbx");
		if (!draw(3))
			fprintf(f, "l%d: mov %%rbx, %%rdi\n", i);
		fprintf(f, "%s %s\n", draw(4) ? "call" : "jmp", hooks[draw(2)]);
		if (!draw(4))
			fprintf(f, "jne . + %u\n", draw(400) + 2);
		if (i % 12 == 11)
			fprintf(f, ".size n%d, . - n%d\n", i - 11, i - 11);
	}
}

/* One function; its calls' arguments are not known. */
static void put_calls(FILE *f, int n)
{
	fprintf(f, ".type big, @function\nbig:\n");
	for (int i = 0; i < n; i++)
		fprintf(f, "mov (%%rsp), %%rdi\ncall %s\n", hooks[i % 2]);
	fprintf(f, "ret\n.size big, . - big\n");
}

/* A constant in a kept register, and N branches to and fro between it and each call. */
static void put_branches(FILE *f, int n)
{
	fprintf(f, ".type big, @function\nbig:\npush %%rbx\nlea big(%%rip), %%rbx\n");
	for (int i = 0; i < n; i++)
		fprintf(f, "l%d:\nmov %%rbx, %%rdi\ncall %s\ntest %%eax, %%eax\njne l%u\n",
			i, hooks[i % 2], draw((uint32_t)n));
	fprintf(f, "pop %%rbx\nret\n.size big, . - big\n");
}

/* Every jump may go to every label. */
static void put_switches(FILE *f, int n)
{
	fprintf(f, ".type big, @function\nbig:\npush %%rbx\nlea big(%%rip), %%rbx\n");
	for (int i = 0; i < n; i++)
		fprintf(f, "l%d:\nmov %%rbx, %%rdi\ncall %s\nlea table(%%rip), %%rdx\n"
			"movslq (%%rdx,%%rax,4), %%rax\nadd %%rdx, %%rax\njmp *%%rax\n",
			i, hooks[i % 2]);
	fprintf(f, "pop %%rbx\nret\n.size big, . - big\n.section .rodata\ntable:\n");
	for (int i = 0; i < n; i++)
		fprintf(f, ".long l%d - table\n", i);
	fprintf(f, ".text\n");
}

/* Ranges that branches join to one body, each with one more name. */
static void put_ladder(FILE *f, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(f, ".type part%d, @function\npart%d:\nlea part%d(%%rip), %%rbx\n"
			"l%d:\nmov %%rbx, %%rdi\ncall %s\ntest %%eax, %%eax\njne l%u\n"
			"jmp l%d\n.size part%d, . - part%d\n", i, i, i, i, hooks[i % 2],
			draw((uint32_t)n), (i + 1) % n, i, i);
}

/* N places of the frame, each asked for through all blocks. */
static void put_frames(FILE *f, int n)
{
	fprintf(f, ".type big, @function\nbig:\nsub $%d, %%rsp\nlea big(%%rip), %%rax\n",
		8 * n + 8);
	for (int i = 0; i < n; i++)
		fprintf(f, "mov %%rax, %d(%%rsp)\n", 8 * i);
	for (int i = 0; i < n; i++)
		fprintf(f, "l%d:\nmov %d(%%rsp), %%rdi\ncall %s\ntest %%eax, %%eax\njne l%u\n",
			i, 8 * i, hooks[i % 2], draw((uint32_t)n));
	fprintf(f, "ret\n.size big, . - big\n");
}

static const struct shape {
	const char *name;
	void (*put)(FILE *, int n);
	int n;
} shapes[] = {
	{ "noise", put_noise, 4000 },
	{ "calls", put_calls, 12000 },
	{ "branches", put_branches, 6000 },
	{ "switches", put_switches, 4000 },
	{ "ladder", put_ladder, 4000 },
	{ "frames", put_frames, 4000 },
};

/* ---- what a scan takes ------------------------------------------------------ */

struct took {
	double ms, mb;
	size_t code;
	int n;				/* what the scan returned */
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int see(void *arg, const struct fl_site *s)
{
	*(uint64_t *)arg += s->at;
	return 0;
}

/* In a child, whose memory is that of the scan. */
static void scan_alone(int to, const char *path)
{
	struct took t = { .ms = 1e9 };
	struct rusage before, after;
	struct fl_module m;
	struct fl_obj o;
	uint64_t sum = 0;

	if (fl_obj_open(&o, path) || fl_obj_lay_out(&m, &o, path))
		_exit(1);
	t.code = m.hi - m.lo;
	for (uintptr_t a = m.lo; a < m.hi; a += 4096)
		sum += fl_obj_bytes(&m, a, 1) ? *(const volatile char *)a : 0;
	getrusage(RUSAGE_SELF, &before);
	for (int i = 0; i < 3; i++) {
		double start = cpu_ms();

		t.n = fl_site_scan(&m, see, &sum);
		start = cpu_ms() - start;
		t.ms = start < t.ms ? start : t.ms;
	}
	getrusage(RUSAGE_SELF, &after);
	t.mb = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
	_exit(write(to, &t, sizeof t) != sizeof t);
}

static struct took take(const struct shape *s, int n)
{
	char path[128];
	struct took t;
	int ends[2], status, pid;
	FILE *f;

	snprintf(path, sizeof path, "%s/x.s", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, ".text\n");
	s->put(f, n);
	fclose(f);
	assert_true(run("gcc -shared -nostdlib %s/x.s -o %s/x", dir, dir));
	snprintf(path, sizeof path, "%s/x", dir);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		scan_alone(ends[1], path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &t, sizeof t), sizeof t);
	close(ends[0]);
	close(ends[1]);
	return t;
}

/* Four times as much code; three times as much again is what caches and a busy machine
 * may add. What compilers make takes a tenth of that memory. */
static void time_and_memory_grow_with_the_code(void **state)
{
	bool bad = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const struct shape *s = &shapes[i];
		struct took once = take(s, s->n), more = take(s, 4 * s->n);
		bool slow = more.ms > 12 * once.ms + 10;
		bool large = more.mb > 24 * (double)more.code / (1 << 20) + 4;

		printf("%-10s %6d: %8.2f ms %8d: %8.2f ms, %.1f MB for %.1f%s%s\n", s->name,
		       s->n, once.ms, 4 * s->n, more.ms, more.mb, (double)more.code / (1 << 20),
		       slow ? " SLOW" : "", large ? " LARGE" : "");
		bad |= slow || large || once.n < 0 || more.n < 0;
	}
	assert_false(bad);
}

/* Whatever stands there. */
static void noise_is_scanned_to_its_end(void **state)
{
	static const struct shape noise = { "noise", put_noise, 0 };

	(void)state;
	for (int i = 0; i < 12; i++) {
		struct took t;

		seed = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1);
		t = take(&noise, 300 + 50 * i);
		assert_true(t.n > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_scanned_to_its_end),
		cmocka_unit_test(time_and_memory_grow_with_the_code),
	};

	return cmocka_run_group_tests_name("site-hostile", tests, make_dir, remove_dir);
}
