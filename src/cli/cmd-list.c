/*
 * cmd-list.c - flick list: the sites of a file, and what can be done with each; with -p, of
 * the files that a running process has its code from.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "cli/cli.h"
#include "site/site.h"

/* A site that was chosen. */
struct row {
	uint64_t at;			/* ELF address */
	int refusal;
	uint32_t function;		/* index */
	uint64_t function_at;		/* ELF address */
	uint64_t pair;			/* fl_pair(): of a refusal by it */
	uint32_t exits;			/* of a function that can have a body */
	uint32_t len;
	uint8_t kind, provider, tactic;
};

/* Neighbours are of one function, mostly; one may have several indices. */
struct functions {
	const char **full, **linkage;	/* of the symbols, or kept until the end */
	uint64_t last;			/* ELF address */
	uint32_t n;
};

/* A pointer that the loader fills with another module's function. */
struct pointer {
	uintptr_t at;
	const char *linkage;		/* kept as long as the process */
};

struct listing {
	struct fl_survey survey;
	struct fl_selection *selection;
	struct fl_symbols *symbols;
	const char *path;
	uint32_t providers;		/* bits; 0: each where it is used */
	bool json;
	enum fl_demangle demangle;
	struct row *rows;
	size_t n;
	struct functions functions;
	const char **seen;		/* names of all functions, for hints; kept */
	size_t n_seen;
	uint64_t last_seen;		/* ELF address */
	struct pointer *pointers;		/* ascending; NULL: none was asked for */
	size_t n_pointers;
	size_t width;			/* of the terminal; 0: none */
	struct {			/* of all files */
		uint64_t usable, refused, found, unnamed, functions, without;
	} all;
	uint32_t number;		/* of a path; FL_NO_PATH: none */
	uint32_t pid;			/* 0: of a file */
	char *process;			/* as who types it has it */
};

#define AT(field) .at = offsetof(struct listing, field)

static const struct fl_option options[] = {
	{ 0, "json", NULL, "print a JSON object per line", fl_take_flag, AT(json) },
	{ 0, "match", "HOW", "patterns are glob (default) or regex",
	  fl_selection_take_match, AT(selection), .each = fl_match_each },
	FL_DEMANGLE_OPTION(struct listing, demangle),
	FL_PROVIDER_OPTION(AT(providers)),
	{ 'p', "pid", "PID", "of a process: what a recording of it could have",
	  fl_take_number, AT(pid), 1, INT32_MAX },
	{ 0, "path", "N", "show the instructions of the function's path N",
	  fl_take_number, AT(number), 0, FL_PATHS_MOST },
	{ 0 }
};

/* ---- gathering: names are shown when all are known --------------------------------- */

static int take_row(struct listing *l, const struct fl_site *site,
		    const struct fl_symbol *symbol, uint64_t function)
{
	struct functions *f = &l->functions;
	struct fl_patch p;
	int err = fl_survey_plan(site, &p);

	*(err ? &l->all.refused : &l->all.usable) += 1;
	if (fl_array_room(&l->rows, l->n, sizeof(*l->rows)) ||
	    fl_array_room(&f->full, f->n, sizeof(*f->full)) ||
	    fl_array_room(&f->linkage, f->n, sizeof(*f->linkage)))
		return -ENOMEM;
	if (!f->n || f->last != function) {
		f->full[f->n] = symbol->name;
		f->linkage[f->n++] = symbol->linkage;
		f->last = function;
	}
	l->rows[l->n++] = (struct row){
		.at = site->at - l->survey.module.bias, .refusal = err, .function = f->n - 1,
		.function_at = function,
		.len = err ? site->room : p.len, .kind = site->kind,
		.provider = site->provider, .tactic = err ? 0 : p.tactic,
		.pair = fl_pair(fl_pair_load(site->datum) - l->survey.module.bias,
				fl_pair_store(site->datum) - l->survey.module.bias),
	};
	return 0;
}

/* Neighbours are of one function, mostly. */
static int note_seen(struct listing *l, const char *name, uint64_t function)
{
	if (l->n_seen && l->last_seen == function)
		return 0;
	if (fl_array_room(&l->seen, l->n_seen, sizeof(*l->seen)))
		return -ENOMEM;
	l->seen[l->n_seen] = fl_name_simple(name);
	l->last_seen = function;
	return l->seen[l->n_seen++] ? 0 : -ENOMEM;
}

static bool is_chosen(struct listing *l, const struct fl_site *site,
		      const struct fl_symbol *symbol, uint64_t function)
{
	char *plain = fl_symbols_plain(symbol->linkage);
	char *simple = plain ? fl_name_simple(symbol->name) : NULL;
	struct fl_candidate c = {
		.path = l->path, .home = l->path,
		.names = { symbol->name, symbol->linkage, plain, simple },
		.function = site->pointer ? UINT64_MAX : function,
		.site = fl_candidate_site(site->provider, site->kind,
					  site->at - l->survey.module.bias),
		.is_stub = site->provider == FL_PROVIDER_PLT && !l->providers,
	};
	bool is;

	if (site->kind != FL_AT_POINT && !fl_providers_has(l->providers, site->provider))
		return false;

	if (!plain && !site->pointer && site->kind != FL_AT_POINT)
		fl_symbols_others(l->symbols, l->path, function, c.names + 2,
				  ARRAY_LEN(c.names) - 2);
	is = fl_selection_wants(l->selection, &c);
	free(simple);
	free(plain);
	return is;
}

static int take_pointer(void *arg, uintptr_t at, uint32_t type, const char *name,
		     uintptr_t value)
{
	struct listing *l = arg;
	(void)type;
	if (value || !*name)
		return 0;
	if (fl_array_room(&l->pointers, l->n_pointers, sizeof(*l->pointers)))
		return -ENOMEM;
	l->pointers[l->n_pointers++] = (struct pointer){ at, strdup(name) };
	return 0;
}

/* A pointer is named by the function that the loader would look for. */
static bool name_pointer(struct listing *l, uintptr_t at, struct fl_symbol *symbol)
{
	size_t n;

	if (!l->pointers && !fl_obj_relocs(&l->survey.module, take_pointer, l) && l->pointers)
		fl_rows_sort(l->pointers, l->n_pointers, sizeof(*l->pointers));
	n = fl_rows_from(l->pointers, l->n_pointers, sizeof(*l->pointers), at);
	symbol->linkage = n && l->pointers[n - 1].at == at ? l->pointers[n - 1].linkage : NULL;
	symbol->name = symbol->linkage ? fl_symbols_full(symbol->linkage) : NULL;
	return symbol->name;
}

static int take_site(void *arg, const struct fl_site *site)
{
	struct listing *l = arg;
	uint64_t at = (site->pointer ? site->pointer : site->function) - l->survey.module.bias;
	struct fl_symbol symbol;

	if (site->kind == FL_AT_POINT)
		fl_point_name(l->symbols, l->path, at, &symbol);
	else if (site->pointer ? !name_pointer(l, site->pointer, &symbol) :
	    !fl_symbols_find(l->symbols, l->path, at, &symbol))
		symbol.name = symbol.linkage = fl_symbols_unnamed(l->path, at);	/* kept */
	if (!symbol.name)
		return -ENOMEM;
	if (note_seen(l, symbol.name, at))
		return -ENOMEM;
	return is_chosen(l, site, &symbol, at) ? take_row(l, site, &symbol, at) : 0;
}

/* ---- functions that may have bodies are a row each --------------------------------- */

static bool is_function_row(const struct row *r)
{
	return r->provider == FL_PROVIDER_BODY && r->kind == FL_ENTRY;
}

/* 1 + its index; 0: it was not asked for. */
static uint32_t row_of_function(const struct listing *l, const struct fl_hash *by_function,
			 uint64_t function)
{
	uint32_t hash = fl_hash_of(0, function), i;

	for (uint32_t at = hash; (i = fl_hash_next(by_function, hash, &at));)
		if (l->rows[i - 1].function_at == function)
			return i;
	return 0;
}

/* Count exits with their functions' rows, which may come later: parts of a function may stand
 * before it. */
static void take_exits(struct listing *l, const struct fl_hash *by_function)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		uint32_t of = l->rows[i].provider == FL_PROVIDER_BODY &&
			      l->rows[i].kind != FL_ENTRY ?
			      row_of_function(l, by_function, l->rows[i].function_at) : 0;

		if (of)
			l->rows[of - 1].exits++;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct row *r = &l->rows[i];

		if (r->provider != FL_PROVIDER_BODY || r->kind == FL_ENTRY ||
		    !row_of_function(l, by_function, r->function_at))
			l->rows[kept++] = *r;
	}
	l->n = kept;
}

static int join_functions(struct listing *l)
{
	struct fl_hash by_function = { 0 };
	uint64_t lo, hi;
	int err = 0;

	for (uint32_t i = 0; !err && i < l->n; i++) {
		struct row *r = &l->rows[i];

		if (!is_function_row(r))
			continue;
		err = fl_hash_put(&by_function, fl_hash_of(0, r->function_at), i + 1);
		if (fl_symbols_range(l->symbols, l->path, r->function_at, &lo, &hi))
			r->len = (uint32_t)(hi - lo);
	}
	if (!err && by_function.n)
		take_exits(l, &by_function);
	fl_hash_free(&by_function);
	return err;
}

/* ---- printing ------------------------------------------------------------------------ */

static void print_json(const struct listing *l, const struct row *r, const char *function)
{
	printf("{");
	if (l->pid) {
		printf("\"module\": ");
		fl_json_string(stdout, l->path);
		printf(", ");
	}
	printf("\"address\": %" PRIu64 ", \"size\": %u, \"provider\": \"%s\", "
	       "\"kind\": \"%s\", \"function\": ", r->at, r->len,
	       fl_providers[r->provider]->name, fl_kind_names[r->kind]);
	fl_json_string(stdout, function);
	if (is_function_row(r))
		printf(", \"exits\": %u", r->exits);
	if (r->refusal)
		printf(", \"tactic\": null, \"reason\": \"%s\"}\n", fl_reason(r->refusal));
	else
		printf(", \"tactic\": \"%s\", \"reason\": null}\n",
		       fl_tactic_names[r->tactic]);
}

/* The name is cut; a reason behind it is not. */
static void print_line(const struct row *r, const char *function, size_t width)
{
	char kind[32];
	int used;

	snprintf(kind, sizeof(kind), is_function_row(r) && !r->refusal ? "%s+%u" : "%s",
		 fl_kind_names[r->kind], r->exits);
	used = printf("0x%08" PRIx64 " %3u %-10s %-6s %-5s ", r->at, r->len,
		      fl_providers[r->provider]->name, kind,
		      r->refusal ? "-" : fl_tactic_names[r->tactic]);

	fl_print_cut(stdout, function, width > (size_t)used ? width - (size_t)used : width);
	if (r->refusal)
		printf("  no: %s", fl_reason(r->refusal));
	if (r->refusal == FLE_EXCLUSIVE)
		printf(": 0x%" PRIx64 ", 0x%" PRIx64, fl_pair_load(r->pair),
		       fl_pair_store(r->pair));
	putchar('\n');
}

static int print_rows(const struct listing *l)
{
	const struct functions *f = &l->functions;
	struct fl_names *names = fl_names_make(f->full, f->linkage, f->n, l->demangle);

	if (l->pid && l->n && !l->json) {
		fl_print_plain(stdout, l->path);
		puts(":");
	}
	for (size_t i = 0; names && i < l->n; i++) {
		const char *function = fl_names_shown(names)[l->rows[i].function];

		if (l->json)
			print_json(l, &l->rows[i], function);
		else
			print_line(&l->rows[i], function, l->width);
	}
	fl_names_free(names);
	return names ? 0 : -ENOMEM;
}

/* The last line: patterns choose sites; a call without a name may be any's. */
static void tell_totals(const struct listing *l)
{
	if (l->json) {
		printf("{\"usable\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"unnamed\": %"
		       PRIu64 ", \"bodies\": %" PRIu64 ", \"without_body\": %" PRIu64 "}\n",
		       l->all.usable, l->all.refused, l->all.unnamed,
		       l->all.functions - l->all.without, l->all.without);
		return;
	}
	fprintf(stderr, "sites: %" PRIu64 " usable, %" PRIu64 " refused, %" PRIu64 " unnamed",
		l->all.usable, l->all.refused, l->all.unnamed);
	if (l->all.functions)
		fprintf(stderr, "; bodies: %" PRIu64 " functions, %" PRIu64 " refused",
			l->all.functions - l->all.without, l->all.without);
	putc('\n', stderr);
}

static int tell(const struct listing *l)
{
	size_t at = 0, module_len;
	const char *idle = fl_selection_idle(l->selection, &at, &module_len);

	if (l->all.found + l->all.unnamed == 0) {
		fl_say("%s has no probe sites, and no function that flick finds",
		       l->pid ? "the process" : l->path);
		return FL_EXIT_FAILED;
	}
	if (idle) {
		fl_selection_say_idle(l->selection, idle, module_len, &(struct fl_scope){
				      .names = l->seen, .n = l->n_seen,
				      .file = l->pid ? l->process : l->path });
		return FL_EXIT_FAILED;
	}
	tell_totals(l);
	return FL_EXIT_WELL;
}

/* The path of the one function that was named. */
static int print_path(const struct listing *l)
{
	const struct row *of = NULL;
	size_t n = 0;
	int err;

	for (size_t i = 0; i < l->n; i++)
		if (is_function_row(&l->rows[i]) && n++ == 0)
			of = &l->rows[i];
	if (n != 1) {
		fl_say("--path is of one function that can have a second body, not of %zu: "
		       "flick list --path %u %s FUNCTION", n, l->number, l->path);
		return FL_EXIT_FAILED;
	}
	err = of->refusal ? of->refusal :
	      fl_list_path(l->symbols, l->path, of->function_at, l->number);
	if (err == -ENOENT)
		fl_say("it has no path %u", l->number);
	else if (err)
		fl_say("%s: %s", l->path, fl_reason(err));
	return err ? FL_EXIT_FAILED : FL_EXIT_WELL;
}

/* Rows of one file; what was kept of the one before goes. */
static int list_file(struct listing *l)
{
	int err;

	free(l->pointers);
	l->pointers = NULL;
	l->n = l->n_pointers = l->functions.n = 0;
	l->last_seen = UINT64_MAX;
	l->survey = (struct fl_survey){ .found = 0 };
	err = fl_survey(l->path, &l->survey, take_site, l);
	if (!err)
		err = join_functions(l);
	if (!err && l->number == FL_NO_PATH)
		err = print_rows(l);
	if (err)
		fl_say("%s: %s", l->path, fl_reason(err));
	l->all.found += l->survey.found;
	l->all.unnamed += l->survey.unnamed;
	l->all.functions += l->survey.functions;
	l->all.without += l->survey.without;
	return err;
}

static int list_running(struct listing *l)
{
	struct fl_running r;
	int err = fl_running_open(&r, l->pid);

	for (size_t i = 0; !err && i < r.n; i++) {
		l->path = r.files[i];
		list_file(l);		/* of others there may be more */
	}
	fl_running_close(&r);
	return err;
}

static int list(struct listing *l)
{
	static struct fl_body_rules rules;
	int err = l->pid ? fl_providers_rule(&rules, l->selection, l->providers) :
			   fl_providers_rule_all(&rules, l->selection, l->providers);
	int status = FL_EXIT_FAILED;

	if (err)
		return FL_EXIT_USAGE;
	fl_site_rules(&rules);
	if (fl_symbols_open(&l->symbols))
		return FL_EXIT_FAILED;
	err = l->pid ? list_running(l) : list_file(l);
	if (!err)
		status = l->number == FL_NO_PATH ? tell(l) : print_path(l);
	fl_symbols_close(l->symbols);
	return status;
}

static int parse(const struct fl_cmd *cmd, struct fl_args *a, struct listing *l)
{
	do {
		if (fl_args_take(a, l))
			return -1;
		if (a->at < a->argc && !l->path && !l->pid)
			l->path = a->argv[a->at++];
		else if (a->at < a->argc &&
			 fl_selection_add(l->selection, 1, a->argv[a->at++]))
			return -1;
	} while (a->at < a->argc);
	if (l->pid && (l->path || l->number != FL_NO_PATH))
		fl_say("-p PID stands in place of FILE, before patterns, and has no --path");
	else if (l->path || l->pid)
		return fl_selection_ready(l->selection);
	else
		fl_say("no file given; usage: flick list %s", cmd->args);
	return -1;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	struct listing l = { .selection = fl_selection_new(),
			     .width = fl_terminal_width(), .number = FL_NO_PATH };
	int status = FL_EXIT_USAGE;

	(void)account;
	if (l.selection && !parse(cmd, &a, &l) &&
	    asprintf(&l.process, "-p %u", l.pid) >= 0)
		status = list(&l);
	free(l.process);
	fl_selection_free(l.selection);
	free(l.functions.full);
	free(l.functions.linkage);
	free(l.seen);
	free(l.pointers);
	free(l.rows);
	return status;
}

const struct fl_cmd fl_cmd_list = {
	.name = "list",
	.args = "[OPTION...] FILE|-p PID [PATTERN...]",
	.about = "Show where probes can be in a program, library or process",
	.more = "Each line has address, size in bytes, provider, kind, tactic and function; "
		"`no:` and a\nreason where there can be no probe. A function without sites "
		"of a compiler's is one\nline, of provider `body`: its size, and `entry+N`, N "
		"being its exits. The last line\nsums up; whose the unnamed calls are is only "
		"known when they run.",
	.options = options,
	.run = run,
};
