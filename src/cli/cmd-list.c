/*
 * cmd-list.c - flick list: the sites of a file, and what can be done with each.
 *
 * The file is laid out in memory as the loader would, then looked at with the
 * code that will look at it in the target; nothing runs.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "cli/cli.h"
#include "obj/obj.h"
#include "site/site.h"

static const struct fl_option options[] = {
	{ 0, "json", NULL, "an object a line" },
	{ 0, "match", "HOW", "patterns are glob (default) or regex" },
	{ 0 }
};

#define NEAR 0x100000			/* where glue might be: within reach */

struct listing {
	struct fl_module module;
	struct fl_selection *selection;
	struct fl_symbols *symbols;
	const char *path;
	bool json;
	uint64_t found, usable, refused;
};

/* What arming would do: a tactic's name, or a refusal. */
static int plan(const struct fl_site *site, const char **tactic, unsigned *len)
{
	struct fl_plan_in in = {
		.at = site->at, .form = site->form, .room = site->room,
		.before = site->before, .glue = fl_round_down(site->at, NEAR) + 2 * NEAR,
	};
	struct fl_patch p;
	uint64_t datum;
	int err = site->refusal;

	memset(&p, 0, sizeof(p));
	if (!err)
		err = fl_arch_plan(&p, &in, &datum);
	*tactic = err ? "-" : fl_tactic_names[p.tactic];
	*len = err ? site->room : p.len;
	return err;
}

static void print_site(const struct listing *l, const struct fl_site *site,
		       const char *function)
{
	const char *provider = fl_providers[site->provider]->name, *tactic;
	const char *kind = fl_kind_names[site->kind];
	uint64_t at = site->at - l->module.bias;
	unsigned len;
	int err = plan(site, &tactic, &len);

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
		.function = site->function - l->module.bias,
		.site = site->at - l->module.bias,
	};

	return fl_selection_wants(l->selection, &c);
}

static int list_site(void *arg, const struct fl_site *site)
{
	struct listing *l = arg;
	uint64_t at = site->function - l->module.bias;
	struct fl_symbol symbol;
	const char *tactic;
	char unnamed[32], *plain;
	unsigned len;

	snprintf(unnamed, sizeof(unnamed), "0x%" PRIx64, at);
	if (!fl_symbols_find(l->symbols, l->path, at, &symbol))
		symbol = (struct fl_symbol){ .name = unnamed, .linkage = unnamed };
	plain = fl_symbols_plain(symbol.linkage);
	l->found++;
	if (is_chosen(l, site, &symbol, plain)) {
		print_site(l, site, symbol.name);
		*(plan(site, &tactic, &len) ? &l->refused : &l->usable) += 1;
	}
	free(plain);
	return 0;
}

/* What no reading of its bytes would say. */
static int check_kind(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) ? 0 : FLE_NOTELF;
}

static int scan(struct listing *l)
{
	struct fl_obj file;
	int err = check_kind(l->path);

	if (!err)
		err = fl_obj_read(&file, l->path, FL_OBJ_ALL);
	if (err)
		return err;
	err = fl_obj_lay_out(&l->module, &file, l->path);
	if (!err) {
		err = fl_site_scan(&l->module, list_site, l);
		fl_obj_unlay(&l->module);
	}
	fl_obj_close(&file);
	return err < 0 ? err : 0;
}

static int tell(const struct listing *l, struct fl_account *account)
{
	size_t at = 0, module_len;
	const char *idle = fl_selection_idle(l->selection, &at, &module_len);

	if (l->found == 0) {
		fl_say("%s has no probe sites; compile it with -finstrument-functions, "
		       "-fpatchable-function-entry=5 or -fxray-instrument", l->path);
		return FL_EXIT_FAILED;
	}
	if (idle) {
		fl_say("no function with a probe matches `%s`; `flick list %s` shows "
		       "what there is", idle, l->path);
		return FL_EXIT_FAILED;
	}
	account->active = l->usable;
	account->refused = l->refused;
	account->due = true;
	return FL_EXIT_WELL;
}

static int list(struct listing *l, struct fl_account *account)
{
	int err = fl_symbols_open(&l->symbols);

	if (!err)
		err = scan(l);
	if (err)
		fl_say("%s: %s", l->path, fl_reason(err));
	fl_symbols_close(l->symbols);
	return err ? FL_EXIT_FAILED : tell(l, account);
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

	if (l.selection && !parse(cmd, &a, &l))
		status = list(&l, account);
	fl_selection_free(l.selection);
	return status;
}

const struct fl_cmd fl_cmd_list = {
	.name = "list",
	.args = "[OPTION...] FILE [PATTERN...]",
	.about = "Show where probes can be in a program or library",
	.more = "A line is: address, size in bytes, provider, kind, tactic, function; "
		"`no:` and a\nreason where no probe can be.",
	.options = options,
	.run = run,
};
