/*
 * wants.c - which modules get second bodies.
 *
 * It must be known before a module is scanned, which is when it comes, and the reader
 * alone knows what the user asked for. So the reader writes rules into the region
 * (struct fl_body_rules), and here they are applied to a module's name. Hides what never
 * gets any, whatever the rules say.
 */
#include "channel/channel.h"
#include "scan.h"

static const struct fl_body_rules *rules;	/* W before the first scan; NULL: none */

void fl_site_rules(const struct fl_body_rules *r)
{
	rules = r;
}

/* The text ends with two NULs, whatever stands before them (fl_region_is_valid). */
static bool is_asked_for(const struct fl_body_rules *r, const char *name)
{
	bool is = false;

	for (const char *rule = r->text; *rule;) {
		size_t n = __builtin_strlen(rule);

		if (*rule != FL_RULE_POINT && fl_glob(rule + 1, n - 1, name))
			is = *rule == '+';
		rule += n + 1;
	}
	return is;
}

/* A module whose profiling calls no scan knows has sites all the same. */
static int is_hook(void *arg, uintptr_t slot, uint32_t type, const char *name,
		   uintptr_t value)
{
	(void)arg;
	(void)slot;
	(void)type;
	(void)value;
	return !__builtin_strcmp(name, "__cyg_profile_func_enter");
}

static bool has_compilers(const struct fl_module *m, int n_sites)
{
	return n_sites > 0 || fl_obj_relocs(m, is_hook, NULL) > 0;
}

bool fl_site_each_point(const struct fl_module *m, bool (*each)(void *arg, uint64_t offset),
			void *arg)
{
	const char *name = fl_base_name(m->path);
	bool goes_on = true;

	for (const char *rule = rules ? rules->text : ""; goes_on && *rule;) {
		size_t n = __builtin_strlen(rule);

		if (*rule == FL_RULE_POINT && n > FL_RULE_DIGITS &&
		    fl_glob(rule + 1, n - 1 - FL_RULE_DIGITS, name))
			goes_on = each(arg, fl_rule_offset(rule + n - FL_RULE_DIGITS));
		rule += n + 1;
	}
	return goes_on;
}

bool fl_site_wants_bodies(const struct fl_module *m, int n_sites)
{
	if (!m->file.bytes)
		return false;		/* bodies are made of the file's bytes */
	if (!rules)
		return m->laid_out && !has_compilers(m, n_sites);
	return !rules->no_bodies && is_asked_for(rules, fl_base_name(m->path)) &&
	       (rules->everywhere || !has_compilers(m, n_sites));
}

bool fl_site_wants_stubs(const struct fl_module *m)
{
	return rules && rules->stubs && m->file.bytes &&
	       is_asked_for(rules, fl_base_name(m->path)) && !fl_site_never_bodies(m);
}

/* The loader tells its own base; a file that is laid out has its name alone. */
static bool is_loader(const struct fl_module *m)
{
	static const char *const names[] = { "ld-linux*.so*", "ld-musl*.so*", "ld-[0-9]*.so" };
	const struct r_debug *debug = m->laid_out ? NULL : fl_obj_loader();
	bool is = debug && debug->r_ldbase && debug->r_ldbase == m->bias;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		is |= fl_glob(names[i], __builtin_strlen(names[i]), fl_base_name(m->path));
	return is;
}

/* OCaml exports its tables of frames, stripped or not, and Mono what an image of its own
 * compiler has. What the startup file of -pg calls is the C library's, whose version may stand
 * behind the name. */
static int take_mark(void *arg, const char *name, const Elf64_Sym *s)
{
	static const char profiled[] = "__monstartup";
	const size_t n = sizeof profiled - 1;

	(void)arg;
	if (s->st_shndx == SHN_UNDEF)
		return !__builtin_strncmp(name, profiled, n) && (!name[n] || name[n] == '@') ?
		       FLE_GPROF : 0;
	return !__builtin_strcmp(name, "caml_frametable") ||
	       !__builtin_strcmp(name, "mono_aot_file_info") ? FLE_FRAMES : 0;
}

/* Goroutines' stacks move, and what unwinds them knows Go's own code alone. Runtimes of others
 * (OCaml; .NET, Mono and GraalVM ahead of time) look up what a call returns to in tables that
 * the compiler made, to find frames, or what a trampoline is to call. The C library writes into
 * gmon.out what of calls and samples lies in the program's text: who asks for bodies by name
 * (--provider) goes without that. */
int fl_site_never_bodies(const struct fl_module *m)
{
	static const struct {
		const char *section;
		int why;
	} marks[] = {
		{ ".gopclntab", FLE_GO }, { ".go.buildinfo", FLE_GO },
		{ ".note.go.buildid", FLE_GO },
		{ "__managedcode", FLE_FRAMES }, { ".svm_heap", FLE_FRAMES },
	};
	Elf64_Shdr s;
	int why = 0;

	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (fl_obj_section(&m->file, marks[i].section, &s))
			return marks[i].why;
	if (m->file.bytes)
		why = fl_obj_symbols(&m->file, take_mark, NULL);
	if (why && (why != FLE_GPROF || !rules || !rules->everywhere))
		return why;
	return is_loader(m) ? FLE_LOADER : 0;
}
