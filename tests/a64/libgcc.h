/*
 * libgcc.h - the outlined atomics of libgcc's (__aarch64_*), laid out as a module's code.
 */
#ifndef A64_LIBGCC_H
#define A64_LIBGCC_H

#include "a64.h"
#include "obj/obj.h"

/* take() is told of each function; `*m` is its module meanwhile. Skips without a compiler. */
static inline void each_of_libgcc(int (*take)(void *arg, const char *name, uint64_t value,
					      uint64_t size), void *arg,
				  const struct fl_module **m)
{
	char dir[] = "/tmp/flick-a64.XXXXXX", cmd[512];
	struct fl_module laid;
	struct fl_obj o;

	if (!has_tools())
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(cmd, sizeof cmd, TOOLS "gcc -shared -nostdlib -o %s/h.so -Wl,--whole-archive "
		 "$(" TOOLS "gcc -print-libgcc-file-name) -Wl,--no-whole-archive", dir);
	assert_int_equal(system(cmd), 0);
	snprintf(cmd, sizeof cmd, "%s/h.so", dir);
	assert_int_equal(fl_obj_open(&o, cmd), 0);
	assert_int_equal(fl_obj_lay_out(&laid, &o, cmd), 0);
	*m = &laid;
	fl_obj_functions(&o, take, arg);
	*m = NULL;
	fl_obj_unlay(&laid);
	fl_obj_close(&o);
	snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
	assert_int_equal(system(cmd), 0);
}

#endif
