/*
 * pages.c - of an address that ADRP makes with an instruction elsewhere the outline knows: a
 * function whose middle is named so has no second body, and others have.
 */
#include "a64.h"

#include "site/site.h"

/* `maker` names four bytes behind the start of the function victim_N, or does not. */
static const struct row {
	const char *what, *maker;
	bool is_named;
} rows[] = {
	{ "in a row", "adrp x0, V\nadd x0, x0, :lo12:V+8\nret", true },
	{ "into another register", "adrp x0, V\nadd x3, x0, :lo12:V+8\nret", true },
	{ "behind others", "adrp x0, V\nmov x1, #1\nadd x2, x1, #1\n"
	  "add x0, x0, :lo12:V+8\nret", true },
	{ "a second time",
	  "adrp x0, V\nadd x1, x0, :lo12:V\nadd x2, x0, :lo12:V+8\nret", true },
	{ "where a branch leads", "adrp x0, V\ncbz x1, 1f\nmov x0, #0\nret\n"
	  "1: add x0, x0, :lo12:V+8\nret", true },
	{ "behind the jump back of a loop", "adrp x0, V\nb 2f\n1: add x3, x0, :lo12:V+8\nret\n"
	  "2: sub x1, x1, #1\ncbz x1, 1b\nb 2b", true },
	{ "over a call", "stp x29, x30, [sp, #-32]!\nstr x19, [sp, #16]\nadrp x19, V\n"
	  "bl victim_0\nadd x0, x19, :lo12:V+8\nldr x19, [sp, #16]\n"
	  "ldp x29, x30, [sp], #32\nret", true },
	{ "over a switch",
	  "adrp x3, V\nbr x9\nmov x3, #0\n1: add x0, x3, :lo12:V+8\nret", true },
	{ "by way of another register",
	  "adrp x3, V\nmov x4, x3\nadd x0, x4, :lo12:V+8\nret", true },
	{ "from memory", "adrp x3, V\nstr x3, [sp, #-16]!\nldr x4, [sp], #16\n"
	  "add x0, x4, :lo12:V+8\nret", true },
	{ "its start", "adrp x0, V\nadd x0, x0, :lo12:V\nret", false },
	{ "no instruction's", "adrp x0, V\nadd x0, x0, :lo12:V+6\nret", false },
	{ "what is loaded there", "adrp x0, V\nldr x0, [x0, :lo12:V+8]\nret", false },
	{ "not once it is something else", "adrp x0, V\nmov x0, x9\nadd x0, x0, :lo12:V+8\nret",
	  false },
	{ "not behind a call that loses it", "str x30, [sp, #-16]!\nadrp x0, V\nbl victim_0\n"
	  "add x0, x0, :lo12:V+8\nldr x30, [sp], #16\nret", false },
	{ "nor where it does not lead", "adrp x0, V\nret\nadd x0, x0, :lo12:V+8\nret", false },
};

static void put_text(FILE *f)
{
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		fprintf(f, ".p2align 12\n.globl victim_%zu\n.type victim_%zu, %%function\n"
			"victim_%zu: mov x1, #1\nmov x2, #2\nmov x3, #3\nmov x4, #4\nret\n"
			".size victim_%zu, .-victim_%zu\n", k, k, k, k, k);
		fprintf(f, ".p2align 12\n.globl maker_%zu\n.type maker_%zu, %%function\n"
			"maker_%zu: ", k, k, k);
		for (const char *c = rows[k].maker; *c; c++)
			if (*c == 'V')
				fprintf(f, "victim_%zu", k);
			else
				fputc(*c, f);
		fprintf(f, "\n.size maker_%zu, .-maker_%zu\n", k, k);
	}
}

static void build_library(const char *dir, char *path, size_t n)
{
	char cmd[512];
	FILE *f;

	snprintf(cmd, sizeof cmd, "%s/t.s", dir);
	f = fopen(cmd, "w");
	assert_non_null(f);
	put_text(f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cd %s && " TOOLS "as -o t.o t.s && "
		 TOOLS "ld -Bsymbolic -shared -o t.so t.o", dir);
	assert_int_equal(system(cmd), 0);
	snprintf(path, n, "%s/t.so", dir);
}

struct found {
	const struct fl_module *m;
	const struct fl_outline *o;
	size_t seen, wrong;
};

static int look_at(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct found *f = arg;
	unsigned int k;
	int why;

	(void)size;
	if (sscanf(name, "victim_%u", &k) != 1 || k >= ARRAY_LEN(rows))
		return 0;
	why = f->o->extents[fl_outline_find(f->o, f->m->bias + value)].refusal;
	f->seen++;
	if (why == (rows[k].is_named ? FLE_INSIDE : 0))
		return 0;
	f->wrong++;
	printf("%s: %d\n", rows[k].what, why);
	return 0;
}

static void whose_middle_is_named_is_refused(void **state)
{
	char dir[] = "/tmp/flick-pages.XXXXXX", path[64], cmd[64];
	struct fl_outline outline;
	struct fl_module m;
	struct fl_obj o;
	struct found f = { &m, &outline, 0, 0 };

	(void)state;
	if (!has_tools())
		skip();
	assert_non_null(mkdtemp(dir));
	build_library(dir, path, sizeof path);
	assert_int_equal(fl_obj_open(&o, path), 0);
	assert_int_equal(fl_obj_lay_out(&m, &o, path), 0);
	assert_int_equal(fl_outline_open(&outline, &m), 0);
	fl_obj_functions(&m.file, look_at, &f);
	fl_outline_close(&outline);
	fl_obj_unlay(&m);
	fl_obj_close(&o);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
	printf("a64: %zu ways to name a middle | wrong %zu\n", f.seen, f.wrong);
	assert_int_equal(f.seen, ARRAY_LEN(rows));
	assert_int_equal(f.wrong, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_middle_is_named_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
