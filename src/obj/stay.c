/*
 * stay.c - keep modules from being unloaded: the one that flick is linked into, and others.
 *
 * A thread that has been in a restartable sequence keeps the address of its descriptor,
 * and the kernel looks there when it interrupts the thread next: a module with sequences
 * must stay (OS5). libflick.so is linked so; a library that has libflick.a in it may not be.
 * Where the loader does not say that a module goes, modules with probes must stay, too: a
 * probe that is switched would else be a store to unmapped memory.
 */
#include <dlfcn.h>
#include <link.h>

#include "obj/look.h"

void fl_obj_stay(void)
{
	static uint32_t stays;
	Dl_info self;
	void *handle;

	if (load_relaxed(&stays) || !dladdr((const void *)(uintptr_t)fl_obj_stay, &self))
		return;
	/* dlopen() does not find a program by its name; a program stays anyway. */
	handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
	store_relaxed(&stays, 1);
}

bool fl_obj_stays(const char *name, uintptr_t bias)
{
	struct link_map *m = dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	bool is_it = m && m->l_addr == bias;

	if (m)
		dlclose(m);
	return is_it;
}
