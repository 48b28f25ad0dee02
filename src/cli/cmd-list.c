/*
 * cmd-list.c - flick list: the sites of a file, and what can be done with each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "cli/cli.h"
#include "site/site.h"

static const struct fl_option options[] = {
	{ 0, "json", NULL, "an object a line" },
	{ 0, "match", "HOW", "patterns are glob (default) or regex" },
	{ 0 }
};

struct listing {
	struct fl_survey survey;
	struct fl_selection *selection;
	struct fl_symbols *symbols;
	const char *path;
	bool json;
	uint64_t usable, refused;
};

static void print_site(struct listing *l, const struct fl_site *site, const char *function)
{
	const char *provider = fl_providers[site->provider]->name;
	const char *kind = fl_kind_names[site->kind];
	uint64_t at = site->at - l->survey.module.bias;
	struct fl_patch p;
	int err = fl_survey_plan(site, &p);
	const char *tactic = err ? "-" : fl_tactic_names[p.tactic];
	unsigned len = err ? site->room : p.len;

	*(err ? &l->refused : &l->usable) += 1;

	if (!l->json) {
		printf("0x%08" PRIx64 " %3u %-10s %-6s %-5s ", at, len, provider, kind,
		       tactic);
		fl_print_plain(stdout, function);
		if (err)
			printf("  no: %s", fl_reason(err));
		putchar('\n');
		return;
	}
	printf("{\"address\": %" PRIu64 ", \"size\": %u, \"provider\": \"%s\", "
	       "\"kind\": \"%s\", \"function\": ", at, len, provider, kind);
	fl_json_string(stdout, function);
	if (err)
		printf(", \"tactic\": null, \"reason\": \"%s\"}\n", fl_reason(err));
	else
		printf(", \"tactic\": \"%s\", \"reason\": null}\n", tactic);
}

static bool is_chosen(struct listing *l, const struct fl_site *site,
		      const struct fl_symbol *symbol, const char *plain)
{
	struct fl_candidate c = {
		.path = l->path, .names = { symbol->name, symbol->linkage, plain },
		.function = site->function - l->survey.module.bias,
		.site = site->at - l->survey.module.bias,
	};

	return fl_selection_wants(l->selection, &c);
}

static int list_site(void *arg, const struct fl_site *site)
{
	struct listing *l = arg;
	uint64_t at = site->function - l->survey.module.bias;
	struct fl_symbol symbol;
	char unnamed[32], *plain;

	snprintf(unnamed, sizeof(unnamed), "0x%" PRIx64, at);
	if (!fl_symbols_find(l->symbols, l->path, at, &symbol))
		symbol = (struct fl_symbol){ .name = unnamed, .linkage = unnamed };
	plain = fl_symbols_plain(symbol.linkage);
	if (is_chosen(l, site, &symbol, plain))
		print_site(l, site, symbol.name);
	free(plain);
	return 0;
}

/* The last line: patterns choose sites; a call without a name may be any's. */
static void tell_totals(const struct listing *l)
{
	if (l->json)
		printf("{\"usable\": %" PRIu64 ", \"refused\": %" PRIu64 ", \"unnamed\": %"
		       PRIu64 "}\n", l->usable, l->refused, l->survey.unnamed);
	else
		fprintf(stderr, "sites: %" PRIu64 " usable, %" PRIu64 " refused, %" PRIu64
			" unnamed\n", l->usable, l->refused, l->survey.unnamed);
}

static int tell(const struct listing *l)
{
	size_t at = 0, module_len;
	const char *idle = fl_selection_idle(l->selection, &at, &module_len);

	if (l->survey.found + l->survey.unnamed == 0) {
		fl_say("%s has no probe sites; compile it with -finstrument-functions, "
		       "-fpatchable-function-entry=5 or -fxray-instrument", l->path);
		return FL_EXIT_FAILED;
	}
	if (idle) {
		fl_say("no function with a probe matches `%s`; `flick list %s` shows "
		       "what there is", idle, l->path);
		return FL_EXIT_FAILED;
	}
	tell_totals(l);
	return FL_EXIT_WELL;
}

static int list(struct listing *l)
{
	int err = fl_symbols_open(&l->symbols);

	if (!err)
		err = fl_survey(l->path, &l->survey, list_site, l);
	if (err)
		fl_say("%s: %s", l->path, fl_reason(err));
	fl_symbols_close(l->symbols);
	return err ? FL_EXIT_FAILED : tell(l);
}

static int parse(const struct fl_cmd *cmd, struct fl_args *a, struct listing *l)
{
	const struct fl_option *o;
	bool failed = false;

	do {
		while ((o = fl_args_next(a, &failed))) {
			if (o == &options[0])
				l->json = true;
			else if (fl_selection_match_name(l->selection, a->value))
				return -1;
		}
		if (failed)
			return -1;
		if (a->at < a->argc && !l->path)
			l->path = a->argv[a->at++];
		else if (a->at < a->argc &&
			 fl_selection_add(l->selection, 1, a->argv[a->at++]))
			return -1;
	} while (a->at < a->argc);
	if (l->path)
		return fl_selection_ready(l->selection);
	fl_say("usage: flick list %s", cmd->args);
	return -1;
}

static int run(const struct fl_cmd *cmd, int argc, char **argv,
	       struct fl_account *account)
{
	struct fl_args a = { .cmd = cmd, .argv = argv, .argc = argc, .at = 1 };
	struct listing l = { .selection = fl_selection_new() };
	int status = FL_EXIT_USAGE;

	(void)account;
	if (l.selection && !parse(cmd, &a, &l))
		status = list(&l);
	fl_selection_free(l.selection);
	return status;
}

const struct fl_cmd fl_cmd_list = {
	.name = "list",
	.args = "[OPTION...] FILE [PATTERN...]",
	.about = "Show where probes can be in a program or library",
	.more = "A line is: address, size in bytes, provider, kind, tactic, function; "
		"`no:` and a\nreason where no probe can be. The last line tells how many calls "
		"are unnamed:\nwhat these are shows when they run.",
	.options = options,
	.run = run,
};
