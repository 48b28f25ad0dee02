/*
 * cmd-cache.c - flick cache: which accesses of a trace miss in caches of any geometry.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

struct wish {
	const char *trace, *levels, *code;
	unsigned policy;		/* enum fl_cache_policy */
	uint32_t readers;
};

static const char *each_policy(size_t i)
{
	static const char *const names[] = { "inclusive", "independent", NULL };

	return names[i];
}

#define AT(field) .at = offsetof(struct wish, field)

static const struct fl_option options[] = {
	{ 0, "cache", "GEOMETRY", "SIZE,WAYS,LINE of each level, or host "
	  "(32K,4,64:512K,8,64)",
	  fl_take_text, AT(levels) },
	{ 0, "code", "GEOMETRY", "instructions have this first level, SIZE,WAYS,LINE or host",
	  fl_take_text, AT(code) },
	{ 0, "policy", "HOW", "levels are inclusive or independent (inclusive)",
	  fl_take_choice, AT(policy), .each = each_policy },
	{ 0, "readers", "N", "number of threads that simulate (1)",
	  fl_take_number, AT(readers), 1, FL_MAX_READERS },
	{ 0 }
};

/* ---- the trace ------------------------------------------------------------------------ */

/* Accesses are handed over some at a time. */
struct reading {
	struct fl_cache *cache;
	bool has_code;
	uint64_t passed_over;		/* lines that are none, nor valgrind's own */
	size_t n;
	struct fl_access some[65536];
};

static void hand_over(struct reading *r)
{
	fl_cache_feed(r->cache, r->some, r->n);
	r->n = 0;
}

/* `I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`; S stores, M loads and stores. */
static bool read_access(const char *line, struct fl_access *a)
{
	char *end;

	if (line[0] == 'I' && line[1] == ' ')
		a->kind = FL_ACCESS_FETCH;
	else if (line[0] == ' ' && (line[1] == 'L' || line[1] == 'M'))
		a->kind = FL_ACCESS_LOAD;
	else if (line[0] == ' ' && line[1] == 'S')
		a->kind = FL_ACCESS_STORE;
	else
		return false;
	a->at = strtoull(line + 2, &end, 16);
	if (*end != ',' || end == line + 2)
		return false;
	a->size = (uint32_t)strtoul(end + 1, &end, 10);
	return a->size && (*end == '\n' || !*end);
}

static void read_line(struct reading *r, const char *line)
{
	struct fl_access *a = &r->some[r->n];

	if (!read_access(line, a)) {
		r->passed_over += strncmp(line, "==", 2) != 0;
		return;
	}
	r->n += a->kind != FL_ACCESS_FETCH || r->has_code;
	if (r->n == ARRAY_LEN(r->some))
		hand_over(r);
}

/* 0 or -1 and a line printed. */
static int read_trace(struct reading *r, const char *path)
{
	bool is_input = !strcmp(path, "-");
	FILE *from = is_input ? stdin : fopen(path, "re");
	char line[256];
	int err = 0;

	while (from && fgets(line, sizeof(line), from))
		read_line(r, line);
	if (!from || ferror(from)) {
		fl_say("%s: %s", path, strerror(errno));
		err = -1;
	}
	if (from && !is_input)
		fclose(from);
	hand_over(r);
	return err;
}

/* ---- what came of it -------------------------------------------------------------------- */

static void print_kinds(const struct fl_cache_counts *c, uint32_t levels, const char *name,
			const bool kinds[FL_N_ACCESSES])
{
	uint64_t of[1 + FL_CACHE_LEVELS] = { 0 };

	for (uint32_t k = 0; k < FL_N_ACCESSES; k++) {
		of[0] += kinds[k] ? c->accesses[k] : 0;
		for (uint32_t l = 0; l < levels; l++)
			of[1 + l] += kinds[k] ? c->misses[l][k] : 0;
	}
	printf("%-8s %13llu", name, (unsigned long long)of[0]);
	for (uint32_t l = 1; l <= levels; l++)
		printf(" %13llu %6.2f%%", (unsigned long long)of[l],
		       of[0] ? 100.0 * (double)of[l] / (double)of[0] : 0);
	putchar('\n');
}

static void print_counts(const struct fl_cache_counts *c, const struct fl_cache_geometry *g)
{
	static const struct {
		const char *name;
		bool kinds[FL_N_ACCESSES];
	} rows[] = {
		{ "loads", { [FL_ACCESS_LOAD] = true } },
		{ "stores", { [FL_ACCESS_STORE] = true } },
		{ "fetches", { [FL_ACCESS_FETCH] = true } },
		{ "all", { true, true, true } },
	};

	printf("%-8s %13s", "", "accesses");
	for (uint32_t l = 1; l <= g->n_data; l++)
		printf("      L%u misses       %%", l);
	putchar('\n');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (g->code.size || i != FL_ACCESS_FETCH)
			print_kinds(c, g->n_data, rows[i].name, rows[i].kinds);
}

/* ---- the command ----------------------------------------------------------------------- */

/* 0, or -1 and a line printed. */
static int take_levels(struct fl_cache_level *l, uint32_t n, const char *option,
		       const char *text)
{
	char why[FL_USE_WHY];
	int got = fl_cache_parse(l, n, text, why);

	if (got < 0)
		fl_say("--%s=%s: %s", option, text, why);
	return got;
}

static int take_geometry(const struct wish *w, struct fl_cache_geometry *g)
{
	int n = take_levels(g->data, FL_CACHE_LEVELS, "cache", w->levels);

	if (n < 0 || (w->code && take_levels(&g->code, 1, "code", w->code) < 0))
		return -1;
	g->n_data = (uint32_t)n;
	g->policy = (enum fl_cache_policy)w->policy;
	g->threads = w->readers;
	return 0;
}

static int simulate(struct reading *r, const struct wish *w,
		    const struct fl_cache_geometry *g)
{
	const struct fl_cache_counts *c;
	int err;

	r->has_code = g->code.size;
	err = read_trace(r, w->trace);
	c = fl_cache_counts(r->cache);
	if (r->passed_over)
		fl_say("%s: passed over what is no access (lines: %llu)", w->trace,
		       (unsigned long long)r->passed_over);
	if (!err && !(c->accesses[FL_ACCESS_LOAD] + c->accesses[FL_ACCESS_STORE])) {
		fl_say("%s: no loads and no stores; it is to be as `valgrind --tool=lackey "
		       "--trace-mem=yes` writes it", w->trace);
		err = -1;
	}
	if (!err)
		print_counts(c, g);
	return err ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct wish w = { .trace = "-", .levels = FL_CACHE_PRESET };
	struct fl_cache_geometry g = { .policy = FL_CACHE_INCLUSIVE };
	static struct reading r;
	int err;

	(void)account;			/* nothing is recorded here */
	if (fl_args_directory(cmd, argc, argv, &w.trace, &w) || take_geometry(&w, &g))
		return FL_EXIT_USAGE;
	err = fl_cache_open(&r.cache, &g);
	if (err) {
		fl_say("%s", err == -EINVAL ? "all levels have lines of one size" :
		       err == -EAGAIN ? "there cannot be so many threads" : "out of memory");
		return err == -EINVAL ? FL_EXIT_USAGE : FL_EXIT_FAILED;
	}
	err = simulate(&r, &w, &g);
	fl_cache_close(r.cache);
	return err;
}

const struct fl_cmd fl_cmd_cache = {
	.name = "cache",
	.args = "[OPTION...] [FILE]",
	.about = "Show which accesses of a memory trace miss in simulated caches",
	.more = "FILE, or standard input, is what `valgrind --tool=lackey --trace-mem=yes` "
		"writes. What\nloads and stores at once counts as a load. Without --code "
		"instructions are passed over.",
	.options = options,
	.run = run,
};
