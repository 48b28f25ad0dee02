/*
 * stay.c - the module that flick is linked into is not unloaded any more.
 *
 * A thread that has been in a restartable sequence keeps the address of its descriptor,
 * and the kernel looks there when it interrupts the thread next: what has sequences must
 * stay (OS5). libflick.so is linked so; a library that has libflick.a in it need not be.
 */
#include <dlfcn.h>

#include "obj.h"

void fl_obj_stay(void)
{
	static uint32_t stays;
	Dl_info self;
	void *handle;

	if (load_relaxed(&stays) || !dladdr((const void *)(uintptr_t)fl_obj_stay, &self))
		return;
	/* A program is not found by its name, and stays. */
	handle = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle)
		dlclose(handle);
	store_relaxed(&stays, 1);
}
