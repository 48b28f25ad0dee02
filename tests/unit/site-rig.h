/*
 * site-rig.h - builds programs and scans them; for the tests of src/site.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/arch.h"
#include "site/site.h"

enum { MAX = 16384 };

/*
 * A matrix of N to build is walked by this step: N and the lengths of its rows share no factor
 * with it, so each row and column is met. `make torture` takes each cell.
 */
static inline size_t stride(size_t by)
{
	return getenv("WHOLE") ? 1 : by;
}

static char dir[] = "/tmp/flick-site.XXXXXX";
static const char *golden;

static const char *const compilers[] = { "gcc", "clang" };

/* ---- commands ------------------------------------------------------------ */

static inline bool run(const char *format, ...)
{
	char cmd[2048];
	va_list ap;
	int status;

	va_start(ap, format);
	vsnprintf(cmd, sizeof cmd, format, ap);
	va_end(ap);
	status = system(cmd);
	if (status)
		printf("failed: %s\n", cmd);
	return !status;
}

static inline bool has(const char *program)
{
	char cmd[128];

	snprintf(cmd, sizeof cmd, "command -v %s >/dev/null", program);
	return !system(cmd);
}

/* ---- what flick finds ---------------------------------------------------- */

struct found {
	struct fl_site s[MAX];
	size_t n;
	uintptr_t bias;
};

static inline int keep(void *arg, const struct fl_site *s)
{
	struct found *f = arg;

	assert_true(f->n < MAX);
	assert_true(!f->n || f->s[f->n - 1].provider != s->provider ||
		    f->s[f->n - 1].at <= s->at - f->bias);
	f->s[f->n] = *s;
	f->s[f->n].at -= f->bias;
	f->s[f->n++].function -= f->bias;
	return 0;
}

/* Scan a file; addresses come out as ELF addresses. */
static inline void scan(struct found *f, const char *name)
{
	struct fl_module m;
	struct fl_obj o;
	char path[128];
	int n;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(fl_obj_open(&o, path), 0);
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	f->n = 0;
	f->bias = m.bias;
	n = fl_site_scan(&m, keep, f);
	assert_int_equal(n, f->n);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
}

static inline const struct fl_site *site_at(const struct found *f, uint64_t at)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->s[i].at == at)
			return &f->s[i];
	return NULL;
}

static inline const struct fl_site *site_of(const struct found *f, uint64_t function)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->s[i].function == function)
			return &f->s[i];
	return NULL;
}

static inline int count(void *arg, const struct fl_site *s)
{
	(void)s;
	++*(size_t *)arg;
	return 0;
}

/* How many calls of the program the scan does not know. */
static inline size_t count_unnamed(const char *name)
{
	struct fl_module m;
	struct fl_obj o;
	char path[128];
	size_t n = 0;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(fl_obj_open(&o, path), 0);
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	assert_int_equal(fl_site_unnamed(&m, count, &n), 0);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
	return n;
}

/* ---- symbols ------------------------------------------------------------- */

struct symbols {
	struct {
		uint64_t value;
		char name[96];
	} s[MAX];
	size_t n;
};

static inline int keep_symbol(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct symbols *y = arg;

	(void)size;
	assert_true(y->n < MAX);
	y->s[y->n].value = value;
	snprintf(y->s[y->n++].name, sizeof y->s->name, "%s", name);
	return 0;
}

static inline void read_symbols(struct symbols *y, const char *name)
{
	struct fl_obj o;
	char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	assert_int_equal(fl_obj_open(&o, path), 0);
	y->n = 0;
	fl_obj_functions(&o, keep_symbol, y);
	fl_obj_close(&o);
}

static inline uint64_t value_of(const struct symbols *y, const char *name)
{
	for (size_t i = 0; i < y->n; i++)
		if (!strcmp(y->s[i].name, name))
			return y->s[i].value;
	return 0;
}

/* ---- the truth: what calls say when they run ----------------------------- */

static inline bool is_inside(uint64_t function)
{
	return function < 1u << 28;
}

static inline size_t compare_with_truth(const struct found *f, size_t *n_right)
{
	unsigned long ret, function;
	size_t wrong = 0;
	char path[128], kind;
	FILE *t;

	snprintf(path, sizeof path, "%s/truth", dir);
	t = fopen(path, "r");
	assert_non_null(t);
	while (fscanf(t, "%lx %lx %c", &ret, &function, &kind) == 3)
		for (size_t i = 0; i < f->n; i++) {
			const struct fl_site *s = &f->s[i];

			if (s->at + s->room != ret || (s->form != FL_FORM_CALL &&
						       s->form != FL_FORM_CALL_POINTER))
				continue;
			/* Of another module a file tells the pointer alone. */
			if ((s->pointer ? !is_inside(function) : s->function == function) &&
			    kind == (s->kind == FL_EXIT ? 'X' : 'E'))
				++*n_right;
			else
				wrong++;
		}
	fclose(t);
	return wrong;
}

/* ---- set-up -------------------------------------------------------------- */

static inline int make_dir(void **state)
{
	const char *root = getenv("ROOT");
	static char path[512];

	(void)state;
	snprintf(path, sizeof path, "%s/tests/golden", root ? root : ".");
	golden = path;
	return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
	(void)state;
	return run("rm -rf %s", dir) ? 0 : -1;
}
