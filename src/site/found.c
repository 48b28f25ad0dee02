/*
 * found.c - what an earlier scan of the program has found.
 *
 * To read all code of a large program takes longer than many programs run. So the reader
 * keeps where its profiling calls are and whose they are (session/found.c), and gives that to
 * the next run of the same file, by its build id. What a row says is no more than that:
 * which call it is, of which length and form, is read from its bytes as in a scan, and
 * what is no call of a profiling function is no site.
 *
 * INVARIANT  What is told from rows is what a scan would tell.
 * WHY	The file is the same, byte for byte, and so is the scanner: the reader sees to that,
 *	and we that it is this file that runs here, not one that was made of it.
 *	What a scan finds depends on the file alone, except for pointers that the loader
 *	fills. A pointer of the program's leads into the program each time or never, because
 *	its own symbols come first; for a function in another module the pointer is kept.
 */
#include <fcntl.h>

#include "cyg.h"
#include "os/os.h"

static struct fl_region *shm;		/* W before the first scan; NULL: nothing is kept */

void fl_site_found(struct fl_region *m)
{
	shm = m;
}

/* Other files that were made of it may have its build id. */
static bool runs_file(const struct fl_found *f)
{
	struct fl_file file;
	int fd = fl_os_open("/proc/self/exe", O_RDONLY);
	bool is_it = fd >= 0 && !fl_os_file_facts(fd, &file) && file.inode == f->inode &&
		     file.changed_ns == f->changed_ns;

	if (fd >= 0)
		fl_os_close(fd);
	return is_it;
}

static bool is_of(const struct fl_found *f, const struct fl_module *m)
{
	uint8_t id[FL_BUILD_ID];

	return fl_obj_build_id(m, id) && !__builtin_memcmp(id, f->id, sizeof id) &&
	       runs_file(f);
}

/* Is the region about this module, in that state? */
static bool is_asked(const struct fl_module *m, enum fl_found_state state)
{
	return shm && m->is_program && !m->laid_out &&
	       load_relaxed(&shm->found.state) == state && is_of(&shm->found, m);
}

bool fl_found_is_given(const struct fl_module *m)
{
	return is_asked(m, FL_FOUND_GIVEN);
}

/* The function of a row; 0: there is none. */
static uintptr_t function_of(const struct fl_module *m, const struct fl_found_row *row)
{
	uintptr_t a = m->lo + (row->function & ~FL_FOUND_BIT);

	if (!(row->function & FL_FOUND_BIT))
		return fl_text_bytes(m, a) ? a : 0;
	if (!fl_obj_is_constant(m, a, sizeof a))
		return 0;
	__builtin_memcpy(&a, (const void *)a, sizeof a);
	return a;
}

static bool read_row(struct fl_reach *r, const struct fl_found_row *row, struct fl_site *s)
{
	const struct fl_module *m = r->m;
	uintptr_t at = m->lo + (row->at & ~FL_FOUND_BIT), function = function_of(m, row);
	size_t left = fl_text_bytes(m, at);
	struct fl_insn i;
	enum fl_hook h;

	if (!left || !function)
		return false;
	fl_arch_decode(&i, (const unsigned char *)at, left, at);
	h = fl_reach_hook(r, &i);
	if (!h && i.target && (i.cls == FL_INSN_CALL || i.cls == FL_INSN_JUMP)) {
		fl_reach_judge(r, i.target);
		h = fl_reach_hook(r, &i);
	}
	*s = fl_code_site(&i, at, h);
	s->function = function;
	s->asks = row->at / FL_FOUND_BIT;
	return h;
}

int fl_found_tell(struct fl_reach *r, fl_site_each *each, void *arg)
{
	const struct fl_found_row *rows = fl_shm_found(shm);
	uint32_t n = shm->found.n;
	int err = 0;

	for (uint32_t i = 0; i < n && i < shm->max_sites && !err; i++) {
		struct fl_site site;

		if (read_row(r, &rows[i], &site))
			err = each(arg, &site);
	}
	return err;
}

/* ---- for the next time ----------------------------------------------------------- */

bool fl_found_is_wished(const struct fl_module *m)
{
	return is_asked(m, FL_FOUND_WISHED);
}

void fl_found_begin(void)
{
	shm->found.n = 0;
}

/* False: it cannot be kept. */
bool fl_found_add(const struct fl_module *m, const struct fl_site *s, uintptr_t pointer)
{
	uintptr_t at = s->at - m->lo, function = (pointer ? pointer : s->function) - m->lo;

	if (shm->found.n == shm->max_sites || at >= FL_FOUND_BIT || function >= FL_FOUND_BIT)
		return false;
	fl_shm_found(shm)[shm->found.n++] = (struct fl_found_row){
		(uint32_t)at | (s->asks ? FL_FOUND_BIT : 0),
		(uint32_t)function | (pointer ? FL_FOUND_BIT : 0),
	};
	return true;
}

void fl_found_end(void)
{
	store_relaxed(&shm->found.state, FL_FOUND_TOLD);	/* before ASK */
}
