/*
 * providers.c - --provider, and which modules get second bodies.
 *
 * A program's own work is in it and in the libraries it brings. Libraries that every C and C++
 * program calls have many short functions that nobody asks about. So these are left out, except
 * where a pattern names such a module. The target is told by rules, because it does not ask
 * when a module comes (site/wants.c).
 */
#include <stdlib.h>
#include <string.h>

#include "select/rules.h"

/* Libraries of C, of C++, of sanitizers, and flick's own. */
static const char *const runtime[] = {
	"ld-linux*.so*", "ld-musl*.so*", "libc.so*", "libc-[0-9]*.so", "libm.so*",
	"libmvec.so*", "libpthread.so*", "libdl.so*", "librt.so*", "libresolv.so*",
	"libutil.so*", "libanl.so*", "libnss_*.so*", "libstdc++.so*", "libgcc_s.so*",
	"libc++.so*", "libc++abi.so*", "libunwind.so*", "libatomic.so*", "libgomp.so*",
	"libitm.so*", "libssp.so*", "libasan.so*", "liblsan.so*", "libtsan.so*",
	"libubsan.so*", "libhwasan.so*", "libclang_rt.*", "libflick*.so*",
};

const char *fl_provider_each(size_t i)
{
	return fl_providers[i] ? fl_providers[i]->name : NULL;
}

int fl_providers_take(void *bits, const struct fl_option *o, const char *list)
{
	char *names = strdup(list), *rest = names;
	uint32_t all = 0;
	const char *name;
	int i = names ? 0 : -1;

	(void)o;
	while (i >= 0 && (name = strsep(&rest, ","))) {
		i = fl_choose("--provider", fl_provider_each, name);
		all |= i >= 0 ? 1u << i : 0;
	}
	free(names);
	if (i >= 0)
		*(uint32_t *)bits = all;
	return i < 0 ? -1 : 0;
}

bool fl_providers_has(uint32_t bits, uint32_t i)
{
	return !bits || bits >> i & 1;
}

/* ---- rules ------------------------------------------------------------------------- */

struct rules {
	struct fl_body_rules *out;
	size_t n;
};

/* Put a rule behind the others; the text stays ended by zeros. */
static bool put_rule(struct rules *r, char sign, const char *glob, size_t len)
{
	if (r->n + len + 4 > FL_RULES_BYTES)
		return false;
	r->out->text[r->n] = sign;
	memcpy(r->out->text + r->n + 1, glob, len);
	r->n += len + 2;		/* the text was zero */
	return true;
}

/* A function's first instruction is no point: the target sees to that. */
static int put_points(struct rules *r, const struct fl_selection *s)
{
	const struct fl_pattern *p;
	uint32_t n = 0;
	bool has_room = true;
	char text[FL_RULES_BYTES];

	for (size_t at = 0; has_room && (p = fl_selection_point(s, &at)); n++) {
		size_t len = p->module_len;

		has_room = n < FL_POINTS_MOST && len + FL_RULE_DIGITS < sizeof(text);
		if (!has_room)
			continue;
		memcpy(text, p->module, len);
		for (int i = 0; i < FL_RULE_DIGITS; i++)
			text[len++] = (char)('0' + (p->offset >> (60 - 4 * i) & 15));
		has_room = put_rule(r, FL_RULE_POINT, text, len);
	}
	if (has_room)
		return 0;
	fl_say("the patterns name too many places by 0xOFFSET; there is room for %d",
	       FL_POINTS_MOST);
	return -1;
}

int fl_providers_rule_all(struct fl_body_rules *out, const struct fl_selection *s,
			  uint32_t bits)
{
	struct rules r = { .out = out };

	*out = (struct fl_body_rules){
		.everywhere = bits != 0,
		.stubs = fl_selection_has_stubs(s) ||
			 (bits && fl_providers_has(bits, FL_PROVIDER_PLT)),
	};
	put_rule(&r, '+', "*", 1);
	return put_points(&r, s);
}

int fl_providers_rule(struct fl_body_rules *out, const struct fl_selection *s, uint32_t bits)
{
	struct rules r = { .out = out };
	const char *glob;
	size_t at = 0, len;
	bool has_room = true;

	*out = (struct fl_body_rules){
		.everywhere = bits != 0,
		.no_bodies = !fl_providers_has(bits, FL_PROVIDER_BODY) &&
			     !fl_providers_has(bits, FL_PROVIDER_POINT),
		.stubs = bits ? fl_providers_has(bits, FL_PROVIDER_PLT) :
					fl_selection_has_stubs(s),
	};
	if (out->no_bodies && !out->stubs)
		return 0;
	put_rule(&r, '+', "*", 1);
	for (size_t i = 0; i < ARRAY_LEN(runtime); i++)
		put_rule(&r, '-', runtime[i], strlen(runtime[i]));
	while (has_room && fl_selection_module(s, &at, &glob, &len))
		has_room = put_rule(&r, '+', glob, len);
	if (has_room)
		return put_points(&r, s);
	fl_say("the patterns name too many modules; one with * may name several");
	return -1;
}
