/*
 * reach.c - which branches lead to __cyg_profile_func_enter and _exit.
 *
 * Hides linkage: entries of the GOT by the relocations that fill them, stubs by
 * what they are (a jump through such a pointer, behind a landing pad or a prefix,
 * in whichever section a linker put it), and direct calls in programs that
 * contain the functions. A target is decoded once; what leads there is remembered.
 */
#include <string.h>

#include "cyg.h"

static const char *const hook_names[FL_N_HOOKS] = {
	"", "__cyg_profile_func_enter", "__cyg_profile_func_exit",
};

/* Set once, before the first scan. */
static uintptr_t own_targets[FL_N_HOOKS];

void fl_site_cyg_targets(uintptr_t enter, uintptr_t exit)
{
	own_targets[FL_HOOK_ENTER] = enter;
	own_targets[FL_HOOK_EXIT] = exit;
}

static enum fl_hook hook_of(const char *name)
{
	if (name[0] != '_' || name[1] != '_' || name[2] != 'c')
		return FL_HOOK_NONE;
	for (int h = FL_HOOK_ENTER; h < FL_N_HOOKS; h++)
		if (!strcmp(name, hook_names[h]))
			return h;
	return FL_HOOK_NONE;
}

static int note_pointer(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		     uintptr_t value)
{
	struct fl_reach *r = arg;
	enum fl_hook h = hook_of(name);

	(void)type;
	(void)value;
	if (h && r->n_pointers[h] < FL_REACH_POINTERS)
		r->pointers[h][r->n_pointers[h]++] = pointer;
	return 0;
}

static int note_symbol(void *arg, const char *name, uint64_t value, uint64_t size)
{
	struct fl_reach *r = arg;
	enum fl_hook h = hook_of(name);

	(void)size;
	if (h)
		r->direct[h] = r->m->bias + value;
	return 0;
}

bool fl_reach_open(struct fl_reach *r, const struct fl_module *m)
{
	memset(r, 0, sizeof *r);
	r->m = m;
	fl_obj_relocs(m, note_pointer, r);
	if (m->laid_out)
		fl_obj_functions(&m->file, note_symbol, r);
	for (int h = FL_HOOK_ENTER; h < FL_N_HOOKS && !m->laid_out; h++)
		if (fl_text_bytes(m, own_targets[h]))
			r->direct[h] = own_targets[h];
	r->is_one = r->direct[FL_HOOK_ENTER] &&
		    r->direct[FL_HOOK_ENTER] == r->direct[FL_HOOK_EXIT];
	return r->n_pointers[FL_HOOK_ENTER] || r->n_pointers[FL_HOOK_EXIT] ||
	       r->direct[FL_HOOK_ENTER] || r->direct[FL_HOOK_EXIT];
}

/* What does a jump through `pointer` lead to? */
static enum fl_hook hook_of_pointer(const struct fl_reach *r, uintptr_t pointer)
{
	for (int h = FL_HOOK_ENTER; h < FL_N_HOOKS; h++)
		for (size_t i = 0; i < r->n_pointers[h]; i++)
			if (r->pointers[h][i] == pointer)
				return h;
	return FL_HOOK_NONE;
}

/* Is it a stub, or the function itself? */
static enum fl_hook judge(const struct fl_reach *r, uintptr_t target)
{
	size_t n = fl_text_bytes(r->m, target), bytes;
	uintptr_t pointer;

	for (int h = FL_HOOK_ENTER; h < FL_N_HOOKS; h++)
		if (r->direct[h] && r->direct[h] == target)
			return h;
	if (!n)
		return FL_HOOK_NONE;
	pointer = fl_arch_stub((const unsigned char *)target, n, target, &bytes);
	return pointer ? hook_of_pointer(r, pointer) : FL_HOOK_NONE;
}

void fl_reach_judge(struct fl_reach *r, uintptr_t target)
{
	enum fl_hook h = judge(r, target);

	if (h && r->n_stubs < FL_REACH_STUBS)
		r->stubs[r->n_stubs++] = (struct fl_stub){ target, h };
}

enum fl_hook fl_reach_hook(const struct fl_reach *r, const struct fl_insn *i)
{
	if (i->cls == FL_INSN_CALL_POINTER || i->cls == FL_INSN_JUMP_POINTER)
		return hook_of_pointer(r, i->target);
	for (size_t k = 0; k < r->n_stubs; k++)
		if (r->stubs[k].at == i->target)
			return r->stubs[k].hook;
	return FL_HOOK_NONE;
}

/* ---- first calls --------------------------------------------------------- */

/* Is `target` the function of `h`, or a stub that leads there? */
static bool leads_to(uintptr_t target, enum fl_hook h)
{
	uintptr_t pointer;
	size_t bytes;

	if (target == own_targets[h])
		return true;
	pointer = fl_arch_stub((const unsigned char *)target, FL_ARCH_STUB_MAX, target, &bytes);
	return pointer && *(const uintptr_t *)pointer == own_targets[h];
}

bool fl_site_at_return(struct fl_site *out, uintptr_t ret, uintptr_t function,
		       enum fl_kind kind)
{
	enum fl_hook h = kind == FL_ENTRY ? FL_HOOK_ENTER : FL_HOOK_EXIT;
	struct fl_insn i;
	bool pointer;

	if (!own_targets[h] || !fl_arch_call_before(&i, ret))
		return false;
	pointer = i.cls == FL_INSN_CALL_POINTER;
	if (pointer ? *(const uintptr_t *)i.target != own_targets[h] :
		   !leads_to(i.target, h))
		return false;
	*out = (struct fl_site){
		.at = ret - i.len, .function = function, .kind = kind,
		.provider = FL_PROVIDER_CYG,
		.form = pointer ? FL_FORM_CALL_POINTER : FL_FORM_CALL, .room = i.len,
		.asks = 1,
	};
	return true;
}
