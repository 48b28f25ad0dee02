/* site.h - step 1 of 7: where a probe can be. next: patch.h */
#ifndef FL_SITE_H
#define FL_SITE_H

#include "arch/arch.h"		/* enum fl_form */
#include "base/base.h"
#include "channel/channel.h"	/* enum fl_kind */
#include "obj/obj.h"

struct fl_site {
	uintptr_t at;			/* first byte of what stands there */
	uintptr_t function;		/* whose body it belongs to */
	uintptr_t pointer;		/* in a file that was laid out: what holds `function`,
					 * which another module has; else 0 */
	uint64_t datum;			/* explains `refusal` */
	int32_t refusal;		/* fl_err, 0 = usable */
	uint8_t kind;			/* enum fl_kind */
	uint8_t provider;		/* index into fl_providers[] */
	uint8_t form;			/* enum fl_form */
	uint8_t room;			/* bytes that are ours, from `at` */
	uint8_t before;			/* FL_FORM_PAD_BEFORE: NOP bytes before `at` */
	uint8_t bare;			/* 1: every register is live, 0: an ABI call */
	uint8_t is_virtual;		/* 1: none, see fl_probe_virtual() */
	uint8_t asks;			/* 1: calls may be of other functions as well */
};

typedef int fl_site_each(void *arg, const struct fl_site *);

/* Finds the sites of a module that one compiler feature left. */
struct fl_provider {
	const char *name, *about;
	int (*scan)(const struct fl_module *, fl_site_each *, void *arg);
};
extern const struct fl_provider *const fl_providers[];	/* NULL-terminated */
enum { FL_PROVIDER_CYG, FL_PROVIDER_PATCHABLE, FL_PROVIDER_XRAY, FL_N_PROVIDERS };

/* Every site of a module, by all providers, ascending within each. Sites that
 * cannot be used come too, with a refusal. Returns a count, a negative error,
 * or what `each` returned when not 0. Not async-signal-safe; no allocation. */
int fl_site_scan(const struct fl_module *, fl_site_each *, void *arg);

/* Every profiling call whose function the scan does not know, ascending; its first
 * run tells, see below. 0, an error, or what `each` returned when not 0. */
int fl_site_unnamed(const struct fl_module *, fl_site_each *, void *arg);

/* Compilers put instrumented bodies into one another. For each of `n` addresses in the
 * text of a module, best ascending: the function of the innermost body there that was put
 * into another one, as `function_at` names the profiling call at an address (0: it does
 * not know it); 0 where there is none. 0, -ENOMEM, -EFBIG. */
struct fl_inner_in {
	const uintptr_t *at;
	size_t n;
	uint32_t (*function_at)(void *arg, uintptr_t at);
	void *arg;
};
int fl_site_inner(const struct fl_module *, const struct fl_inner_in *, uint32_t *inner);

/* First call: a profiling call of function `function` returns to `ret`. What
 * site is that? False when no call flick knows ends there. */
bool fl_site_at_return(struct fl_site *, uintptr_t ret, uintptr_t function,
		       enum fl_kind);

/* Of the program the region's reader may know what a scan would find, and keeps what one
 * finds for the next run: before the first scan. NULL: there is no such reader. */
void fl_site_found(struct fl_region *);

/* The profiling functions that direct calls reach in this process (libflick's
 * own); laid-out files are matched by name alone. */
void fl_site_cyg_targets(uintptr_t enter, uintptr_t exit);

#endif
