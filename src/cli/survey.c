/*
 * survey.c - what a recording of a file could have: its sites, what arming would make
 * of each, and the calls that no scan names.
 *
 * The file is laid out in memory as the loader would, then looked at with the
 * code that will look at it in the target; nothing runs. Hides that the calls without
 * a name take a scan of their own.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "arch/arch.h"
#include "cli/cli.h"
#include "obj/obj.h"

#define NEAR 0x100000			/* where glue might be: within reach */

static bool is_in_body(const struct fl_site *site)
{
	return site->provider == FL_PROVIDER_BODY || site->provider == FL_PROVIDER_PLT ||
	       site->provider == FL_PROVIDER_POINT;
}

int fl_survey_plan(const struct fl_site *site, struct fl_patch *p)
{
	struct fl_plan_in in = {
		.at = site->at, .form = site->form, .room = site->room,
		.before = site->before, .glue = fl_round_down(site->at, NEAR) + 2 * NEAR,
	};
	uint64_t datum;

	memset(p, 0, sizeof(*p));
	if (site->refusal || !is_in_body(site))
		return site->refusal ? site->refusal : fl_arch_plan(p, &in, &datum);
	p->len = site->room;		/* its place is in a body that is not made */
	p->tactic = FL_FLIP;
	return 0;
}

/* Check what no reading of the file's bytes would tell. */
static int check_elf_kind(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return S_ISREG(st.st_mode) ? 0 : FLE_NOTELF;
}

static int count_call(void *arg, const struct fl_site *site)
{
	uint64_t *n = arg;

	(void)site;
	++*n;
	return 0;
}

/* Sites pass here on the way to the caller's `each`. */
struct passing {
	struct fl_survey *s;
	fl_site_each *each;
	void *arg;
};

static int pass_on(void *arg, const struct fl_site *site)
{
	struct passing *p = arg;

	if (site->provider == FL_PROVIDER_BODY && site->kind == FL_ENTRY) {
		p->s->functions++;
		p->s->without += site->refusal != 0;
	}
	return p->each(p->arg, site);
}

int fl_survey(const char *path, struct fl_survey *s, fl_site_each *each, void *arg)
{
	struct passing p = { s, each, arg };
	int err = check_elf_kind(path);

	if (!err)
		err = fl_obj_copy(&s->module, path, FL_OBJ_ALL);
	if (err)
		return err;
	err = fl_site_scan(&s->module, pass_on, &p);
	s->found = err > 0 ? (uint64_t)err : 0;
	if (err >= 0)
		err = fl_site_unnamed(&s->module, count_call, &s->unnamed);
	fl_obj_unlay(&s->module);
	return err < 0 ? err : 0;
}
