/*
 * linkage.c - stubs of the linkage table (PLT), through which a module calls others.
 *
 * Hides which sections hold stubs, and how a stub's function is found: a stub jumps through a
 * pointer, and a relocation names the function that fills the pointer. The order of stubs,
 * in which linkers differ, does not matter.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "report/linkage.h"

enum { USUAL_STUB = 16, LONGEST_STUB = 64 };	/* some linkers name no size */

/* The function that a pointer is filled with. */
struct filled {
	uint64_t at;			/* the pointer's address */
	const char *name;		/* owned by the module's file */
};

struct fillings {
	struct filled *of;
	size_t n;
};

static int note_filled(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		       uintptr_t value)
{
	struct fillings *p = arg;

	(void)type;
	(void)value;
	if (!name[0])
		return 0;
	if (fl_array_room(&p->of, p->n, sizeof(*p->of)))
		return -ENOMEM;
	p->of[p->n++] = (struct filled){ pointer, name };
	return 0;
}

/* 1 + the index of the filling of `pointer`; 0: there is none. */
static size_t filled_at(const struct fillings *p, uintptr_t pointer)
{
	size_t n = fl_rows_from(p->of, p->n, sizeof(*p->of), pointer);

	return n && p->of[n - 1].at == pointer ? n : 0;
}

/* The function that the stub [at, end) leads to; NULL: it jumps through no pointer that is
 * filled. */
static const char *goes_to(const struct fl_module *m, const struct fillings *p,
			      uintptr_t at, uintptr_t end)
{
	const unsigned char *code = fl_obj_bytes(m, at, end - at);
	struct fl_insn i;
	size_t n;

	for (uintptr_t a = at; code && a < end; a += i.len) {
		fl_arch_decode(&i, code + (a - at), end - a, a);
		if (!i.len || i.cls == FL_INSN_JUMP)
			return NULL;
		if (i.cls != FL_INSN_JUMP_POINTER)
			continue;
		n = filled_at(p, i.target);
		return n ? p->of[n - 1].name : NULL;
	}
	return NULL;
}

/* For sections whose stubs have different lengths. */
static int tell_each(const struct fl_module *m, const struct fillings *p,
		     const Elf64_Shdr *section, fl_linkage_each *each, void *arg)
{
	const uintptr_t lo = m->bias + section->sh_addr;
	const unsigned char *code = fl_obj_bytes(m, lo, section->sh_size);
	size_t n, step;
	uintptr_t pointer;
	int err = 0;

	for (uint64_t at = 0; code && !err && at < section->sh_size; at += step) {
		pointer = fl_arch_stub(code + at, section->sh_size - at, lo + at, &step);
		n = pointer ? filled_at(p, pointer) : 0;
		if (n)
			err = each(arg, p->of[n - 1].name, section->sh_addr + at, step);
	}
	return err;
}

static int tell_section(const struct fl_module *m, const struct fillings *p,
			const Elf64_Shdr *section, fl_linkage_each *each, void *arg)
{
	const uint64_t step = section->sh_entsize ? section->sh_entsize : USUAL_STUB;
	int err = 0;

	if (step < 4 || step > LONGEST_STUB)
		return 0;
	for (uint64_t at = 0; !err && at < section->sh_size && step <= section->sh_size - at;
	     at += step) {
		uint64_t stub = section->sh_addr + at;
		const char *name = goes_to(m, p, m->bias + stub, m->bias + stub + step);

		if (name)
			err = each(arg, name, stub, step);
	}
	return err;
}

int fl_linkage_stubs(const struct fl_module *m, fl_linkage_each *each, void *arg)
{
	struct fillings p = { 0 };
	Elf64_Shdr section;
	int err = fl_obj_relocs(m, note_filled, &p);

	fl_rows_sort(p.of, p.n, sizeof(*p.of));
	for (size_t i = 0; !err && i < FL_OBJ_STUBS; i++)
		if (fl_obj_section(&m->file, fl_obj_stubs[i], &section))
			err = FL_ARCH_STUB_STEP ?
				tell_each(m, &p, &section, each, arg) :
				tell_section(m, &p, &section, each, arg);
	free(p.of);
	return err;
}
