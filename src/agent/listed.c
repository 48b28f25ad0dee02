/*
 * listed.c - dl_iterate_phdr(), which stands before the C library's: by it unwinders that do
 * not ask _dl_find_object() find tables. They are LLVM's libunwind, by which libc++ throws,
 * libunwind of nongnu.org, and libgcc before version 12, which a program may have in itself.
 *
 * Hides that bodies are in no module. Such an unwinder has each module shown and looks for
 * the one whose code has a program counter in it, which stands among the first words of
 * what it hands on to its callback, on its own stack. So where that is a place in a body the
 * callback is shown one thing more, before all modules: that body's code and table, with
 * the loader's lock, as modules are. Who looks for anything else sees what it ever saw.
 *
 * In libflick.so alone: in a static program ours would come before the C library's, which is
 * weak, too, and a program that has libflick.a in it has no bodies.
 */
#include <link.h>
#include <stddef.h>

#include "agent.h"
#include "copy/copy.h"
#include "obj/obj.h"

typedef int each_function(struct dl_phdr_info *, size_t, void *);
typedef int iterate_function(each_function *, void *);

/* The program counter is libgcc's first word, nongnu's, too, and LLVM's third. */
enum { WORDS = 3, NEAR = 4096 };

struct iteration {
	each_function *each;
	void *arg;
	struct fl_unwind_found body;
	bool is_shown;
};

/* Shown are no `adds` and `subs`, by which libgcc would keep `ph`: it will be gone. */
static int show(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct iteration *l = arg;
	const Elf64_Phdr ph[] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = l->body.lo,
		  .p_memsz = l->body.hi - l->body.lo },
		/* the table grows, and says by itself how long it is */
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R,
		  .p_vaddr = (uintptr_t)l->body.table, .p_memsz = UINT32_MAX },
	};
	struct dl_phdr_info body = { .dlpi_name = "", .dlpi_phdr = ph,
				     .dlpi_phnum = ARRAY_LEN(ph) };
	int err = 0;

	if (!l->is_shown)
		err = l->each(&body, offsetof(struct dl_phdr_info, dlpi_adds), l->arg);
	l->is_shown = true;
	return err ? err : l->each(info, size, l->arg);
}

/* A word may be read that is the caller's, above us on this stack. What it is of may be smaller
 * than WORDS: behind it stand its function's return address, and who called that. */
static bool is_for_body(const void *arg, struct fl_unwind_found *body)
{
	uintptr_t at = (uintptr_t)arg, here = (uintptr_t)__builtin_frame_address(0);
	bool is_near = at > here && at - here < NEAR && !(at % sizeof(uintptr_t));

	for (size_t i = 0; is_near && i < WORDS; i++)
		if (fl_unwind_find(((const uintptr_t *)at)[i], body))
			return true;
	return false;
}

static int iterate(each_function *each, void *arg)
{
	static iterate_function *next;		/* W whoever comes first; always the same */
	iterate_function *f = load_relaxed(&next);	/* constant: no ordering */
	struct iteration l = { .each = each, .arg = arg };
	struct fl_callee callee;

	if (!f) {
		fl_obj_callee(&callee, "dl_iterate_phdr", (void *)iterate, 0);
		f = (iterate_function *)(callee.stays ? callee.function :
					 fl_obj_c_function("dl_iterate_phdr"));
		store_relaxed(&next, f);
	}
	if (!f)
		return 0;
	return is_for_body(arg, &l.body) ? f(show, &l) : f(each, arg);
}

/* find.c is in libflick.a, too, where we are not. */
__attribute__((constructor)) static void on_load(void)
{
	fl_find_listed = (uintptr_t)iterate;
	fl_obj_note_start();
}

__attribute__((alias("iterate"), visibility("default"))) iterate_function iterate_listed
	__asm__("dl_iterate_phdr");
