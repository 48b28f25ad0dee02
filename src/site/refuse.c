/*
 * refuse.c - functions that can have no second body, by the module's tables.
 *
 * Hides where that is written: what a function is in symbols and relocations, where the
 * tables for unwinding say that nobody called, which sections hold no functions.
 */
#include <string.h>

#include "channel/channel.h"
#include "shape.h"

/* ---- sections ------------------------------------------------------------ */

/* Stubs of the linker's, and what the startup files put together of pieces. */
static const char *const no_functions[] = {
	".plt", ".plt.got", ".plt.sec", ".iplt", ".plt.bnd", ".init", ".fini",
};

static void leave_out(struct fl_outline *o, const Elf64_Shdr *sh)
{
	uintptr_t start = o->m->bias + sh->sh_addr;
	size_t k = fl_outline_find(o, start);

	/* The range that ends here may begin in front of it. */
	for (k = k < o->n ? k : 0; k < o->n && o->extents[k].start < start + sh->sh_size; k++)
		if (o->extents[k].start >= start && !(o->extents[k].flags & X_STUB))
			o->extents[k].kind = FL_EXTENT_OTHER;
}

static void refuse_sections(struct fl_outline *o)
{
	Elf64_Shdr sh;

	for (size_t i = 0; i < ARRAY_LEN(no_functions); i++)
		if (fl_obj_section(&o->m->file, no_functions[i], &sh))
			leave_out(o, &sh);
}

/* ---- restartable sequences ----------------------------------------------- */

struct sequence {			/* struct rseq_cs */
	uint32_t version, flags;
	uint64_t start, length, abort;
};

static void refuse_at(struct fl_outline *o, uintptr_t at, int why)
{
	size_t k = fl_outline_find(o, at);

	if (k < o->n)
		fl_refuse(&o->extents[k], why, at);
}

static void refuse_sequences(struct fl_outline *o)
{
	const unsigned char *p;
	struct sequence s;
	Elf64_Shdr sh;

	if (!fl_obj_section(&o->m->file, "__rseq_cs", &sh))
		return;
	p = fl_obj_bytes(o->m, o->m->bias + sh.sh_addr, sh.sh_size);
	for (size_t i = 0; p && i < sh.sh_size / sizeof s; i++) {
		memcpy(&s, p + i * sizeof s, sizeof s);
		refuse_at(o, fl_text_address(o->m, s.start), FLE_RSEQ);
		refuse_at(o, fl_text_address(o->m, s.abort), FLE_RSEQ);
	}
}

/* ---- symbols and relocations --------------------------------------------- */

static const char cold[] = "*.cold*";

static int refuse_symbol(void *arg, const char *name, const Elf64_Sym *s)
{
	struct fl_outline *o = arg;
	unsigned int type = ELF64_ST_TYPE(s->st_info);
	uintptr_t at = o->m->bias + s->st_value;

	if (s->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return 0;
	if (type == STT_GNU_IFUNC) {
		refuse_at(o, at, FLE_IFUNC);
	} else if (fl_glob(cold, sizeof cold - 1, name)) {
		size_t k = fl_outline_find(o, at);

		if (k < o->n && o->extents[k].start == at)
			o->extents[k].kind = FL_EXTENT_PART;
	}
	return 0;
}

/* These take the address that they return to for their caller's (glibc, dl-sym.c). */
static const char *const asking[] = {
	"dlopen", "dlmopen", "dlsym", "dlvsym", "dl_iterate_phdr",
};

/* These may return more than once: where paths are told (copy/plan-paths.c), the sum is another
 * one then. */
static const char *const returning_twice[] = {
	"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "vfork", "getcontext",
};

struct relocs {
	struct fl_outline *o;
	struct fl_askers *askers;
	bool tells_paths;
};

static bool is_among(const char *const *names, size_t n, const char *name)
{
	while (n && strcmp(name, names[n - 1]))
		n--;
	return n;
}

static void note_asker(struct fl_askers *a, uintptr_t pointer, int why)
{
	if (a->n == FL_ASKERS)
		return;
	a->at[a->n] = pointer;
	a->why[a->n++] = why;
}

static int take_reloc(void *arg, uintptr_t pointer, uint32_t type, const char *name,
		      uintptr_t value)
{
	struct relocs *r = arg;

	if (type == FL_ARCH_R_CHOOSE)
		refuse_at(r->o, value, FLE_IFUNC);
	if (name[0] == 'd' && name[1] == 'l' &&
	    is_among(asking, ARRAY_LEN(asking), name))
		note_asker(r->askers, pointer, FLE_CALLER);
	else if (r->tells_paths &&
		 is_among(returning_twice, ARRAY_LEN(returning_twice), name))
		note_asker(r->askers, pointer, FLE_TWICE);
	return 0;
}

/* ---- the tables for unwinding --------------------------------------------- */

/* A landing pad is never at distance 0, which would say that there is none. So gcc has a NOP
 * before one that a cold part begins with, and tells of the frame behind that. */
static uintptr_t behind_nops(const struct fl_outline *o, const struct fl_extent *x)
{
	uintptr_t at = x->start;
	size_t left;
	const unsigned char *code = fl_file_text(o->m, at, &left);
	struct fl_insn i;

	for (; code && at < x->end; at += i.len, code += i.len, left -= i.len)
		if (!fl_arch_decode_flow(&i, code, left, at) || i.cls != FL_INSN_NOP)
			return at;
	return x->start;
}

static void take_begin(struct fl_outline *o, struct fl_extent *x)
{
	switch (fl_obj_begins(o->m, x->fde, behind_nops(o, x))) {
	case FL_OBJ_CALLED:
		return;
	case FL_OBJ_INSIDE:
		x->kind = FL_EXTENT_PART;
		return;
	case FL_OBJ_FIRST:
		fl_refuse(x, FLE_START, x->start);
		return;
	case FL_OBJ_SIGNAL:
		fl_refuse(x, FLE_SIGNAL, x->start);
		return;
	case FL_OBJ_ODD:
		fl_refuse(x, FLE_UNWIND, x->start);
		return;
	}
}

void fl_refuse_by_tables(struct fl_outline *o, struct fl_askers *askers)
{
	askers->n = 0;
	for (size_t i = 0; i < o->n; i++)
		if (o->extents[i].fde && !(o->extents[i].flags & X_STUB))
			take_begin(o, &o->extents[i]);
	fl_obj_relocs(o->m, take_reloc, &(struct relocs){
		o, askers, fl_channel_weaves() & FL_WEAVE_PATHS });
	if (!o->m->file.bytes)
		return;
	fl_obj_symbols(&o->m->file, refuse_symbol, o);
	refuse_sections(o);
	refuse_sequences(o);
	refuse_at(o, o->m->bias + o->m->file.eh->e_entry, FLE_START);
}
